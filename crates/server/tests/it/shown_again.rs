//! Records that an answer showed are kept in memory for the next one. Whatever changes them, here or on another node,
//! the next answer shows them as they are. Each story shows a record twice first, so that it is kept.

use std::time::Duration;

use mnemon_core::Role;
use mnemon_store::statements_sent;
use mnemon_testkit::{Caller, MemberSpec, TestServer, TestServerOptions, TestStore};
use serde_json::{Value, json};

use crate::admin::Office;

async fn save(caller: &Caller, arguments: Value) -> String {
    caller.call("remember", arguments).await.structured()["id"].as_str().expect("an id").to_owned()
}

/// The only record that a query finds, after it was certainly kept.
async fn kept(caller: &Caller, query: &str) -> Value {
    caller.search(query).await;
    let mut found = caller.search(query).await;
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[tokio::test]
async fn a_search_that_finds_kept_records_reads_no_storage() {
    let server = TestServer::start().await;
    let caller = server.new_user().await;
    for n in 0..5 {
        caller.remember(&format!("the boiler number {n} is in the cellar")).await;
    }
    let first = caller.search("boiler").await;
    assert_eq!(first.len(), 5);
    // On PostgreSQL the credential and the end of the log are looked up, and nothing else.
    let look_up = if server.database().is_some() { LOOK_UP_STATEMENTS } else { 0 };
    let mut least = u64::MAX;
    for _ in 0..4 {
        let before = statements_sent();
        assert_eq!(caller.search("boiler").await, first);
        least = least.min(statements_sent() - before);
    }
    assert_eq!(least, look_up);
}

/// What a call by key sends before it starts.
const LOOK_UP_STATEMENTS: u64 = 1;

#[tokio::test]
async fn a_duplicate_that_brings_a_record_up_to_date_is_shown() {
    let server = TestServer::start().await;
    let caller = server.new_user().await;
    let fact = |hash: &str, confidence: f64| json!({"content": "the boiler code is 4711", "source_id": "wiki", "source_hash": hash, "confidence": confidence});
    save(&caller, fact("a", 0.5)).await;
    let before = kept(&caller, "boiler").await;
    assert_eq!((&before["source_hash"], &before["confidence"]), (&json!("a"), &json!(0.5)));
    server.clock.advance(Duration::from_secs(60));
    save(&caller, fact("b", 0.75)).await;
    let after = kept(&caller, "boiler").await;
    assert_eq!((&after["source_hash"], &after["confidence"]), (&json!("b"), &json!(0.75)));
    assert_eq!((&after["id"], after["updated_at"].is_string()), (&before["id"], true));
}

#[tokio::test]
async fn a_forgotten_a_restored_and_a_purged_record_are_what_they_are() {
    let office = Office::open().await;
    let admin = &office.admin;
    let id = save(admin, json!({"content": "the boiler code is 4711"})).await;
    kept(admin, "boiler").await;
    admin.call("forget", json!({"memory_id": id})).await.structured();
    assert_eq!(admin.search("boiler").await, Vec::<Value>::new());
    admin.manage("POST", &format!("/records/{id}/restore"), Value::Null).await;
    assert_eq!(kept(admin, "boiler").await["id"], id);
    office.operator.manage("DELETE", &format!("/records/{id}?purge=true"), Value::Null).await;
    assert_eq!(admin.search("boiler").await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_replaced_record_gives_way_and_a_dispute_shows_on_both() {
    let server = TestServer::start().await;
    let caller = server.new_user().await;
    save(&caller, json!({"content": "the release is on Tuesday", "fact_key": "release.day"})).await;
    assert_eq!(kept(&caller, "Tuesday").await["status"], "unverified");
    save(&caller, json!({"content": "the release is on Friday", "fact_key": "release.day"})).await;
    let disputed = caller.search("release").await;
    assert_eq!(disputed.iter().map(|hit| &hit["status"]).collect::<Vec<_>>(), ["conflict", "conflict"]);
    let friday = json!({"content": "the release is on Friday", "fact_key": "release.day", "replace": true});
    save(&caller, friday).await;
    let settled = kept(&caller, "release").await;
    assert_eq!((&settled["content"], &settled["status"]), (&json!("the release is on Friday"), &json!("unverified")));
}

#[tokio::test]
async fn a_source_that_was_seen_changed_or_confirmed_shows_in_the_status() {
    let server = TestServer::start().await;
    let caller = server.new_user().await;
    save(&caller, json!({"content": "the boiler code is 4711", "source_id": "wiki", "source_hash": "a"})).await;
    for (hash, status) in [("a", "verified"), ("b", "stale"), ("a", "verified")] {
        kept(&caller, "boiler").await;
        caller.call("validate_memory", json!({"source_id": "wiki", "current_source_hash": hash})).await.structured();
        assert_eq!(caller.search("boiler").await[0]["status"], status, "after {hash}");
    }
}

#[tokio::test]
async fn an_end_of_validity_passes_for_a_kept_record() {
    let server = TestServer::start().await;
    let caller = server.new_user().await;
    let until = "2099-01-01T00:00:00Z";
    save(&caller, json!({"content": "the boiler code is 4711", "valid_until": until})).await;
    assert_eq!(kept(&caller, "boiler").await["status"], "unverified");
    server.clock.set(until.parse().expect("a moment"));
    assert_eq!(caller.search("boiler").await[0]["status"], "stale");
}

#[tokio::test]
async fn new_names_of_an_author_and_of_a_department_are_shown() {
    let office = Office::open().await;
    let sales = office.server.department(office.organization.account, "Sales", None).await;
    let (id, zoe) = office.hire(MemberSpec { name: "Zoe", department: Some(sales), ..MemberSpec::default() }).await;
    save(&zoe, json!({"content": "the boiler code is 4711"})).await;
    let before = kept(&zoe, "boiler").await;
    assert_eq!((&before["author"], &before["department"]), (&json!("Zoe"), &json!("Sales")));
    office.admin.manage("PATCH", &office.account(&format!("/members/{id}")), json!({"name": "Bea"})).await;
    assert_eq!(zoe.search("boiler").await[0]["author"], "Bea");
    office.admin.manage("PATCH", &office.account(&format!("/departments/{sales}")), json!({"name": "Trade"})).await;
    assert_eq!(zoe.search("boiler").await[0]["department"], "Trade");
    // A member who leaves hands the records over.
    let (heir, _) = office.hire(MemberSpec { name: "Kim", role: Role::Member, ..MemberSpec::default() }).await;
    assert_eq!(kept(&office.admin, "boiler").await["author"], "Bea");
    let leave = office.account(&format!("/members/{id}"));
    office.admin.manage("DELETE", &leave, json!({"hand_over_to": heir})).await;
    assert_eq!(office.admin.search("boiler").await[0]["author"], "Kim");
}

#[tokio::test]
async fn a_deleted_workspace_takes_its_kept_records_along() {
    let server = TestServer::start().await;
    let organization = server.organization().await;
    let caller = server.member(&organization, MemberSpec::default()).await;
    save(&caller, json!({"content": "the boiler code is 4711"})).await;
    kept(&caller, "boiler").await;
    assert_eq!(server.delete_workspace(&organization, "default").await, Some(1));
    save(&caller, json!({"content": "the attic is locked"})).await;
    assert_eq!(caller.search("boiler").await, Vec::<Value>::new());
}

#[tokio::test]
async fn nothing_kept_shows_in_another_project_or_to_those_who_may_not_see_it() {
    let server = TestServer::start().await;
    let (ana, ben) = (server.new_user().await, server.new_user().await);
    // Both stand at the same place of their logs.
    save(&ana, json!({"content": "the boiler code is 4711"})).await;
    save(&ben, json!({"content": "the boiler code is 1234"})).await;
    assert_eq!(kept(&ana, "boiler").await["content"], "the boiler code is 4711");
    assert_eq!(kept(&ben, "boiler").await["content"], "the boiler code is 1234");
    let organization = server.organization().await;
    let zoe = server.member(&organization, MemberSpec::default()).await;
    let kim = server.member(&organization, MemberSpec::default()).await;
    save(&zoe, json!({"content": "the boiler code is 9", "scope": "draft"})).await;
    save(&zoe, json!({"content": "lunch is at noon"})).await;
    kept(&zoe, "boiler").await;
    assert_eq!(kim.search("boiler").await, Vec::<Value>::new());
}

#[tokio::test]
async fn what_another_node_changes_reaches_the_kept_records_of_this_one() {
    let options = TestServerOptions { store: TestStore::Postgres, ..TestServerOptions::default() };
    let first = TestServer::start_with(options).await;
    let second = first.one_more_node().await;
    let operator = first.operator().await;
    let ana = first.first_caller().await;
    let elsewhere = second.caller(&ana.key);
    let fact = |hash: &str| json!({"content": "the boiler code is 4711", "source_id": "wiki", "source_hash": hash});
    let id = save(&ana, fact("a")).await;
    kept(&elsewhere, "boiler").await;
    for n in 0..20 {
        let hash = format!("hash{n}");
        save(&ana, fact(&hash)).await;
        assert_eq!(elsewhere.search("boiler").await[0]["source_hash"], hash);
    }
    ana.call("forget", json!({"memory_id": id})).await.structured();
    assert_eq!(elsewhere.search("boiler").await, Vec::<Value>::new());
    operator.manage("POST", &format!("/records/{id}/restore"), Value::Null).await;
    assert_eq!(kept(&elsewhere, "boiler").await["id"], id);
}
