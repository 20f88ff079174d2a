//! Every revision of the protocol, with and without sessions, answered at once or in a stream of events.

use mnemon_testkit::{Speaks, TestUpstream, Trick};
use serde_json::json;

use super::{World, listed, options};

async fn world_speaking(speaks: Speaks) -> World {
    let world = World::with(options(), TestUpstream::start_speaking(speaks).await).await;
    let added = world.put("host", json!({"url": world.upstream.url, "allow": ["echo"]})).await;
    assert_eq!(added["works"], true, "{speaks:?}: {added}");
    let version = match speaks {
        Speaks::Modern => "2026-07-28",
        Speaks::Legacy(version) => version,
    };
    assert_eq!(added["protocol_version"], version);
    world
}

#[tokio::test]
async fn every_revision_is_spoken() {
    for speaks in [
        Speaks::Modern,
        Speaks::Legacy("2025-11-25"),
        Speaks::Legacy("2025-06-18"),
        Speaks::Legacy("2025-03-26"),
        Speaks::Legacy("2024-11-05"),
    ] {
        let world = world_speaking(speaks).await;
        assert_eq!(listed(&world.member).await, ["host_readonly.echo"]);
        let answer = world.member.call("host_readonly.echo", json!({"text": "hello"})).await;
        assert_eq!(answer.text(), "hello", "{speaks:?}");
    }
}

#[tokio::test]
async fn a_revision_that_nobody_knows_is_said_to_be_unknown() {
    let world = World::with(options(), TestUpstream::start_speaking(Speaks::Legacy("1999-01-01")).await).await;
    let added = world.put("host", json!({"url": world.upstream.url, "allow": ["echo"]})).await;
    let problem = "'host' sent an answer that is not valid MCP (it speaks no protocol revision that is supported here); \
                   an admin must check its address";
    assert_eq!(added["problem"], problem);
}

#[tokio::test]
async fn modern_requests_describe_themselves_and_have_no_session() {
    let world = world_speaking(Speaks::Modern).await;
    world.member.call("host_readonly.echo", json!({})).await;
    let recorded = world.upstream.recorded();
    let call = recorded.last().expect("a call");
    assert_eq!((call.header("mcp-method"), call.header("mcp-name")), ("tools/call", "echo"));
    assert_eq!(call.header("mcp-protocol-version"), "2026-07-28");
    assert_eq!(call.header("mcp-session-id"), "");
    assert!(recorded.iter().all(|request| request.method() != "initialize"));
}

#[tokio::test]
async fn one_session_serves_many_calls_and_is_renewed_when_it_is_forgotten() {
    let world = world_speaking(Speaks::Legacy("2025-11-25")).await;
    let greetings = || world.upstream.recorded().iter().filter(|request| request.method() == "initialize").count();
    for _ in 0..3 {
        assert!(!world.member.call("host_readonly.echo", json!({})).await.is_error());
    }
    assert_eq!(greetings(), 1);
    // Another client's session takes ours out of the upstream's memory.
    let other = reqwest::Client::new().post(&world.upstream.url);
    let greeting = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}});
    other.body(greeting.to_string()).send().await.expect("the upstream answers");
    assert_eq!(world.member.call("host_readonly.echo", json!({"text": "again"})).await.text(), "again");
    assert_eq!(greetings(), 3);
    world.upstream.on_call(Trick::Forget);
    let reason = world.member.reason("host_readonly.echo", json!({})).await;
    assert_eq!(reason, "Error executing tool host_readonly.echo: 'host' refused the call: no session (code -32000)");
    assert_eq!(greetings(), 4, "initialized once more, and not forever");
}

#[tokio::test]
async fn answers_in_a_stream_of_events_are_found_and_questions_answered() {
    let world = world_speaking(Speaks::Legacy("2025-11-25")).await;
    world.upstream.on_call(Trick::Events);
    let answer = world.member.call("host_readonly.echo", json!({"text": "in a stream"})).await;
    assert_eq!(answer.text(), "in a stream");
    let recorded = world.upstream.recorded();
    let answered = recorded.iter().find(|request| request.body["id"] == "q-1").expect("the ping was answered");
    assert_eq!(answered.body, json!({"jsonrpc": "2.0", "id": "q-1", "result": {}}));
}
