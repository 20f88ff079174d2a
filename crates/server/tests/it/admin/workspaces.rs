//! Workspaces: counted by what the caller may see, deleted, born again empty.

use mnemon_testkit::MemberSpec;
use serde_json::{Value, json};

use super::Office;

async fn counts(office: &Office, caller: &mnemon_testkit::Caller) -> Vec<(String, u64)> {
    let listed = caller.manage("GET", &office.project("/workspaces"), Value::Null).await;
    let list = listed["workspaces"].as_array().expect("a list").clone();
    let text = |row: &Value| row["name"].as_str().unwrap_or_default().to_owned();
    list.iter().map(|row| (text(row), row["records"].as_u64().unwrap_or(99))).collect()
}

#[tokio::test]
async fn workspaces_are_counted_by_what_the_caller_may_see() {
    let office = Office::open().await;
    let (_, member) = office.hire(MemberSpec::default()).await;
    let save = async |caller: &mnemon_testkit::Caller, workspace: &str, scope: &str, content: &str| {
        let body = json!({"content": content, "workspace": workspace, "scope": scope});
        caller.call("remember", body).await.structured()["id"].clone()
    };
    save(&member, "notes", "shared", "one").await;
    save(&member, "notes", "draft", "two").await;
    save(&office.admin, "notes", "draft", "three").await;
    save(&member, "secret plans", "draft", "four").await;
    let gone = save(&member, "archive", "shared", "five").await;
    member.call("forget", json!({"memory_id": gone})).await.structured();
    let expect = |rows: &[(&str, u64)]| rows.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect::<Vec<_>>();
    assert_eq!(counts(&office, &office.admin).await, expect(&[("archive", 0), ("notes", 2)]));
    assert_eq!(counts(&office, &office.operator).await, expect(&[("archive", 0), ("notes", 1)]));
}

#[tokio::test]
async fn a_deleted_workspace_takes_its_records_along_and_is_born_again_empty() {
    let office = Office::open().await;
    let admin = &office.admin;
    let save = async |content: &str| {
        admin.call("remember", json!({"content": content, "workspace": "töpferei & co"})).await.structured().clone()
    };
    let first = save("clay is wet").await;
    save("kilns are hot").await;
    let path = office.project("/workspaces/t%C3%B6pferei%20%26%20co");
    let deleted = admin.manage("DELETE", &path, Value::Null).await;
    assert_eq!(deleted, json!({"deleted": true, "records_forgotten": 2}));
    assert_eq!(admin.refusal("DELETE", &path, Value::Null).await, (404, "no such workspace".to_owned()));
    let search = json!({"query": "clay", "workspace": "töpferei & co"});
    let reason = admin.reason("search", search.clone()).await;
    assert_eq!(reason, "Error executing tool search: workspace 'töpferei & co' is not active");
    let gone = admin.reason("forget", json!({"memory_id": first["id"]})).await;
    assert!(gone.ends_with("not found"), "{gone}");
    let again = save("clay is wet").await;
    assert_ne!(again["id"], first["id"], "not a duplicate of what is gone");
    let found = admin.call("search", search).await;
    assert_eq!(found.structured()["result"].as_array().map(Vec::len), Some(1));
    assert_eq!(counts(&office, admin).await, [("töpferei & co".to_owned(), 1)]);
}

#[tokio::test]
async fn a_workspace_of_others_drafts_alone_is_absent_for_the_admin() {
    let office = Office::open().await;
    let (_, member) = office.hire(MemberSpec::default()).await;
    member.call("remember", json!({"content": "mine", "workspace": "private", "scope": "draft"})).await.structured();
    let refused = office.admin.refusal("DELETE", &office.project("/workspaces/private"), Value::Null).await;
    let absent = office.admin.refusal("DELETE", &office.project("/workspaces/never-was"), Value::Null).await;
    assert_eq!(refused, absent);
    let kept = member.call("search", json!({"query": "mine", "workspace": "private"})).await;
    assert_eq!(kept.structured()["result"].as_array().map(Vec::len), Some(1));
}

/// The answer counts what the admin can see, and the audit row counts the workspace only: neither reveals others' drafts.
#[tokio::test]
async fn deleting_a_workspace_does_not_tell_how_many_drafts_others_had_in_it() {
    let office = Office::open().await;
    let (_, member) = office.hire(MemberSpec::default()).await;
    member.call("remember", json!({"content": "for all", "workspace": "w"})).await.structured();
    member.call("remember", json!({"content": "mine", "workspace": "w", "scope": "draft"})).await.structured();
    let deleted = office.admin.manage("DELETE", &office.project("/workspaces/w"), Value::Null).await;
    assert_eq!(deleted["records_forgotten"], 1);
    let log = office.get(&office.account("/audit?limit=1")).await;
    assert_eq!((&log["audit"][0]["action"], &log["audit"][0]["affected"]), (&json!("workspace.delete"), &json!(1)));
}
