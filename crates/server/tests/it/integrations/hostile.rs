//! An upstream that hangs, drips, floods, resets, redirects and lies: each has one outcome, in time, and nothing else
//! slows down.

use std::time::{Duration, Instant};

use mnemon_testkit::{TestUpstream, Trick, read_tool};
use serde_json::{Value, json};

use super::{CALL_SECONDS, World, failure, listed};

/// What a machine that is busy with other tests may add.
const SLACK: Duration = Duration::from_millis(1_500);

async fn check(world: &World, trick: Trick, expected: &str) {
    world.upstream.on_call(trick.clone());
    let began = Instant::now();
    let reason = failure(&world.member, "host_readonly.echo", json!({"text": "x"})).await;
    assert_eq!(reason, format!("Error executing tool host_readonly.echo: 'host' {expected}"), "{trick:?}");
    assert!(began.elapsed() < Duration::from_secs(CALL_SECONDS) + SLACK, "{trick:?} took {:?}", began.elapsed());
    // A successful call in between: the next one starts with a clean slate.
    world.upstream.on_call(Trick::None);
    let after = world.member.call("host_readonly.echo", json!({"text": "after"})).await;
    assert_eq!(after.text(), "after", "after {trick:?}");
}

#[tokio::test]
async fn every_trick_has_one_named_error_in_time() {
    let world = World::make_with(super::impatient()).await;
    let not_mcp =
        |what: &str| format!("sent an answer that is not valid MCP ({what}); an admin must check its address");
    let too_large = "answered with more than 1048576 bytes, the limit; ask for less";
    for (trick, expected) in [
        (Trick::Hang, "did not answer within 1 s"),
        (Trick::Drip, "did not answer within 1 s"),
        (Trick::Flood, too_large),
        (Trick::FloodEvents, too_large),
        (Trick::Reset, "closed the connection before its answer was complete; try again"),
        (Trick::LongLength, "closed the connection before its answer was complete; try again"),
        (Trick::ShortLength, &not_mcp("it is not JSON-RPC")),
        (Trick::OtherId, &not_mcp("it answered another request")),
        (Trick::Garbage, &not_mcp("it is not JSON-RPC")),
        (Trick::Status(500), "failed with HTTP 500; try again later"),
        (Trick::Status(429), "failed with HTTP 429; try again later"),
        (Trick::Status(403), "rejected its credential (HTTP 403); an admin must give the integration a new one"),
        (Trick::Refuse, "refused the call: not like that (code -32602)"),
        (Trick::AskBack, "asked for more input, which the gateway can't provide"),
    ] {
        check(&world, trick, expected).await;
    }
}

#[tokio::test]
async fn an_answer_is_passed_on_up_to_its_limit_and_not_past_it() {
    let world = World::make_with(super::impatient()).await;
    world.upstream.on_call(Trick::Large(1 << 20));
    let answer = world.member.call("host_readonly.echo", json!({})).await;
    assert!(!answer.is_error());
    assert_eq!(answer.text().len(), (1 << 20) - r#"{"content":[{"type":"text","text":""}]}"#.len());
    let too_large = "answered with more than 1048576 bytes, the limit; ask for less";
    check(&world, Trick::Large((1 << 20) + 1), too_large).await;
    check(&world, Trick::Large(4 << 20), too_large).await;
}

#[tokio::test]
async fn a_redirect_is_not_followed_wherever_it_leads() {
    let world = World::make_with(super::impatient()).await;
    let private = TestUpstream::start().await;
    for to in [private.url.as_str(), "http://169.254.169.254/latest/meta-data", "https://example.com/mcp"] {
        let expected = "answered with a redirect, which is not followed; an admin must set the final address";
        check(&world, Trick::Redirect(to.to_owned()), expected).await;
    }
    assert!(private.recorded().is_empty());
}

#[tokio::test]
async fn addresses_that_are_not_public_are_refused_unless_the_operator_allows_them() {
    let mut closed = super::options();
    closed.outgoing = mnemon_gateway::Outgoing::default();
    let world = World::with(closed, TestUpstream::start().await).await;
    for url in [
        world.upstream.url.as_str(),
        "https://127.0.0.1/mcp",
        "https://[::1]/mcp",
        "https://10.0.0.1/mcp",
        "https://169.254.169.254/mcp",
        "https://0x7f.1/mcp",
        "http://example.com/mcp",
        "https://user:password@example.com/mcp",
        "file:///etc/passwd",
        "not an address",
    ] {
        let (status, text) = world.admin.refusal("PUT", &world.path("/host"), json!({"url": url})).await;
        assert!(status == 400 && text.starts_with("url"), "{url}: {text}");
        assert!(!text.contains("password@"), "{text}");
    }
    // A name that resolves to an internal address is noticed when it is called.
    let named = world.admin.manage("PUT", &world.path("/host"), json!({"url": "https://localhost/mcp"})).await;
    let problem = named["problem"].as_str().expect("a problem");
    assert!(problem.starts_with("'host' may not be called: 'localhost' is not on the public internet"), "{problem}");
    assert!(world.upstream.recorded().is_empty());
}

#[tokio::test]
async fn the_breaker_opens_after_five_failures_and_tries_again_after_thirty_seconds() {
    let world = World::make().await;
    world.upstream.on_call(Trick::Status(500));
    for _ in 0..5 {
        let reason = failure(&world.member, "host_readonly.echo", json!({})).await;
        assert!(reason.contains("failed with HTTP 500"), "{reason}");
    }
    assert_eq!(world.upstream.calls(), 5);
    let resting = world.member.call("host_readonly.echo", json!({})).await;
    let text =
        "Error executing tool host_readonly.echo: 'host' failed 5 times in a row and is paused; try again in 30 s";
    assert_eq!(resting.text(), text);
    assert_eq!(resting.result["_meta"]["retry_after_seconds"], 30);
    assert_eq!(world.upstream.calls(), 5, "nobody bothers it");
    world.upstream.on_call(Trick::None);
    world.server.clock.advance(Duration::from_secs(29));
    assert!(world.member.call("host_readonly.echo", json!({})).await.is_error());
    world.server.clock.advance(Duration::from_secs(2));
    assert!(!world.member.call("host_readonly.echo", json!({})).await.is_error());
    assert!(!world.member.call("host_readonly.echo", json!({})).await.is_error());
}

#[tokio::test]
async fn failures_of_tools_and_refusals_do_not_open_the_breaker() {
    let world = World::make().await;
    for _ in 0..6 {
        assert!(world.member.call("host_readonly.echo", json!({"fail": true})).await.is_error());
    }
    world.upstream.on_call(Trick::Refuse);
    for _ in 0..6 {
        let reason = failure(&world.member, "host_readonly.echo", json!({})).await;
        assert!(reason.contains("refused the call"), "{reason}");
    }
    world.upstream.on_call(Trick::None);
    assert!(!world.member.call("host_readonly.echo", json!({})).await.is_error());
}

#[tokio::test]
async fn a_project_has_eight_calls_at_once_and_others_are_not_touched() {
    let world = World::make().await;
    let other = World::make().await;
    world.upstream.on_call(Trick::Slow(2_000));
    let calls: Vec<_> = (0..8)
        .map(|_| {
            let member = world.member.clone();
            tokio::spawn(async move { member.call("host_readonly.echo", json!({})).await.is_error() })
        })
        .collect();
    while world.upstream.calls() < 8 {
        tokio::task::yield_now().await;
    }
    let ninth = failure(&world.member, "host_readonly.echo", json!({})).await;
    let text = "Error executing tool host_readonly.echo: 'host' can't be called: this project already \
                has 8 calls running, the limit; try again when one has finished";
    assert_eq!(ninth, text);
    assert!(!other.member.call("host_readonly.echo", json!({})).await.is_error());
    assert_eq!(world.member.remember("memory goes on").await["status"], "unverified");
    for call in calls {
        assert!(!call.await.expect("no panic"), "the eight are answered");
    }
    assert!(!world.member.call("host_readonly.echo", json!({})).await.is_error());
}

#[tokio::test]
async fn slow_upstreams_never_delay_the_list_past_two_seconds() {
    let mut slow = super::options();
    slow.integrations.limits.list_timeout = Duration::from_secs(10);
    let world = World::with(slow, TestUpstream::start().await).await;
    for name in ["one", "two", "three"] {
        world.put(name, json!({"url": world.upstream.url, "allow": ["echo"]})).await;
    }
    let expected = ["one_readonly.echo", "three_readonly.echo", "two_readonly.echo"];
    for trick in [Trick::Hang, Trick::Drip, Trick::FloodEvents, Trick::Flood] {
        world.upstream.on_list(trick.clone());
        world.grow_old();
        let began = Instant::now();
        assert_eq!(listed(&world.member).await, expected, "{trick:?}: what was seen before is still listed");
        assert!(began.elapsed() < Duration::from_secs(2), "{trick:?}: {:?}", began.elapsed());
    }
}

#[tokio::test]
async fn a_flood_of_tools_is_refused_and_the_list_stays() {
    let world = World::make().await;
    let many = |count: usize| (0..count).map(|number| read_tool(&format!("t{number}"))).collect();
    world.upstream.set_tools(many(513));
    world.grow_old();
    assert_eq!(listed(&world.member).await, ["host_readonly.echo"]);
    let tested = world.admin.manage("POST", &world.path("/host/test"), Value::Null).await;
    assert_eq!(tested["problem"], "'host' offers more than 512 tools, the limit");
    world.upstream.set_tools(many(512));
    let tested = world.admin.manage("POST", &world.path("/host/test"), Value::Null).await;
    assert_eq!(
        (&tested["works"], &tested["integration"]["waiting"]),
        (&json!(true), &json!(0)),
        "none of them is allowed"
    );
    assert_eq!(listed(&world.member).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_list_of_too_many_pages_is_refused_in_its_own_words() {
    let world = World::make().await;
    world.upstream.set_tools_per_page(1);
    for (pages, problem) in [(33, json!("'host' lists its tools on more than 32 pages, the limit")), (32, Value::Null)]
    {
        world.upstream.set_tools((0..pages).map(|number| read_tool(&format!("t{number}"))).collect());
        let tested = world.admin.manage("POST", &world.path("/host/test"), Value::Null).await;
        assert_eq!(tested["problem"], problem, "{pages} pages: {tested}");
    }
}

#[tokio::test]
async fn tools_with_odd_names_and_schemas_are_left_out() {
    let world = World::without_integration().await;
    let mut tools: Vec<Value> = ["ok", "with space", "", "a/b", "ünï", &"x".repeat(65), "remember"]
        .iter()
        .map(|name| read_tool(name))
        .collect();
    for (name, schema) in [("array", json!({"type": "array"})), ("none", json!(null)), ("text", json!("x"))] {
        let mut tool = read_tool(name);
        tool["inputSchema"] = schema;
        tools.push(tool);
    }
    tools.extend([json!({"name": 5}), json!("x"), json!(null), read_tool("ok")]);
    world.upstream.set_tools(tools);
    let added = world.put("host", json!({"url": world.upstream.url, "allow": ["*"]})).await;
    assert_eq!(added["works"], true, "{added}");
    let names = listed(&world.member).await;
    assert_eq!(
        names,
        ["host_readonly.ok", "host_readonly.remember"],
        "a name of ours is no name of ours under its own"
    );
    assert_eq!(world.member.remember("still ours").await["content"], "still ours");
}
