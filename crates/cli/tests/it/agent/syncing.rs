//! The sync as a person sees it: what is sent, what is left out, what happens when files change or two agents run.

use mnemon_agent::discover::find_sessions;
use mnemon_agent::places::{Environment, Places};
use mnemon_agent::sync::derive_whole;
use mnemon_testkit::{Caller, Recorder, TestServer};
use serde_json::json;

use super::process::Home;
use super::secrets::agree;
use super::transcripts;
use crate::process::Place;

struct Scene {
    server: TestServer,
    ana: Caller,
    recorder: Recorder,
    home: Home,
}

impl Scene {
    async fn open() -> Self {
        let server = TestServer::start().await;
        let ana = server.new_user().await;
        let recorder = Recorder::start(&server.url).await;
        let home = Home::new();
        agree(&home, &recorder.url, &ana.key);
        Self { server, ana, recorder, home }
    }

    fn variables(&self) -> [(&str, &str); 2] {
        [("MNEMON_URL", &self.recorder.url), ("MNEMON_API_KEY", &self.ana.key)]
    }

    fn sync(&self, more: &[&str]) -> serde_json::Value {
        let done = self.home.run(&[&["sync", "--json"], more].concat(), &self.variables());
        assert_eq!(done.code, 0, "{}{}", done.out, done.err);
        done.json()
    }

    async fn kept(&self, client: &str, name: &str) -> String {
        let bearer = format!("Bearer {}", self.ana.key);
        let (mut kept, mut next) = (String::new(), Some(0));
        while let Some(offset) = next {
            let path = format!("/agent/v1/sessions/{client}/{name}/text?offset={offset}");
            let piece = self.ana.send("GET", &path, &[("authorization", &bearer)], "").await.json();
            kept.push_str(piece["text"].as_str().unwrap_or_default());
            next = piece["next"].as_u64();
        }
        kept
    }

    /// Checks that every copy on the service equals the converted transcript.
    async fn expect_equal(&self) {
        let environment = Environment::from([("HOME".to_owned(), self.home.path().into())]);
        let places = Places::find(&environment).expect("a home");
        for session in find_sessions(&places) {
            let whole = String::from_utf8(derive_whole(&session, &places.home).expect("readable")).expect("UTF-8");
            assert_eq!(self.kept(session.client.as_str(), &session.name).await, whole, "{}", session.name);
        }
    }

    fn posts(&self) -> usize {
        self.recorder.exchanges().iter().filter(|exchange| exchange.method == "POST").count()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_new_is_sent_and_nothing_twice() {
    let scene = Scene::open().await;
    transcripts::fill(&scene.home, 2, 400);
    let report = scene.sync(&[]);
    assert_eq!((&report["sessions"], &report["sent_sessions"]), (&json!(4), &json!(4)));
    scene.expect_equal().await;
    let posts = scene.posts();
    assert_eq!(scene.sync(&[])["sent_bytes"], 0);
    assert_eq!(scene.posts(), posts, "nothing new, nothing sent");
    let path = scene.home.path().join(".claude/projects/-home-shop/00000000-aaaa.jsonl");
    let mut text = std::fs::read_to_string(&path).expect("a transcript");
    text.push_str(&transcripts::claude(&scene.home.path().join("shop").to_string_lossy(), 5, 99));
    text.push_str(r#"{"type":"user","message":{"content":"half a li"#);
    std::fs::write(&path, &text).expect("written");
    assert_eq!(scene.sync(&[])["sent_sessions"], 1);
    scene.expect_equal().await;
    text.push_str("ne\"}}\n");
    std::fs::write(&path, &text).expect("written");
    scene.sync(&[]);
    scene.expect_equal().await;
    assert!(scene.kept("claude-code", "00000000-aaaa").await.ends_with("\"text\":\"half a line\"}\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_note_and_a_rewritten_transcript_end_in_an_equal_copy() {
    let scene = Scene::open().await;
    transcripts::fill(&scene.home, 1, 300);
    scene.sync(&[]);
    let before = scene.posts();
    std::fs::remove_dir_all(scene.home.path().join(".local/state/mnemon/sessions")).expect("notes");
    scene.sync(&[]);
    assert_eq!(scene.posts() - before, 2, "one request per session, answered with its position");
    scene.expect_equal().await;
    let path = scene.home.path().join(".claude/projects/-home-shop/00000000-aaaa.jsonl");
    std::fs::write(&path, transcripts::claude("/elsewhere/shop", 20, 7)).expect("written");
    scene.sync(&[]);
    scene.expect_equal().await;
    std::fs::write(&path, "").expect("written");
    scene.sync(&[]);
    std::fs::write(&path, transcripts::claude("/elsewhere/shop", 400, 8)).expect("written");
    scene.sync(&[]);
    scene.expect_equal().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_agents_at_once_do_not_get_in_each_others_way() {
    let scene = Scene::open().await;
    transcripts::fill(&scene.home, 3, 500);
    let children: Vec<_> = (0..6)
        .map(|_| scene.home.command(&["sync", "--json"], &scene.variables()).spawn().expect("the binary runs"))
        .collect();
    for mut child in children {
        assert!(child.wait().expect("it ends").success());
    }
    scene.sync(&[]);
    scene.expect_equal().await;
    let refused = scene.recorder.exchanges().iter().filter(|exchange| exchange.status == 409).count();
    assert_eq!(refused, 0, "no two of them worked on one session");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_mnemonignore_covers_stays_here() {
    let scene = Scene::open().await;
    transcripts::fill(&scene.home, 1, 10);
    let secret = scene.home.path().join("client-x").to_string_lossy().into_owned();
    scene.home.write(".claude/projects/-home-x/99999999.jsonl", transcripts::claude(&secret, 10, 5));
    scene.home.write(".mnemonignore", "client-*/\n");
    scene.home.write("shop/.mnemonignore", "m1.rs\n");
    let report = scene.sync(&[]);
    assert_eq!((&report["ignored"], &report["sent_sessions"]), (&json!(1), &json!(2)));
    assert_eq!(scene.kept("claude-code", "99999999").await, "");
    let kept = scene.kept("claude-code", "00000000-aaaa").await;
    assert!(!kept.contains("src/m1.rs\\\"") && kept.contains("[left out by .mnemonignore]"), "{kept}");
    let wire: String = scene.recorder.exchanges().iter().map(|exchange| exchange.path.clone()).collect();
    assert!(!wire.contains("99999999"), "not even its name");
    // New rules apply to what was sent before, too.
    scene.home.write("shop/.mnemonignore", "m1.rs\nm2.rs\n");
    scene.home.write(
        ".claude/projects/-home-shop/00000000-aaaa.jsonl",
        transcripts::claude(&scene.home.path().join("shop").to_string_lossy(), 11, 0),
    );
    scene.sync(&[]);
    let kept = scene.kept("claude-code", "00000000-aaaa").await;
    assert_eq!(kept.matches("I will read").count(), 11, "{kept}");
    assert_eq!(kept.matches("[left out by .mnemonignore]").count(), 4, "two calls and their results: {kept}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_removed_from_the_service_is_not_sent_again_by_itself() {
    let scene = Scene::open().await;
    transcripts::fill(&scene.home, 1, 10);
    scene.sync(&[]);
    let bearer = format!("Bearer {}", scene.ana.key);
    let path = "/agent/v1/sessions/claude-code/00000000-aaaa";
    assert_eq!(scene.ana.send("DELETE", path, &[("authorization", &bearer)], "").await.status, 200);
    let file = scene.home.path().join(".claude/projects/-home-shop/00000000-aaaa.jsonl");
    let cwd = scene.home.path().join("shop").to_string_lossy().into_owned();
    std::fs::write(&file, transcripts::claude(&cwd, 12, 0)).expect("written");
    assert_eq!(scene.sync(&[])["deleted"], 1);
    assert_eq!(scene.sync(&[])["deleted"], 1);
    assert_eq!(scene.kept("claude-code", "00000000-aaaa").await, "");
    let status = scene.home.run(&["status"], &scene.variables());
    assert!(status.out.contains("deleted"), "{}", status.out);
    scene.sync(&["--again"]);
    scene.expect_equal().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_is_away_or_refuses_is_told_and_nothing_is_lost() {
    let mut scene = Scene::open().await;
    transcripts::fill(&scene.home, 1, 10);
    scene.server.stop().await;
    let failed = scene.home.run(&["sync"], &scene.variables());
    assert_eq!(failed.code, 1, "{}", failed.out);
    assert!(failed.err.contains("the service refused"), "{}", failed.err);
    let status = scene.home.run(&["status", "--json"], &scene.variables()).json();
    assert!(status["last_error"].is_string() && status["last_sync_at"].is_null(), "{status}");
    scene.server.restart().await;
    scene.recorder = Recorder::start(&scene.server.url).await;
    scene.ana = scene.server.caller(&scene.ana.key);
    agree(&scene.home, &scene.recorder.url, &scene.ana.key);
    scene.sync(&[]);
    scene.expect_equal().await;
    let status = scene.home.run(&["status", "--json"], &scene.variables()).json();
    assert!(status["last_error"].is_null() && status["last_sync_at"].is_string(), "{status}");
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_agents_own_folder_is_closed_to_others() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Scene::open().await;
    transcripts::fill(&scene.home, 1, 3);
    scene.sync(&[]);
    let mut folders = vec![scene.home.path().join(".local/state/mnemon")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        assert_eq!(
            std::fs::metadata(&folder).expect("there").permissions().mode() & 0o777,
            0o700,
            "{}",
            folder.display()
        );
        for entry in std::fs::read_dir(&folder).expect("readable") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files += 1;
                assert_eq!(
                    std::fs::metadata(&path).expect("there").permissions().mode() & 0o777,
                    0o600,
                    "{}",
                    path.display()
                );
            }
        }
    }
    assert!(files >= 3, "consent, notes and the last sync");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_of_histories_names_whose_they_are_to_a_plain_member_too() {
    let scene = Scene::open().await;
    transcripts::fill(&scene.home, 1, 3);
    scene.sync(&[]);
    let listed = Place::new().run(&["session", "list", "--url", &scene.server.url, "--key", &scene.ana.key]);
    assert_eq!((listed.code, listed.err.as_str()), (0, ""), "{listed:?}");
    let lines: Vec<&str> = listed.out.lines().collect();
    assert_eq!(lines.len(), 3, "a head and two histories: {}", listed.out);
    for line in &lines[1..] {
        assert_eq!(line.split_whitespace().nth(1), Some("somebody"), "{line}");
        assert!(line.contains("2027-01-15 08:0"), "a time ends with its minute: {line}");
    }
}

#[test]
fn a_dry_run_shows_every_line_and_needs_no_service() {
    let home = Home::new();
    transcripts::fill(&home, 1, 2);
    let lines = home.run(&["sync", "--dry-run", "--lines"], &[]);
    assert_eq!(lines.code, 0, "{}", lines.err);
    assert!(lines.out.lines().all(|line| line.starts_with("{\"kind\":\"")) && lines.out.lines().count() > 10);
    assert!(
        !lines.out.contains("quietly")
            && !lines.out.contains("private")
            && !lines.out.contains(&*home.path().to_string_lossy())
    );
    let table = home.run(&["sync", "--dry-run"], &[]);
    assert!(table.out.contains("claude-code") && table.out.contains("rollout-2026"), "{}", table.out);
}
