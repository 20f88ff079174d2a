//! An integration belongs to one project: nobody else lists it, manages it, or learns of it.

use mnemon_core::Role;
use mnemon_testkit::{Caller, MemberSpec, Organization};
use serde_json::{Value, json};

use super::{World, listed};

async fn answers(caller: &Caller, server: &str) -> Vec<String> {
    let mut answers = Vec::new();
    for params in [
        json!({"name": format!("{server}_readonly.echo"), "arguments": {}}),
        json!({"name": format!("{server}_readonly_echo"), "arguments": {}}),
        json!({"name": "gateway_call", "arguments": {"server": server, "tool": "echo"}}),
        json!({"name": "gateway_call", "arguments": {"server": server, "tool": "never"}}),
    ] {
        // The answer contains the name as sent; apart from that nothing may differ.
        answers.push(caller.request("tools/call", params).await.text.replace(server, "NAME"));
    }
    answers
}

#[tokio::test]
async fn other_projects_are_answered_as_if_it_never_existed() {
    let world = World::make().await;
    let elsewhere =
        Organization { project: world.server.project(world.organization.account).await, ..world.organization.clone() };
    let sibling = world.server.member(&elsewhere, MemberSpec::default()).await;
    let stranger = world.server.new_user().await;
    for other in [&sibling, &stranger] {
        assert_eq!(listed(other).await, Vec::<String>::new());
        assert_eq!(answers(other, "host").await, answers(other, "never").await);
    }
    assert_eq!(world.upstream.calls(), 0);
    assert_eq!(listed(&world.member).await, ["host_readonly.echo"]);
}

#[tokio::test]
async fn a_disabled_integration_is_as_absent_as_one_that_never_was() {
    let world = World::make().await;
    world.put("host", json!({"enabled": false})).await;
    assert_eq!(answers(&world.member, "host").await, answers(&world.member, "never").await);
    world.put("host", json!({"enabled": true})).await;
    assert!(!world.member.call("host_readonly.echo", json!({})).await.is_error());
}

#[tokio::test]
async fn two_projects_have_integrations_of_one_name_that_do_not_mix() {
    let world = World::make().await;
    let elsewhere =
        Organization { project: world.server.project(world.organization.account).await, ..world.organization.clone() };
    let admin = MemberSpec { role: Role::Admin, ..MemberSpec::default() };
    let admin = world.server.member(&elsewhere, admin).await;
    let second = mnemon_testkit::TestUpstream::start().await;
    let path = format!("/projects/{}/integrations/host", elsewhere.project);
    let body = json!({"url": second.url, "allow": ["echo"], "bearer": "second"});
    admin.manage("PUT", &path, body).await;
    world.member.call("host_readonly.echo", json!({})).await;
    admin.call("host_readonly.echo", json!({})).await;
    assert_eq!((world.upstream.calls(), second.calls()), (1, 1));
    assert!(world.upstream.recorded().iter().all(|request| request.header("authorization").is_empty()));
    assert!(second.recorded().iter().all(|request| request.header("authorization") == "Bearer second"));
    admin.manage("DELETE", &path, Value::Null).await;
    assert_eq!(listed(&world.member).await, ["host_readonly.echo"]);
}

#[tokio::test]
async fn callers_by_oauth_neither_see_nor_run_any_of_it() {
    let world = World::make().await;
    let web = world.server.connect(&world.member.key).await;
    let answer = web.request("tools/list", json!({})).await.json();
    let tools = answer["result"]["tools"].as_array().expect("a list");
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["remember", "search", "forget", "validate_memory"]);
    for name in ["host_readonly.echo", "host_readonly_echo", "gateway_call", "never_readonly.echo"] {
        let arguments = json!({"server": "host", "tool": "echo", "arguments": {}});
        let answer = web.request("tools/call", json!({"name": name, "arguments": arguments})).await.json();
        assert_eq!(answer["error"], json!({"code": -32602, "message": format!("Unknown tool: {name}")}));
    }
    assert_eq!(world.upstream.calls(), 0);
    assert!(!world.member.call("host_readonly.echo", json!({})).await.is_error(), "its key has them all");
}
