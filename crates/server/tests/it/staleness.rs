//! When a record stops holding: by its own end, or because its source has changed.

use mnemon_core::{Role, Timestamp};
use mnemon_testkit::{Caller, MemberSpec, TestServer};
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
async fn a_source_belongs_to_its_workspace() {
    let (_server, caller) = server_and_caller().await;
    for (workspace, hash) in [("a", "h1"), ("b", "h2")] {
        let arguments = json!({"content": "fact", "workspace": workspace, "source_id": "f", "source_hash": hash});
        caller.call("remember", arguments).await.structured();
    }
    let statuses = async || {
        let mut statuses = Vec::new();
        for workspace in ["a", "b"] {
            let found = find(&caller, json!({"query": "fact", "workspace": workspace})).await;
            statuses.push(found[0]["status"].as_str().expect("a status").to_owned());
        }
        statuses
    };
    assert_eq!(statuses().await, ["unverified", "unverified"], "a save tells nothing about another workspace");
    let validate = async |arguments: Value| caller.call("validate_memory", arguments).await.structured().clone();
    validate(json!({"source_id": "f", "current_source_hash": "h1", "workspace": "a"})).await;
    assert_eq!(statuses().await, ["verified", "unverified"]);
    validate(json!({"source_id": "f", "current_source_hash": "h2", "workspace": "a"})).await;
    assert_eq!(statuses().await, ["stale", "unverified"]);
    validate(json!({"source_id": "f", "current_source_hash": "h2"})).await;
    assert_eq!(statuses().await, ["stale", "verified"], "where none is named, it counts for all");
}

#[tokio::test]
async fn the_header_and_the_key_name_the_workspace_of_a_validation_and_of_forgetting_a_source() {
    let server = TestServer::start().await;
    let organization = server.organization().await;
    let caller = server.member(&organization, MemberSpec { role: Role::Admin, ..MemberSpec::default() }).await;
    let me = caller.manage("GET", "/me", Value::Null).await["member"]["id"].clone();
    let path = format!("/projects/{}/keys", organization.project);
    let made = caller.manage("POST", &path, json!({"member_id": me, "access": "write", "workspace": "b"})).await;
    let of_b = server.caller(made["key"].as_str().expect("a key"));
    for (workspace, hash) in [("a", "h1"), ("b", "h1"), ("c", "h1")] {
        let content = format!("fact of {workspace}");
        let arguments = json!({"content": content, "workspace": workspace, "source_id": "f", "source_hash": hash});
        caller.call("remember", arguments).await.structured();
    }
    let status = async |workspace: &str| {
        let found = find(&caller, json!({"query": "fact", "workspace": workspace})).await;
        found.first().map(|record| record["status"].as_str().expect("a status").to_owned())
    };
    let changed = json!({"source_id": "f", "current_source_hash": "h2"});
    let by_header = [("Mnemon-Workspace", "a")];
    assert_eq!(caller.call_with("validate_memory", changed.clone(), &by_header).await.structured()["checked"], 1);
    assert_eq!(of_b.call("validate_memory", changed).await.structured()["stale_count"], 1);
    let mut statuses = Vec::new();
    for workspace in ["a", "b", "c"] {
        statuses.push(status(workspace).await.expect("a record"));
    }
    assert_eq!(statuses, ["stale", "stale", "unverified"]);
    let twice = [("Mnemon-Workspace", "a"), ("Mnemon-Workspace", "b")];
    let refused = caller.call_with("forget", json!({"source_id": "f"}), &twice).await;
    assert!(refused.is_error() && refused.text().contains("must be sent once"), "{}", refused.text());
    let forgotten = caller.call_with("forget", json!({"source_id": "f"}), &by_header).await;
    assert_eq!(forgotten.structured()["forgotten"], 1);
    assert_eq!((status("a").await, status("b").await.is_some()), (None, true), "the other workspace keeps its own");
    assert_eq!(of_b.call("forget", json!({"source_id": "f", "workspace": "c"})).await.structured()["forgotten"], 1);
    assert_eq!((status("b").await.is_some(), status("c").await), (true, None), "the argument counts first");
}

#[tokio::test]
async fn facts_of_a_source_that_is_gone_are_stale_until_a_hash_brings_it_back() {
    let (_server, caller) = server_and_caller().await;
    let hashed = json!({"content": "SMS are sent by Twilio", "source_id": "sms.md", "source_hash": "h1"});
    caller.call("remember", hashed).await.structured();
    caller.call("remember", json!({"content": "SMS cost four cents", "source_id": "sms.md"})).await.structured();
    let validate = async |arguments: Value| caller.call("validate_memory", arguments).await.structured().clone();
    validate(json!({"source_id": "sms.md", "current_source_hash": "h1"})).await;
    let statuses = async || {
        let found = find(&caller, json!({"query": "SMS Twilio"})).await;
        found.iter().map(|record| record["status"].as_str().expect("a status").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(statuses().await, ["verified", "unverified"]);
    let answer = validate(json!({"source_id": "sms.md", "source_gone": true, "moved_to": "docs/sms.md"})).await;
    assert_eq!((&answer["stale_count"], &answer["current_source_hash"]), (&json!(2), &Value::Null));
    assert_eq!(statuses().await, ["stale", "stale"]);
    assert_eq!(find(&caller, json!({"query": "SMS", "exclude_stale": true})).await.len(), 0);
    let again = validate(json!({"source_id": "sms.md"})).await;
    assert_eq!((&again["stale_count"], &again["current_source_hash"]), (&json!(2), &Value::Null));
    let late = json!({"content": "SMS are sent at night", "source_id": "sms.md"});
    assert_eq!(caller.call("remember", late).await.structured()["status"], "stale");
    let night = find(&caller, json!({"query": "SMS at night"})).await;
    assert_eq!(night[0]["status"], "stale", "the ranking knows it too");
    validate(json!({"source_id": "sms.md", "current_source_hash": "h1"})).await;
    assert_eq!(statuses().await[0], "verified", "it is back");
    for (arguments, reason) in [
        (
            json!({"source_id": "s", "source_gone": true, "current_source_hash": "h"}),
            "give current_source_hash or source_gone, not both",
        ),
        (json!({"source_id": "s", "moved_to": "t"}), "moved_to needs source_gone: true"),
        (json!({"source_id": "s", "source_gone": "perhaps"}), "source_gone must be a boolean"),
    ] {
        let told = caller.reason("validate_memory", arguments).await;
        assert_eq!(told, format!("Error executing tool validate_memory: {reason}"));
    }
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
