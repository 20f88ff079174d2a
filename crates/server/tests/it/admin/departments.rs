//! The tree of departments.

use mnemon_testkit::MemberSpec;
use serde_json::{Value, json};

use super::{Office, id_of, pluck};

async fn create(office: &Office, name: &str, parent: Option<&str>) -> String {
    let body = json!({"name": name, "parent_id": parent});
    id_of(&office.admin.manage("POST", &office.account("/departments"), body).await)
}

#[tokio::test]
async fn departments_form_a_tree_that_can_be_renamed_and_moved() {
    let office = Office::open().await;
    let top = create(&office, "Top", None).await;
    let middle = create(&office, "Middle", Some(&top)).await;
    let leaf = create(&office, "Leaf", Some(&middle)).await;
    let listed = office.get(&office.account("/departments")).await;
    assert_eq!(pluck(&listed["departments"], "name"), ["Leaf", "Middle", "Top"], "by name");
    let path = office.account(&format!("/departments/{leaf}"));
    assert_eq!(office.get(&path).await, json!({"id": leaf, "name": "Leaf", "parent_id": middle}));
    let moved = office.admin.manage("PATCH", &path, json!({"parent_id": null})).await;
    assert_eq!(moved, json!({"id": leaf, "name": "Leaf", "parent_id": null}), "a name that is left out stays");
    let renamed = office.admin.manage("PATCH", &path, json!({"name": "Twig"})).await;
    assert_eq!(renamed, json!({"id": leaf, "name": "Twig", "parent_id": null}));
    let both = office.admin.manage("PATCH", &path, json!({"name": "Leaf", "parent_id": top})).await;
    assert_eq!(both, json!({"id": leaf, "name": "Leaf", "parent_id": top}));
    assert_eq!(office.get(&path).await, both);
}

#[tokio::test]
async fn a_department_can_not_lie_below_itself() {
    let office = Office::open().await;
    let top = create(&office, "Top", None).await;
    let middle = create(&office, "Middle", Some(&top)).await;
    let leaf = create(&office, "Leaf", Some(&middle)).await;
    for below in [&top, &middle, &leaf] {
        let path = office.account(&format!("/departments/{top}"));
        let refused = office.admin.refusal("PATCH", &path, json!({"parent_id": below, "name": "Loop"})).await;
        assert_eq!(refused, (409, "a department can't be below itself".to_owned()));
    }
    assert_eq!(office.get(&office.account(&format!("/departments/{top}"))).await["name"], "Top");
}

#[tokio::test]
async fn a_department_in_use_stays_until_nothing_refers_to_it() {
    let office = Office::open().await;
    let top = create(&office, "Top", None).await;
    let leaf = create(&office, "Leaf", Some(&top)).await;
    let in_use = "the department still has members, sub-departments or records; move them first";
    let delete = async |id: &str| {
        office.admin.admin("DELETE", &office.account(&format!("/departments/{id}")), Value::Null).await
    };
    let refused = delete(&top).await;
    assert_eq!((refused.status, refused.json()["message"].as_str()), (409, Some(in_use)), "one lies below it");
    let department = leaf.parse().ok();
    let (member, caller) = office.hire(MemberSpec { department, ..MemberSpec::default() }).await;
    assert_eq!(delete(&leaf).await.status, 409, "somebody works there");
    let saved = caller.call("remember", json!({"content": "of the leaf", "scope": "department"})).await;
    let record = id_of(saved.structured());
    let out = json!({"department_id": null});
    office.admin.manage("PATCH", &office.account(&format!("/members/{member}")), out).await;
    assert_eq!(delete(&leaf).await.status, 409, "a record belongs to it");
    let purge = format!("/records/{record}?purge=true");
    office.operator.manage("DELETE", &purge, Value::Null).await;
    assert_eq!(delete(&leaf).await.json(), json!({"deleted": true}));
    assert_eq!(delete(&top).await.json(), json!({"deleted": true}));
    assert_eq!(delete(&top).await.status, 404, "it is gone");
}

#[tokio::test]
async fn moving_a_department_moves_what_its_people_see() {
    let office = Office::open().await;
    let sales = create(&office, "Sales", None).await;
    let team = create(&office, "Team", None).await;
    let (_, seller) = office.hire(MemberSpec { department: sales.parse().ok(), ..MemberSpec::default() }).await;
    let (_, fellow) = office.hire(MemberSpec { department: team.parse().ok(), ..MemberSpec::default() }).await;
    seller.call("remember", json!({"content": "margins are thin", "scope": "department"})).await.structured();
    seller.remember("a door is open").await;
    assert!(fellow.search("margins").await.is_empty());
    let path = office.account(&format!("/departments/{team}"));
    office.admin.manage("PATCH", &path, json!({"parent_id": sales})).await;
    assert_eq!(fellow.search_texts("margins").await, ["margins are thin"], "what Sales shares reaches down");
    office.admin.manage("PATCH", &path, json!({"parent_id": null})).await;
    assert!(fellow.search("margins").await.is_empty());
}
