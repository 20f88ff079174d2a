//! The service is unreachable: a clear error comes soon, and everything recovers when the service is back.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use mnemon_testkit::{Recorder, TestServer, eventually};
use serde_json::{Value, json};

use super::process::Home;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#;

fn search(id: u32) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "search", "arguments": {"query": "x"}}})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_assistant_starts_without_the_service_and_gets_its_tools_when_that_is_back() {
    let server = TestServer::start().await;
    let key = server.new_user().await.key;
    let address = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port");
    let url = format!("http://{address}");
    let home = Home::new();
    let mut agent = home.start(&[], &[("MNEMON_URL", &url), ("MNEMON_API_KEY", &key)]);
    let began = Instant::now();
    agent.send(INITIALIZE);
    let started: Value = serde_json::from_str(&agent.line()).expect("JSON");
    assert_eq!(started["result"]["protocolVersion"], "2025-06-18");
    agent.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let listed = agent.ask(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}));
    assert_eq!(listed["result"]["tools"].as_array().map(Vec::len), Some(1), "the agent's own tool is there");
    let status =
        agent.ask(&json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "agent_sync_status"}}));
    assert_eq!(status["result"]["structuredContent"]["reachable"], false);
    let failed = agent.ask(&search(4));
    let words = failed["error"]["message"].as_str().expect("words");
    assert!(words.contains(&url) && words.contains("is unreachable") && words.contains("MNEMON_URL"), "{words}");
    assert_eq!((&failed["id"], &failed["error"]["data"]["reason"]), (&json!(4), &json!("service_away")));
    assert!(began.elapsed() < Duration::from_secs(10));

    let _back = Recorder::start_at(address, &server.url).await;
    let told: Value = serde_json::from_str(&agent.line()).expect("JSON");
    assert_eq!(told, json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
    let listed = agent.ask(&json!({"jsonrpc": "2.0", "id": 5, "method": "tools/list"}));
    assert_eq!(listed["result"]["tools"].as_array().map(Vec::len), Some(6));
    assert_eq!(agent.ask(&search(6))["result"]["isError"], true, "nothing was saved yet, and the service says so");
}

/// Accepts connections and never answers.
fn mute() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    (listener, url)
}

#[test]
fn a_service_that_hangs_is_noticed_within_ten_seconds() {
    let (_listener, url) = mute();
    let home = Home::new();
    let mut agent = home.start(&[], &[("MNEMON_URL", &url), ("MNEMON_API_KEY", "mnm_any")]);
    let began = Instant::now();
    agent.send(INITIALIZE);
    agent.send(search(2).to_string());
    let mut answers: Vec<Value> = (0..2).map(|_| serde_json::from_str(&agent.line()).expect("JSON")).collect();
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    answers.sort_by_key(|answer| answer["id"].as_u64());
    assert!(answers[0]["result"].is_object(), "the assistant starts all the same: {}", answers[0]);
    assert_eq!(answers[1]["error"]["data"]["reason"], "service_away");
    assert_eq!(agent.finish().0, 0, "the agent lives on to the end");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_rightly_takes_long_is_waited_for() {
    let server = TestServer::start().await;
    let key = server.new_user().await.key;
    let recorder = Recorder::start(&server.url).await;
    let home = Home::new();
    let mut agent = home.start(&[], &[("MNEMON_URL", &recorder.url), ("MNEMON_API_KEY", &key)]);
    recorder.delay(Duration::from_millis(6_000));
    agent.send(search(1).to_string());
    eventually("the call has reached the service", async || !recorder.exchanges().is_empty()).await;
    // The service itself is quick; only this one call is slow.
    recorder.delay(Duration::ZERO);
    let answer: Value = serde_json::from_str(&agent.line()).expect("JSON");
    assert!(answer["result"].is_object(), "{answer}");
}
