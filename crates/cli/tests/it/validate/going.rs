//! Files that go: deleted, renamed, renamed and edited, brought back; by themselves and with merges.

use super::*;

fn gone(told: &Value) -> Vec<(&str, &str)> {
    let rows = told["gone"].as_array().expect("a list").iter();
    rows.filter_map(|row| Some((row["source_id"].as_str()?, row["note"].as_str()?))).collect()
}

/// A text that two files have in common for the most part.
fn text(about: &str) -> String {
    let lines = (0..20).map(|line| format!("line {line} of a text that says many things about {about}\n"));
    lines.collect()
}

impl Story {
    /// Why a record has its status.
    async fn reason(&self, id: &str) -> String {
        let shown = self.caller.manage("GET", &format!("/records/{id}"), Value::Null).await;
        shown["reason"]["text"].as_str().expect("a reason").to_owned()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_git_deleted_or_renamed_is_told_and_comes_back_with_a_hash() {
    for format in ["sha1", "sha256"] {
        let story = Story::begin_in_repository(format).await;
        let mut ids = Vec::new();
        for file in ["kept.md", "moved.md", "moved twice.md", "moved and deleted.md", "edited.md", "deleted.md"] {
            story.write(file, &text(file));
            ids.push(story.save_of(file).await);
        }
        story.save("from a ticket", "ticket 4711", "abc").await;
        story.save("from the web", "https://example.com/kept.md", "abc").await;
        story.commit();
        assert_eq!(names(&story.validated(&[])["verified"]).len(), 6);
        story.git(&["mv", "moved.md", "new name.md"]);
        story.git(&["mv", "moved twice.md", "once.md"]);
        story.git(&["mv", "moved and deleted.md", "soon gone.md"]);
        story.git(&["mv", "edited.md", "docs.md"]);
        story.write("docs.md", &format!("{}and a new end\n", text("edited.md")));
        story.git(&["rm", "--quiet", "deleted.md"]);
        story.commit();
        std::fs::create_dir(story.place.path().join("sub")).expect("a folder");
        story.git(&["mv", "once.md", "sub/twice.md"]);
        story.git(&["rm", "--quiet", "soon gone.md"]);
        story.commit();
        let told = story.validated(&[]);
        let expected = [
            ("deleted.md", "deleted"),
            ("edited.md", "renamed to docs.md"),
            ("moved and deleted.md", "deleted"),
            ("moved twice.md", "renamed to sub/twice.md"),
            ("moved.md", "renamed to new name.md"),
        ];
        assert_eq!(gone(&told), expected, "{format}");
        assert!(told["gone"].as_array().expect("a list").iter().all(|row| row["told"] == true), "{told}");
        assert_eq!((names(&told["verified"]), &told["not_files"]), (vec!["kept.md"], &json!(2)));
        for (source, _) in expected {
            assert_eq!(story.status(source).await, json!([0, 0, 1]), "{source}");
        }
        assert!(story.reason(&ids[1]).await.contains("new name.md"), "{}", story.reason(&ids[1]).await);
        assert!(story.reason(&ids[2]).await.contains("sub/twice.md"), "{}", story.reason(&ids[2]).await);
        assert!(story.reason(&ids[5]).await.contains("gone"), "{}", story.reason(&ids[5]).await);
        assert_eq!(story.validate(&["--fail-on", "stale"]).code, 0);
        assert_eq!(story.validate(&["--fail-on", "gone"]).code, 3);

        story.write("deleted.md", &text("deleted.md"));
        story.write("moved.md", "something else\n");
        story.commit();
        let told = story.validated(&[]);
        assert_eq!(
            (names(&told["verified"]), names(&told["stale"])),
            (vec!["deleted.md", "kept.md"], vec!["moved.md"])
        );
        assert_eq!(story.status("deleted.md").await, json!([1, 0, 0]), "it is back as it was");
        assert_eq!(story.status("moved.md").await, json!([0, 0, 1]), "it is back with another text");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_without_a_comparable_hash_goes_and_comes_back_too() {
    let story = Story::begin_in_repository("sha1").await;
    story.write_and_commit("a.md", "text\n");
    story.write_and_commit("b.md", "text of b\n");
    story.caller.call("remember", json!({"content": "a fact", "source_id": "a.md"})).await;
    story.save("another fact", "b.md", "v7").await;
    assert_eq!(names(&story.validated(&[])["unknown"]), ["a.md", "b.md"]);
    story.git(&["rm", "--quiet", "a.md", "b.md"]);
    story.commit();
    assert_eq!(names(&story.validated(&[])["gone"]), ["a.md", "b.md"]);
    assert_eq!([story.status("a.md").await, story.status("b.md").await], [json!([0, 0, 1]), json!([0, 0, 1])]);
    story.git(&["revert", "--no-edit", "HEAD"]);
    assert_eq!(names(&story.validated(&[])["unknown"]), ["a.md", "b.md"]);
    assert_eq!([story.status("a.md").await, story.status("b.md").await], [json!([0, 1, 0]), json!([0, 1, 0])]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_merge_takes_away_is_gone() {
    let story = Story::begin_in_repository("sha1").await;
    for file in ["merged.md", "renamed.md", "by the merge.md", "moved by the merge.md"] {
        story.write(file, &text(file));
        story.save_of(file).await;
    }
    story.commit();
    story.git(&["checkout", "--quiet", "-b", "side"]);
    story.git(&["rm", "--quiet", "merged.md"]);
    story.git(&["mv", "renamed.md", "b.md"]);
    story.commit();
    // This file was never on the main branch by itself.
    story.write_and_commit("short.md", &text("short.md"));
    story.save_of("short.md").await;
    story.git(&["mv", "short.md", "long.md"]);
    story.commit();
    story.git(&["checkout", "--quiet", "main"]);
    story.write_and_commit("other.md", "other\n");
    let before = story.validated(&[]);
    assert_eq!((names(&before["verified"]).len(), &before["gone"]), (4, &json!([])), "not merged yet: {before}");
    story.git(&["merge", "--quiet", "--no-commit", "--no-ff", "side"]);
    story.git(&["rm", "--quiet", "by the merge.md"]);
    story.git(&["mv", "moved by the merge.md", "c.md"]);
    story.git(&["commit", "--quiet", "--message", "merge"]);
    let expected = [
        ("by the merge.md", "deleted"),
        ("merged.md", "deleted"),
        ("moved by the merge.md", "renamed to c.md"),
        ("renamed.md", "renamed to b.md"),
        ("short.md", "renamed to long.md"),
    ];
    assert_eq!(gone(&story.validated(&[])), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_names_are_names_like_others() {
    let story = Story::begin_in_repository("sha1").await;
    let odd = [
        "-dash.md",
        "--stdin",
        "a \"quoted\" 'name'.md",
        "größe/über uns.md",
        "tab\\t.md",
        "日本.md",
        "*.md",
        ":(top)x.md",
    ];
    for file in odd {
        story.write(file, &text(file));
        let hash = story.hash(&[&format!("./{file}")]);
        story.save(&format!("a fact of {file}"), file, &hash).await;
    }
    // Names that no source can have stand beside them.
    std::fs::write(story.place.path().join("line\nbreak.md"), "x").expect("a file");
    let bytes: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"not utf-8 \xff.md");
    std::fs::write(story.place.path().join(bytes), "x").expect("a file");
    story.commit();
    assert_eq!(names(&story.validated(&[])["verified"]).len(), odd.len());
    assert_eq!(names(&story.validated(&["./-dash.md"])["verified"]), ["-dash.md"]);
    for (number, file) in odd.iter().enumerate() {
        let to = if number == 0 { "line\nbreak 2.md".to_owned() } else { format!("neu {number} – é.md") };
        git(story.place.path(), &["mv", "--", file, &to]);
    }
    story.commit();
    let told = story.validated(&[]);
    let mut expected: Vec<&str> = odd.to_vec();
    expected.sort_unstable();
    assert_eq!(names(&told["gone"]), expected);
    let notes = |file: &str| gone(&told).into_iter().find(|(name, _)| *name == file).map(|(_, note)| note.to_owned());
    assert_eq!(notes("--stdin").as_deref(), Some("renamed to neu 1 – é.md"));
    assert_eq!(notes("*.md").as_deref(), Some("renamed to neu 6 – é.md"), "no pattern");
    assert_eq!(notes("-dash.md").as_deref(), Some("renamed to line\nbreak 2.md"));
    assert_eq!(story.status("-dash.md").await, json!([0, 0, 1]), "told without the name, which no source can have");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_working_tree_counts_where_that_is_asked_for() {
    let story = Story::begin_in_repository("sha1").await;
    for file in ["kept.md", "staged.md", "missing.md", "edited.md", "early.md"] {
        story.write(file, &text(file));
        story.save_of(file).await;
    }
    story.commit();
    story.git(&["mv", "early.md", "later.md"]);
    story.commit();
    story.git(&["checkout", "--quiet", "-b", "experiment"]);
    story.git(&["mv", "staged.md", "not committed.md"]);
    story.git(&["mv", "later.md", "latest.md"]);
    std::fs::remove_file(story.place.path().join("missing.md")).expect("it is there");
    story.write("edited.md", "an edit\n");
    let shown = story.validate(&[]).out;
    for line in [
        "verified  edited.md   differs here, not committed; main counts\n",
        "verified  missing.md  deleted here, not committed; main counts\n",
        "verified  staged.md   deleted here, not committed; main counts\n",
    ] {
        assert!(shown.contains(line), "{shown}");
    }
    let told = story.validated(&["--any-branch"]);
    let expected =
        [("early.md", "renamed to latest.md"), ("missing.md", "deleted"), ("staged.md", "renamed to not committed.md")];
    assert_eq!(gone(&told), expected);
    assert_eq!((names(&told["verified"]), names(&told["stale"])), (vec!["kept.md"], vec!["edited.md"]));
    assert_eq!((&told["branch"], story.status("edited.md").await), (&Value::Null, json!([0, 0, 1])));
    assert_eq!(names(&story.validated(&[])["verified"]), ["edited.md", "kept.md", "missing.md", "staged.md"]);
}
