//! The agent between an assistant and the service: its own tool, keys, many requests at once, cancellation.

use std::io::Read;
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use mnemon_testkit::TestServer;
use serde_json::{Value, json};

use super::process::Home;

fn call(id: u32, tool: &str, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_agents_own_tool_is_listed_last_and_answered_here() {
    let server = TestServer::start().await;
    let key = server.new_user().await.key;
    let home = Home::new();
    let mut agent = home.start(&[], &[("MNEMON_URL", &server.url), ("MNEMON_API_KEY", &key)]);
    let listed = agent.ask(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
    let tools = listed["result"]["tools"].as_array().expect("tools");
    let own = tools.last().expect("a last tool");
    assert_eq!((tools.len(), &own["name"]), (6, &json!("agent_sync_status")));
    assert_eq!(own["annotations"], json!({"readOnlyHint": true, "idempotentHint": true}), "two hints, no title");
    assert_eq!(own.get("title"), None);
    let answer = agent.ask(&call(2, "agent_sync_status", &json!({})));
    let status = json!({
        "consent": false, "server": server.url, "reachable": true, "sessions_found": 0, "sessions_synced": 0,
        "bytes_pending": 0, "last_sync_at": null, "last_error": null,
    });
    let result = &answer["result"];
    assert_eq!((&answer["id"], &result["structuredContent"], &result["isError"]), (&json!(2), &status, &json!(false)));
    assert_eq!(result["_meta"], json!({"api_version": "1.0"}));
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().expect("a text")).expect("JSON");
    assert_eq!(text, status);
    let mut modern = call(3, "agent_sync_status", &json!({}));
    modern["params"]["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    let answer = agent.ask(&modern);
    assert_eq!(answer["result"]["resultType"], "complete");
    assert!(answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["version"].is_string());
    // A direct caller of the service sees no such tool.
    let direct = server.caller(&key).request("tools/call", json!({"name": "agent_sync_status"})).await;
    assert!(direct.text.contains("Unknown tool"), "{}", direct.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rejected_key_is_told_with_the_place_it_was_read_from() {
    let server = TestServer::start().await;
    let home = Home::new();
    let ask = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut agent = home.start(arguments, variables);
        let answer = agent.ask(&call(7, "search", &json!({"query": "x"})));
        assert_eq!((&answer["id"], &answer["error"]["data"]["reason"]), (&json!(7), &json!("key_rejected")));
        answer["error"]["message"].as_str().expect("words").to_owned()
    };
    let by_variable = ask(&[], &[("MNEMON_URL", &server.url), ("MNEMON_API_KEY", "mnm_wrong")]);
    assert!(by_variable.contains("key was rejected") && by_variable.contains("environment variable MNEMON_API_KEY"));
    assert!(!by_variable.contains("mnm_wrong"), "a key is not told, not even a wrong one");
    let by_flag = ask(&["--key", "mnm_wrong"], &[("MNEMON_URL", &server.url)]);
    assert!(by_flag.contains("the flag --key"), "{by_flag}");
    home.write(".config/mnemon/agent.toml", format!("url = \"{}\"\nkey = \"mnm_wrong\"\n", server.url));
    let by_file = ask(&[], &[]);
    assert!(by_file.contains("the file ~/.config/mnemon/agent.toml"), "{by_file}");
    let mut keyless = Home::new().start(&[], &[("MNEMON_URL", &server.url)]);
    let answer = keyless.ask(&call(8, "search", &json!({"query": "x"})));
    assert_eq!(answer["error"]["data"]["reason"], "no_key");
    assert!(answer["error"]["message"].as_str().expect("words").contains("MNEMON_API_KEY"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_requests_run_side_by_side() {
    let server = TestServer::start().await;
    let key = server.new_user().await.key;
    let recorder = mnemon_testkit::Recorder::start(&server.url).await;
    recorder.delay(Duration::from_millis(300));
    let home = Home::new();
    let mut agent = home.start(&[], &[("MNEMON_URL", &recorder.url), ("MNEMON_API_KEY", &key)]);
    let began = std::time::Instant::now();
    for id in 0..64 {
        agent.send(call(id, "search", &json!({"query": "x"})).to_string());
    }
    let mut ids: Vec<u64> = (0..64)
        .map(|_| serde_json::from_str::<Value>(&agent.line()).expect("JSON")["id"].as_u64().expect("an id"))
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..64).collect::<Vec<_>>());
    assert!(began.elapsed() < Duration::from_secs(10), "one after another would take twenty seconds");
}

/// A server that accepts a request and never answers; reports when one arrives and when the other side hangs up.
fn silent() -> (String, Receiver<()>, Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let (came, told_arrival) = channel();
    let (gone, told_end) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (came, gone) = (came.clone(), gone.clone());
            std::thread::spawn(move || {
                let mut stream = stream;
                let mut buffer = [0; 4096];
                while stream.read(&mut buffer).is_ok_and(|read| read > 0) {
                    let _ = came.send(());
                }
                let _ = gone.send(());
            });
        }
    });
    (url, told_arrival, told_end)
}

#[test]
fn a_cancelled_request_is_dropped_and_not_answered() {
    let (url, arrived, hung_up) = silent();
    let home = Home::new();
    let mut agent = home.start(&[], &[("MNEMON_URL", &url), ("MNEMON_API_KEY", "mnm_any")]);
    agent.send(call(1, "search", &json!({"query": "x"})).to_string());
    arrived.recv_timeout(Duration::from_secs(10)).expect("the request is sent");
    assert!(hung_up.try_recv().is_err(), "the request runs");
    agent.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    hung_up.recv_timeout(Duration::from_secs(2)).expect("the connection of the request is closed");
    assert_eq!(agent.line_within(Duration::from_millis(500)), None, "a cancelled request has no answer");
}

#[test]
fn a_line_that_is_too_long_is_refused_and_the_agent_goes_on() {
    let home = Home::new();
    let mut agent = home.start(&[], &[("MNEMON_URL", "http://127.0.0.1:1"), ("MNEMON_API_KEY", "mnm_any")]);
    let frame = r#"{"jsonrpc":"2.0","id":1,"method":"ping","x":""}"#.len();
    for (size, reason) in [(4 << 20, "service_away"), ((4 << 20) + 1, "too_large")] {
        let padding = "a".repeat(size - frame);
        agent.send(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"pang","x":"{padding}"}}"#));
        let answer: Value = serde_json::from_str(&agent.line()).expect("JSON");
        assert_eq!(answer["error"]["data"]["reason"], reason, "{size} bytes");
    }
    agent.send("");
    agent.send("   ");
    let answer = agent.ask(&json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}));
    assert_eq!(answer, json!({"jsonrpc": "2.0", "id": 2, "result": {}}), "empty lines are nothing");
    assert_eq!(agent.finish().0, 0);
}

/// The agent opens no port: nobody else on the machine can talk to it.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_agent_listens_nowhere_and_starts_nothing() {
    let server = TestServer::start().await;
    let key = server.new_user().await.key;
    let home = Home::new();
    let mut agent = home.start(&[], &[("MNEMON_URL", &server.url), ("MNEMON_API_KEY", &key)]);
    agent.ask(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
    let pid = agent.pid();
    let own: Vec<String> = std::fs::read_dir(format!("/proc/{pid}/fd"))
        .expect("open files")
        .filter_map(|entry| Some(std::fs::read_link(entry.ok()?.path()).ok()?.to_string_lossy().into_owned()))
        .collect();
    for table in ["tcp", "tcp6", "udp", "udp6"] {
        let text = std::fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        for row in text.lines().skip(1).map(|row| row.split_whitespace().collect::<Vec<_>>()) {
            let is_own = own.contains(&format!("socket:[{}]", row[9]));
            let is_listening = row[3] == "0A" || table.starts_with("udp");
            assert!(!(is_own && is_listening), "{table}: {row:?}");
        }
    }
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    assert_eq!(children.trim(), "", "no shell, no other program");
}
