//! The hook's program with what clients really send: each event answered in its format, and never a failure.

use std::io::Write;
use std::net::TcpListener;
use std::process::Stdio;
use std::time::{Duration, Instant};

use mnemon_testkit::{Recorder, TestServer};
use serde_json::{Value, json};

use super::process::Home;
use crate::process::Done;

/// As Claude Code sends them, as Codex does, and as Cursor does.
fn start(event: &str, source: &str) -> Value {
    json!({
        "session_id": "0b6f3c1e", "transcript_path": "/home/ana/.claude/projects/-shop/0b6f3c1e.jsonl",
        "cwd": "/nowhere", "hook_event_name": event, "source": source, "model": "m", "permission_mode": "default",
    })
}

fn prompt(text: &str) -> Value {
    json!({
        "session_id": "0b6f3c1e", "transcript_path": "/home/ana/.claude/projects/-shop/0b6f3c1e.jsonl",
        "cwd": "/nowhere", "permission_mode": "default", "hook_event_name": "UserPromptSubmit", "prompt": text,
    })
}

fn cursor_start() -> Value {
    json!({
        "conversation_id": "c1", "generation_id": "g1", "hook_event_name": "sessionStart", "session_id": "s1",
        "is_background_agent": false, "composer_mode": "agent", "cursor_version": "3.1.0",
        "workspace_roots": ["/nowhere"], "user_email": null, "transcript_path": null,
    })
}

fn run(home: &Home, arguments: &[&str], variables: &[(&str, &str)], input: &[u8]) -> Done {
    let mut command = home.command(&[arguments, &["hook"]].concat(), variables);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    let _ = child.stdin.take().expect("piped").write_all(input);
    Done::of(child.wait_with_output().expect("the hook ends"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_event_is_answered_in_the_format_of_its_client() {
    let server = TestServer::start().await;
    let ana = server.new_user().await;
    ana.remember("the canary deploys go to the cluster in Oslo on Tuesdays").await;
    let home = Home::new();
    let variables = [("MNEMON_URL", server.url.as_str()), ("MNEMON_API_KEY", ana.key.as_str())];
    let hook = |input: Value| {
        let done = run(&home, &[], &variables, input.to_string().as_bytes());
        assert_eq!((done.code, done.err.as_str()), (0, ""), "{done:?}");
        done.out
    };
    for source in ["startup", "clear", "compact"] {
        let told: Value = serde_json::from_str(&hook(start("SessionStart", source))).expect("JSON");
        let output = &told["hookSpecificOutput"];
        assert_eq!(output["hookEventName"], "SessionStart");
        let context = output["additionalContext"].as_str().expect("a text");
        assert!(
            context.contains("### Not verified\n- [")
                && context.contains("] the canary deploys go to the cluster in Oslo"),
            "{context}"
        );
    }
    assert_eq!(hook(start("SessionStart", "resume")), "");
    let told: Value = serde_json::from_str(&hook(cursor_start())).expect("JSON");
    assert!(told["additional_context"].as_str().is_some_and(|text| text.contains("cluster in Oslo")), "{told}");
    let told: Value = serde_json::from_str(&hook(prompt("where do canary deploys go on Tuesdays?"))).expect("JSON");
    assert_eq!(told["hookSpecificOutput"]["hookEventName"], "UserPromptSubmit");
    let context = told["hookSpecificOutput"]["additionalContext"].as_str().expect("a text");
    assert!(context.contains(" [unverified] the canary deploys"), "{context}");
    for silent in ["please write a poem about winter evenings", "yes", "/compact now", ""] {
        assert_eq!(hook(prompt(silent)), "", "{silent}");
    }
    assert_eq!(hook(json!({"hook_event_name": "Stop"})), "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_in_a_repository_gets_the_memory_of_its_workspace() {
    let server = TestServer::start().await;
    let ana = server.new_user().await;
    ana.call("remember", json!({"content": "the shop closes at six", "workspace": "shop"})).await;
    ana.remember("the office opens at nine").await;
    let home = Home::new();
    home.write("work/.git/config", "[remote \"origin\"]\n\turl = git@example.com:acme/shop.git\n");
    let folder = home.path().join("work").display().to_string();
    let mut input = start("SessionStart", "startup");
    input["cwd"] = json!(folder);
    let variables = [("MNEMON_URL", server.url.as_str()), ("MNEMON_API_KEY", ana.key.as_str())];
    let digest = |arguments: &[&str]| run(&home, arguments, &variables, input.to_string().as_bytes()).out;
    let auto = digest(&["--workspace", "auto"]);
    assert!(auto.contains("the shop closes at six") && !auto.contains("office"), "{auto}");
    assert!(digest(&["--workspace", "default"]).contains("the office opens at nine"));
    assert!(digest(&[]).contains("the office opens at nine"));
    assert_eq!(digest(&["--workspace", "nowhere"]), "", "a workspace that is not there says nothing");

    // The proxy sends the header, and the call's bytes stay.
    let recorder = Recorder::start(&server.url).await;
    let variables = [("MNEMON_URL", recorder.url.as_str()), ("MNEMON_API_KEY", ana.key.as_str())];
    let mut command = home.command(&["--workspace", "auto"], &variables);
    command.current_dir(home.path().join("work")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut agent = command.spawn().expect("the binary runs");
    let line =
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"search","arguments":{"query":"closes"}}}"#;
    agent.stdin.take().expect("piped").write_all(format!("{line}\n").as_bytes()).expect("the agent reads");
    let said = Done::of(agent.wait_with_output().expect("the agent ends")).out;
    assert!(said.contains("the shop closes at six"), "{said}");
    let call = recorder.exchanges().into_iter().find(|exchange| exchange.path == "/mcp").expect("a call");
    assert_eq!(call.headers["mnemon-workspace"], "shop");
    assert_eq!(String::from_utf8_lossy(&call.request), line);
}

#[test]
fn a_hook_without_its_service_is_silent_and_soon_over() {
    let away = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port");
    let mute = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let addresses = [away, mute.local_addr().expect("an address")];
    let home = Home::new();
    for address in addresses {
        let url = format!("http://{address}");
        let variables = [("MNEMON_URL", url.as_str()), ("MNEMON_API_KEY", "mnm_any")];
        for (input, expected) in
            [(start("SessionStart", "startup"), ""), (prompt("where do we deploy to?"), ""), (cursor_start(), "{}")]
        {
            let began = Instant::now();
            let done = run(&home, &[], &variables, input.to_string().as_bytes());
            assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (0, expected, ""));
            // The bar of 300 ms is measured by `mnemon-bench hooks`; here only a hook that waits for ever fails.
            assert!(began.elapsed() < Duration::from_secs(20));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_is_wrong_fails_the_client() {
    let server = TestServer::start().await;
    let home = Home::new();
    let inputs: [&[u8]; 6] = [b"", b"not json", b"[]", b"{}", b"{\"hook_event_name\": 5}", b"\xff\xfe"];
    for input in inputs {
        let done = run(&home, &[], &[("MNEMON_URL", &server.url), ("MNEMON_API_KEY", "mnm_any")], input);
        assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (0, "", ""));
    }
    let input = start("SessionStart", "startup").to_string();
    for variables in [
        &[("MNEMON_URL", server.url.as_str()), ("MNEMON_API_KEY", "mnm_wrong")][..],
        &[("MNEMON_URL", server.url.as_str())],
        &[("MNEMON_URL", "not an address")],
        &[("HOME", "")],
    ] {
        let done = run(&home, &[], variables, input.as_bytes());
        assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (0, "", ""), "{variables:?}");
    }
    home.write(".config/mnemon/agent.toml", "this is = not [toml");
    let done = run(&home, &[], &[], input.as_bytes());
    assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (0, "", ""));
}
