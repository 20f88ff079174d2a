//! Ids in a body: an id that the caller may not see gets, to the byte, the answer of one that does not exist.

use mnemon_core::{Access, Role};
use mnemon_testkit::{Caller, MemberSpec};
use serde_json::{Value, json};

use super::world::World;

const ABSENT: &str = "01980000-0000-7000-8000-00000000dead";

/// Sends the body twice, with the foreign id and with one that does not exist in place of `ID`.
async fn check(caller: &Caller, method: &str, path: &str, body: Value, foreign: String) {
    let with = |id: &str| serde_json::from_str::<Value>(&body.to_string().replace("ID", id)).expect("still JSON");
    let foreign = caller.admin(method, path, with(&foreign)).await;
    let absent = caller.admin(method, path, with(ABSENT)).await;
    assert_eq!(absent.status, 404, "{method} {path} {body}: {}", absent.text);
    assert_eq!((foreign.status, foreign.text), (absent.status, absent.text), "{method} {path} {body}");
}

#[tokio::test]
async fn an_admin_can_not_find_out_what_another_account_has() {
    let world = World::make().await;
    let (server, admin) = (&world.server, world.caller("admin"));
    let theirs = server.organization().await;
    let department = server.department(theirs.account, "Theirs", None).await.to_string();
    let member = server.new_member(&theirs, MemberSpec::default()).await.to_string();
    let account = format!("/accounts/{}", world.organization.account);
    let keys = format!("/projects/{}/keys", world.organization.project);
    let own = server.department(world.organization.account, "Own", None).await;
    let leaver = server.new_member(&world.organization, MemberSpec::default()).await;
    let new = json!({"name": "N", "role": "member", "department_id": "ID"});
    check(admin, "POST", &format!("{account}/members"), new, department.clone()).await;
    let change = json!({"department_id": "ID"});
    check(admin, "PATCH", &format!("{account}/members/{leaver}"), change, department.clone()).await;
    check(
        admin,
        "POST",
        &format!("{account}/departments"),
        json!({"name": "N", "parent_id": "ID"}),
        department.clone(),
    )
    .await;
    check(admin, "PATCH", &format!("{account}/departments/{own}"), json!({"parent_id": "ID"}), department).await;
    check(admin, "POST", &keys, json!({"member_id": "ID", "access": "read"}), member.clone()).await;
    check(admin, "DELETE", &format!("{account}/members/{leaver}"), json!({"hand_over_to": "ID"}), member).await;
}

#[tokio::test]
async fn a_head_can_not_find_out_what_other_departments_have() {
    let world = World::make().await;
    let (server, head) = (&world.server, world.caller("head"));
    let account = format!("/accounts/{}", world.organization.account);
    let keys = format!("/projects/{}/keys", world.organization.project);
    let support = world.support.to_string();
    let in_support = MemberSpec { department: Some(world.support), ..MemberSpec::default() };
    let colleague = server.new_member(&world.organization, in_support).await.to_string();
    let own = MemberSpec { department: Some(world.sales), ..MemberSpec::default() };
    let leaver = server.new_member(&world.organization, own).await;
    let new = json!({"name": "N", "role": "member", "department_id": "ID"});
    check(head, "POST", &format!("{account}/members"), new, support.clone()).await;
    check(head, "PATCH", &format!("{account}/members/{leaver}"), json!({"department_id": "ID"}), support).await;
    check(head, "POST", &keys, json!({"member_id": "ID", "access": "read"}), colleague.clone()).await;
    check(head, "DELETE", &format!("{account}/members/{leaver}"), json!({"hand_over_to": "ID"}), colleague).await;
}

#[tokio::test]
async fn a_read_only_key_of_a_head_can_not_find_out_which_keys_other_departments_have() {
    let world = World::make().await;
    let server = &world.server;
    let head =
        MemberSpec { role: Role::Head, department: Some(world.sales), access: Access::Read, ..MemberSpec::default() };
    let reader = server.member(&world.organization, head).await;
    let rival = MemberSpec { department: Some(world.support), ..MemberSpec::default() };
    let rival = server.new_member(&world.organization, rival).await;
    let foreign = server.key(&world.organization, rival, Access::Write, None).await.0;
    let foreign = reader.admin("DELETE", &format!("/keys/{foreign}"), Value::Null).await;
    let absent = reader.admin("DELETE", &format!("/keys/{ABSENT}"), Value::Null).await;
    assert_eq!((foreign.status, foreign.text), (absent.status, absent.text));
    let own = server.key(&world.organization, world.author_id, Access::Write, None).await.0;
    let refused = reader.refusal("DELETE", &format!("/keys/{own}"), Value::Null).await;
    assert_eq!(refused, (403, "this key is read-only".to_owned()));
}
