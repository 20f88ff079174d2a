//! `mnemon department`, `member` and `key`.

use serde_json::{Value, json};

use super::house::{House, masked, text};

#[test]
fn departments_are_made_moved_listed_and_removed() {
    let house = House::open();
    let top = text(&house.admin_json(&["department", "create", "Sales"]), "id");
    let made = house.admin(&["department", "create", "North", "--parent", &top]);
    assert_eq!(masked(&made), "id <id>\nname North\nparent id <id>");
    let table = "ID NAME PARENT\n<id> North Sales\n<id> Sales -";
    assert_eq!(masked(&house.admin(&["department", "list"])), table);
    assert_eq!(masked(&house.operator(&["department", "list", "--account", &house.account()])), table);
    let north = text(&house.admin_json(&["department", "list"])["departments"][0], "id");
    let renamed = house.admin_json(&["department", "change", &north, "--name", "South"]);
    assert_eq!((&renamed["name"], &renamed["parent_id"]), (&json!("South"), &json!(top)));
    assert_eq!(house.admin_json(&["department", "change", &north, "--top"])["parent_id"], Value::Null);
    let moved = house.admin_json(&["department", "change", &north, "--parent", &top]);
    assert_eq!(house.admin_json(&["department", "show", &north]), moved);
    assert_eq!(house.admin_json(&["department", "show", "South"]), moved, "by its name");
    assert_eq!(house.admin_json(&["department", "change", "South", "--parent", "Sales"]), moved);
    let unknown = house.admin(&["department", "create", "East", "--parent", "Sals"]);
    let text = "error: no department is called `Sals`; departments: Sales, South\n";
    assert_eq!((unknown.code, unknown.err.as_str()), (1, text));
    let in_use = house.admin(&["department", "delete", &top, "--yes"]);
    let text = "error: the department still has members, sub-departments or records; move them first\n";
    assert_eq!((in_use.code, in_use.err.as_str()), (1, text));
    assert_eq!(masked(&house.admin(&["department", "delete", &north, "--yes"])), "deleted true");
}

#[test]
fn members_come_change_and_go() {
    let house = House::open();
    let department = text(&house.admin_json(&["department", "create", "Sales"]), "id");
    let end = "2099-01-01T00:00:00Z";
    let ben = house.admin_json(&[
        "member",
        "create",
        "Ben",
        "--role",
        "head",
        "--department",
        &department,
        "--access-until",
        end,
    ]);
    let expected = json!({
        "id": ben["id"], "name": "Ben", "role": "head", "department_id": department, "access_until": end,
        "created_at": ben["created_at"],
    });
    assert_eq!(ben, expected);
    let ben = text(&ben, "id");
    let zoe = text(&house.admin_json(&["member", "create", "Zoe"]), "id");
    let table =
        "ID NAME ROLE DEPARTMENT ACCESS UNTIL\n<id> Ben head Sales <time>\n<id> Zoe member - -\n<id> admin admin - -";
    assert_eq!(masked(&house.admin(&["member", "list"])), table);
    let changed = house.admin_json(&["member", "change", &ben, "--no-department", "--no-end", "--role", "member"]);
    assert_eq!((&changed["department_id"], &changed["access_until"]), (&Value::Null, &Value::Null));
    assert_eq!(
        house.admin_json(&["member", "change", &ben, "--name", "Benno", "--access-until", end])["name"],
        "Benno"
    );
    assert_eq!(house.admin_json(&["member", "change", &ben, "--department", &department])["department_id"], department);
    assert_eq!(house.admin_json(&["member", "change", &ben, "--department", "Sales"])["department_id"], department);
    assert_eq!(text(&house.admin_json(&["member", "show", &ben]), "role"), "member");
    let key = text(&house.admin_json(&["key", "create", "--member", &zoe]), "key");
    house.with_key(&key, &["remember", "Zoe was here"]);
    let refused = house.admin(&["member", "delete", &zoe, "--yes"]);
    let heir = "error: the member has records; set hand_over_to to the member who takes them over\n";
    assert_eq!((refused.code, refused.err.as_str()), (1, heir));
    let gone = masked(&house.admin(&["member", "delete", &zoe, "--hand-over-to", &ben, "--yes"]));
    assert_eq!(gone, "deleted true\nkeys revoked 1\nrecords handed over 1");
}

#[test]
fn a_key_is_shown_once_listed_without_its_secret_and_revoked() {
    let house = House::open();
    let admin = text(&house.admin_json(&["member", "list"])["members"][0], "id");
    let made = house.admin(&[
        "key",
        "create",
        "--member",
        &admin,
        "--access",
        "read",
        "--label",
        "phone",
        "--workspace",
        "desk",
    ]);
    let shown = "key id <id>\nkey <key>\nThis key will not be shown again. To rotate, switch to this key, then revoke the old one.";
    assert_eq!(masked(&made), shown);
    let project = house.project();
    let made = house.operator_json(&[
        "key",
        "create",
        "--member",
        &admin,
        "--project",
        &project,
        "--expires-at",
        "2099-01-01T00:00:00Z",
    ]);
    let (id, key) = (text(&made, "key_id"), text(&made, "key"));
    assert_eq!(house.with_key(&key, &["search", "anything", "--workspace", "w"]).code, 1, "no such workspace yet");
    house.with_key(&key, &["remember", "made with the second key"]);
    let table = masked(&house.operator(&["key", "list", "--project", &project]));
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[0], "KEY ID HINT MEMBER ACCESS LABEL WORKSPACE EXPIRES AT LAST USED AT REVOKED AT");
    assert_eq!(lines.len(), 4, "{table}");
    assert!(table.contains(" admin read phone desk - - -"), "{table}");
    let listed = house.admin_json(&["key", "list"]).to_string();
    assert!(table.contains(&format!("<id> {} admin", &key[key.len() - 4..])), "{table}");
    assert!(!listed.contains(&key) && !table.contains("<key>"));
    assert_eq!(masked(&house.admin(&["key", "revoke", &id, "--yes"])), "revoked true");
    let refused = house.with_key(&key, &["search", "second"]);
    assert_eq!(refused.code, 1);
    assert!(
        refused.err.contains("rejected the API key") && refused.err.contains("has not been revoked"),
        "{}",
        refused.err
    );
}

/// The accounts guide promises names wherever an id is taken.
#[test]
fn the_operator_names_a_project_and_a_member_too() {
    let house = House::open();
    house.admin_json(&["project", "create", "Website"]);
    let create = |project: &str| house.operator(&["key", "create", "--member", "admin", "--project", project]);
    assert!(masked(&create("Website")).starts_with("key id <id>\nkey <key>\n"));
    let unknown = create("Web");
    assert_eq!(unknown.err, "error: no project is called `Web`; projects: default, Website\n");
    assert_eq!(masked(&house.operator(&["key", "list", "--project", "Website"])).lines().count(), 2);
    let account = house.operator_json(&["account", "create", "Elsewhere"]);
    house.operator_json(&["project", "create", "Website", "--account", &text(&account, "id")]);
    let several = create("Website");
    assert!(several.err.starts_with("error: several projects are called `Website`; give the id"), "{several:?}");
}
