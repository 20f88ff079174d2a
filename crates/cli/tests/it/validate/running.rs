//! Where `mnemon validate` runs by itself: git hooks, a watch, web pages, and the local agent.

use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::http::{HeaderMap, StatusCode, header};
use axum::routing::get;
use mnemon_testkit::eventually;

use super::*;

impl Story {
    /// A command that finds the service and the key as hooks do, in the agent's configuration.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.place.command(arguments);
        command.env("HOME", self.place.path()).env("PATH", std::env::var_os("PATH").expect("a search path"));
        command
    }

    fn configure(&self) {
        self.write(
            ".config/mnemon/agent.toml",
            &format!("url = \"{}\"\nkey = \"{}\"\n", self.recorder.url, self.caller.key),
        );
    }

    /// Git as a person runs it, so that hooks find their home.
    fn git_at_home(&self, arguments: &[&str]) {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=Ana", "-c", "user.email=ana@example.com", "-c", "commit.gpgsign=false"]);
        command.args(arguments).current_dir(self.place.path()).env("HOME", self.place.path());
        command.env("GIT_CONFIG_SYSTEM", "/dev/null").env_remove("MNEMON_URL").env_remove("MNEMON_API_KEY");
        let output = command.output().expect("git runs");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Starts something that runs on; what it prints goes into the file `out`.
    fn start(&self, arguments: &[&str]) -> Running {
        let mut command = self.command(arguments);
        let out = std::fs::File::create(self.place.path().join("out")).expect("a file");
        // The agent ends with its input.
        command.stdin(Stdio::piped()).stdout(out);
        Running(command.spawn().expect("it runs"))
    }

    fn printed(&self) -> String {
        std::fs::read_to_string(self.place.path().join("out")).expect("a file")
    }

    fn is_stale(&self, status: &Value) -> bool {
        status[2] == 1
    }
}

/// Ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_git_hook_checks_after_each_commit_and_leaves_other_hooks_alone() {
    for own_folder in [None, Some("team-hooks")] {
        let story = Story::begin_in_repository("sha1").await;
        story.configure();
        story.write(".gitignore", ".config\nmark\nteam-hooks\n");
        let folder = own_folder.unwrap_or(".git/hooks");
        if let Some(own) = own_folder {
            story.git_at_home(&["config", "core.hooksPath", own]);
        }
        let theirs = "#!/bin/sh\ntouch mark\nexit 0\n";
        story.write(&format!("{folder}/post-commit"), theirs);
        let hook = story.place.path().join(folder).join("post-commit");
        std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
        let installed = Done::of(story.command(&["validate", "--install-git-hook"]).output().expect("it runs"));
        assert!(
            installed.code == 0 && installed.out.starts_with("Installed post-commit, post-merge, post-checkout in ")
        );
        assert!(std::fs::read_to_string(&hook).expect("there").ends_with("\ntouch mark\nexit 0\n"));
        story.write("a.md", "first\n");
        story.save_of("a.md").await;
        story.write("a.md", "second\n");
        story.git_at_home(&["add", "a.md"]);
        story.git_at_home(&["commit", "--quiet", "--message", "change"]);
        assert!(story.place.path().join("mark").exists(), "the other hook ran");
        eventually("the hook told the service", async || story.is_stale(&story.status("a.md").await)).await;
        story.git_at_home(&["checkout", "--quiet", "-b", "other"]);
        let removed = Done::of(story.command(&["validate", "--uninstall-git-hook"]).output().expect("it runs"));
        assert_eq!(removed.code, 0, "{removed:?}");
        assert_eq!(std::fs::read_to_string(&hook).expect("there"), theirs);
        let others = ["post-merge", "post-checkout"].map(|event| story.place.path().join(folder).join(event).exists());
        assert_eq!(others, [false, false], "what only we needed is gone");
        let again = Done::of(story.command(&["validate", "--uninstall-git-hook"]).output().expect("it runs"));
        assert!(again.out.contains("has no hook of Mnemon."), "{again:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_is_no_shell_script_is_left_alone_and_a_hook_fails_no_commit() {
    let story = Story::begin_in_repository("sha1").await;
    story.write(".git/hooks/post-merge", "#!/usr/bin/env python3\nprint(1)\n");
    let refused = Done::of(story.command(&["validate", "--install-git-hook"]).output().expect("it runs"));
    assert!(refused.code == 1 && refused.err.contains("is not a shell script; call `mnemon validate"), "{refused:?}");
    assert!(!story.place.path().join(".git/hooks/post-commit").exists(), "nothing is done by halves");
    std::fs::remove_file(story.place.path().join(".git/hooks/post-merge")).expect("it is there");
    // There is no key anywhere: the hook says nothing, and the commit is made.
    assert_eq!(Done::of(story.command(&["validate", "--install-git-hook"]).output().expect("it runs")).code, 0);
    story.git_at_home(&["commit", "--quiet", "--allow-empty", "--message", "x"]);
    let outside = Story::begin().await;
    let done = outside.validate(&["--install-git-hook"]);
    assert!(done.code == 1 && done.err.contains("git hooks need a git repository"), "{done:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_tells_what_changes_and_an_agent_does_so_while_it_works() {
    for arguments in [&["validate", "--watch"][..], &["agent", "--check-sources"]] {
        let story = Story::begin_in_repository("sha1").await;
        story.configure();
        story.write(".gitignore", ".config\nout\n");
        story.write_and_commit("a.md", "first\n");
        story.save_of("a.md").await;
        let _running = story.start(arguments);
        eventually("the first look verifies", async || story.status("a.md").await == json!([1, 0, 0])).await;
        story.write_and_commit("a.md", "something longer\n");
        eventually("the change is told", async || story.is_stale(&story.status("a.md").await)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_under_a_watch_are_shown_and_not_told_and_it_counts_like_a_plain_run() {
    let story = Story::begin_in_repository("sha1").await;
    story.configure();
    story.write(".gitignore", ".config\nout\nbuilt\n");
    for file in ["a.md", "gone.md", "built"] {
        story.write(file, "first\n");
        story.save_of(file).await;
    }
    story.save("from a ticket", "ticket 4711", "abc").await;
    story.commit();
    story.git(&["rm", "--quiet", "gone.md"]);
    story.commit();
    let _running = story.start(&["validate", "--watch"]);
    let counts = "1 verified, 0 stale, 1 gone, 0 unknown, 1 left alone, 1 not files here.\n";
    eventually("the first look", async || story.printed().contains(counts)).await;
    assert!(story.validate(&[]).out.contains(counts), "as a plain run counts");
    story.write("a.md", "an edit\n");
    let note = "verified  a.md     differs here, not committed; main counts\n";
    eventually("the edit is shown", async || story.printed().contains(note)).await;
    assert_eq!(story.status("a.md").await, json!([1, 0, 0]), "and not told");
    story.git(&["checkout", "--quiet", "-b", "experiment"]);
    story.commit();
    let note = "verified  a.md     differs on branch experiment; main counts\n";
    eventually("so is what a branch has", async || story.printed().contains(note)).await;
    assert_eq!(story.status("a.md").await, json!([1, 0, 0]));
    story.git(&["branch", "--force", "main", "experiment"]);
    eventually("the merge is told", async || story.is_stale(&story.status("a.md").await)).await;
}

type Answer = (StatusCode, String, &'static str);

/// A page that can be changed.
async fn page() -> (String, Arc<Mutex<Answer>>) {
    let answer: Arc<Mutex<Answer>> = Arc::new(Mutex::new((StatusCode::OK, "\"v1\"".to_owned(), "first")));
    let shared = Arc::clone(&answer);
    let handler = move || async move {
        let (status, tag, body) = shared.lock().expect("no panic holds it").clone();
        let mut headers = HeaderMap::new();
        headers.insert(header::ETAG, tag.parse().expect("a tag"));
        (status, headers, body)
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/page", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/page", get(handler))).await });
    (url, answer)
}

#[tokio::test(flavor = "multi_thread")]
async fn web_pages_are_fetched_only_when_asked_for_and_never_from_private_addresses() {
    let story = Story::begin().await;
    let (url, answer) = page().await;
    let sha256 = "sha256:a7937b64b8caa58f03721bb6bacf5c78cb235febe0e70b1b84cd99541461a08e";
    story.save("by its hash", &url, sha256).await;
    story.save("by its tag", &url, "W/\"v1\"").await;
    assert_eq!(story.validated(&[])["not_files"], 1, "nothing is fetched unasked");
    let refused = story.validated(&["--urls"]);
    let note = refused["unknown"][0]["note"].as_str().expect("a note");
    assert!(note.contains("must be an https URL") || note.contains("not on the public internet"), "{note}");
    let fetch = || story.validated(&["--urls", "--allow-host", "127.0.0.1"]);
    assert_eq!(names(&fetch()["verified"]), [url.as_str()]);
    assert_eq!(story.status(&url).await, json!([2, 0, 0]));
    *answer.lock().expect("no panic holds it") = (StatusCode::OK, "\"v2\"".to_owned(), "second");
    assert_eq!(fetch()["stale"][0]["stale_ids"].as_array().map(Vec::len), Some(2));
    *answer.lock().expect("no panic holds it") = (StatusCode::NOT_FOUND, "\"v2\"".to_owned(), "");
    assert_eq!(fetch()["gone"][0]["note"], "the server answers 404");
    assert_eq!(story.status(&url).await, json!([0, 0, 2]), "a page that is gone is told");
    *answer.lock().expect("no panic holds it") = (StatusCode::INTERNAL_SERVER_ERROR, "\"v2\"".to_owned(), "");
    assert_eq!(fetch()["unknown"][0]["note"], "the server answers 500");
}
