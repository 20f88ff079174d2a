//! Projects: created, listed, deleted.

use serde_json::{Value, json};

use super::{Office, id_of, pluck, status_of};

#[tokio::test]
async fn a_project_is_made_shown_and_listed() {
    let office = Office::open().await;
    let made = office.admin.manage("POST", &office.account("/projects"), json!({"name": "Second"})).await;
    let expected = json!({
        "id": made["id"], "account_id": office.organization.account.to_string(), "name": "Second",
        "created_at": "2027-01-15T08:00:00Z",
    });
    assert_eq!(made, expected);
    assert_eq!(office.get(&format!("/projects/{}", id_of(&made))).await, made);
    let listed = office.get(&office.account("/projects")).await;
    assert_eq!(pluck(&listed["projects"], "name"), ["Test project", "Second"], "oldest first");
}

#[tokio::test]
async fn an_ended_project_refuses_its_keys_and_is_gone_from_every_list() {
    let office = Office::open().await;
    let second = office.admin.manage("POST", &office.account("/projects"), json!({"name": "Second"})).await;
    let path = format!("/projects/{}", id_of(&second));
    let body = json!({"member_id": office.admin_id.to_string(), "access": "write"});
    let made = office.admin.manage("POST", &format!("{path}/keys"), body).await;
    let caller = office.server.caller(made["key"].as_str().expect("a key"));
    let record = id_of(&caller.remember("going down with the project").await);
    assert_eq!(caller.manage("DELETE", &path, Value::Null).await, json!({"deleted": true}));
    assert_eq!(status_of(&caller).await, 401);
    assert_eq!(caller.admin("GET", &path, Value::Null).await.status, 401);
    assert_eq!(status_of(&office.admin).await, 200, "the other project's keys live on");
    for (method, path) in [
        ("GET", path.clone()),
        ("DELETE", path.clone()),
        ("GET", format!("{path}/keys")),
        ("GET", format!("{path}/records")),
        ("GET", format!("{path}/workspaces")),
        ("GET", format!("{path}/usage")),
        ("POST", format!("/records/{record}/restore")),
        ("DELETE", format!("/records/{record}?purge=true")),
    ] {
        assert_eq!(office.admin.refusal(method, &path, Value::Null).await.0, 404, "{method} {path}");
    }
    let listed = office.get(&office.account("/projects")).await;
    assert_eq!(pluck(&listed["projects"], "name"), ["Test project"]);
}
