//! A purged record is gone from disk too.

use mnemon_core::Role;
use mnemon_testkit::{Caller, MemberSpec, Organization, TestServer, eventually};
use serde_json::{Value, json};

const CANARY: &str = "quetzalcoatlus";
const CANARY_TEXT: &str = "The Quetzalcoatlus nests behind vault nineteen";

/// The data files that contain a part of the canary, as it was saved or as an index would keep it.
fn files_with_canary(server: &TestServer) -> Vec<String> {
    ["Quetzalcoatl", "quetzalcoatl", "vault nineteen"].map(|part| server.data_files_with(part)).concat()
}

async fn started() -> (TestServer, Organization, Caller, Caller) {
    let server = TestServer::start().await;
    let operator = server.operator().await;
    let organization = server.organization().await;
    let caller = server.member(&organization, MemberSpec::default()).await;
    (server, organization, caller, operator)
}

/// Saves the canary among other records, live or forgotten, with an idempotency key.
async fn save(caller: &Caller, scope: &str, is_forgotten: bool) -> String {
    for n in 0..40 {
        caller.remember(&format!("an ordinary fact, number {n}, about boilers and cellars")).await;
    }
    let body = json!({"content": CANARY_TEXT, "scope": scope});
    let saved = caller.call_with("remember", body, &[("x-idempotency-key", "canary")]).await;
    let id = saved.structured()["id"].as_str().expect("an id").to_owned();
    assert_eq!(caller.search(CANARY).await.len(), 1);
    if is_forgotten {
        caller.call("forget", json!({"memory_id": id})).await.structured();
    }
    id
}

async fn check(scope: &str, is_forgotten: bool, restarts: bool) {
    let (mut server, _organization, caller, operator) = started().await;
    let id = save(&caller, scope, is_forgotten).await;
    // The planner's statistics keep samples of what a table holds. A database gathers them whenever it likes.
    server.tamper("ANALYZE");
    if restarts {
        // Closing writes snapshots of large indexes. They hold words too.
        for n in 0..500 {
            caller.remember(&format!("one more ordinary fact, number {n}, about attics and chimneys")).await;
        }
        server.restart().await;
    }
    let (caller, operator) = (server.caller(&caller.key), server.caller(&operator.key));
    let with_canary = files_with_canary(&server);
    assert!(!with_canary.is_empty(), "the search finds what is there");
    let is_in_files = server.data_dir().join("snapshots").is_dir();
    assert_eq!(with_canary.iter().any(|file| file.contains("snapshots")), restarts && is_in_files);
    operator.manage("DELETE", &format!("/records/{id}?purge=true"), Value::Null).await;
    assert!(caller.search_texts(CANARY).await.iter().all(|text| !text.contains("vault")));
    let compacted = operator.manage("POST", "/compact", Value::Null).await;
    assert_eq!(compacted, json!({"compacted": true}));
    assert_eq!(files_with_canary(&server), Vec::<String>::new(), "while it runs");
    assert_eq!(caller.search("boilers").await.len(), 10, "the others are whole");
    server.stop().await;
    assert_eq!(files_with_canary(&server), Vec::<String>::new(), "after it stopped");
}

#[tokio::test]
async fn a_purged_record_is_in_no_byte_of_the_data_directory() {
    check("shared", false, false).await;
}

#[tokio::test]
async fn a_purged_draft_that_was_forgotten_is_in_no_byte_of_the_data_directory() {
    check("draft", true, false).await;
}

#[tokio::test]
async fn a_purged_record_is_in_no_snapshot_of_an_index() {
    check("shared", false, true).await;
}

#[tokio::test]
async fn what_was_forgotten_long_ago_leaves_the_disk_by_itself() {
    let (mut server, organization, caller, operator) = started().await;
    save(&caller, "shared", true).await;
    server.clock.advance(std::time::Duration::from_secs(30 * 86_400 + 1));
    // A node's background work starts with a purge; nobody requests it here.
    server.restart().await;
    let operator = server.caller(&operator.key);
    let forgotten = format!("/projects/{}/records?state=forgotten", organization.project);
    eventually("the forgotten record is purged", async || {
        operator.manage("GET", &forgotten, Value::Null).await["records"] == json!([])
    })
    .await;
    operator.manage("POST", "/compact", Value::Null).await;
    assert_eq!(files_with_canary(&server), Vec::<String>::new());
}

#[tokio::test]
async fn a_repeated_save_does_not_bring_a_purged_record_back() {
    let (_server, _organization, caller, operator) = started().await;
    let id = save(&caller, "shared", false).await;
    operator.manage("DELETE", &format!("/records/{id}?purge=true"), Value::Null).await;
    let body = json!({"content": CANARY_TEXT, "scope": "shared"});
    let again = caller.call_with("remember", body, &[("x-idempotency-key", "canary")]).await;
    assert_ne!(again.structured()["id"], Value::from(id), "a new record, saved again on purpose");
    assert_eq!(again.structured().get("duplicate"), None);
}

#[tokio::test]
async fn the_source_of_drafts_shows_in_no_audit_row_and_is_gone_after_a_purge() {
    let (mut server, organization, caller, operator) = started().await;
    let admin = server.member(&organization, MemberSpec { role: Role::Admin, ..MemberSpec::default() }).await;
    let source = format!("notes/{CANARY}.md");
    let draft = json!({"content": "a private note", "scope": "draft", "source_id": source, "source_hash": "0a1b"});
    let id = caller.call("remember", draft).await.structured()["id"].as_str().expect("an id").to_owned();
    let forgotten = caller.call("forget", json!({"source_id": source})).await;
    assert_eq!(forgotten.structured()["forgotten"], 1);
    let log = admin.manage("GET", &format!("/accounts/{}/audit", organization.account), Value::Null).await;
    let line = &log["audit"][0];
    assert_eq!((&line["action"], &line["affected"]), (&json!("source.forget"), &json!(1)), "it tells that it happened");
    assert!(!log.to_string().contains(CANARY), "{line}");
    operator.manage("DELETE", &format!("/records/{id}?purge=true"), Value::Null).await;
    operator.manage("POST", "/compact", Value::Null).await;
    assert_eq!(files_with_canary(&server), Vec::<String>::new());
    server.stop().await;
    assert_eq!(files_with_canary(&server), Vec::<String>::new());
}

#[tokio::test]
async fn a_source_that_everybody_sees_is_named_in_the_audit_log() {
    let (server, organization, caller, _operator) = started().await;
    for scope in ["draft", "shared"] {
        caller.call("remember", json!({"content": "a note", "scope": scope, "source_id": "docs/a.md"})).await;
    }
    caller.call("forget", json!({"source_id": "docs/a.md"})).await;
    let log = server.audit_log(&organization).await;
    assert!(log.contains(&("source.forget".to_owned(), "docs/a.md".to_owned(), 2)), "{log:?}");
}
