//! A fake secret of every kind, wherever a session may contain one: none goes over the wire, none is on the server.

use mnemon_agent::consent::Consent;
use mnemon_agent::places::{Environment, Places};
use mnemon_agent::settings::{Flags, Settings};
use mnemon_guard::canary;
use mnemon_testkit::{Recorder, TestServer};
use serde_json::{Value, json};

use super::process::Home;

/// Records the consent that a person would give at the terminal.
pub(super) fn agree(home: &Home, url: &str, key: &str) {
    let environment = Environment::from([("HOME".to_owned(), home.path().into())]);
    let places = Places::find(&environment).expect("a home");
    let flags = Flags { url: Some(url.to_owned()), key: Some(key.to_owned()), ..Flags::default() };
    let settings = Settings::load(&flags, &environment, &places).expect("settings");
    Consent::grant(&places, &settings).expect("consent can be noted");
}

fn claude_lines(secret: &str) -> Vec<Value> {
    let call = json!({"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": format!("deploy {secret}"), "env": {"TOKEN": secret}}});
    let result = json!({"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": format!("> {secret}\nok")}]});
    vec![
        json!({"type": "user", "cwd": "/home/ana/shop", "message": {"content": format!("my key is {secret} keep it")}}),
        json!({"type": "assistant", "message": {"content": [{"type": "text", "text": secret}, call]}}),
        json!({"type": "user", "message": {"content": [result]}}),
    ]
}

fn codex_lines(secret: &str) -> Vec<Value> {
    let item = |payload: Value| json!({"type": "response_item", "timestamp": "t", "payload": payload});
    vec![
        item(
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": format!("use {secret}")}]}),
        ),
        item(
            json!({"type": "function_call", "name": "shell", "call_id": "k", "arguments": json!({"command": ["curl", secret]}).to_string()}),
        ),
        item(
            json!({"type": "function_call_output", "call_id": "k", "output": json!({"output": secret, "metadata": {}}).to_string()}),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_secret_of_any_kind_is_on_the_wire_or_on_the_server() {
    let server = TestServer::start().await;
    let ana = server.new_user().await;
    let recorder = Recorder::start(&server.url).await;
    let home = Home::new();
    let canaries = canary::all();
    let join = |lines: fn(&str) -> Vec<Value>| {
        let all = canaries.iter().flat_map(|(_, secret)| lines(&secret.text));
        all.map(|line| format!("{line}\n")).collect::<String>()
    };
    home.write(".claude/projects/p/canaries.jsonl", join(claude_lines));
    home.write(".codex/sessions/2026/11/02/rollout-canaries.jsonl", join(codex_lines));
    agree(&home, &recorder.url, &ana.key);
    let done = home.run(&["sync", "--json"], &[("MNEMON_URL", &recorder.url), ("MNEMON_API_KEY", &ana.key)]);
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(done.json()["sent_sessions"], 2);

    let wire: String =
        recorder.exchanges().iter().map(|exchange| String::from_utf8_lossy(&exchange.request).into_owned()).collect();
    let mut kept = String::new();
    let bearer = format!("Bearer {}", ana.key);
    for name in ["claude-code/canaries", "codex/rollout-canaries"] {
        let mut next = Some(0);
        while let Some(offset) = next {
            let path = format!("/agent/v1/sessions/{name}/text?offset={offset}");
            let piece = ana.send("GET", &path, &[("authorization", &bearer)], "").await.json();
            kept.push_str(piece["text"].as_str().expect("text"));
            next = piece["next"].as_u64();
        }
        let state =
            ana.send("GET", &format!("/agent/v1/sessions/{name}"), &[("authorization", &bearer)], "").await.json();
        assert_eq!(state["redacted"], 0, "the agent left nothing for the service to find in {name}");
    }
    assert_eq!(wire, kept, "the service keeps what was sent, byte for byte");
    for (kind, secret) in &canaries {
        for part in secret.hidden.lines() {
            let escaped = serde_json::to_string(part).expect("JSON");
            for form in [part, escaped.trim_matches('"')] {
                assert!(!wire.contains(form), "{kind} is on the wire");
            }
        }
        assert!(wire.contains(&format!("[redacted:{kind}]")), "{kind} was seen and replaced");
    }
    assert!(!wire.contains("/home/ana"), "no absolute path either");
}
