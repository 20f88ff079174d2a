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

/// To the second, over the API: for 30 days a deleted workspace is listed and comes back, whole or record by record.
#[tokio::test]
async fn a_deleted_workspace_is_restored_for_thirty_days() {
    let office = Office::open().await;
    let (admin, clock) = (&office.admin, &office.server.clock);
    let save = async |content: &str, workspace: &str| {
        let body = json!({"content": content, "workspace": workspace});
        admin.call("remember", body).await.structured()["id"].as_str().expect("an id").to_owned()
    };
    let restore = |name: &str| office.project(&format!("/workspaces/{name}/restore"));
    for name in ["kiln", "studio"] {
        save("clay is wet", name).await;
        save("glaze is blue", name).await;
        admin.manage("DELETE", &office.project(&format!("/workspaces/{name}")), Value::Null).await;
    }
    let deleted = office.project("/workspaces?state=deleted");
    let listed = office.get(&deleted).await;
    assert_eq!(listed["workspaces"].as_array().map(Vec::len), Some(2));
    let expected = json!({
        "name": "studio", "records": 2, "created_at": "2027-01-15T08:00:00Z", "deleted_at": "2027-01-15T08:00:00Z",
    });
    assert_eq!(listed["workspaces"][0], expected);
    let gone = office.get(&office.project("/records?state=forgotten&workspace=studio")).await;
    let id = gone["records"][0]["id"].as_str().expect("it can be found to be restored").to_owned();
    assert_eq!(gone["records"][0]["forgotten_at"], "2027-01-15T08:00:00Z");

    clock.advance(std::time::Duration::from_secs(30 * 86_400));
    let back = admin.manage("POST", &restore("kiln"), Value::Null).await;
    assert_eq!(back, json!({"restored": true, "records_restored": 2}));
    let found = admin.call("search", json!({"query": "clay", "workspace": "kiln"})).await;
    assert_eq!(found.structured()["result"][0]["content"], "clay is wet");
    let log = office.get(&office.account("/audit?limit=1")).await;
    let line = (&log["audit"][0]["action"], &log["audit"][0]["subject"], &log["audit"][0]["affected"]);
    assert_eq!(line, (&json!("workspace.restore"), &json!("kiln"), &json!(1)));
    let again = admin.refusal("POST", &restore("kiln"), Value::Null).await;
    assert_eq!(again, (404, "no such deleted workspace".to_owned()));
    let one = admin.manage("POST", &format!("/records/{id}/restore"), Value::Null).await;
    assert_eq!((&one["workspace"], &one["forgotten_at"]), (&json!("studio"), &Value::Null));
    assert_eq!(counts(&office, admin).await, [("kiln".to_owned(), 2), ("studio".to_owned(), 1)]);

    clock.advance(std::time::Duration::from_secs(1));
    assert_eq!(admin.refusal("POST", &restore("studio"), Value::Null).await.0, 404);
    assert_eq!(office.get(&deleted).await, json!({"workspaces": []}));
    let refused = admin.refusal("GET", &office.project("/workspaces?state=gone"), Value::Null).await;
    assert_eq!(refused, (400, "state must be one of live, deleted".to_owned()));
}

/// What was saved under the name meanwhile stays, the restored records join it, and a full project takes none of them.
#[tokio::test]
async fn a_workspace_is_restored_into_one_that_took_its_name_if_there_is_room() {
    let office = Office::open().await;
    let admin = &office.admin;
    let save = async |content: &str| {
        admin.call("remember", json!({"content": content, "workspace": "kiln"})).await.structured();
    };
    for n in 0..3 {
        save(&format!("clay number {n}")).await;
    }
    let (_, member) = office.hire(MemberSpec::default()).await;
    let draft = json!({"content": "clay of my own", "workspace": "kiln", "scope": "draft"});
    member.call("remember", draft).await.structured();
    admin.manage("DELETE", &office.project("/workspaces/kiln"), Value::Null).await;
    for n in 0..247 {
        save(&format!("saved since {n}")).await;
    }
    let plan = |name: &str| json!({"plan": name});
    let subscription = office.account("/subscription");
    office.operator.manage("PUT", &subscription, plan("free")).await;
    let path = office.project("/workspaces/kiln/restore");
    let full = "can't restore the workspace: the project has no room for all its records";
    assert_eq!(admin.refusal("POST", &path, Value::Null).await, (409, full.to_owned()), "251 of 250");
    let listed = office.get(&office.project("/records?limit=1&workspace=kiln")).await;
    let path_of_one = format!("/records/{}", listed["records"][0]["id"].as_str().expect("an id"));
    admin.manage("DELETE", &path_of_one, Value::Null).await;
    let back = admin.manage("POST", &path, Value::Null).await;
    assert_eq!(back["records_restored"], 3, "as many as the admin sees");
    assert_eq!(counts(&office, admin).await, [("kiln".to_owned(), 249)]);
    let found = member.call("search", json!({"query": "clay own", "workspace": "kiln", "limit": 1})).await;
    assert_eq!(found.structured()["result"][0]["content"], "clay of my own", "drafts came back with the rest");
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

/// The answer counts what the admin can see, and the audit row counts the workspace only: neither reveals others'
/// drafts.
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
