//! An upstream that shows what it was called with: nobody who may call it learns its credential.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mnemon_engine::integrations::LocalCommand;
use mnemon_testkit::{TestUpstream, Trick, read_tool};
use serde_json::{Value, json};

use super::{World, failure, listed_tools, options};

const CANARY: &str = "upstream-secret-4711-canary";
const MARK: &str = "[redacted:credential]";

async fn world_with_credential() -> World {
    let world = World::without_integration().await;
    let body = json!({"url": world.upstream.url, "allow": ["*"], "bearer": CANARY, "headers": {"X-Second": "second-canary-0815"}});
    let put = world.put("host", body).await;
    assert_eq!(put["works"], true, "{put}");
    world
}

fn is_clean(answer: &Value) -> bool {
    let text = answer.to_string();
    !text.contains("canary") && !text.contains(&STANDARD.encode(CANARY)[..12]) && text.contains(MARK)
}

#[tokio::test]
async fn an_upstream_that_echoes_its_credential_hands_it_to_nobody() {
    let world = world_with_credential().await;
    let encoded = STANDARD.encode(format!("Bearer {CANARY}"));
    for text in [
        format!("authorization: Bearer {CANARY}"),
        format!("x-second: second-canary-0815 and {}", CANARY.to_uppercase()),
        format!("https://upstream.example/?token={CANARY}&x=1"),
        format!("base64 {encoded}"),
        json!({"headers": {"authorization": format!("Bearer {CANARY}")}}).to_string(),
    ] {
        for is_error in [false, true] {
            let result = json!({
                "content": [{"type": "text", "text": text}], "structuredContent": {"echo": text, (CANARY): 1},
                "isError": is_error,
            });
            world.upstream.on_call(Trick::Answer(result.to_string()));
            for answer in [
                world.member.call("host_readonly.echo", json!({})).await,
                world.member.call("gateway_call", json!({"server": "host", "tool": "echo"})).await,
            ] {
                assert!(is_clean(&answer.result), "{text}: {}", answer.result);
                assert_eq!(answer.is_error(), is_error);
            }
        }
        // The credential begins before the place where long words are cut.
        for words in [text.clone(), format!("{}{text}", "x".repeat(480))] {
            world.upstream.on_call(Trick::RefuseWith(words));
            let refused = failure(&world.member, "host_readonly.echo", json!({})).await;
            assert!(
                !refused.contains("canary") && !refused.contains("upstream-s") && !refused.contains(&encoded[..12]),
                "{refused}"
            );
        }
    }
}

#[tokio::test]
async fn lists_and_names_that_hold_the_credential_are_cleaned_too() {
    let world = world_with_credential().await;
    let mut tool = read_tool("echo");
    tool["description"] = json!(format!("Reads with {CANARY}."));
    world.upstream.set_tools(vec![tool]);
    world.upstream.set_server_name(&format!("upstream of {CANARY}"));
    let put = world.put("host", json!({"url": world.upstream.url, "allow": ["*"], "bearer": CANARY})).await;
    assert!(is_clean(&put), "{put}");
    assert_eq!(put["server"], format!("upstream of {MARK} 1"));
    let accepted = world.admin.manage("POST", &world.path("/host/accept"), json!({})).await;
    assert!(is_clean(&accepted), "{accepted}");
    let listed = listed_tools(&world.member).await;
    assert!(is_clean(&json!(listed)), "{listed:?}");
}

/// Greets, lists one tool and answers its call, each time with how it was started; then refuses, in the same words.
const ECHOING_COMMAND: &str = r#"
    said="token $UPSTREAM_TOKEN, started with $*"
    tool="{\"name\":\"echo\",\"description\":\"Reads. $said\",\"inputSchema\":{\"type\":\"object\"},\"annotations\":{\"readOnlyHint\":true}}"
    while read -r line; do
        id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
        case "$line" in
            *'"initialize"'*) body="\"result\":{\"protocolVersion\":\"2025-11-25\",\"serverInfo\":{\"name\":\"$said\",\"version\":\"1\"}}" ;;
            *'"tools/list"'*) body="\"result\":{\"tools\":[$tool]}" ;;
            *refuse*) body="\"error\":{\"code\":-1,\"message\":\"$said\"}" ;;
            *'"tools/call"'*) body="\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"$said\"}],\"isError\":true}" ;;
            *) continue ;;
        esac
        printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$body"
    done
"#;

#[tokio::test]
async fn a_command_that_echoes_how_it_was_started_hands_its_secrets_to_nobody() {
    let token = format!("UPSTREAM_TOKEN={CANARY}");
    let words = ["env", &token, "sh", "-c", ECHOING_COMMAND, "sh", "--password", "second-canary-0815", "--mode=plain"];
    let mut options = options();
    options.integrations.allowances.commands.insert("local".to_owned(), LocalCommand::for_all(words));
    let world = World::with(options, TestUpstream::start().await).await;
    let put = world.put("host", json!({"command": "local", "allow": ["*"]})).await;
    assert_eq!(put["works"], true, "{put}");
    let shown = format!("token {MARK}, started with --password {MARK} --mode=plain");
    assert_eq!(put["server"], format!("{shown} 1"), "{put}");
    let read = world.admin.manage("GET", &world.path("/host"), json!({})).await;
    let listed = json!(listed_tools(&world.member).await);
    let called = world.member.call("host_readonly.echo", json!({})).await;
    assert!(called.is_error() && called.result.to_string().contains(&shown), "{}", called.result);
    let refused = failure(&world.member, "host_readonly.echo", json!({"refuse": true})).await;
    assert!(refused.contains(&shown), "{refused}");
    for answer in [&put, &read, &listed, &called.result] {
        assert!(is_clean(answer), "{answer}");
    }
}

#[tokio::test]
async fn what_is_not_the_credential_is_passed_on_to_the_byte() {
    let world = world_with_credential().await;
    let content = r#"[ {"type":"text","text":"\u00e9 1.0 Bearer token"} ]"#;
    world.upstream.on_call(Trick::Answer(format!(r#"{{"content":{content}}}"#)));
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "host_readonly.echo"}});
    let answer = world.member.post(request.to_string(), &[]).await;
    assert!(answer.text.contains(content), "{}", answer.text);
}

#[tokio::test]
async fn headers_of_the_connection_and_the_protocol_are_nobodys_credential() {
    let world = World::without_integration().await;
    for name in [
        "Transfer-Encoding",
        "TE",
        "Trailer",
        "Upgrade",
        "Expect",
        "Proxy-Authorization",
        "proxy-anything",
        "Host",
        "Content-Length",
        "Connection",
        "Keep-Alive",
        "Mcp-Session-Id",
    ] {
        let body = json!({"url": world.upstream.url, "headers": {name: "chunked"}});
        let (status, text) = world.admin.refusal("PUT", &world.path("/host"), body).await;
        let expected = "header names must be valid, unique and not reserved by the protocol";
        assert_eq!((status, text.as_str()), (400, expected), "{name}");
    }
    assert!(world.upstream.recorded().is_empty());
}

/// A result whose innermost list is this deep, counting the result itself.
fn nested(depth: usize) -> String {
    let lists = depth - 1;
    format!(r#"{{"content":[],"structuredContent":{}{}}}"#, "[".repeat(lists), "]".repeat(lists))
}

#[tokio::test]
async fn what_is_passed_on_nests_64_deep_and_no_deeper() {
    let world = World::with(options(), TestUpstream::start().await).await;
    world.put("host", json!({"url": world.upstream.url, "allow": ["*"]})).await;
    world.upstream.on_call(Trick::Answer(nested(64)));
    let answer = world.member.call("host_readonly.echo", json!({})).await;
    assert!(!answer.is_error(), "{}", answer.result);
    let too_deep =
        "Error executing tool host_readonly.echo: 'host' answered with JSON nested more than 64 levels deep, the limit";
    for depth in [65, 100_000] {
        world.upstream.on_call(Trick::Answer(nested(depth)));
        assert_eq!(failure(&world.member, "host_readonly.echo", json!({})).await, too_deep, "{depth}");
    }
}
