//! Whose key it is, and what it may do.

use mnemon_core::{Access, Role, Subscription};
use mnemon_testkit::MemberSpec;
use serde_json::{Value, json};

use super::Office;

#[tokio::test]
async fn a_member_is_told_who_it_is_and_what_its_plan_allows() {
    let office = Office::open().await;
    let sales = office.server.department(office.organization.account, "Sales", None).await;
    let spec = MemberSpec { name: "Ben", department: Some(sales), access: Access::Read, ..MemberSpec::default() };
    let (id, ben) = office.hire(spec).await;
    let me = ben.manage("GET", "/me", Value::Null).await;
    assert_eq!(me["role"], "member");
    assert_eq!(me["member"], json!({"id": id, "name": "Ben"}));
    assert_eq!(me["department"], json!({"id": sales.to_string(), "name": "Sales"}));
    assert_eq!(me["account"]["id"], office.organization.account.to_string());
    assert_eq!(me["project"]["id"], office.organization.project.to_string());
    assert_eq!((&me["access"], &me["subscription"]["state"]), (&json!("read"), &json!("active")));
    let plan = json!({
        "name": "unlimited",
        "records_max": null,
        "workspaces_max": 1_000,
        "connection_calls_max": null,
        "project_calls_max": null,
        "history_bytes_max": null,
        "import_bytes_max": null,
    });
    assert_eq!(me["plan"], plan);
}

#[tokio::test]
async fn the_limits_are_those_of_the_accounts_plan_and_an_account_without_one_has_none() {
    let office = Office::open().await;
    let body = json!({"plan": "free", "paid_until": "2030-01-01T00:00:00Z"});
    office.operator.manage("PUT", &office.account("/subscription"), body).await;
    let me = office.get("/me").await;
    assert_eq!((&me["role"], &me["plan"]["name"]), (&json!("admin"), &json!("free")));
    assert_eq!((&me["plan"]["records_max"], &me["plan"]["project_calls_max"]), (&json!(250), &json!(120)));
    assert_eq!(me["subscription"], json!({"state": "active", "paid_until": "2030-01-01T00:00:00Z"}));
    let bare = office.server.organization_on(Subscription::default()).await;
    let admin = office.server.member(&bare, MemberSpec { role: Role::Admin, ..MemberSpec::default() }).await;
    let me = admin.manage("GET", "/me", Value::Null).await;
    assert_eq!((me.get("plan"), &me["subscription"]["state"]), (None, &json!("none")));
}

#[tokio::test]
async fn the_operator_is_no_member_of_anything() {
    let office = Office::open().await;
    assert_eq!(office.operator.manage("GET", "/me", Value::Null).await, json!({"role": "operator"}));
}
