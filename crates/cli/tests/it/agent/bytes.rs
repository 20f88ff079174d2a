//! The agent forwards what it reads and returns what the service sends, byte for byte.

use std::collections::BTreeMap;

use mnemon_testkit::{Recorder, TestServer};
use serde_json::Value;

use super::process::Home;

const REQUESTS: usize = 1_000;
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"recorded","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;

/// Requests as clients of both eras wrote them, odd and broken ones included. `ID` is a fresh id, `N` a number, `META`
/// what a modern request says about itself.
const RECORDED: [&str; 34] = [
    r#"{"jsonrpc":"2.0","id":ID,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true}},"clientInfo":{"name":"claude-code","version":"2.1.92"}}}"#,
    r#"{"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"cursor-vscode","version":"1.0.0"}},"jsonrpc":"2.0","id":ID}"#,
    r#"{"jsonrpc": "2.0", "id": ID, "method": "ping"}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"tools/list"}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"tools/list","params":{}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"tools/list","params":{"cursor":"nonsense"}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"tools/list","params":{META}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"server/discover","params":{META}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"server/discover"}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"remember","arguments":{"content":"Fact number N: caf\u00e9 \ud83d\ude80 \"quoted\" \\ and a tab\t"}}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"_meta":{"progressToken":N},"name":"remember","arguments":{"content":"Zug N fährt über die Brücke 🚄","fact_key":"zug.N"}}}"#,
    r#"  {  "params" : { "arguments" : { "query" : "fact number N" , "limit" : "5" } , "name" : "search" } , "method" : "tools/call" , "id" : ID , "jsonrpc" : "2.0" }  "#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"search","arguments":{"query":"Fact N","limit":5},META}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{META,"name":"se\u0061rch","arguments":{"query":"Br\u00fccke"}}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"search","arguments":{"query":""}}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"search"}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"search","arguments":null}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"validate_memory","arguments":{"source_id":"docs/N.md","current_source_hash":"h1"}}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"forget","arguments":{"memory_id":"no-such-id-N"}}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"gateway_call","arguments":{"server":"github","tool":"get_me"},META}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"no_such_tool","arguments":{}}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"café","arguments":{},META}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":7}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"prompts/list","params":{META}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"prompts/list"}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"never-sent","reason":"N"}}"#,
    r#"{"jsonrpc":"2.0","id":ID,"result":{"roots":[]}}"#,
    r#"{"jsonrpc":"1.0","id":ID,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":1.5,"method":"ping","n":N}"#,
    r#"[{"jsonrpc":"2.0","id":ID,"method":"ping"}]"#,
    r#"{"jsonrpc":"2.0","id":ID,"id":ID,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":ID,"method":"ping""#,
];

fn request(n: usize) -> String {
    let id = match n % 3 {
        0 => n.to_string(),
        1 => format!("\"req-{n}\""),
        _ => (u64::MAX - n as u64).to_string(),
    };
    let line = RECORDED[n % RECORDED.len()].replace("META", META);
    // Every line is different, so that the recorded bodies can be told apart.
    let line = if line.contains("ID") || line.contains('N') { line } else { format!("{line}{}", " ".repeat(n)) };
    line.replace("ID", &id).replace('N', &n.to_string())
}

fn counted(lines: impl Iterator<Item = String>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for line in lines {
        *counts.entry(line).or_default() += 1;
    }
    counts
}

/// What is in one and not in the other, short enough to read.
fn first_differences(a: &BTreeMap<String, usize>, b: &BTreeMap<String, usize>) -> Vec<String> {
    let missing = a.iter().filter(|(line, count)| b.get(*line) != Some(count));
    missing.take(3).map(|(line, count)| format!("{count} x {}", line.chars().take(600).collect::<String>())).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_requests_of_both_eras_pass_unchanged_both_ways() {
    let server = TestServer::start().await;
    let key = server.new_user().await.key;
    let recorder = Recorder::start(&server.url).await;
    let home = Home::new();
    let mut agent = home.start(&[], &[("MNEMON_URL", &recorder.url), ("MNEMON_API_KEY", &key)]);
    let sent: Vec<String> = (0..REQUESTS).map(request).collect();
    for line in &sent {
        agent.send(line);
    }
    let (code, answers, log) = tokio::task::spawn_blocking(move || agent.finish()).await.expect("the agent ends");
    assert_eq!((code, log), (0, Vec::new()), "standard error stays empty");

    let exchanges = recorder.exchanges();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    let forwarded = counted(exchanges.iter().map(|exchange| text(&exchange.request)));
    let read = counted(sent.into_iter());
    assert_eq!(first_differences(&read, &forwarded), [""; 0], "what was read is what was forwarded");
    assert_eq!(first_differences(&forwarded, &read), [""; 0], "and nothing else");

    let tool = serde_json::to_string(&mnemon_agent::own_tool_description()).expect("JSON");
    let mut lists = 0;
    let expected = exchanges.iter().filter(|exchange| !exchange.response.is_empty()).map(|exchange| {
        let response = text(&exchange.response);
        let answer: Value = serde_json::from_str(&response).expect("answers are JSON");
        if answer["result"]["tools"].is_array() {
            lists += 1;
            let last = answer["result"]["tools"].as_array().and_then(|tools| tools.last()).expect("tools").to_string();
            return response.replacen(&last, &format!("{last},{tool}"), 1);
        }
        response
    });
    let (expected, returned) = (counted(expected), counted(answers.into_iter()));
    assert_eq!(first_differences(&expected, &returned), [""; 0], "what the service sent is what was returned");
    assert_eq!(first_differences(&returned, &expected), [""; 0], "and nothing else");
    assert!(lists > 60, "{lists} lists gained the tool");
    assert!(exchanges.iter().any(|exchange| exchange.status == 400) && exchanges.iter().any(|e| e.status == 404));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_modern_request_carries_its_headers() {
    let server = TestServer::start().await;
    let key = server.new_user().await.key;
    let recorder = Recorder::start(&server.url).await;
    let home = Home::new();
    let mut agent = home.start(&[], &[("MNEMON_URL", &recorder.url), ("MNEMON_API_KEY", &key)]);
    agent.send(RECORDED[21].replace("META", META).replace("ID", "1"));
    agent.line();
    agent.send(RECORDED[3].replace("ID", "2"));
    agent.line();
    let exchanges = recorder.exchanges();
    let header = |at: usize, name: &str| {
        exchanges[at].headers.get(name).map(|value| value.to_str().expect("ASCII").to_owned()).unwrap_or_default()
    };
    assert_eq!(header(0, "mcp-protocol-version"), "2026-07-28");
    assert_eq!(header(0, "mcp-method"), "tools/call");
    assert_eq!(header(0, "mcp-name"), "=?base64?Y2Fmw6k=?=");
    assert_eq!(header(0, "accept"), "application/json, text/event-stream");
    assert_eq!(header(0, "content-type"), "application/json");
    assert_eq!(header(0, "authorization"), format!("Bearer {key}"));
    assert_eq!((exchanges[1].path.as_str(), header(1, "mcp-method")), ("/mcp", String::new()), "legacy has none");
}
