//! `mnemon validate` and `mnemon hash`: a real repository, a real service, and every byte between them.

mod branches;
mod going;
mod running;
mod safety;
mod workspaces;

use std::path::Path;
use std::process::Command;

use mnemon_testkit::{Caller, Recorder, TestServer};
use serde_json::{Value, json};

use crate::process::{Done, Place};

/// Where sources lie, and who remembers them.
struct Story {
    place: Place,
    _server: TestServer,
    caller: Caller,
    recorder: Recorder,
}

impl Story {
    async fn begin() -> Self {
        let server = TestServer::start().await;
        let caller = server.new_user().await;
        let recorder = Recorder::start(&server.url).await;
        Self { place: Place::new(), _server: server, caller, recorder }
    }

    async fn begin_in_repository(format: &str) -> Self {
        let story = Self::begin().await;
        git(story.place.path(), &["init", "--quiet", "--initial-branch=main", &format!("--object-format={format}")]);
        story
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.place.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    fn git(&self, arguments: &[&str]) {
        git(self.place.path(), arguments);
    }

    fn commit(&self) {
        commit(self.place.path());
    }

    fn write_and_commit(&self, name: &str, text: &str) {
        self.write(name, text);
        self.commit();
    }

    /// The hash of a file as `mnemon hash` prints it.
    fn hash(&self, arguments: &[&str]) -> String {
        let done = self.place.run(&[&["hash"], arguments].concat());
        assert_eq!(done.code, 0, "{done:?}");
        done.out.trim().to_owned()
    }

    async fn save(&self, content: &str, source: &str, hash: &str) -> String {
        let saved = self.caller.call("remember", json!({"content": content, "source_id": source, "source_hash": hash}));
        saved.await.structured()["id"].as_str().expect("an id").to_owned()
    }

    /// Saves a fact about a file as it is now.
    async fn save_of(&self, file: &str) -> String {
        self.save(&format!("a fact of {file}"), file, &self.hash(&[file])).await
    }

    fn validate(&self, arguments: &[&str]) -> Done {
        self.validate_in("", arguments)
    }

    fn validate_in(&self, folder: &str, arguments: &[&str]) -> Done {
        self.run_in(folder, &[&["validate"], arguments].concat())
    }

    /// Runs a command in a folder of the place, with the service and the key.
    fn run_in(&self, folder: &str, arguments: &[&str]) -> Done {
        let mut command = self.place.command(&[arguments, &["--url", &self.recorder.url]].concat());
        command.args(["--key", &self.caller.key]).current_dir(self.place.path().join(folder));
        Done::of(command.output().expect("the binary runs"))
    }

    fn validated(&self, arguments: &[&str]) -> Value {
        self.validated_in("", arguments)
    }

    fn validated_in(&self, folder: &str, arguments: &[&str]) -> Value {
        let done = self.validate_in(folder, &[arguments, &["--json"]].concat());
        assert_eq!(done.code, 0, "{done:?}");
        done.json()
    }

    /// What a hook runs, without its waiting.
    fn hook_runs_in(&self, folder: &str) {
        let done = self.validate_in(folder, &["--from-git-hook"]);
        assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (0, "", ""));
    }

    async fn status(&self, source: &str) -> Value {
        let told = self.caller.call("validate_memory", json!({"source_id": source})).await;
        let told = told.structured();
        json!([told["verified_count"], told["unverified_count"], told["stale_count"]])
    }
}

fn commit(folder: &Path) {
    git(folder, &["add", "--all"]);
    git(folder, &["commit", "--quiet", "--allow-empty", "--message", "x"]);
}

fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=Ana", "-c", "user.email=ana@example.com", "-c", "commit.gpgsign=false"]);
    command
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null");
    let output = command.output().expect("git runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn names(value: &Value) -> Vec<&str> {
    value.as_array().expect("a list").iter().filter_map(|row| row["source_id"].as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_commit_exactly_the_changed_sources_are_stale_and_no_content_was_sent() {
    let story = Story::begin_in_repository("sha1").await;
    let files: Vec<String> = (0..60).map(|n| format!("docs/{n}.md")).collect();
    for file in &files {
        story.write(file, &format!("canarycontent of {file}\n"));
        story.save_of(file).await;
    }
    story.commit();
    let before = story.recorder.exchanges().len();
    let first = story.validated(&[]);
    assert_eq!((names(&first["verified"]).len(), &first["stale"]), (60, &json!([])));
    for file in &files[..5] {
        story.write(file, "canarycontent, changed\n");
    }
    story.commit();
    let done = story.validate(&["--fail-on", "stale,gone"]);
    assert_eq!(done.code, 3, "{done:?}");
    let summary = "Sources of workspace default, compared with main: 55 verified, 5 stale, 0 gone, 0 unknown.\n";
    assert!(done.out.contains(summary), "{}", done.out);
    let again = story.validated(&[]);
    let mut expected: Vec<&str> = files[..5].iter().map(String::as_str).collect();
    expected.sort_unstable();
    assert_eq!(names(&again["stale"]), expected);
    assert!(again["stale"].as_array().unwrap().iter().all(|row| row["stale_ids"].as_array().map(Vec::len) == Some(1)));
    assert_eq!(story.status(&files[0]).await, json!([0, 0, 1]));
    assert_eq!(story.status(&files[9]).await, json!([1, 0, 0]));
    let sent = &story.recorder.exchanges()[before..];
    assert!(sent.len() <= 3 * 3, "three requests each: {}", sent.len());
    for exchange in sent {
        assert!(!String::from_utf8_lossy(&exchange.request).contains("canarycontent"), "{}", exchange.path);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_hash_is_compared_in_its_own_kind() {
    for format in ["sha1", "sha256"] {
        let story = Story::begin_in_repository(format).await;
        for file in ["a.md", "b.md", "c.md", "d.md", "e.md"] {
            story.write(file, &format!("text of {file}\n"));
        }
        story.commit();
        let prefixed = story.hash(&["b.md"]);
        story.save("one", "a.md", &story.hash(&["a.md"])).await;
        story.save("two", "b.md", prefixed.trim_start_matches("sha256:")).await;
        story.save("three", "c.md", &story.hash(&["--git", "c.md"])).await;
        story.save("four", "d.md", "W/\"33a64df5\"").await;
        story.caller.call("remember", json!({"content": "five", "source_id": "e.md"})).await;
        for round in ["before", "after"] {
            let told = story.validated(&[]);
            assert_eq!(names(&told["verified"]), ["a.md", "b.md", "c.md"], "{format} {round}");
            assert_eq!(
                (&told["stale"], names(&told["unknown"])),
                (&json!([]), vec!["d.md", "e.md"]),
                "{format} {round}"
            );
            // A file that is changed and changed back is what it was.
            for file in ["a.md", "b.md", "c.md", "d.md", "e.md"] {
                story.write(file, "something else\n");
            }
            story.commit();
            let changed = story.validated(&[]);
            assert_eq!(names(&changed["stale"]), ["a.md", "b.md", "c.md"], "{format} {round}");
            for file in ["a.md", "b.md", "c.md", "d.md", "e.md"] {
                story.write(file, &format!("text of {file}\n"));
            }
            story.commit();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn facts_of_one_file_may_have_hashes_of_every_kind() {
    for format in ["sha1", "sha256"] {
        let story = Story::begin_in_repository(format).await;
        story.write_and_commit("a.md", "first\n");
        let prefixed = story.hash(&["a.md"]);
        let git = story.hash(&["--git", "a.md"]);
        let kinds = [&prefixed, prefixed.trim_start_matches("sha256:"), &git, "W/\"33a64df5\""];
        for (number, hash) in kinds.iter().enumerate() {
            story.save(&format!("fact {number}"), "a.md", hash).await;
        }
        for round in 0..2 {
            let told = story.validated(&[]);
            assert_eq!((names(&told["verified"]), &told["stale"]), (vec!["a.md"], &json!([])), "{format} {round}");
            assert_eq!(story.status("a.md").await, json!([3 + round, 1, 0]), "the foreign one is neither");
            let found = story.caller.call("search", json!({"query": "fact", "exclude_stale": true})).await;
            let found = found.structured()["result"].as_array().map(Vec::len);
            assert_eq!(found, Some(4 + round), "{format} {round}: the ranking agrees");
            // One more, in a kind that is known: nothing else becomes stale by it.
            story.save(&format!("later fact {round}"), "a.md", &git).await;
        }
        story.write_and_commit("a.md", "second\n");
        let told = story.validated(&[]);
        assert_eq!(told["stale"][0]["stale_ids"].as_array().map(Vec::len), Some(5), "{told}");
        assert_eq!(story.status("a.md").await, json!([0, 1, 5]));
        story.save("a new fact", "a.md", &story.hash(&["a.md"])).await;
        story.save("another new fact", "a.md", &story.hash(&["--git", "a.md"])).await;
        assert_eq!(story.status("a.md").await, json!([2, 1, 5]), "{format}: both kinds were told");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ignored_files_and_files_that_did_not_change_are_left_alone() {
    let story = Story::begin_in_repository("sha1").await;
    story.write(".gitignore", "built/\n");
    story.write(".mnemonignore", "*.env\n");
    for file in ["a.md", "b.md", "built/out.md", "secret.env", "sub/c.md"] {
        story.write(file, "first\n");
        story.save_of(file).await;
    }
    story.commit();
    for file in ["a.md", "built/out.md", "secret.env", "sub/c.md"] {
        story.write(file, "second\n");
    }
    let edited = story.validated(&["--any-branch", "--changed-since", "HEAD"]);
    assert_eq!((names(&edited["stale"]), &edited["verified"]), (vec!["a.md", "sub/c.md"], &json!([])));
    story.commit();
    let told = story.validated(&["--changed-since", "HEAD~1"]);
    assert_eq!((names(&told["stale"]), &told["verified"]), (vec!["a.md", "sub/c.md"], &json!([])));
    assert_eq!(told["left_alone"], 3, "{told}");
    assert_eq!(names(&story.validated(&["sub"])["stale"]), ["sub/c.md"]);
    assert_eq!(story.status("secret.env").await, json!([0, 1, 0]), "nothing was told about it");
    let wrong = story.validate(&["--changed-since", "no-such-revision"]);
    assert!(wrong.code == 1 && wrong.err.contains("git can't compare with 'no-such-revision'"), "{wrong:?}");
    let option = story.validate(&["--changed-since=--output=x"]);
    assert!(option.code == 1 && option.err.contains("'--output=x' is not a revision"), "{option:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_works_without_a_repository_and_says_what_is_missing() {
    let story = Story::begin().await;
    story.write("a.md", "first\n");
    story.save_of("a.md").await;
    story.write("a.md", "second\n");
    assert_eq!(names(&story.validated(&[])["stale"]), ["a.md"]);
    let done = story.validate(&["--changed-since", "HEAD"]);
    assert!(done.code == 1 && done.err.contains("--changed-since needs a git repository"), "{done:?}");
    let done = story.validate(&["--fail-on", "stael"]);
    assert!(done.err.contains("--fail-on takes stale, gone and unknown, not 'stael'"), "{done:?}");
    let done = story.validate(&["--branch", "main"]);
    assert!(done.code == 1 && done.err.contains("--branch needs a git repository"), "{done:?}");
    let done = story.place.run(&["validate", "--url", &story.recorder.url]);
    assert!(done.code == 1 && done.err.contains("no API key"), "{done:?}");
    let done = story.validate(&["absent"]);
    assert!(done.code == 1 && done.err.contains("can't find absent"), "{done:?}");
}

#[test]
fn a_hash_is_what_others_compute() {
    let place = Place::new();
    place.write("a", "abc");
    place.write("b", "");
    let sha256 = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(place.run(&["hash", "a"]).out, format!("{sha256}\n"));
    assert_eq!(place.run(&["hash", "--git", "a"]).out, "f2ba8f84ab5c1bce84a7b441cb1959cfc7093b7f\n");
    let both = place.run(&["hash", "a", "b"]).out;
    assert_eq!(both.lines().next(), Some(format!("{sha256}  a").as_str()));
    assert_eq!(place.run(&["hash", "a", "--json"]).json(), json!({"file": "a", "source_hash": sha256}));
    let absent = place.run(&["hash", "absent"]);
    assert!(absent.code == 1 && absent.err.contains("can't read absent"), "{absent:?}");
}
