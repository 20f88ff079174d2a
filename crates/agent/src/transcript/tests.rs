//! Transcripts as their clients write them, and what remains of them.

use super::*;

fn derive(client: Client, cwd: &str, lines: &[&str]) -> Vec<Value> {
    let memory = Memory { cwd: Some(cwd.into()), ..Memory::default() };
    let mut deriver = Deriver::new(client, "name", Path::new("/home/ana"), memory);
    let mut out = Vec::new();
    for line in lines {
        deriver.derive(line.as_bytes(), &mut out);
    }
    String::from_utf8(out).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

const CLAUDE: [&str; 14] = [
    r#"{"type":"summary","summary":"Deploys","leafUuid":"x"}"#,
    r#"{"type":"file-history-snapshot","snapshot":{"trackedFileBackups":{}}}"#,
    r#"{"type":"user","uuid":"1","sessionId":"s-1","timestamp":"2026-11-02T10:00:00Z","cwd":"/home/ana/shop","message":{"role":"user","content":"Fix the build in /home/ana/shop/src <system-reminder>be brief</system-reminder>"}}"#,
    r#"{"type":"user","isMeta":true,"sessionId":"s-1","message":{"role":"user","content":"Caveat: the messages below"}}"#,
    r#"{"type":"assistant","sessionId":"s-1","timestamp":"2026-11-02T10:00:01Z","message":{"role":"assistant","model":"m","usage":{"input_tokens":7},"content":[{"type":"thinking","thinking":"hmm","signature":"x"},{"type":"text","text":"Looking."},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"cargo build","cwd":"/home/ana/shop"}}]}}"#,
    r#"{"type":"user","sessionId":"s-1","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":[{"type":"text","text":"error at /home/ana/shop/src/a.rs:1"},{"type":"image","source":{}}]}]}}"#,
    r#"{"type":"system","subtype":"turn_duration","durationMs":12}"#,
    r#"{"type":"user","sessionId":"s-1","message":{"role":"user","content":"<command-name>/clear</command-name><command-message>clear</command-message>"}}"#,
    r#"{"type":"something-new","message":{"role":"user","content":"not known"}}"#,
    r#"{"type":"user","message":{"role":"user","content":[{"type":"new-block","text":"?"}]}}"#,
    "not json at all",
    "",
    r#"[1,2,3]"#,
    r#"{"type":"assistant","message":{"content":[{"type":"text","text":"Done."}]}}"#,
];

#[test]
fn claude_code_is_read_and_unknown_lines_are_skipped() {
    let lines = derive(Client::ClaudeCode, "/home/ana/shop", &CLAUDE);
    let expected: Vec<Value> = [
        r#"{"kind":"session","client":"claude-code","session":"s-1","project":"shop"}"#,
        r#"{"kind":"text","at":"2026-11-02T10:00:00Z","role":"user","text":"Fix the build in ./src"}"#,
        r#"{"kind":"text","at":"2026-11-02T10:00:01Z","role":"assistant","text":"Looking."}"#,
        r#"{"kind":"tool_call","at":"2026-11-02T10:00:01Z","tool":"Bash","call":"t1","text":"{\"command\":\"cargo build\",\"cwd\":\".\"}"}"#,
        r#"{"kind":"tool_result","call":"t1","text":"error at ./src/a.rs:1","is_error":true}"#,
        r#"{"kind":"text","role":"assistant","text":"Done."}"#,
    ]
    .iter()
    .map(|line| serde_json::from_str(line).unwrap())
    .collect();
    assert_eq!(lines, expected);
}

const CODEX: [&str; 13] = [
    r#"{"timestamp":"2026-11-02T10:00:00Z","type":"session_meta","payload":{"id":"c-1","cwd":"/home/ana/shop","cli_version":"1","instructions":"You are"}}"#,
    r#"{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"developer","content":[{"type":"input_text","text":"system prompt"}]}}"#,
    r#"{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>\n<cwd>/home/ana/shop</cwd>"}]}}"#,
    r#"{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"List the files"}]}}"#,
    r#"{"timestamp":"t","type":"event_msg","payload":{"type":"user_message","message":"List the files"}}"#,
    r#"{"timestamp":"t","type":"response_item","payload":{"type":"reasoning","summary":[{"text":"thinking"}],"encrypted_content":"x"}}"#,
    r#"{"timestamp":"t","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{\"command\":[\"ls\",\"/home/ana\"]}","call_id":"k1"}}"#,
    r#"{"timestamp":"t","type":"response_item","payload":{"type":"function_call_output","call_id":"k1","output":"{\"output\":\"a.rs\\nb.rs\",\"metadata\":{\"exit_code\":0}}"}}"#,
    r#"{"timestamp":"t","type":"event_msg","payload":{"type":"token_count","info":{"total":9}}}"#,
    r#"{"timestamp":"t","type":"response_item","payload":{"type":"custom_tool_call","name":"apply_patch","input":"*** Begin Patch","call_id":"k2"}}"#,
    r#"{"timestamp":"t","type":"response_item","payload":{"type":"custom_tool_call_output","call_id":"k2","output":"Done"}}"#,
    r#"{"timestamp":"t","type":"compacted","payload":{"message":"earlier"}}"#,
    r#"{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Two files."}]}}"#,
];

#[test]
fn codex_is_read_once_and_without_its_scaffolding() {
    let lines = derive(Client::Codex, "/home/ana/shop", &CODEX);
    let told: Vec<(String, String)> = lines
        .iter()
        .map(|line| (line["kind"].as_str().unwrap().to_owned(), line["text"].as_str().unwrap_or_default().to_owned()))
        .collect();
    let expected = [
        ("session", ""),
        ("text", "List the files"),
        ("tool_call", r#"{"command":["ls","~"]}"#),
        ("tool_result", "a.rs\nb.rs"),
        ("tool_call", "*** Begin Patch"),
        ("tool_result", "Done"),
        ("text", "Two files."),
    ];
    assert_eq!(told, expected.map(|(kind, text)| (kind.to_owned(), text.to_owned())));
    assert_eq!(cwd_of(Client::Codex, CODEX[0].as_bytes()), Some("/home/ana/shop".into()));
}

#[test]
fn older_codex_files_have_no_envelope() {
    let lines = derive(
        Client::Codex,
        "/home/ana/shop",
        &[
            r#"{"id":"old","timestamp":"t","instructions":"You are"}"#,
            r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"Hello"}]}"#,
            r#"{"record_type":"state"}"#,
        ],
    );
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[1]["text"], "Hello");
}

#[test]
fn secrets_of_every_kind_are_replaced_in_texts_arguments_and_results() {
    for (kind, secret) in mnemon_guard::canary::all() {
        let said = serde_json::json!({"type": "user", "message": {"content": format!("here: {}", secret.text)}});
        let call = serde_json::json!({"type": "tool_use", "id": "t", "name": "Write", "input": {"content": secret.text, "list": [secret.text]}});
        let result = serde_json::json!({"type": "tool_result", "tool_use_id": "t", "content": secret.text});
        let called = serde_json::json!({"type": "assistant", "message": {"content": [call, result]}});
        let lines = derive(Client::ClaudeCode, "/home/ana/shop", &[&said.to_string(), &called.to_string()]);
        let all = serde_json::to_string(&lines).unwrap();
        assert_eq!(lines.len(), 4, "{kind}");
        for hidden in secret.hidden.lines() {
            assert!(!all.contains(hidden), "{kind}: {all}");
        }
        for line in &lines {
            assert_eq!(mnemon_guard::redact(line["text"].as_str().unwrap_or_default()).count, 0, "{kind}: {line}");
        }
    }
}

#[test]
fn a_secret_of_every_kind_is_replaced_after_every_boundary_and_in_json_encoded_twice() {
    let encoded = |text: &str| serde_json::json!({"output": text}).to_string();
    for (kind, secret) in mnemon_guard::canary::all() {
        let texts = mnemon_guard::canary::BOUNDARIES.iter().map(|boundary| format!("out{boundary}{}", secret.text));
        let lines: Vec<String> = texts
            .map(|text| {
                let result =
                    |text: &str| serde_json::json!({"type": "tool_result", "tool_use_id": "t", "content": text});
                let results = [result(&text), result(&encoded(&encoded(&text)))];
                serde_json::json!({"type": "user", "message": {"content": results}}).to_string()
            })
            .collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let told = derive(Client::ClaudeCode, "/home/ana/shop", &lines);
        assert_eq!(told.len(), 1 + 2 * lines.len(), "{kind}");
        for line in told {
            let text = line["text"].as_str().unwrap_or_default();
            for hidden in secret.hidden.lines() {
                assert!(!text.contains(hidden), "{kind}: {text}");
            }
        }
    }
}

#[test]
fn what_is_ignored_is_left_out_with_its_result() {
    let ground = tempfile::tempdir().unwrap();
    std::fs::write(ground.path().join(".mnemonignore"), ".env\n").unwrap();
    let call = |id: &str, path: &str| {
        let block = serde_json::json!({"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": path}});
        serde_json::json!({"type": "assistant", "message": {"content": [block]}}).to_string()
    };
    let result = |id: &str| {
        let block = serde_json::json!({"type": "tool_result", "tool_use_id": id, "content": "HIDDEN or not"});
        serde_json::json!({"type": "user", "message": {"content": [block]}}).to_string()
    };
    let lines = [call("a", "src/.env"), call("b", "src/a.rs"), result("b"), result("a")];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let told = derive(Client::ClaudeCode, &ground.path().to_string_lossy(), &lines);
    let texts: Vec<&str> = told.iter().filter_map(|line| line["text"].as_str()).collect();
    assert_eq!(texts, [LEFT_OUT, r#"{"file_path":"src/a.rs"}"#, "HIDDEN or not", LEFT_OUT]);
}

#[test]
fn stopping_between_any_two_lines_changes_nothing() {
    for (client, lines) in [(Client::ClaudeCode, &CLAUDE[..]), (Client::Codex, &CODEX[..])] {
        let whole = derive(client, "/home/ana/shop", lines);
        for stop in 0..lines.len() {
            let memory = Memory { cwd: Some("/home/ana/shop".into()), ..Memory::default() };
            let mut out = Vec::new();
            let mut first = Deriver::new(client, "name", Path::new("/home/ana"), memory);
            lines[..stop].iter().for_each(|line| first.derive(line.as_bytes(), &mut out));
            let kept = serde_json::to_string(&first.memory).unwrap();
            let memory = serde_json::from_str(&kept).unwrap();
            let mut second = Deriver::new(client, "name", Path::new("/home/ana"), memory);
            lines[stop..].iter().for_each(|line| second.derive(line.as_bytes(), &mut out));
            let text = String::from_utf8(out).unwrap();
            let told: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!(told, whole, "stopped before line {stop}");
        }
    }
}
