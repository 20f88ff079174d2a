//! When a record stops holding: by its own end, or because its source has changed.

use mnemon_core::Timestamp;
use mnemon_testkit::{Caller, TestServer};
use serde_json::{Value, json};

async fn server_and_caller() -> (TestServer, Caller) {
    let server = TestServer::start().await;
    let caller = server.new_user().await;
    (server, caller)
}

async fn find(caller: &Caller, arguments: Value) -> Vec<Value> {
    caller.call("search", arguments).await.structured()["result"].as_array().expect("a list").clone()
}

async fn statuses(caller: &Caller, query: &str) -> Vec<(String, String)> {
    let text = |record: &Value, name: &str| record[name].as_str().unwrap_or_default().to_owned();
    let found = find(caller, json!({"query": query, "limit": 50})).await;
    let mut all: Vec<_> = found.iter().map(|record| (text(record, "content"), text(record, "status"))).collect();
    all.sort();
    all
}

#[tokio::test]
async fn a_record_is_stale_from_valid_until_on() {
    let (server, caller) = server_and_caller().await;
    let until = Timestamp::from_second(1_800_000_100).expect("in the calendar");
    let arguments = json!({"content": "the offer stands", "valid_until": until.to_string()});
    assert_eq!(caller.call("remember", arguments).await.structured()["status"], "unverified");
    let check = async |second: i64, expected: &str| {
        server.clock.set(Timestamp::from_second(second).expect("in the calendar"));
        assert_eq!(caller.search("offer").await[0]["status"], expected, "{second}");
        let fresh = find(&caller, json!({"query": "offer", "exclude_stale": true})).await;
        assert_eq!(fresh.is_empty(), expected == "stale", "{second}");
    };
    check(1_800_000_099, "unverified").await;
    check(1_800_000_100, "stale").await;
    check(1_800_000_101, "stale").await;
}

#[tokio::test]
async fn a_record_that_is_over_before_it_is_saved_is_saved_as_stale() {
    let (_server, caller) = server_and_caller().await;
    let arguments = json!({"content": "yesterday's news", "valid_until": "2027-01-15T08:00:00Z"});
    assert_eq!(caller.call("remember", arguments).await.structured()["status"], "stale");
}

#[tokio::test]
async fn saving_a_changed_source_turns_its_old_facts_stale_at_once() {
    let (_server, caller) = server_and_caller().await;
    let save = async |content: &str, source_id: &str, hash: Value| {
        let arguments = json!({"content": content, "source_id": source_id, "source_hash": hash});
        caller.call("remember", arguments).await.structured()["status"].clone()
    };
    assert_eq!(save("file fact one", "file", json!("h1")).await, "unverified");
    assert_eq!(save("file fact two", "file", json!("h1")).await, "unverified");
    assert_eq!(save("file fact without hash", "file", Value::Null).await, "unverified");
    assert_eq!(save("file fact elsewhere", "other", json!("h1")).await, "unverified");
    assert_eq!(save("file fact three", "file", json!("h2")).await, "unverified");
    let pair = |content: &str, status: &str| (content.to_owned(), status.to_owned());
    let after = [
        pair("file fact elsewhere", "unverified"),
        pair("file fact one", "stale"),
        pair("file fact three", "unverified"),
        pair("file fact two", "stale"),
        pair("file fact without hash", "unverified"),
    ];
    assert_eq!(statuses(&caller, "file fact").await, after);
    // The file is as it was before: the old facts hold again.
    assert_eq!(save("file fact four", "file", json!("h1")).await, "unverified");
    let holds = async |content: &str| {
        let found = statuses(&caller, content).await;
        found.into_iter().find(|(found, _)| found == content).map(|(_, status)| status)
    };
    assert_eq!(holds("file fact one").await.as_deref(), Some("unverified"));
    assert_eq!(holds("file fact three").await.as_deref(), Some("stale"));
}

#[tokio::test]
async fn a_source_is_one_across_workspaces() {
    let (_server, caller) = server_and_caller().await;
    for (workspace, hash) in [("a", "h1"), ("b", "h2")] {
        let arguments = json!({"content": "fact", "workspace": workspace, "source_id": "f", "source_hash": hash});
        caller.call("remember", arguments).await.structured();
    }
    assert_eq!(find(&caller, json!({"query": "fact", "workspace": "a"})).await[0]["status"], "stale");
    assert_eq!(find(&caller, json!({"query": "fact", "workspace": "b"})).await[0]["status"], "unverified");
}

#[tokio::test]
async fn leaving_stale_records_out_still_fills_the_limit() {
    let (_server, caller) = server_and_caller().await;
    for n in 0..120 {
        let old = json!({"content": format!("lighthouse note {n}"), "source_id": "log", "source_hash": "old"});
        caller.call("remember", old).await.structured();
    }
    for n in 0..12 {
        // Longer, so that every stale record is a better match.
        let content = format!("a far longer remark, number {n}, that mentions the lighthouse note only in passing");
        caller.call("remember", json!({"content": content})).await.structured();
    }
    caller.call("validate_memory", json!({"source_id": "log", "current_source_hash": "new"})).await.structured();
    let all = find(&caller, json!({"query": "lighthouse note", "limit": 10})).await;
    assert!(all.iter().all(|record| record["status"] == "stale"), "{all:?}");
    for (limit, expected) in [(1, 1), (10, 10), (12, 12), (50, 12)] {
        let arguments = json!({"query": "lighthouse note", "limit": limit, "exclude_stale": "true"});
        let fresh = find(&caller, arguments).await;
        assert_eq!(fresh.len(), expected, "{limit}");
        assert!(fresh.iter().all(|record| record["status"] == "unverified"));
    }
    for keeps in [json!(false), json!("False"), Value::Null] {
        let arguments = json!({"query": "lighthouse note", "limit": 50, "exclude_stale": keeps});
        assert_eq!(find(&caller, arguments).await.len(), 50);
    }
}

#[tokio::test]
async fn conflicting_and_unverified_records_are_not_left_out_as_stale() {
    let (_server, caller) = server_and_caller().await;
    for content in ["meet on Monday", "meet on Friday"] {
        caller.call("remember", json!({"content": content, "fact_key": "meet"})).await.structured();
    }
    assert_eq!(find(&caller, json!({"query": "meet", "exclude_stale": true})).await.len(), 2);
}
