//! Calling tools of integrations, directly and through `gateway_call`, with results as the upstream sent them.

use mnemon_core::{Access, PlanName, Subscription};
use mnemon_testkit::{MemberSpec, TestServer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{World, failure};

#[derive(serde::Deserialize)]
struct RawAnswer<'a> {
    #[serde(borrow)]
    result: RawResult<'a>,
}

#[derive(serde::Deserialize)]
struct RawResult<'a> {
    #[serde(borrow)]
    content: &'a RawValue,
    #[serde(borrow, rename = "structuredContent")]
    structured: &'a RawValue,
    #[serde(rename = "isError")]
    is_error: bool,
    #[serde(rename = "_meta")]
    meta: Value,
}

#[tokio::test]
async fn both_ways_pass_the_upstreams_result_on_byte_for_byte() {
    let world = World::make().await;
    let arguments = json!({"text": "é \u{1F980} \"quoted\"", "n": 1.50, "deep": {"list": [1, null]}});
    for params in [
        json!({"name": "host_readonly.echo", "arguments": arguments}),
        json!({"name": "host_readonly_echo", "arguments": arguments}),
        json!({"name": "gateway_call", "arguments": {"server": "host", "tool": "echo", "arguments": arguments}}),
        json!({"name": "gateway_call", "arguments": {"server": "host", "tool": "echo", "arguments": arguments.to_string()}}),
    ] {
        let answer = world.member.request("tools/call", params).await;
        let raw: RawAnswer<'_> = serde_json::from_str(&answer.text).expect("a result");
        let text = &arguments["text"];
        let content =
            format!(r#"[{{"type":"text","text":{text}}},{{"type":"resource_link","uri":"test://x","name":"x"}}]"#);
        assert_eq!(raw.result.content.get(), content);
        assert_eq!(raw.result.structured.get(), format!(r#"{{"z":1.0,"a":{arguments}}}"#));
        assert!(!raw.result.is_error);
        assert_eq!(raw.result.meta, json!({"api_version": "1.0"}));
    }
    let sent = world.upstream.recorded();
    let calls: Vec<_> = sent.iter().filter(|request| request.method() == "tools/call").collect();
    assert_eq!(calls.len(), 4);
    for call in calls {
        assert_eq!(
            call.body["params"],
            json!({"name": "echo", "arguments": arguments}),
            "what was asked, and nothing else"
        );
    }
}

#[tokio::test]
async fn a_failing_tool_of_the_upstream_is_its_own_failure_in_its_own_words() {
    let world = World::make().await;
    let answer = world.member.call("host_readonly.echo", json!({"text": "it went wrong", "fail": true})).await;
    assert!(answer.is_error());
    assert_eq!(answer.text(), "it went wrong");
    assert_eq!(answer.result["structuredContent"]["a"]["fail"], true);
}

#[tokio::test]
async fn a_write_tool_can_be_called_by_no_spelling() {
    let world = World::make().await;
    world.put("host", json!({"allow": ["*"]})).await;
    for name in [
        "host_readonly.write",
        "host_readonly_write",
        "host_readonly.Write",
        "HOST_readonly.write",
        "host.write",
        "host_write",
        "write",
        "host_readonly.write ",
        " host_readonly.write",
        "host_readonly.echo.write",
        "host_readonly.%77rite",
        "host_readonly.\u{ff57}rite",
        "host_readonly.write\u{0}",
    ] {
        let answer = world.member.request("tools/call", json!({"name": name, "arguments": {}})).await.json();
        let error = json!({"code": -32602, "message": format!("Unknown tool: {name}")});
        assert_eq!(answer["error"], error, "{name}");
    }
    for (server, tool) in [("host", "write"), ("host", "Write"), ("host", "write "), ("host", "host_readonly.write")] {
        let reason = failure(&world.member, "gateway_call", json!({"server": server, "tool": tool})).await;
        assert_eq!(reason, format!("Error executing tool gateway_call: tool '{tool}' is not offered by '{server}'"));
    }
    for server in ["Host", "host ", "host_readonly", "127.0.0.1", "../host"] {
        let reason = failure(&world.member, "gateway_call", json!({"server": server, "tool": "echo"})).await;
        let expected =
            format!("Error executing tool gateway_call: integration '{server}' is not enabled for this project");
        assert_eq!(reason, expected);
    }
    assert_eq!(world.upstream.calls(), 0);
}

#[tokio::test]
async fn arguments_of_gateway_call_are_checked_with_words() {
    let world = World::make().await;
    for (arguments, reason) in [
        (json!({}), "server is required"),
        (json!({"server": " ", "tool": "echo"}), "server is required"),
        (json!({"server": "host"}), "tool is required"),
        (json!({"server": 5, "tool": "echo"}), "server must be a string"),
        (json!({"server": "host", "tool": "echo", "arguments": []}), "arguments must be an object"),
        (json!({"server": "host", "tool": "echo", "arguments": "no json"}), "arguments must be an object"),
    ] {
        let said = failure(&world.member, "gateway_call", arguments).await;
        assert_eq!(said, format!("Error executing tool gateway_call: {reason}"));
    }
}

#[tokio::test]
async fn calls_are_counted_by_the_rate_limits() {
    let mut options = super::options();
    options.plans.limits_mut(PlanName::Free).connection_calls_max = Some(2);
    let world = World::with(options, mnemon_testkit::TestUpstream::start().await).await;
    world.put("host", json!({"url": world.upstream.url, "allow": ["echo"]})).await;
    let free = Subscription { plan: Some(PlanName::Free), ..Subscription::default() };
    world.server.subscribe(&world.organization, free).await;
    assert!(!world.member.call("host_readonly.echo", json!({})).await.is_error());
    assert!(!world.member.call("gateway_call", json!({"server": "host", "tool": "echo"})).await.is_error());
    let third = world.member.call("host_readonly.echo", json!({})).await;
    assert_eq!(third.text(), "Error executing tool host_readonly.echo: MCP rate limit exceeded");
    assert_eq!(third.result["_meta"]["retry_after_seconds"], 60);
    assert_eq!(world.upstream.calls(), 2);
}

#[tokio::test]
async fn a_key_that_only_reads_may_call_what_only_reads() {
    let world = World::make().await;
    let reader = MemberSpec { access: Access::Read, ..MemberSpec::default() };
    let reader = world.server.member(&world.organization, reader).await;
    assert!(!reader.call("host_readonly.echo", json!({})).await.is_error());
}

#[tokio::test]
async fn the_audit_log_names_tool_and_outcome_and_never_what_was_said() {
    let world = World::make().await;
    let canary = "canary-4711";
    world.member.call("host_readonly.echo", json!({"text": canary})).await;
    world
        .member
        .call("gateway_call", json!({"server": "host", "tool": "echo", "arguments": {"text": canary, "fail": true}}))
        .await;
    world.upstream.on_call(mnemon_testkit::Trick::Status(500));
    world.member.call("host_readonly.echo", json!({"text": canary})).await;
    let log = world.server.audit_log(&world.organization).await;
    let calls: Vec<&str> = log
        .iter()
        .filter(|(action, ..)| action == "integration.call")
        .map(|(_, subject, _)| subject.as_str())
        .collect();
    assert_eq!(calls, ["host.echo: failed", "host.echo: tool error", "host.echo: ok"]);
    assert!(!format!("{log:?}").contains(canary));
    assert!(log.iter().any(|(action, subject, _)| action == "integration.create" && subject == "host"));
}

#[tokio::test]
async fn integrations_outlive_a_restart() {
    let mut world = World::make().await;
    let key = world.member.key.clone();
    world.server.restart().await;
    let member = world.server.caller(&key);
    assert_eq!(super::listed(&member).await, ["host_readonly.echo"]);
    assert_eq!(member.call("host_readonly.echo", json!({"text": "again"})).await.text(), "again");
}

#[tokio::test]
async fn without_integrations_nothing_has_changed() {
    let server = TestServer::start().await;
    let caller = server.first_caller().await;
    assert_eq!(super::listed(&caller).await, Vec::<String>::new());
    let reason = failure(&caller, "gateway_call", json!({"server": "github", "tool": "get_me"})).await;
    assert_eq!(reason, "Error executing tool gateway_call: integration 'github' is not enabled for this project");
}
