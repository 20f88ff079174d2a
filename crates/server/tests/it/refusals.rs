//! Refusals that must not reveal what exists: whatever the cause, storage does the same work. Counted in statements, because
//! time says nothing on a busy machine. Run on both engines.

use std::time::Duration;

use mnemon_core::{Access, Clock, Role, Subscription};
use mnemon_store::statements_sent;
use mnemon_testkit::{Caller, MemberSpec, TestServer};
use serde_json::{Value, json};

/// What an act costs storage. Background work may interfere, so the cheapest of several runs counts. Every run must be refused
/// in the same way, so none of them changes anything. A whole test stays below thirty rejected credentials a minute, after
/// which an address has to wait.
async fn cost(act: impl AsyncFn()) -> u64 {
    let mut least = u64::MAX;
    for _ in 0..4 {
        let before = statements_sent();
        act().await;
        least = least.min(statements_sent() - before);
    }
    least
}

async fn knock(caller: &Caller) {
    let answer = caller.request("tools/list", json!({})).await;
    assert_eq!(answer.status, 401, "{}", answer.text);
}

fn is_same(costs: &[(&str, u64)]) {
    let first = costs[0].1;
    assert!(first > 0, "the count works: {costs:?}");
    assert!(costs.iter().all(|(_, cost)| *cost == first), "{costs:?}");
}

#[tokio::test]
async fn unknown_revoked_and_expired_keys_cost_the_same() {
    let server = TestServer::start().await;
    let organization = server.organization().await;
    let sales = server.department(organization.account, "Sales", None).await;
    let now = server.clock.now();
    let soon = Some(now + Duration::from_secs(1));
    let somebody = server.new_member(&organization, MemberSpec::default()).await;
    let (key, revoked) = server.key(&organization, somebody, Access::Write, None).await;
    let in_a_department = MemberSpec { department: Some(sales), ..MemberSpec::default() };
    let expired = server.member(&organization, MemberSpec { expires_at: soon, ..in_a_department }).await;
    let ended = server.member(&organization, MemberSpec { access_until: soon, ..MemberSpec::default() }).await;
    let suspended_house = server.organization().await;
    let suspended = server.member(&suspended_house, MemberSpec::default()).await;
    // Use all of them, so that they are in memory.
    for caller in [&revoked, &expired, &ended, &suspended] {
        caller.remember("The kettle is red").await;
    }
    server.revoke(&organization, key).await;
    let stopped = Subscription { is_suspended: true, ..Subscription::default() };
    server.subscribe(&suspended_house, stopped).await;
    server.clock.advance(Duration::from_secs(2));
    let unknown = server.caller(&format!("{}x", &revoked.key[..revoked.key.len() - 1]));
    let odd = server.caller("mnm_not-even-a-key");
    let mut costs = Vec::new();
    for (name, caller) in [
        ("unknown", &unknown),
        ("malformed", &odd),
        ("revoked", &revoked),
        ("expired", &expired),
        ("of a member who left", &ended),
        ("of a suspended account", &suspended),
    ] {
        costs.push((name, cost(async || knock(caller).await).await));
    }
    is_same(&costs);
}

#[tokio::test]
async fn unknown_revoked_and_expired_tokens_cost_the_same() {
    let server = TestServer::start().await;
    let organization = server.organization().await;
    let somebody = server.new_member(&organization, MemberSpec::default()).await;
    let (_, person) = server.key(&organization, somebody, Access::Write, None).await;
    let (key, other) = server.key(&organization, somebody, Access::Write, None).await;
    let (revoked, orphan) = (server.connect(&person.key).await, server.connect(&other.key).await);
    for caller in [&revoked, &orphan] {
        caller.remember("The kettle is red").await;
    }
    let form = vec![("token".to_owned(), revoked.key.clone())];
    assert_eq!(server.browser().post_form("/revoke", &form).await.status, 200);
    server.revoke(&organization, key).await;
    let unknown = server.caller(&format!("{}x", &revoked.key[..revoked.key.len() - 1]));
    let mut costs = Vec::new();
    for (name, caller) in [("unknown", &unknown), ("revoked", &revoked), ("of a revoked key", &orphan)] {
        costs.push((name, cost(async || knock(caller).await).await));
    }
    server.clock.advance(Duration::from_secs(31 * 86_400));
    let late = server.connect(&person.key).await;
    server.clock.advance(Duration::from_secs(30 * 86_400));
    costs.push(("expired", cost(async || knock(&late).await).await));
    is_same(&costs);
}

#[tokio::test]
async fn forgetting_a_hidden_record_costs_what_an_absent_one_costs() {
    let server = TestServer::start().await;
    let organization = server.organization().await;
    let ana = server.member(&organization, MemberSpec::default()).await;
    let ben = server.member(&organization, MemberSpec::default()).await;
    let stranger = server.new_user().await;
    let id = |answer: Value| answer["id"].as_str().expect("an id").to_owned();
    let draft = ana.call("remember", json!({"content": "a draft", "scope": "draft"})).await;
    let hidden = id(draft.structured().clone());
    let foreign = id(stranger.remember("elsewhere").await);
    let gone = id(ben.remember("to be forgotten").await);
    ben.call("forget", json!({"memory_id": gone})).await;
    let absent = "0190b5a2-7c3e-7d4f-8a1b-2c3d4e5f6a7b".to_owned();
    let mut costs = Vec::new();
    for (name, id) in [("absent", absent), ("hidden", hidden), ("another project's", foreign), ("forgotten", gone)] {
        let spent = cost(async || {
            let reason = ben.reason("forget", json!({"memory_id": id})).await;
            assert_eq!(reason, format!("Error executing tool forget: memory '{id}' not found"));
        });
        costs.push((name, spent.await));
    }
    is_same(&costs);
}

#[tokio::test]
async fn acts_on_other_accounts_cost_what_absent_ones_cost() {
    let server = TestServer::start().await;
    let organization = server.organization().await;
    let admin = server.member(&organization, MemberSpec { role: Role::Admin, ..MemberSpec::default() }).await;
    let theirs = server.organization().await;
    let member = server.new_member(&theirs, MemberSpec::default()).await;
    let (key, caller) = server.key(&theirs, member, Access::Write, None).await;
    let connection = server.connection_of(&server.connect(&caller.key).await).await.to_string();
    let record = caller.remember("elsewhere").await["id"].as_str().expect("an id").to_owned();
    let absent = "0190b5a2-7c3e-7d4f-8a1b-2c3d4e5f6a7b";
    let own = organization.account;
    for (method, path, id) in [
        ("GET", "/accounts/{}".to_owned(), theirs.account.to_string()),
        ("GET", format!("/accounts/{own}/members/{{}}"), member.to_string()),
        ("GET", "/projects/{}".to_owned(), theirs.project.to_string()),
        ("GET", "/projects/{}/keys".to_owned(), theirs.project.to_string()),
        ("GET", "/projects/{}/records".to_owned(), theirs.project.to_string()),
        ("DELETE", "/projects/{}".to_owned(), theirs.project.to_string()),
        ("DELETE", "/keys/{}".to_owned(), key.to_string()),
        ("DELETE", "/connections/{}".to_owned(), connection),
        ("DELETE", "/records/{}".to_owned(), record.clone()),
        ("POST", "/records/{}/restore".to_owned(), record),
    ] {
        let mut costs = Vec::new();
        for (name, id) in [("absent", absent), ("another account's", id.as_str())] {
            let path = path.replace("{}", id);
            let spent = cost(async || {
                let refused = admin.admin(method, &path, Value::Null).await;
                assert_eq!(refused.status, 404, "{method} {path}: {}", refused.text);
            });
            costs.push((name, spent.await));
        }
        assert_eq!(costs[0].1, costs[1].1, "{method} {path}: {costs:?}");
    }
}
