//! `remember`: every argument, what comes back and in which order, duplicates and conflicts.

use std::time::Duration;

use mnemon_testkit::{Caller, MemberSpec, TestServer};
use serde_json::{Value, json};

async fn server_and_caller() -> (TestServer, Caller) {
    let server = TestServer::start().await;
    let caller = server.new_user().await;
    (server, caller)
}

async fn save(caller: &Caller, arguments: Value) -> Value {
    caller.call("remember", arguments).await.structured().clone()
}

fn members(record: &Value) -> Vec<&str> {
    record.as_object().expect("an object").keys().map(String::as_str).collect()
}

/// Rivals can't be read after the save, because a table that only this needs is gone. The caller must not be told that
/// the save failed: it would save again.
#[tokio::test]
async fn a_durable_save_is_no_error_when_its_rivals_cannot_be_read() {
    let server = TestServer::start().await;
    let caller = server.first_caller().await;
    let rival = json!({"content": "the boiler is in the cellar", "fact_key": "boiler", "source_id": "plan", "source_hash": "h1"});
    caller.call("remember", rival).await.structured();
    server.tamper("ALTER TABLE source RENAME TO source_away");
    let call = json!({"content": "the boiler is in the attic", "fact_key": "boiler"});
    let saved = caller.call_with("remember", call.clone(), &[("x-idempotency-key", "once")]).await;
    assert!(!saved.is_error(), "{}", saved.result);
    let id = saved.structured()["id"].clone();
    assert_eq!(saved.structured()["status"], "unverified");
    server.tamper("ALTER TABLE source_away RENAME TO source");
    let again = caller.call_with("remember", call, &[("x-idempotency-key", "once")]).await;
    assert_eq!(again.structured()["id"], id, "nothing is saved twice");
    assert_eq!(again.structured()["status"], "conflict", "what was not known is worked out");
    assert_eq!(caller.search("attic").await.len(), 1);
}

#[tokio::test]
async fn content_alone_is_enough_and_the_rest_has_defaults() {
    let (server, _) = server_and_caller().await;
    let organization = server.organization().await;
    let caller = server.member(&organization, MemberSpec { name: "Ana", ..MemberSpec::default() }).await;
    let record = save(&caller, json!({"content": "  The release is on Tuesdays  "})).await;
    let id = record["id"].as_str().expect("an id").to_owned();
    let suffix: String = id.replace('-', "").chars().skip(24).collect();
    let expected = json!({
        "id": id, "workspace": "default", "scope": "shared", "content": "  The release is on Tuesdays  ",
        "fact_key": format!("release-tuesdays-{suffix}"), "status": "unverified", "author": "Ana",
        "created_at": "2027-01-15T08:00:00Z", "searchable": true,
        "api_version": "1.0", "tenant_id": organization.account.to_string(),
        "project_id": organization.project.to_string(),
    });
    assert_eq!(record, expected);
    assert_eq!(members(&record), members(&expected), "the order of members");
    assert_eq!(id.as_bytes()[14], b'7', "a UUIDv7");
}

#[tokio::test]
async fn every_argument_comes_back_and_in_the_documented_order() {
    let (server, _) = server_and_caller().await;
    let organization = server.organization().await;
    let department = server.department(organization.account, "Platform", None).await;
    let spec = MemberSpec { name: "Ana", department: Some(department), ..MemberSpec::default() };
    let caller = server.member(&organization, spec).await;
    let given = json!({
        "valid_until": "2027-03-01T12:00:00+02:00", "confidence": 0.25, "source_revision": "abc", "source_hash": "h",
        "source_id": "doc", "source": "A talk", "fact_key": " release.day ", "scope": "department",
        "workspace": " plans ", "content": "Tuesdays",
    });
    let record = save(&caller, given).await;
    let order = [
        "id",
        "workspace",
        "scope",
        "content",
        "fact_key",
        "status",
        "source",
        "source_id",
        "source_hash",
        "source_revision",
        "confidence",
        "author",
        "department",
        "valid_until",
        "created_at",
        "searchable",
        "api_version",
        "tenant_id",
        "project_id",
    ];
    assert_eq!(members(&record), order);
    let check = |name: &str, expected: Value| assert_eq!(record[name], expected, "{name}");
    check("workspace", json!("plans"));
    check("scope", json!("department"));
    check("fact_key", json!("release.day"));
    check("status", json!("unverified"));
    check("confidence", json!(0.25));
    check("department", json!("Platform"));
    check("valid_until", json!("2027-03-01T10:00:00Z"));
}

#[tokio::test]
async fn strings_stand_for_numbers_null_for_absent_and_empty_for_nothing() {
    let (_server, caller) = server_and_caller().await;
    let record = save(&caller, json!({"content": "a", "confidence": "0.5", "source": "", "fact_key": " "})).await;
    assert_eq!(record["confidence"], 0.5);
    assert_eq!(
        (record.get("source"), record["fact_key"].as_str().is_some_and(|key| key.starts_with("fact-"))),
        (None, true)
    );
    let absent = json!({
        "content": "b", "workspace": null, "scope": null, "fact_key": null, "source": null, "source_id": null,
        "source_hash": null, "source_revision": null, "confidence": null, "valid_until": null,
    });
    let record = save(&caller, absent).await;
    assert_eq!((&record["workspace"], &record["scope"]), (&json!("default"), &json!("shared")));
    assert_eq!(record.get("ignored_arguments"), None);
    for edge in [json!(0), json!(1), json!("0"), json!("1.0")] {
        save(&caller, json!({"content": format!("edge {edge}"), "confidence": edge})).await;
    }
}

#[tokio::test]
async fn unknown_arguments_are_named_in_the_order_in_which_they_came() {
    let (_server, caller) = server_and_caller().await;
    let record = save(&caller, json!({"z": 1, "content": "a fact", "id": "mine", "Content": "x", "a": null})).await;
    assert_eq!(record["ignored_arguments"], json!(["z", "id", "Content", "a"]));
    assert_eq!(record["content"], "a fact");
}

#[tokio::test]
async fn secrets_are_replaced_and_counted() {
    let (_server, caller) = server_and_caller().await;
    // Assembled here, so that no scanner takes this file for a leak.
    let (secret, other) =
        (format!("AKIA{}", "Q3EGRV7ZT5KXN2WM"), format!("ghp_{}", "R7kQx2mZp9VtL4sHn8WcYb3JdFg6TaEuKvXq"));
    let record = save(&caller, json!({"content": format!("The access key {secret} opens the bucket")})).await;
    assert_eq!(record["redacted"], 1);
    let two = format!("Keys: {secret} and {other} were seen");
    let record = save(&caller, json!({"content": two, "source": format!("note with {secret}")})).await;
    assert_eq!(record["redacted"], 3);
    assert!(!record.to_string().contains(&secret) && !record.to_string().contains(&other), "{record}");
    for found in caller.search("access key bucket").await {
        assert!(!found.to_string().contains(&secret), "{found}");
    }
    assert_eq!(save(&caller, json!({"content": "nothing secret"})).await.get("redacted"), None);
}

#[tokio::test]
async fn the_same_fact_is_stored_once() {
    let (server, _) = server_and_caller().await;
    let organization = server.organization().await;
    let caller = server.member(&organization, MemberSpec::default()).await;
    let first = save(&caller, json!({"content": "stored once"})).await;
    assert_eq!(first.get("duplicate"), None);
    server.clock.advance(Duration::from_secs(5));
    let position = server.log_position(&organization).await;
    let again = save(&caller, json!({"content": "stored once", "workspace": "default", "scope": "shared"})).await;
    assert_eq!(again["duplicate"], true);
    for (name, value) in first.as_object().expect("an object") {
        assert_eq!(&again[name], value, "{name}");
    }
    assert_eq!(server.log_position(&organization).await, position, "nothing was written");
    assert_eq!(caller.search("stored once").await.len(), 1);
}

#[tokio::test]
async fn another_text_workspace_scope_or_source_is_another_record() {
    let (_server, caller) = server_and_caller().await;
    save(&caller, json!({"content": "the same"})).await;
    for other in [
        json!({"content": "the same one"}),
        json!({"content": "The same"}),
        json!({"content": "the same", "workspace": "w"}),
        json!({"content": "the same", "scope": "draft"}),
        json!({"content": "the same", "source": "s"}),
        json!({"content": "the same", "source_id": "s"}),
    ] {
        assert_eq!(save(&caller, other.clone()).await.get("duplicate"), None, "{other}");
    }
}

#[tokio::test]
async fn the_same_fact_in_other_spaces_quotes_and_punctuation_is_a_duplicate() {
    let (_server, caller) = server_and_caller().await;
    let first = save(&caller, json!({"content": "We call the branch \"main\"."})).await;
    for again in ["We call the branch \"main\"", "We call the branch “main”!", " We  call the\nbranch 'main' . "] {
        let again = save(&caller, json!({"content": again})).await;
        assert_eq!((&again["id"], &again["duplicate"]), (&first["id"], &json!(true)));
        assert_eq!(again["content"], first["content"], "what was saved first stays as it is");
    }
    let keyed = |content: &str| json!({"content": content, "fact_key": "branch"});
    save(&caller, keyed("The branch is main.")).await;
    let other = save(&caller, json!({"content": "The branch is main", "fact_key": "branch", "source": "wiki"})).await;
    assert_eq!((&other["status"], other.get("conflicts_with")), (&json!("unverified"), None), "they agree");
}

#[tokio::test]
async fn a_save_names_records_that_say_nearly_the_same_and_that_the_caller_sees() {
    let server = TestServer::start().await;
    let organization = server.organization().await;
    let [ana, ben] = [
        server.member(&organization, MemberSpec::default()).await,
        server.member(&organization, MemberSpec::default()).await,
    ];
    for content in
        ["Invoices are sent on the first of the month.", "Ana owns the billing service.", "Lunch is at noon."]
    {
        save(&ana, json!({"content": content})).await;
    }
    let long =
        format!("The nightly backup job runs at 02:00 UTC on the reporting host{}.", " and nowhere else".repeat(6));
    let hidden =
        json!({"content": "The nightly backup job runs at 01:00 UTC on the reporting host.", "scope": "draft"});
    save(&ben, hidden).await;
    let old = save(&ana, json!({"content": "The nightly backup job runs at 02:00 UTC on the reporting host."})).await;
    assert_eq!(old.get("similar"), None, "another's draft is not there");
    let key = [("X-Idempotency-Key", "k")];
    let news = json!({"content": "The nightly backup job runs at 04:30 UTC on the reporting host."});
    let saved = ana.call_with("remember", news.clone(), &key).await.structured().clone();
    let similar = saved["similar"].as_array().expect("a list");
    assert_eq!((similar.len(), &similar[0]["id"]), (1, &old["id"]), "{saved}");
    assert!(similar[0]["score"].as_f64().is_some_and(|score| (0.5..=1.0).contains(&score)), "{saved}");
    assert_eq!(similar[0]["content"], old["content"]);
    let again = ana.call_with("remember", news, &key).await.structured().clone();
    assert_eq!(again, saved, "the same answer again");
    let replaced = json!({"content": saved["content"], "supersedes": [old["id"]]});
    let replaced = save(&ana, replaced).await;
    assert_eq!((&replaced["id"], &replaced["superseded"]), (&saved["id"], &json!([old["id"]])), "{replaced}");
    assert_eq!(replaced.get("similar"), None);
    let longer = save(&ana, json!({"content": long, "workspace": "other"})).await;
    assert_eq!(longer.get("similar"), None, "of another workspace");
}

#[tokio::test]
async fn a_duplicate_brings_hash_revision_confidence_and_validity_up_to_date() {
    let (server, caller) = server_and_caller().await;
    let base = json!({"content": "of a file", "source_id": "f", "source_hash": "h1", "source_revision": "r1"});
    let first = save(&caller, base).await;
    server.clock.advance(Duration::from_secs(60));
    let newer = json!({
        "content": "of a file", "source_id": "f", "source_hash": "h2", "source_revision": "r2", "confidence": 0.9,
        "valid_until": "2028-01-01T00:00:00Z",
    });
    let again = save(&caller, newer).await;
    assert_eq!((&again["id"], &again["duplicate"]), (&first["id"], &json!(true)));
    assert_eq!((&again["source_hash"], &again["source_revision"]), (&json!("h2"), &json!("r2")));
    assert_eq!((&again["confidence"], &again["valid_until"]), (&json!(0.9), &json!("2028-01-01T00:00:00Z")));
    assert_eq!((&again["created_at"], &again["updated_at"]), (&first["created_at"], &json!("2027-01-15T08:01:00Z")));
    let found = &caller.search("file").await[0];
    assert_eq!((&found["source_hash"], &found["status"]), (&json!("h2"), &json!("unverified")));
    // What a later save leaves out stays as it was.
    let bare = save(&caller, json!({"content": "of a file", "source_id": "f"})).await;
    assert_eq!((&bare["source_hash"], &bare["confidence"]), (&json!("h2"), &json!(0.9)));
}

#[tokio::test]
async fn a_forgotten_record_is_no_duplicate() {
    let (_server, caller) = server_and_caller().await;
    let first = caller.remember("said twice").await;
    caller.call("forget", json!({"memory_id": first["id"]})).await.structured();
    let second = caller.remember("said twice").await;
    assert_eq!(second.get("duplicate"), None);
    assert_ne!(second["id"], first["id"]);
}

#[tokio::test]
async fn two_claims_under_one_given_key_dispute_each_other_until_one_is_gone() {
    let (_server, caller) = server_and_caller().await;
    let tuesday = save(&caller, json!({"content": "release on Tuesday", "fact_key": "release.day"})).await;
    assert_eq!((&tuesday["status"], tuesday.get("conflicts_with")), (&json!("unverified"), None));
    let friday = save(&caller, json!({"content": "release on Friday", "fact_key": "release.day"})).await;
    assert_eq!((&friday["status"], &friday["conflicts_with"]), (&json!("conflict"), &json!([tuesday["id"]])));
    let monday = save(&caller, json!({"content": "release on Monday", "fact_key": " release.day"})).await;
    assert_eq!(monday["conflicts_with"], json!([tuesday["id"], friday["id"]]), "oldest first");
    for found in caller.search("release").await {
        assert_eq!(found["status"], "conflict", "{found}");
    }
    for id in [&friday["id"], &monday["id"]] {
        caller.call("forget", json!({"memory_id": id})).await.structured();
    }
    assert_eq!(caller.search("release").await[0]["status"], "unverified");
}

#[tokio::test]
async fn equal_content_other_workspaces_made_keys_and_stale_claims_do_not_conflict() {
    let (_server, caller) = server_and_caller().await;
    save(&caller, json!({"content": "on Tuesday", "fact_key": "k"})).await;
    for peaceful in [
        json!({"content": "on Tuesday", "fact_key": "k", "source": "elsewhere"}),
        json!({"content": "on Friday", "fact_key": "k", "workspace": "w"}),
        json!({"content": "on Friday", "fact_key": "K"}),
        json!({"content": "on Friday"}),
    ] {
        let record = save(&caller, peaceful.clone()).await;
        assert_eq!((&record["status"], record.get("conflicts_with")), (&json!("unverified"), None), "{peaceful}");
    }
    let late = json!({"content": "on Sunday", "fact_key": "k", "valid_until": "2027-01-15T07:59:59Z"});
    let late = save(&caller, late).await;
    assert_eq!((&late["status"], late.get("conflicts_with")), (&json!("stale"), None));
    assert_eq!(caller.search("tuesday").await[0]["status"], "unverified", "a stale rival disputes nothing");
}
