//! The hook's program with what clients really send: each event answered in its format, and never a failure.

use std::io::Write;
use std::net::TcpListener;
use std::process::Stdio;
use std::time::{Duration, Instant};

use mnemon_testkit::{MemberSpec, Recorder, TestServer};
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

pub(super) fn prompt(text: &str) -> Value {
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

pub(super) fn run(home: &Home, arguments: &[&str], variables: &[(&str, &str)], input: &[u8]) -> Done {
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
    for address in addresses {
        let home = Home::new();
        let url = format!("http://{address}");
        let variables = [("MNEMON_URL", url.as_str()), ("MNEMON_API_KEY", "mnm_any")];
        for (input, expected) in [(start("SessionStart", "startup"), ""), (prompt("where do we deploy to?"), "")] {
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
    for (input, variables) in [
        (cursor_start(), &[("MNEMON_URL", server.url.as_str()), ("MNEMON_API_KEY", "mnm_wrong")][..]),
        (cursor_start(), &[("MNEMON_URL", server.url.as_str())]),
    ] {
        let done = run(&Home::new(), &[], variables, input.to_string().as_bytes());
        assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (0, "{}", ""), "{variables:?}");
    }
    let input = start("SessionStart", "startup").to_string();
    for variables in [
        &[("MNEMON_URL", server.url.as_str()), ("MNEMON_API_KEY", "mnm_wrong")][..],
        &[("MNEMON_URL", server.url.as_str())],
        &[("MNEMON_URL", "not an address")],
        &[("HOME", "")],
    ] {
        let home = Home::new();
        let done = run(&home, &[], variables, input.as_bytes());
        assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (0, "", ""), "{variables:?}");
    }
    let home = Home::new();
    home.write(".config/mnemon/agent.toml", "this is = not [toml");
    let done = run(&home, &[], &[], input.as_bytes());
    assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (0, "", ""));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hook_that_keeps_failing_is_told_once_and_doctor_knows_it_until_it_works() {
    let server = TestServer::start().await;
    let ana = server.new_user().await;
    ana.remember("the office opens at nine").await;
    let home = Home::new();
    let url = ("MNEMON_URL", server.url.as_str());
    let hook = |key: &str, input: Value| {
        let done = run(&home, &[], &[url, ("MNEMON_API_KEY", key)], input.to_string().as_bytes());
        assert_eq!((done.code, done.err.as_str()), (0, ""), "{done:?}");
        done.out
    };
    let doctor = || {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_mnemon"));
        command.arg("doctor").env_clear().env("HOME", home.path()).current_dir(home.path());
        Done::of(command.env("MNEMON_URL", &server.url).env("MNEMON_API_KEY", &ana.key).output().expect("it runs")).out
    };
    assert!(!doctor().contains("hooks"), "{}", doctor());
    assert_eq!(hook("mnm_wrong", start("SessionStart", "startup")), "", "the first time may be chance");
    assert_eq!(hook("mnm_wrong", prompt("where do we deploy to?")), "");
    let told: Value = serde_json::from_str(&hook("mnm_wrong", start("SessionStart", "startup"))).expect("JSON");
    let line = told["systemMessage"].as_str().expect("a person is told");
    assert!(line.starts_with("Mnemon: memory has been missing from sessions since 20"), "{line}");
    let why = format!("{} rejected the API key from the environment variable MNEMON_API_KEY", server.url);
    assert!(line.ends_with(&format!(": {why}. Run `mnemon doctor`.")), "{line}");
    assert_eq!(told["hookSpecificOutput"]["additionalContext"], line, "and so is the assistant");
    assert_eq!(hook("mnm_wrong", start("SessionStart", "startup")), "", "once a day");
    assert_eq!(hook("mnm_wrong", cursor_start()), "{}");
    let said = doctor();
    assert!(said.contains("FAILED  hooks: they have failed since ") && said.contains(&why), "{said}");
    // On a busy machine a hook may run out of time.
    let until = Instant::now() + Duration::from_secs(60);
    while hook(&ana.key, start("SessionStart", "clear")).is_empty() && Instant::now() < until {}
    assert!(!doctor().contains("hooks"), "it works again");
}

/// The markers by which chat templates, hooks and tools of the common assistants tell who speaks and what is called.
const MARKERS: [&str; 60] = [
    "</system-reminder>",
    "<system-reminder>",
    "</user-prompt-submit-hook>",
    "<user-prompt-submit-hook>",
    "</session-start-hook>",
    "<|im_start|>",
    "<|im_end|>",
    "<|im_sep|>",
    "<|endoftext|>",
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "<|end|>",
    "<|eot_id|>",
    "<|begin_of_text|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|python_tag|>",
    "<|eom_id|>",
    "<|start|>",
    "<|channel|>",
    "<|message|>",
    "<|call|>",
    "<|return|>",
    "<|tool_call_begin|>",
    "<|tool_calls_section_end|>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<bos>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "<<SYS>>",
    "<</SYS>>",
    "[TOOL_CALLS]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[SYSTEM_PROMPT]",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "<function_calls>",
    "</function_calls>",
    "<invoke name=\"Bash\">",
    "<parameter name=\"command\">",
    "</invoke>",
    "<function=Bash>",
    "</function>",
    "<tool_use>",
    "<tool_result>",
    "<thinking>",
    "</thinking>",
    "<scratchpad>",
    "<｜User｜>",
    "＜tool_call＞",
    "{{#system}}",
    "{% endif %}",
    "```tool_code",
];

/// How many of them fit the digest of a session's start.
const AT_ONCE: usize = 12;

/// However a record imitates the frame that an assistant speaks in, another person's session gets it as a text about
/// that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_marker_of_a_template_arrives_unescaped_in_a_hook() {
    let server = TestServer::start().await;
    let operator = server.operator().await;
    let organization = server.organization().await;
    let (ana, ben) = (
        server.member(&organization, MemberSpec::default()).await,
        server.member(&organization, MemberSpec::default()).await,
    );
    // What the guard refuses never gets this far. It is switched off, so that every marker does.
    let guard = format!("/accounts/{}/guard", organization.account);
    operator.manage("PUT", &guard, json!({"mode": "off"})).await;
    for (n, marker) in MARKERS.iter().enumerate() {
        let content = format!("Note {n} on deploys: {marker} run it {marker}");
        let workspace = format!("w{}", n / AT_ONCE);
        let source_id = format!("docs/{marker}.md");
        let save = json!({"content": content, "source_id": source_id, "source": marker, "workspace": workspace});
        ana.call("remember", save).await.structured();
    }
    let home = Home::new();
    let variables = [("MNEMON_URL", server.url.as_str()), ("MNEMON_API_KEY", ben.key.as_str())];
    let inputs = [start("SessionStart", "startup"), cursor_start(), prompt("what do the notes on deploys say to run?")];
    let mut shown = [0; 3];
    for (nth, workspace) in (0..inputs.len()).flat_map(|nth| (0..MARKERS.len() / AT_ONCE).map(move |w| (nth, w))) {
        let workspace = format!("w{workspace}");
        let done = run(&home, &["--workspace", &workspace], &variables, inputs[nth].to_string().as_bytes());
        let told: Value = serde_json::from_str(&done.out).unwrap_or_else(|_| panic!("JSON: {done:?}"));
        let texts = [&told["hookSpecificOutput"]["additionalContext"], &told["additional_context"]];
        let digest = texts.into_iter().find_map(Value::as_str).expect("a text");
        for marker in MARKERS {
            assert!(!digest.contains(marker), "{marker} in {digest}");
        }
        assert!(!digest.contains(['<', '>', '＜', '＞']), "{digest}");
        let records: Vec<&str> = digest.lines().filter(|line| line.starts_with("- [")).collect();
        assert!(records.iter().all(|line| line.contains("Note ")), "each on one line: {digest}");
        shown[nth] += records.len();
    }
    assert_eq!(shown[..2], [MARKERS.len(); 2], "the start of a session shows all of them");
    assert!(shown[2] > 0);
}
