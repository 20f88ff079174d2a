//! Refusals that must not reveal what exists: whatever the cause, storage does the same work. Counted in statements,
//! because time says nothing on a busy machine. Run on both engines.

use mnemon_core::{Access, Role};
use mnemon_store::statements_sent;
use mnemon_testkit::{MemberSpec, TestServer};
use serde_json::{Value, json};

/// What an act costs storage. Background work may interfere, so the cheapest of several runs counts. Every run must be
/// refused in the same way, so none of them changes anything.
async fn cost(act: impl AsyncFn()) -> u64 {
    let mut least = u64::MAX;
    for _ in 0..4 {
        let before = statements_sent();
        act().await;
        least = least.min(statements_sent() - before);
    }
    least
}

fn is_same(costs: &[(&str, u64)]) {
    let first = costs[0].1;
    assert!(first > 0, "the count works: {costs:?}");
    assert!(costs.iter().all(|(_, cost)| *cost == first), "{costs:?}");
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
