//! The subscription: the exact notices, and the moments at which the state changes.

use std::time::Duration;

use mnemon_core::{Clock, PlanName, Subscription, Timestamp};
use mnemon_testkit::{Caller, MemberSpec, Organization, TestServer};
use serde_json::{Value, json};

const NONE: &str = "[Mnemon Notice]: this account has no active subscription. Ask the account's admin to activate \
                    a plan; nothing can be saved or searched until then.";
const GRACE: &str = "[Mnemon Notice]: this account's subscription has expired. Memory is read-only during the grace \
                     period. Renew the plan to save and delete again.";
const SUSPENDED: &str = "[Mnemon Notice]: this account is suspended because its subscription expired. Renew the plan \
                         to use it again; your data is kept until then.";
const DAY: Duration = Duration::from_secs(86_400);

/// A server, and an account that has paid for one day, with a record in its memory.
async fn set_up() -> (TestServer, Organization, Caller, String) {
    let server = TestServer::start().await;
    let paid_until = Timestamp::from_second(server.clock.now().as_second() + 86_400).ok();
    let subscription = Subscription { plan: Some(PlanName::Pro), paid_until, is_suspended: false };
    let organization = server.organization_on(subscription).await;
    let caller = server.member(&organization, MemberSpec::default()).await;
    let saved = caller.call("remember", json!({"content": "paid for", "source_id": "s", "source_hash": "h"})).await;
    let id = saved.structured()["id"].as_str().expect("an id").to_owned();
    (server, organization, caller, id)
}

fn calls(id: &str) -> [(&'static str, Value); 5] {
    [
        ("remember", json!({"content": "more"})),
        ("forget", json!({"memory_id": id})),
        ("gateway_call", json!({"server": "s", "tool": "t"})),
        ("search", json!({"query": "paid"})),
        ("validate_memory", json!({"source_id": "s", "current_source_hash": "h2"})),
    ]
}

async fn check_refused(caller: &Caller, tool: &str, arguments: Value, notice: &str, state: Value) {
    let answer = caller.call(tool, arguments).await;
    assert!(answer.is_error(), "{tool}: {}", answer.result);
    assert_eq!(answer.result["content"], json!([{"type": "text", "text": notice}]), "{tool}");
    assert_eq!(answer.result.get("structuredContent"), None, "{tool}");
    assert_eq!(answer.result["_meta"], json!({"api_version": "1.0", "subscription": state}), "{tool}");
}

#[tokio::test]
async fn without_a_plan_every_tool_answers_with_the_notice() {
    let server = TestServer::start().await;
    let organization = server.organization_on(Subscription::default()).await;
    let caller = server.member(&organization, MemberSpec::default()).await;
    for (tool, arguments) in calls("x") {
        check_refused(&caller, tool, arguments, NONE, json!({"state": "none", "until": null})).await;
    }
    assert_eq!(server.log_position(&organization).await, 0);
}

#[tokio::test]
async fn in_grace_reading_works_under_the_notice_and_writing_does_not() {
    let (server, organization, caller, id) = set_up().await;
    server.clock.advance(DAY);
    let position = server.log_position(&organization).await;
    let state = json!({"state": "grace", "until": "2027-01-30T08:00:00Z"});
    for (tool, arguments) in calls(&id) {
        if matches!(tool, "remember" | "forget" | "gateway_call") {
            check_refused(&caller, tool, arguments, GRACE, state.clone()).await;
            continue;
        }
        let answer = caller.call(tool, arguments).await;
        let texts: Vec<&Value> =
            answer.result["content"].as_array().expect("a list").iter().map(|t| &t["text"]).collect();
        assert_eq!(texts, [&json!(GRACE), &json!(answer.structured().to_string())], "{tool}");
        assert_eq!(answer.result["_meta"], json!({"api_version": "1.0", "subscription": state}), "{tool}");
        match tool {
            "search" => assert_eq!(answer.structured()["result"][0]["id"], id),
            _ => assert_eq!(answer.structured()["stale_ids"], json!([id]), "the answer is as if the hash was noted"),
        }
    }
    assert_eq!(server.log_position(&organization).await, position, "nothing was written");
    // A call that fails for another reason gives that reason, without the notice.
    let failed = caller.call("search", json!({"query": ""})).await;
    assert_eq!(failed.text(), "Error executing tool search: query must not be empty");
}

#[tokio::test]
async fn after_grace_every_tool_answers_with_the_notice_and_data_is_kept() {
    let (server, organization, caller, id) = set_up().await;
    server.clock.advance(DAY * 15);
    for (tool, arguments) in calls(&id) {
        check_refused(&caller, tool, arguments, SUSPENDED, json!({"state": "suspended", "until": null})).await;
    }
    server.subscribe(&organization, Subscription { plan: Some(PlanName::Pro), ..Subscription::default() }).await;
    assert_eq!(caller.search("paid").await[0]["id"], id);
}

#[tokio::test]
async fn the_state_moves_with_the_clock_to_the_second() {
    let (server, _organization, caller, _) = set_up().await;
    let start = server.clock.now().as_second();
    let check = async |at: i64, expected: &str| {
        server.clock.set(Timestamp::from_second(start + at).expect("in the calendar"));
        let answer = caller.request("tools/list", json!({})).await.json();
        let state = answer["result"]["_meta"]["subscription"]["state"].as_str().unwrap_or("active").to_owned();
        assert_eq!(state, expected, "{at}");
        assert_eq!(caller.call("search", json!({"query": "paid"})).await.is_error(), expected == "suspended", "{at}");
    };
    let (paid, grace) = (86_400, 15 * 86_400);
    check(paid - 1, "active").await;
    check(paid, "grace").await;
    check(paid + 1, "grace").await;
    check(grace - 1, "grace").await;
    check(grace, "suspended").await;
    check(grace + 1, "suspended").await;
}

#[tokio::test]
async fn an_active_account_sees_no_subscription_in_its_answers() {
    let (_server, _organization, caller, _) = set_up().await;
    for method in ["tools/list", "initialize", "server/discover"] {
        let answer = caller.request(method, json!({})).await.json();
        assert_eq!(answer["result"]["_meta"], json!({"api_version": "1.0"}), "{method}");
    }
    assert_eq!(caller.call("search", json!({"query": "paid"})).await.result["_meta"], json!({"api_version": "1.0"}));
}

#[tokio::test]
async fn tools_are_listed_in_every_state_but_suspension_by_the_operator() {
    let (server, organization, caller, _) = set_up().await;
    for days in [0, 1, 15] {
        server.clock.advance(DAY * days);
        let listed = caller.request("tools/list", json!({})).await.json();
        assert_eq!(listed["result"]["tools"].as_array().map(Vec::len), Some(5), "after {days} more days");
    }
    let plan = Some(PlanName::Pro);
    server.subscribe(&organization, Subscription { plan, paid_until: None, is_suspended: true }).await;
    assert_eq!(caller.request("tools/list", json!({})).await.status, 401);
    server.subscribe(&organization, Subscription { plan, ..Subscription::default() }).await;
    assert_eq!(caller.request("tools/list", json!({})).await.status, 200);
}
