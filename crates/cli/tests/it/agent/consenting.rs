//! Nothing of a session leaves the machine without a person's consent, and nothing after consent is withdrawn.

use std::time::{Duration, Instant};

use mnemon_testkit::{Exchange, Recorder, TestServer, eventually};
use serde_json::json;

use super::process::Home;
use super::transcripts;

fn uploads(recorder: &Recorder) -> Vec<Exchange> {
    recorder.exchanges().into_iter().filter(|exchange| exchange.path.starts_with("/agent/")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_consent_no_byte_of_any_session_leaves() {
    let server = TestServer::start().await;
    let key = server.new_user().await.key;
    let recorder = Recorder::start(&server.url).await;
    let variables = [("MNEMON_URL", recorder.url.as_str()), ("MNEMON_API_KEY", key.as_str())];
    let home = Home::new();
    transcripts::fill(&home, 2, 20);
    let refused = home.run(&["sync"], &variables);
    assert_eq!(refused.code, 1);
    assert!(
        refused.err.contains("there is no consent") && refused.err.contains("mnemon agent consent"),
        "{}",
        refused.err
    );
    for (arguments, typed) in [(&["consent"][..], "no\n"), (&["consent"], "y\n"), (&["consent"], "\n")] {
        let asked = home.at_terminal(arguments, &variables, typed);
        assert_eq!(asked.code, 1, "{}", asked.err);
        assert!(asked.err.contains(&recorder.url) && asked.err.contains("nothing will be uploaded"), "{}", asked.err);
    }
    let mut piped = home.command(&["consent"], &variables);
    let piped = crate::process::Done::of(piped.output().expect("the binary runs"));
    assert!(piped.code == 1 && piped.err.contains("needs a person at a terminal"), "{}", piped.err);
    let dry = home.run(&["sync", "--dry-run"], &variables);
    assert!(dry.code == 0 && dry.out.contains("nothing was uploaded"), "{}", dry.out);
    let mut agent = home.start(&[], &variables);
    agent.ask(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "agent_sync_status"}}));
    tokio::time::sleep(Duration::from_secs(2)).await;
    agent.ask(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}));
    let words = ["module", "Step", "value_", "file_"];
    for exchange in recorder.exchanges() {
        assert!(!exchange.path.starts_with("/agent/"), "{} {}", exchange.method, exchange.path);
        let said = String::from_utf8_lossy(&exchange.request).into_owned();
        assert!(words.iter().all(|word| !said.contains(word)), "{said}");
    }
    assert!(recorder.exchanges().len() >= 2, "the recorder sees what is sent at all");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn consent_is_for_one_service_and_one_key() {
    let server = TestServer::start().await;
    let (first, second) = (server.new_user().await.key, server.new_user().await.key);
    let recorder = Recorder::start(&server.url).await;
    let other = Recorder::start(&server.url).await;
    let home = Home::new();
    transcripts::fill(&home, 1, 3);
    let with =
        |url: &str, key: &str, arguments: &[&str]| home.run(arguments, &[("MNEMON_URL", url), ("MNEMON_API_KEY", key)]);
    let given = home.at_terminal(&["consent"], &[("MNEMON_URL", &recorder.url), ("MNEMON_API_KEY", &first)], "yes\n");
    assert_eq!(given.code, 0, "{}", given.err);
    assert!(!given.err.contains(&first), "the key is not shown");
    assert_eq!(with(&other.url, &first, &["sync"]).code, 1);
    assert_eq!(with(&recorder.url, &second, &["sync"]).code, 1);
    assert_eq!((uploads(&recorder).len(), uploads(&other).len()), (0, 0));
    let sent = with(&recorder.url, &first, &["sync"]);
    assert_eq!(sent.code, 0, "{}", sent.err);
    assert!(!uploads(&recorder).is_empty());
    let status = with(&recorder.url, &first, &["status", "--json"]).json();
    assert_eq!(
        (&status["consent"], &status["sessions_synced"], &status["bytes_pending"]),
        (&json!(true), &json!(2), &json!(0))
    );
    let unasked = with(&recorder.url, &first, &["revoke", "--delete-uploaded"]);
    assert!(unasked.code == 1 && unasked.err.starts_with("error: add --yes to withdraw consent"), "{}", unasked.err);
    let revoked = with(&recorder.url, &first, &["revoke", "--delete-uploaded", "--yes"]);
    assert!(revoked.out.contains("Deleted 2 session(s)"), "{}{}", revoked.out, revoked.err);
    let status = with(&recorder.url, &first, &["status", "--json"]).json();
    assert_eq!(
        (&status["consent"], &status["sessions_synced"], &status["last_sync_at"]),
        (&json!(false), &json!(0), &json!(null)),
        "what was deleted no longer counts as uploaded"
    );
    let sessions = status["sessions"].as_array().expect("a list");
    assert!(sessions.len() == 2 && sessions.iter().all(|session| session["sent_bytes"] == 0), "{status}");
    assert_eq!(with(&recorder.url, &first, &["sync"]).code, 1);
}

/// A large history is uploaded slowly in the background; consent is withdrawn in the middle of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_revoke_nothing_leaves_from_the_next_second_on() {
    let server = TestServer::start().await;
    let key = server.new_user().await.key;
    let recorder = Recorder::start(&server.url).await;
    let variables = [("MNEMON_URL", recorder.url.as_str()), ("MNEMON_API_KEY", key.as_str())];
    let home = Home::new();
    transcripts::fill(&home, 2, 3_000);
    assert_eq!(home.at_terminal(&["consent"], &variables, "yes\n").code, 0);
    let _agent = home.start(&[], &variables);
    eventually("the background sync begins by itself", async || uploads(&recorder).len() >= 2).await;
    let status = home.run(&["status", "--json"], &variables).json();
    assert!(status["bytes_pending"].as_u64().is_some_and(|bytes| bytes > 0), "there is more to come: {status}");
    assert_eq!(home.run(&["revoke"], &variables).code, 0);
    let revoked = Instant::now();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let late = uploads(&recorder).into_iter().filter(|exchange| exchange.at > revoked + Duration::from_secs(1)).count();
    assert_eq!(late, 0);
}
