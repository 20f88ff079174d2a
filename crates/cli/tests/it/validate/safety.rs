//! What a record names is read only if git tracks it, and a repository's own files decide nothing about what runs.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

impl Story {
    /// Everything that was sent, except for saves.
    fn sent(&self) -> String {
        let exchanges = self.recorder.exchanges().into_iter().filter(|exchange| exchange.path != "/mcp");
        exchanges.map(|exchange| String::from_utf8_lossy(&exchange.request).into_owned()).collect()
    }

    fn script(&self, name: &str) -> String {
        let path = self.place.path().join(name);
        self.write(name, &format!("#!/bin/sh\ntouch '{}/ran'\n", self.place.path().display()));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
        path.display().to_string()
    }

    fn has_run(&self) -> bool {
        self.place.path().join("ran").exists()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn untracked_ignored_and_outside_files_are_never_read() {
    let story = Story::begin().await;
    story.git(&["init", "--quiet", "--initial-branch=main", "shop"]);
    story.write("shop/.gitignore", "*.key\n");
    story.write("shop/tracked.md", "tracked\n");
    story.write("shop/private/notes.md", "tracked, and left alone\n");
    story.write("shop/.mnemonignore", "private/\n");
    story.write("outside.txt", "a secret outside\n");
    symlink("../outside.txt", story.place.path().join("shop/link.md")).expect("a link");
    symlink("..", story.place.path().join("shop/up")).expect("a link");
    commit(&story.place.path().join("shop"));
    story.write("shop/new.md", "not tracked\n");
    story.write("shop/id.key", "ignored\n");
    let absolute = story.place.path().join("outside.txt").display().to_string();
    let files = [
        ("new.md", "shop/new.md"),
        ("id.key", "shop/id.key"),
        ("link.md", "outside.txt"),
        ("up/outside.txt", "outside.txt"),
        ("../outside.txt", "outside.txt"),
        ("private/notes.md", "shop/private/notes.md"),
        (".git/config", "shop/.git/config"),
        (absolute.as_str(), "outside.txt"),
    ];
    for (source, _) in files {
        // Saved with a hash of the kind that would be computed.
        story.save(&format!("a fact of {source}"), source, &"0".repeat(64)).await;
    }
    let hash = story.hash(&["shop/tracked.md"]);
    story.save("a fact", "tracked.md", &hash).await;
    for arguments in [&[][..], &["--any-branch"]] {
        let told = story.validated_in("shop", arguments);
        assert_eq!((names(&told["verified"]), &told["stale"]), (vec!["tracked.md"], &json!([])), "{told}");
        assert_eq!(told["left_alone"].as_u64().zip(told["not_files"].as_u64()), Some((6, 2)), "{told}");
    }
    let sent = story.sent();
    assert!(sent.contains(&hash), "{sent}");
    for (_, file) in files {
        for digest in [story.hash(&[file]), story.hash(&["--git", file])] {
            assert!(!sent.contains(digest.trim_start_matches("sha256:")), "{file}");
        }
    }
    // A tracked file in whose place a link lies now is not read through it either.
    std::fs::remove_file(story.place.path().join("shop/tracked.md")).expect("it is there");
    symlink("../outside.txt", story.place.path().join("shop/tracked.md")).expect("a link");
    let told = story.validated_in("shop", &["--any-branch"]);
    assert_eq!(names(&told["unknown"]), ["tracked.md"], "{told}");
    assert!(!story.sent().contains(story.hash(&["outside.txt"]).trim_start_matches("sha256:")));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_a_repository_names_is_run() {
    let story = Story::begin().await;
    story.git(&["init", "--quiet", "--initial-branch=main", "shop"]);
    let shop = story.place.path().join("shop");
    story.write("shop/a.md", "first\n");
    story.write("shop/b.md", "a text that is renamed\n");
    story.write("shop/.gitattributes", "*.md diff=own filter=own\n");
    commit(&shop);
    git(&shop, &["mv", "b.md", "c.md"]);
    commit(&shop);
    for (file, hash) in [("a.md", story.hash(&["shop/a.md"])), ("b.md", "0".repeat(64))] {
        story.save(&format!("a fact of {file}"), file, &hash).await;
    }
    let script = story.script("script");
    let hooks = story.place.path().join("hooks").display().to_string();
    for name in ["post-index-change", "reference-transaction", "post-checkout"] {
        story.script(&format!("hooks/{name}"));
    }
    let poison = |folder: &Path| {
        for (key, value) in [
            ("core.fsmonitor", &script),
            ("core.hooksPath", &hooks),
            ("core.pager", &script),
            ("diff.external", &script),
            ("diff.own.command", &script),
            ("diff.own.textconv", &script),
            ("filter.own.clean", &script),
            ("filter.own.smudge", &script),
            ("filter.own.process", &script),
            ("gpg.program", &script),
            ("log.showSignature", &"true".to_owned()),
            ("core.sshCommand", &script),
        ] {
            git(folder, &["config", key, value]);
        }
    };
    // A folder of the clone that looks like a bare repository, as a commit could bring it.
    story.git(&["clone", "--quiet", "--bare", "shop", "shop/docs/bare"]);
    poison(&story.place.path().join("shop/docs/bare"));
    poison(&shop);
    story.write("shop/a.md", "an edit\n");
    for arguments in
        [&[][..], &["--any-branch"], &["--changed-since", "HEAD~1"], &["--any-branch", "--changed-since", "HEAD"]]
    {
        assert_eq!(story.validate_in("shop", arguments).code, 0);
    }
    story.hook_runs_in("shop");
    let bare = story.validate_in("shop/docs/bare", &[]);
    assert!(bare.code == 1 && bare.err.contains("bare repository"), "{bare:?}");
    assert_eq!(story.validate_in("shop/docs/bare", &["--install-git-hook"]).code, 1);
    assert!(!story.has_run(), "something of the repository's has run");
    // The test can see such a run at all.
    let _ = Command::new("git").arg("status").current_dir(&shop).output().expect("git runs");
    assert!(story.has_run());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_noted_in_gits_folder_follows_no_link_and_variables_name_no_other_repository() {
    let story = Story::begin_in_repository("sha1").await;
    story.write_and_commit("a.md", "first\n");
    story.save_of("a.md").await;
    story.git(&["init", "--quiet", "--initial-branch=main", "other"]);
    let mut command = story.place.command(&["validate", "--json", "--url", &story.recorder.url]);
    command.args(["--key", &story.caller.key]).env("GIT_DIR", story.place.path().join("other/.git"));
    command.env("GIT_WORK_TREE", story.place.path().join("other")).env("GIT_INDEX_FILE", "/nonexistent");
    assert_eq!(names(&Done::of(command.output().expect("the binary runs")).json()["verified"]), ["a.md"]);
    story.write("precious", "keep me\n");
    let told = story.place.path().join(".git/mnemon-reported");
    assert_eq!(std::fs::read_to_string(&told).expect("it was noted").lines().count(), 1);
    std::fs::remove_file(&told).expect("it is there");
    symlink("../precious", &told).expect("a link");
    assert_eq!(story.validate(&[]).code, 0);
    assert!(told.symlink_metadata().expect("it is there").is_file());
    symlink("../precious", story.place.path().join(".git/mnemon-validate.lock")).expect("a link");
    assert_eq!(story.validate(&["--from-git-hook"]).code, 1);
    assert_eq!(std::fs::read_to_string(story.place.path().join("precious")).expect("there"), "keep me\n");
}
