//! Members: roles, the reach of heads, and who gets the records of a member who leaves.

use mnemon_core::Role;
use mnemon_testkit::MemberSpec;
use serde_json::{Value, json};

use super::{Office, id_of, pluck, status_of};

const BEYOND: &str = "a head may manage only members of its own department and below, and may not create admins";

#[tokio::test]
async fn a_member_is_made_shown_changed_and_listed_by_name() {
    let office = Office::open().await;
    let department = office.server.department(office.organization.account, "Sales", None).await.to_string();
    let all = office.account("/members");
    let body =
        json!({"name": "Zoe", "role": "head", "department_id": department, "access_until": "2028-01-01T00:00:00Z"});
    let zoe = office.admin.manage("POST", &all, body).await;
    let expected = json!({
        "id": zoe["id"], "name": "Zoe", "role": "head", "department_id": department,
        "access_until": "2028-01-01T00:00:00Z", "created_at": "2027-01-15T08:00:00Z",
    });
    assert_eq!(zoe, expected);
    let path = office.account(&format!("/members/{}", id_of(&zoe)));
    assert_eq!(office.get(&path).await, zoe);
    let changed = office.admin.manage("PATCH", &path, json!({"role": "member", "access_until": null})).await;
    assert_eq!((&changed["role"], &changed["access_until"]), (&json!("member"), &Value::Null));
    assert_eq!((&changed["name"], &changed["department_id"]), (&zoe["name"], &zoe["department_id"]), "the rest stays");
    let changed = office.admin.manage("PATCH", &path, json!({"department_id": null, "name": "Bea"})).await;
    assert_eq!((&changed["name"], &changed["department_id"]), (&json!("Bea"), &Value::Null));
    assert_eq!(office.admin.manage("PATCH", &path, json!({})).await, changed);
    assert_eq!(pluck(&office.get(&all).await["members"], "name"), ["Ada", "Bea"]);
}

#[tokio::test]
async fn a_head_runs_the_members_of_its_department_and_below_and_nobody_else() {
    let office = Office::open().await;
    let account = office.organization.account;
    let sales = office.server.department(account, "Sales", None).await;
    let team = office.server.department(account, "Team", Some(sales)).await;
    let support = office.server.department(account, "Support", None).await;
    let spec =
        |name, role, department| MemberSpec { name, role, department: Some(department), ..MemberSpec::default() };
    let (_, head) = office.hire(spec("Hilda", Role::Head, sales)).await;
    let (seller, _) = office.hire(spec("Sam", Role::Member, sales)).await;
    let (_fellow, _) = office.hire(spec("Tim", Role::Member, team)).await;
    let (boss, _) = office.hire(spec("Bob", Role::Admin, sales)).await;
    let (helper, _) = office.hire(spec("Sue", Role::Member, support)).await;
    let members = office.account("/members");
    let listed = head.manage("GET", &members, Value::Null).await;
    assert_eq!(pluck(&listed["members"], "name"), ["Bob", "Hilda", "Sam", "Tim"]);
    let new = |role: &str, department: Value| json!({"name": "New", "role": role, "department_id": department});
    for (role, department) in [("member", sales), ("member", team), ("head", team)] {
        head.manage("POST", &members, new(role, json!(department.to_string()))).await;
    }
    let refused = (403, BEYOND.to_owned());
    assert_eq!(head.refusal("POST", &members, new("admin", json!(team.to_string()))).await, refused);
    assert_eq!(head.refusal("POST", &members, new("member", Value::Null)).await, refused);
    let at = |id: &str| office.account(&format!("/members/{id}"));
    for body in [json!({"role": "admin"}), json!({"department_id": null})] {
        assert_eq!(head.refusal("PATCH", &at(&seller), body).await, refused, "nobody leaves its reach or outgrows it");
    }
    for method in ["PATCH", "DELETE"] {
        assert_eq!(head.refusal(method, &at(&boss), json!({})).await, refused, "an admin of its department");
        assert_eq!(head.refusal(method, &at(&helper), json!({})).await.0, 404, "somebody of another department");
    }
    head.manage("PATCH", &at(&seller), json!({"department_id": team.to_string(), "role": "head"})).await;
    head.manage("DELETE", &at(&seller), Value::Null).await;
}

#[tokio::test]
async fn a_head_without_a_department_runs_nobody() {
    let office = Office::open().await;
    let (own, head) = office.hire(MemberSpec { role: Role::Head, ..MemberSpec::default() }).await;
    let listed = head.manage("GET", &office.account("/members"), Value::Null).await;
    assert_eq!(listed, json!({"members": []}));
    let refused = head.refusal("GET", &office.account(&format!("/members/{own}")), Value::Null).await;
    assert_eq!(refused, (404, "no such member".to_owned()));
}

#[tokio::test]
async fn a_changed_role_holds_from_the_next_request_on() {
    let office = Office::open().await;
    let (id, caller) = office.hire(MemberSpec::default()).await;
    let path = office.account(&format!("/members/{id}"));
    assert_eq!(caller.admin("GET", &office.account(""), Value::Null).await.status, 403);
    office.admin.manage("PATCH", &path, json!({"role": "admin"})).await;
    assert_eq!(caller.admin("GET", &office.account(""), Value::Null).await.status, 200);
    office.admin.manage("PATCH", &path, json!({"role": "member"})).await;
    assert_eq!(caller.admin("GET", &office.account(""), Value::Null).await.status, 403);
}

#[tokio::test]
async fn who_leaves_hands_records_and_drafts_to_the_heir_and_its_keys_end() {
    let office = Office::open().await;
    let (leaver, leaving) = office.hire(MemberSpec { name: "Lea", ..MemberSpec::default() }).await;
    let (heir, inheriting) = office.hire(MemberSpec { name: "Hal", ..MemberSpec::default() }).await;
    let (_, other) = office.hire(MemberSpec::default()).await;
    leaving.remember("harvest in August").await;
    let draft = leaving.call("remember", json!({"content": "harvest draft", "scope": "draft"})).await;
    let forgotten = leaving.call("remember", json!({"content": "harvest forgotten", "scope": "draft"})).await;
    leaving.call("forget", json!({"memory_id": id_of(forgotten.structured())})).await.structured();
    let path = office.account(&format!("/members/{leaver}"));
    let refused = office.admin.refusal("DELETE", &path, Value::Null).await;
    assert_eq!(refused, (409, "the member has records; set hand_over_to to the member who takes them over".to_owned()));
    assert_eq!(status_of(&leaving).await, 200, "nothing has happened yet");
    let itself = office.admin.refusal("DELETE", &path, json!({"hand_over_to": leaver})).await;
    assert_eq!(itself, (400, "hand_over_to must name another member".to_owned()));
    let gone = office.admin.manage("DELETE", &path, json!({"hand_over_to": heir})).await;
    assert_eq!(gone, json!({"deleted": true, "keys_revoked": 1, "records_handed_over": 3}));
    assert_eq!(status_of(&leaving).await, 401);
    let mut found = inheriting.search_texts("harvest").await;
    found.sort();
    assert_eq!(found, ["harvest draft", "harvest in August"]);
    for record in inheriting.search("harvest").await {
        assert_eq!(record["author"], "Hal");
    }
    for caller in [&other, &office.admin] {
        assert_eq!(caller.search_texts("harvest").await, ["harvest in August"], "a draft stays a draft");
    }
    inheriting.call("forget", json!({"memory_id": id_of(draft.structured())})).await.structured();
    assert_eq!(office.admin.refusal("DELETE", &path, Value::Null).await.0, 404);
}

#[tokio::test]
async fn who_has_nothing_leaves_without_an_heir() {
    let office = Office::open().await;
    let (id, caller) = office.hire(MemberSpec::default()).await;
    let gone = office.admin.manage("DELETE", &office.account(&format!("/members/{id}")), Value::Null).await;
    assert_eq!(gone, json!({"deleted": true, "keys_revoked": 1, "records_handed_over": 0}));
    assert_eq!(status_of(&caller).await, 401);
    let listed = office.get(&office.project("/keys")).await;
    let keys = listed["keys"].as_array().expect("a list");
    assert!(keys.iter().filter(|key| key["member_id"] == *id).all(|key| key["revoked_at"].is_string()), "{listed}");
}

#[tokio::test]
async fn an_account_keeps_its_last_admin() {
    let office = Office::open().await;
    let path = office.account(&format!("/members/{}", office.admin_id));
    let text = "this is the account's last admin; make somebody else an admin first";
    for caller in [&office.admin, &office.operator] {
        assert_eq!(caller.refusal("DELETE", &path, Value::Null).await, (409, text.to_owned()));
        assert_eq!(caller.refusal("PATCH", &path, json!({"role": "head"})).await, (409, text.to_owned()));
        caller.manage("PATCH", &path, json!({"role": "admin"})).await;
    }
    let other = json!({"name": "Other", "role": "admin"});
    office.admin.manage("POST", &office.account("/members"), other).await;
    office.admin.manage("PATCH", &path, json!({"role": "member"})).await;
}

#[tokio::test]
async fn what_a_member_has_is_told_before_it_leaves() {
    let office = Office::open().await;
    let (id, member) = office.hire(MemberSpec::default()).await;
    let holdings = async || office.get(&office.account(&format!("/members/{id}/holdings"))).await;
    assert_eq!(holdings().await, json!({"records": 0, "keys": 1, "sessions": 0}));
    member.remember("shared").await;
    member.call("remember", json!({"content": "mine", "scope": "draft"})).await.structured();
    assert_eq!(holdings().await, json!({"records": 1, "keys": 1, "sessions": 0}));
}
