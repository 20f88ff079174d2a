//! Searches with filters, and the order of records that hold and records that do not.

use mnemon_core::Timestamp;
use mnemon_testkit::{Caller, MemberSpec, TestServer};
use serde_json::{Value, json};

async fn save(caller: &Caller, arguments: Value) -> String {
    caller.call("remember", arguments).await.structured()["id"].as_str().expect("an id").to_owned()
}

async fn contents(caller: &Caller, arguments: Value) -> Vec<String> {
    let answer = caller.call("search", arguments).await;
    let found = answer.structured()["result"].as_array().expect("a list").clone();
    found.iter().map(|record| record["content"].as_str().expect("a text").to_owned()).collect()
}

#[tokio::test]
async fn a_search_finds_only_what_its_filters_admit() {
    let server = TestServer::start().await;
    let caller = server.new_user().await;
    let at = |second: i64| server.clock.set(Timestamp::from_second(second).expect("in the calendar"));
    at(1_800_000_000);
    let one = save(&caller, json!({"content": "boiler one", "fact_key": "boiler.code"})).await;
    at(1_800_000_100);
    save(&caller, json!({"content": "boiler two", "source_id": "docs/heating.md"})).await;
    at(1_800_000_200);
    let three = save(&caller, json!({"content": "boiler three", "fact_key": "boiler.code"})).await;
    let find = async |filter: Value| {
        let mut arguments = json!({"query": "boiler", "limit": 10});
        filter.as_object().expect("filters").iter().for_each(|(name, value)| arguments[name] = value.clone());
        let mut found = contents(&caller, arguments).await;
        found.sort();
        found
    };
    assert_eq!(find(json!({})).await, ["boiler one", "boiler three", "boiler two"]);
    assert_eq!(find(json!({"fact_key": "boiler.code"})).await, ["boiler one", "boiler three"]);
    assert_eq!(find(json!({"fact_key": " boiler.code "})).await.len(), 2, "as it is trimmed when it is saved");
    assert_eq!(find(json!({"source_id": "docs/heating.md"})).await, ["boiler two"]);
    assert_eq!(find(json!({"memory_ids": [one]})).await, ["boiler one"]);
    assert_eq!(find(json!({"memory_ids": [one, three, "no id"], "fact_key": "boiler.code"})).await.len(), 2);
    assert_eq!(find(json!({"since": "2027-01-15T08:01:40Z"})).await, ["boiler three", "boiler two"]);
    assert_eq!(find(json!({"since": "2027-01-15T08:01:41Z"})).await, ["boiler three"]);
    assert_eq!(find(json!({"until": "2027-01-15T08:01:40Z"})).await, ["boiler one", "boiler two"]);
    assert_eq!(find(json!({"until": "2027-01-15T08:01:39Z"})).await, ["boiler one"]);
    assert_eq!(find(json!({"fact_key": "no such key"})).await, [""; 0]);
    assert_eq!(find(json!({"source_id": "no such source"})).await, [""; 0]);
}

#[tokio::test]
async fn wrong_filters_are_named() {
    let server = TestServer::start().await;
    let caller = server.new_user().await;
    save(&caller, json!({"content": "boiler"})).await;
    let refused = async |name: &str, value: Value| {
        let mut arguments = json!({"query": "boiler"});
        arguments[name] = value;
        let text = caller.reason("search", arguments).await;
        text.strip_prefix("Error executing tool search: ").expect("names the tool").to_owned()
    };
    let many: Vec<String> = (0..51).map(|n| n.to_string()).collect();
    let ids = "memory_ids must hold 1 to 50 ids";
    assert_eq!(refused("memory_ids", json!(many)).await, ids);
    assert_eq!(refused("memory_ids", json!([1])).await, "memory_ids must be a list of strings");
    for name in ["since", "until"] {
        let text = format!("{name} must be an RFC 3339 time or a date, for example 2027-01-31T00:00:00Z or 2027-01-31");
        assert_eq!(refused(name, json!("yesterday")).await, text);
    }
    let too_long = "fact_key is 129 characters long; the limit is 128";
    assert_eq!(refused("fact_key", json!("é".repeat(129))).await, too_long);
    assert_eq!(contents(&caller, json!({"query": "boiler", "fact_key": "é".repeat(128)})).await, [""; 0]);
    // Some clients send every argument; an empty list is one that was not meant.
    assert_eq!(contents(&caller, json!({"query": "boiler", "memory_ids": [], "tags": []})).await, ["boiler"]);
    // Fifty ids are accepted, whether or not they exist.
    assert_eq!(contents(&caller, json!({"query": "boiler", "memory_ids": many[..50]})).await, [""; 0]);
}

#[tokio::test]
async fn a_star_lists_the_newest_first() {
    let server = TestServer::start().await;
    let caller = server.new_user().await;
    for content in ["alpha", "beta", "gamma"] {
        save(&caller, json!({"content": content})).await;
    }
    assert_eq!(contents(&caller, json!({"query": "*"})).await, ["gamma", "beta", "alpha"]);
    assert_eq!(contents(&caller, json!({"query": "*", "limit": 1})).await, ["gamma"]);
}

#[tokio::test]
async fn the_update_of_a_fact_comes_before_the_stale_one() {
    let server = TestServer::start().await;
    let caller = server.new_user().await;
    let fact =
        |content: &str, hash: &str| json!({"content": content, "source_id": "docs/release.md", "source_hash": hash});
    save(&caller, fact("Releases go out every Thursday after the smoke tests.", "h1")).await;
    save(&caller, fact("Releases go out every Tuesday at ten.", "h2")).await;
    let first = json!({"query": "when do releases go out after the smoke tests", "limit": 1});
    assert_eq!(contents(&caller, first).await, ["Releases go out every Tuesday at ten."]);
    // What was validated takes effect on the very next search.
    caller
        .call("validate_memory", json!({"source_id": "docs/release.md", "current_source_hash": "h1"}))
        .await
        .structured();
    let found = contents(&caller, json!({"query": "releases", "exclude_stale": true})).await;
    assert_eq!(found, ["Releases go out every Thursday after the smoke tests."]);
}

#[tokio::test]
async fn ids_of_hidden_records_find_nothing() {
    let server = TestServer::start().await;
    let organization = server.organization().await;
    let ana = server.member(&organization, MemberSpec { name: "Ana", ..MemberSpec::default() }).await;
    let ben = server.member(&organization, MemberSpec { name: "Ben", ..MemberSpec::default() }).await;
    save(&ana, json!({"content": "shared boiler"})).await;
    let draft = save(&ana, json!({"content": "draft boiler", "scope": "draft"})).await;
    assert_eq!(contents(&ana, json!({"query": "*", "memory_ids": [draft]})).await, ["draft boiler"]);
    assert_eq!(contents(&ben, json!({"query": "*", "memory_ids": [draft]})).await, [""; 0]);
}
