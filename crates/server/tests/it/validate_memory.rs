//! `validate_memory`: the status of a source's records, and what it records about the source.

use mnemon_testkit::{Caller, MemberSpec, Organization, TestServer};
use serde_json::{Value, json};

async fn set_up() -> (TestServer, Organization, Caller) {
    let server = TestServer::start().await;
    let organization = server.organization().await;
    let caller = server.member(&organization, MemberSpec::default()).await;
    (server, organization, caller)
}

async fn save(caller: &Caller, arguments: Value) -> Value {
    caller.call("remember", arguments).await.structured()["id"].clone()
}

async fn validate(caller: &Caller, arguments: Value) -> Value {
    let mut answer = caller.call("validate_memory", arguments).await.structured().clone();
    for common in ["api_version", "tenant_id", "project_id"] {
        answer.as_object_mut().expect("an object").shift_remove(common);
    }
    answer
}

#[tokio::test]
async fn an_unknown_source_has_nothing_to_check() {
    let (server, organization, caller) = set_up().await;
    let expected = json!({
        "source_id": "unknown", "current_source_hash": null, "checked": 0, "verified_count": 0, "unverified_count": 0,
        "stale_count": 0, "stale_ids": [], "conflict_count": 0, "conflict_ids": [],
    });
    let answer = validate(&caller, json!({"source_id": "unknown", "current_source_hash": ""})).await;
    assert_eq!(answer.to_string(), expected.to_string(), "members and their order");
    assert_eq!(server.log_position(&organization).await, 0, "without a hash nothing is noted");
}

#[tokio::test]
async fn every_record_of_the_source_is_counted_under_its_status() {
    let (_server, _organization, caller) = set_up().await;
    let of = |content: &str, hash: &str| json!({"content": content, "source_id": "s", "source_hash": hash});
    let old = save(&caller, of("old", "h1")).await;
    save(&caller, of("good", "h2")).await;
    save(&caller, json!({"content": "no hash", "source_id": "s"})).await;
    let mut disputed = of("disputed", "h2");
    disputed["fact_key"] = json!("k");
    let disputed = save(&caller, disputed).await;
    save(&caller, json!({"content": "the rival", "fact_key": "k"})).await;
    let over = json!({"content": "over", "source_id": "s", "valid_until": "2020-01-01T00:00:00Z"});
    let over = save(&caller, over).await;
    let answer = validate(&caller, json!({"source_id": "s", "current_source_hash": "h2", "more": 0})).await;
    let expected = json!({
        "source_id": "s", "current_source_hash": "h2", "checked": 5, "verified_count": 1, "unverified_count": 1,
        "stale_count": 2, "stale_ids": [old, over], "conflict_count": 1, "conflict_ids": [disputed],
        "ignored_arguments": ["more"],
    });
    assert_eq!(answer, expected);
}

/// What `sha256sum` prints, what `mnemon hash` prints, and what somebody typed in capitals are the same hash.
#[tokio::test]
async fn a_true_record_is_never_stale_for_how_a_hash_is_written() {
    let (_server, _organization, caller) = set_up().await;
    let (digits, git) = ("7d865e959b2466918c9863afca942d0fb89d7c9ac0c99bafc3749504ded97730", "b".repeat(40));
    let ways = [digits.to_owned(), format!("sha256:{digits}"), format!("SHA256:{}", digits.to_uppercase())];
    for (n, saved) in ways.iter().enumerate() {
        let record = json!({"content": format!("fact {n}"), "source_id": "a.md", "source_hash": saved});
        caller.call("remember", record).await;
    }
    for seen in &ways {
        let answer = validate(&caller, json!({"source_id": "a.md", "current_source_hash": seen})).await;
        assert_eq!((&answer["verified_count"], &answer["stale_count"]), (&json!(3), &json!(0)), "{seen}: {answer}");
    }
    let found = caller.call("search", json!({"query": "fact", "exclude_stale": true})).await;
    assert_eq!(found.structured()["result"].as_array().map(Vec::len), Some(3), "the ranking knows it too");

    let answer = validate(&caller, json!({"source_id": "a.md", "current_source_hash": git})).await;
    assert_eq!(answer["unverified_count"], 3, "git's id can't be compared with them: {answer}");
    let found = caller.call("search", json!({"query": "fact", "exclude_stale": true})).await;
    assert_eq!(found.structured()["result"].as_array().map(Vec::len), Some(3));

    caller.call("remember", json!({"content": "by git", "source_id": "a.md", "source_hash": "c".repeat(40)})).await;
    let found = caller.call("search", json!({"query": "fact", "exclude_stale": true})).await;
    assert_eq!(found.structured()["result"].as_array().map(Vec::len), Some(3), "neither does a save");

    let other = digits.replace('7', "8");
    let answer = validate(&caller, json!({"source_id": "a.md", "current_source_hash": other})).await;
    assert_eq!((&answer["stale_count"], &answer["unverified_count"]), (&json!(3), &json!(1)), "{answer}");
}

#[tokio::test]
async fn a_confirmed_hash_verifies_until_the_source_changes() {
    let (_server, _organization, caller) = set_up().await;
    save(&caller, json!({"content": "the manual says so", "source_id": "m", "source_hash": "h1"})).await;
    let status = async || caller.search("manual").await[0]["status"].clone();
    assert_eq!(status().await, "unverified");
    let newest = validate(&caller, json!({"source_id": "m"})).await;
    assert_eq!((&newest["current_source_hash"], &newest["unverified_count"]), (&json!("h1"), &json!(1)));
    assert_eq!(status().await, "unverified", "asking without a hash confirms nothing");
    assert_eq!(validate(&caller, json!({"source_id": "m", "current_source_hash": "h1"})).await["verified_count"], 1);
    assert_eq!(status().await, "verified");
    assert_eq!(validate(&caller, json!({"source_id": "m", "current_source_hash": "h2"})).await["stale_count"], 1);
    assert_eq!(status().await, "stale");
    assert_eq!(validate(&caller, json!({"source_id": "m"})).await["current_source_hash"], "h2");
    assert_eq!(validate(&caller, json!({"source_id": "m", "current_source_hash": "h1"})).await["verified_count"], 1);
    assert_eq!(status().await, "verified");
    // A new save of the confirmed state is verified; one of another state is newer than the confirmation.
    let again = json!({"content": "more of the manual", "source_id": "m", "source_hash": "h1"});
    assert_eq!(caller.call("remember", again).await.structured()["status"], "verified");
    save(&caller, json!({"content": "rewritten chapter", "source_id": "m", "source_hash": "h3"})).await;
    let after = validate(&caller, json!({"source_id": "m"})).await;
    assert_eq!((&after["current_source_hash"], &after["stale_count"]), (&json!("h3"), &json!(2)));
    assert_eq!(after["unverified_count"], 1);
}

#[tokio::test]
async fn a_workspace_narrows_what_is_checked_and_what_is_known() {
    let (_server, _organization, caller) = set_up().await;
    for workspace in ["a", "a", "b"] {
        let content = format!("fact of {workspace}");
        let arguments = json!({"content": content, "workspace": workspace, "source_id": "s", "source_hash": "h"});
        save(&caller, arguments).await;
    }
    let check = async |workspace: &str, checked: u64, verified: u64| {
        let arguments = json!({"source_id": "s", "current_source_hash": "h", "workspace": workspace});
        let answer = validate(&caller, arguments).await;
        assert_eq!((&answer["checked"], &answer["verified_count"]), (&json!(checked), &json!(verified)), "{workspace}");
    };
    check("a", 1, 1).await; // The second save into `a` was a duplicate.
    check("nowhere", 0, 0).await;
    let other = caller.call("search", json!({"query": "fact", "workspace": "b"})).await;
    assert_eq!(other.structured()["result"][0]["status"], "unverified");
    assert_eq!(validate(&caller, json!({"source_id": "s"})).await["checked"], 2);
}

#[tokio::test]
async fn a_hash_is_noted_even_before_the_first_record_of_its_source() {
    let (_server, _organization, caller) = set_up().await;
    caller.remember("something else, so that there is a workspace").await;
    validate(&caller, json!({"source_id": "s", "current_source_hash": "h2"})).await;
    let same = json!({"content": "from the same state", "source_id": "s", "source_hash": "h2"});
    assert_eq!(caller.call("remember", same).await.structured()["status"], "verified");
    // A later save is newer than an earlier check.
    let newer = json!({"content": "from a newer state", "source_id": "s", "source_hash": "h3"});
    assert_eq!(caller.call("remember", newer).await.structured()["status"], "unverified");
    assert_eq!(caller.search("same").await[0]["status"], "stale");
}
