//! Pinned tools: what changes or comes later is held back until an admin accepts it.

use mnemon_testkit::{Trick, read_tool};
use serde_json::{Value, json};

use super::{World, failure, listed, listed_tools};

async fn is_unknown(world: &World, name: &str) -> bool {
    let answer = world.member.request("tools/call", json!({"name": name, "arguments": {}})).await.json();
    answer["error"]["code"] == -32602
}

#[tokio::test]
async fn a_changed_description_or_schema_is_held_back_until_it_is_accepted() {
    for (pointer, value) in [
        ("/description", json!("Reads everything.")),
        ("/inputSchema/properties/text/type", json!("number")),
        ("/title", json!("Another title")),
    ] {
        let world = World::make().await;
        let mut changed = read_tool("echo");
        *changed.pointer_mut(pointer).expect("a part of the tool") = value.clone();
        world.upstream.set_tools(vec![changed.clone()]);
        assert_eq!(listed(&world.member).await, ["host_readonly.echo"], "the list is kept for a while");
        world.grow_old();
        assert_eq!(listed(&world.member).await, Vec::<String>::new(), "{pointer}");
        assert!(is_unknown(&world, "host_readonly.echo").await);
        let reason = failure(&world.member, "gateway_call", json!({"server": "host", "tool": "echo"})).await;
        assert_eq!(reason, "Error executing tool gateway_call: tool 'echo' is not offered by 'host'");
        assert_eq!(world.states("host").await[0], ("echo".into(), "changed".into()));
        let shown = world.admin.manage("GET", &world.path("/host"), Value::Null).await;
        let tool = &shown["tools"][0];
        let before = read_tool("echo").pointer(pointer).cloned();
        assert_eq!(tool["accepted_definition"].pointer(pointer), before.as_ref(), "as it was accepted");
        assert_eq!(tool["definition"].pointer(pointer), Some(&value), "as it is now");
        assert_eq!(shown["health"], json!({"state": "working", "failures": 0}));
        let accepted = world.admin.manage("POST", &world.path("/host/accept"), json!({"tools": ["echo"]})).await;
        let tool = &accepted["integration"]["tools"][0];
        assert_eq!((tool.get("definition"), tool["accepted_at"].is_string()), (None, true), "nothing to compare");
        assert_eq!((&accepted["accepted"], &accepted["integration"]["offered"]), (&json!(1), &json!(1)));
        assert_eq!(listed_tools(&world.member).await[0]["description"], changed["description"]);
        assert!(!world.member.call("host_readonly.echo", json!({})).await.is_error());
    }
}

#[tokio::test]
async fn a_call_sees_the_change_too_without_anybody_listing() {
    let world = World::make().await;
    let mut changed = read_tool("echo");
    changed["description"] = json!("Now it does something else.");
    world.upstream.set_tools(vec![changed]);
    world.grow_old();
    assert!(is_unknown(&world, "host_readonly.echo").await);
    assert_eq!(world.upstream.calls(), 0);
}

#[tokio::test]
async fn a_tool_that_comes_later_waits_and_one_that_goes_is_gone() {
    let world = World::make().await;
    world.put("host", json!({"allow": ["*"]})).await;
    world.upstream.set_tools(vec![read_tool("echo"), read_tool("later")]);
    world.grow_old();
    assert_eq!(listed(&world.member).await, ["host_readonly.echo"]);
    let states = world.states("host").await;
    assert_eq!(states[1..], [("later".into(), "new".into()), ("write".into(), "gone".into())]);
    assert!(is_unknown(&world, "host_readonly.later").await);
    world.admin.manage("POST", &world.path("/host/accept"), Value::Null).await;
    assert_eq!(listed(&world.member).await, ["host_readonly.echo", "host_readonly.later"]);
    world.upstream.set_tools(vec![read_tool("later")]);
    world.grow_old();
    assert_eq!(listed(&world.member).await, ["host_readonly.later"]);
}

#[tokio::test]
async fn a_hint_that_turns_is_not_believed() {
    let world = World::make().await;
    world.put("host", json!({"allow": ["*"]})).await;
    // The tool that writes now says that it only reads.
    world.upstream.set_tools(vec![read_tool("echo"), read_tool("write")]);
    world.grow_old();
    assert_eq!(listed(&world.member).await, ["host_readonly.echo"]);
    assert_eq!(world.states("host").await[1], ("write".into(), "changed".into()));
    // And one that read says that it writes.
    world.upstream.set_tools(vec![mnemon_testkit::write_tool("echo"), read_tool("write")]);
    world.grow_old();
    assert_eq!(listed(&world.member).await, Vec::<String>::new());
    assert_eq!(world.states("host").await[0], ("echo".into(), "not_read_only".into()));
}

#[tokio::test]
async fn what_changes_between_looking_and_accepting_is_refused() {
    let world = World::make().await;
    let describe = |text: &str| {
        let mut tool = read_tool("echo");
        tool["description"] = json!(text);
        tool
    };
    world.upstream.set_tools(vec![describe("Reads a little.")]);
    let shown = world.admin.manage("POST", &world.path("/host/test"), Value::Null).await;
    let hash = shown["integration"]["tools"][0]["hash"].clone();
    world.upstream.set_tools(vec![describe("Reads a lot.")]);
    world.admin.manage("POST", &world.path("/host/test"), Value::Null).await;
    let body = json!({"tools": [{"name": "echo", "hash": hash}]});
    let refused = world.admin.refusal("POST", &world.path("/host/accept"), body).await;
    assert_eq!(
        refused,
        (409, "tool 'echo' has changed since you reviewed it; review it again before accepting it".to_owned())
    );
    let unknown = world.admin.refusal("POST", &world.path("/host/accept"), json!({"tools": ["never"]})).await;
    assert_eq!(unknown, (400, "'host' has no tool 'never'".to_owned()));
    assert_eq!(listed(&world.member).await, Vec::<String>::new());
}

#[tokio::test]
async fn the_first_answer_pins_even_if_it_comes_late() {
    let world = World::without_integration().await;
    world.upstream.on_list(Trick::Status(503));
    let added = world.put("host", json!({"url": world.upstream.url, "allow": ["*"]})).await;
    assert_eq!(added["works"], false);
    assert_eq!(added["problem"], "'host' failed with HTTP 503; try again later");
    assert_eq!(listed(&world.member).await, Vec::<String>::new());
    world.upstream.on_list(Trick::None);
    assert_eq!(listed(&world.member).await, Vec::<String>::new(), "it was asked a moment ago");
    world.grow_old();
    assert_eq!(listed(&world.member).await, ["host_readonly.echo"]);
}

#[tokio::test]
async fn an_upstream_that_is_away_keeps_its_list() {
    let world = World::make().await;
    world.upstream.on_list(Trick::Status(503));
    world.grow_old();
    assert_eq!(listed(&world.member).await, ["host_readonly.echo"]);
    assert!(!world.member.call("host_readonly.echo", json!({})).await.is_error());
}
