//! Callers with a token: the four memory tools of the key's project, without a word about whose project it is.

use mnemon_core::{Access, PlanLimits, PlanName, PlanTable, Subscription};
use mnemon_testkit::{MemberSpec, TestServer, TestServerOptions};
use serde_json::{Value, json};

use super::{Scene, status_of};

const INTERNAL: [&str; 3] = ["tenant_id", "project_id", "api_version"];

#[tokio::test]
async fn only_the_memory_tools_are_listed_and_run() {
    let scene = Scene::set().await;
    let caller = scene.connect().await;
    let listed = caller.request("tools/list", json!({})).await.json();
    let names: Vec<&str> =
        listed["result"]["tools"].as_array().expect("tools").iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["remember", "search", "forget", "validate_memory"]);
    for tool in
        ["gateway_call", "github_readonly.get_me", "github_readonly_get_me", "agent_sync_status", "no_such_tool"]
    {
        let params = json!({"name": tool, "arguments": {"server": "github", "tool": "get_me"}});
        for answer in [caller.request("tools/call", params.clone()).await, caller.modern("tools/call", params).await] {
            let error = &answer.json()["error"];
            assert_eq!((&error["code"], &error["message"]), (&json!(-32602), &json!(format!("Unknown tool: {tool}"))));
        }
    }
}

#[tokio::test]
async fn a_token_opens_the_memory_of_its_key() {
    let scene = Scene::set().await;
    let caller = scene.connect().await;
    scene.person.remember("the harbour opens at six").await;
    assert_eq!(caller.search_texts("harbour").await, ["the harbour opens at six"]);
    let saved = caller.remember("the harbour closes at nine").await;
    assert_eq!(saved["author"], "Ana");
    assert_eq!(scene.person.search("harbour closes").await.len(), 2);
    let stranger = scene.server.new_user().await;
    stranger.remember("the strangers have a harbour too").await;
    let theirs = scene.server.connect(&stranger.key).await.search_texts("harbour").await;
    assert_eq!(theirs, ["the strangers have a harbour too"]);
}

/// Every answer that a caller can get, in both eras, in all its texts.
#[tokio::test]
async fn the_internal_fields_stand_nowhere_in_the_answers() {
    let scene = Scene::set().await;
    let caller = scene.connect().await;
    let saved = caller.remember("tell me nothing").await;
    let calls = [
        (
            "initialize",
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}),
        ),
        ("server/discover", json!({})),
        ("tools/list", json!({})),
        ("ping", json!({})),
        ("nonsense", json!({})),
        ("tools/call", json!({"name": "remember", "arguments": {"content": "one more fact", "odd": 1}})),
        ("tools/call", json!({"name": "remember", "arguments": {"content": ""}})),
        ("tools/call", json!({"name": "search", "arguments": {"query": "nothing"}})),
        ("tools/call", json!({"name": "search", "arguments": {"query": "x", "workspace": "nowhere"}})),
        ("tools/call", json!({"name": "validate_memory", "arguments": {"source_id": "s"}})),
        ("tools/call", json!({"name": "forget", "arguments": {"memory_id": saved["id"]}})),
        ("tools/call", json!({"name": "gateway_call", "arguments": {}})),
    ];
    for (method, params) in calls {
        for answer in [caller.request(method, params.clone()).await, caller.modern(method, params.clone()).await] {
            for field in INTERNAL {
                assert!(!answer.text.contains(field), "{method} {params}: {}", answer.text);
            }
            let ids = [scene.organization.account.to_string(), scene.organization.project.to_string()];
            assert!(ids.iter().all(|id| !answer.text.contains(id.as_str())), "{method} {params}: {}", answer.text);
        }
    }
    let plain = scene.person.request("tools/list", json!({})).await;
    assert!(plain.text.contains("api_version"), "key callers still have them: {}", plain.text);
}

#[tokio::test]
async fn a_token_may_do_no_more_than_its_key() {
    let scene = Scene::set().await;
    let reader =
        scene.server.member(&scene.organization, MemberSpec { access: Access::Read, ..MemberSpec::default() }).await;
    let caller = scene.server.connect(&reader.key).await;
    let reason = caller.reason("remember", json!({"content": "x"})).await;
    assert_eq!(reason, "Error executing tool remember: this key is read-only");
}

/// A token is for `/mcp`. The admin API rejects it.
#[tokio::test]
async fn a_token_administers_nothing() {
    let scene = Scene::set().await;
    let spec = MemberSpec { role: mnemon_core::Role::Admin, ..MemberSpec::default() };
    let admin = scene.server.member(&scene.organization, spec).await;
    let caller = scene.server.connect(&admin.key).await;
    assert_eq!(
        caller.admin("GET", &format!("/accounts/{}", scene.organization.account), Value::Null).await.status,
        401
    );
    assert_eq!(status_of(&caller).await, 200);
}

/// A connection is a credential of its own: the key and each token have their own rate, and the project counts them
/// all.
#[tokio::test]
async fn each_token_is_a_connection_of_its_own_to_the_rate_limit() {
    let mut plans = PlanTable::default();
    let limits = PlanLimits { connection_calls_max: Some(3), project_calls_max: Some(8), ..PlanLimits::default() };
    *plans.limits_mut(PlanName::Free) = limits;
    let server = TestServer::start_with(TestServerOptions { plans, ..TestServerOptions::default() }).await;
    let free = Subscription { plan: Some(PlanName::Free), ..Subscription::default() };
    let organization = server.organization_on(free).await;
    let person = server.member(&organization, MemberSpec::default()).await;
    let (one, two) = (server.connect(&person.key).await, server.connect(&person.key).await);
    let call = async |caller: &mnemon_testkit::Caller| {
        let answer = caller.call("validate_memory", json!({"source_id": "s"})).await;
        if answer.is_error() { answer.text().to_owned() } else { String::new() }
    };
    let connection = "Error executing tool validate_memory: MCP rate limit exceeded";
    let project = "Error executing tool validate_memory: project call limit exceeded";
    for caller in [&person, &one] {
        for _ in 0..3 {
            assert_eq!(call(caller).await, "");
        }
        assert_eq!(call(caller).await, connection);
    }
    assert_eq!([call(&two).await, call(&two).await, call(&two).await], ["", "", project]);
}

#[tokio::test]
async fn the_subscription_speaks_to_tokens_as_to_keys() {
    let scene = Scene::set().await;
    let caller = scene.connect().await;
    scene.server.subscribe(&scene.organization, Subscription { plan: None, ..Subscription::default() }).await;
    let answer = caller.call("search", json!({"query": "x"})).await;
    assert!(
        answer.text().starts_with("[Mnemon Notice]: this account has no active subscription."),
        "{}",
        answer.text()
    );
    let suspended = Subscription { plan: Some(PlanName::Unlimited), paid_until: None, is_suspended: true };
    scene.server.subscribe(&scene.organization, suspended).await;
    assert_eq!(status_of(&caller).await, 401);
    scene.server.subscribe(&scene.organization, Subscription { is_suspended: false, ..suspended }).await;
    assert_eq!(status_of(&caller).await, 200, "and it comes back with the account");
}
