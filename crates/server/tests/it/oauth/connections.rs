//! Connections in the admin API: who has connected what, when it was used, and its end.

use std::time::Duration;

use mnemon_core::Role;
use mnemon_testkit::MemberSpec;
use serde_json::{Value, json};

use super::status_of;
use crate::admin::{Office, pluck};

#[tokio::test]
async fn a_connection_is_listed_with_its_client_and_its_last_use() {
    let office = Office::open().await;
    let caller = office.server.connect(&office.admin.key).await;
    let path = office.project("/connections");
    let listed = office.get(&path).await;
    let row = &listed["connections"][0];
    let expected = json!({
        "connection_id": office.server.connection_of(&caller).await.to_string(),
        "project_id": office.organization.project.to_string(), "member_id": office.admin_id.to_string(),
        "key_id": office.admin_key.to_string(), "client_id": row["client_id"], "client_name": "Chat",
        "return_host": "chat.example", "returns_home": false,
        "created_at": "2027-01-15T08:00:00Z", "expires_at": "2027-02-14T08:00:00Z",
        "revoked_at": null, "last_used_at": null,
    });
    assert_eq!(row, &expected);
    assert!(!listed.to_string().contains(&caller.key[4..47]), "never the token");
    office.server.clock.advance(Duration::from_secs(90));
    caller.remember("used").await;
    office.server.engine.flush_usage().await.expect("storage works");
    assert_eq!(office.get(&path).await["connections"][0]["last_used_at"], "2027-01-15T08:01:30Z");
}

#[tokio::test]
async fn a_revoked_connection_is_refused_at_the_next_request_and_its_key_stays() {
    let office = Office::open().await;
    let (one, two) = (office.server.connect(&office.admin.key).await, office.server.connect(&office.admin.key).await);
    let path = format!("/connections/{}", office.server.connection_of(&one).await);
    assert_eq!(office.admin.manage("DELETE", &path, Value::Null).await, json!({"revoked": true}));
    assert_eq!([status_of(&one).await, status_of(&two).await, status_of(&office.admin).await], [401, 200, 200]);
    let refused = office.admin.refusal("DELETE", &path, Value::Null).await;
    assert_eq!(refused, (404, "no such connection".to_owned()));
    let listed = office.get(&office.project("/connections")).await;
    assert_eq!(listed["connections"][0]["revoked_at"], "2027-01-15T08:00:00Z");
}

#[tokio::test]
async fn a_head_sees_and_ends_the_connections_of_its_own_people_only() {
    let office = Office::open().await;
    let sales = office.server.department(office.organization.account, "Sales", None).await;
    let spec = |role| MemberSpec { role, department: Some(sales), ..MemberSpec::default() };
    let (_, head) = office.hire(spec(Role::Head)).await;
    let (seller_id, seller) = office.hire(spec(Role::Member)).await;
    let sellers = office.server.connect(&seller.key).await;
    let admins = office.server.connect(&office.admin.key).await;
    let listed = head.manage("GET", &office.project("/connections"), Value::Null).await;
    assert_eq!(pluck(&listed["connections"], "member_id"), [seller_id]);
    let path = async |caller| format!("/connections/{}", office.server.connection_of(caller).await);
    assert_eq!(head.refusal("DELETE", &path(&admins).await, Value::Null).await.0, 404);
    head.manage("DELETE", &path(&sellers).await, Value::Null).await;
    assert_eq!([status_of(&sellers).await, status_of(&admins).await], [401, 200]);
}

#[tokio::test]
async fn making_and_ending_a_connection_leave_audit_rows() {
    let office = Office::open().await;
    let one = office.server.connect(&office.admin.key).await;
    let id = office.server.connection_of(&one).await.to_string();
    let newest = async || office.get(&office.account("/audit?limit=1")).await["audit"][0].clone();
    let made = newest().await;
    assert_eq!(
        (&made["action"], &made["subject"], &made["actor"]),
        (&json!("connection.create"), &json!(id), &json!("member"))
    );
    assert_eq!(made["member_id"], office.admin_id.to_string());
    office.operator.manage("DELETE", &format!("/connections/{id}"), Value::Null).await;
    let ended = newest().await;
    assert_eq!(
        (&ended["action"], &ended["subject"], &ended["actor"]),
        (&json!("connection.revoke"), &json!(id), &json!("operator"))
    );
    let two = office.server.connect(&office.admin.key).await;
    let fields = vec![("token".to_owned(), two.key.clone())];
    office.server.browser().post_form("/revoke", &fields).await;
    let given_back = newest().await;
    assert_eq!((&given_back["action"], &given_back["actor"]), (&json!("connection.revoke"), &json!("member")));
}
