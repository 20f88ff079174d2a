//! `mnemon account`, `plan`, `project` and `audit`.

use serde_json::{Value, json};

use super::house::{House, masked, text};

#[test]
fn the_operator_makes_shows_lists_suspends_and_resumes_accounts() {
    let house = House::open();
    let made =
        house.operator(&["account", "create", "Acme Corp", "--plan", "pro", "--paid-until", "2099-01-01T00:00:00Z"]);
    let shown =
        "id <id>\nname Acme Corp\nplan pro\npaid until <time>\nsuspended false\nstate active\ncreated at <time>";
    assert_eq!(masked(&made), shown);
    let listed = house.operator(&["account", "list"]);
    let table =
        "ID NAME PLAN PAID UNTIL STATE\n<id> Default account unlimited - active\n<id> Acme Corp pro <time> active";
    assert_eq!(masked(&listed), table);
    let made = house.operator_json(&["account", "create", "Free riders"]);
    let id = text(&made, "id");
    let expected = json!({
        "id": id, "name": "Free riders", "plan": null, "paid_until": null, "suspended": false, "state": "none",
        "created_at": made["created_at"],
    });
    assert_eq!(made, expected);
    assert_eq!(house.operator_json(&["account", "show", &id]), made);
    let rest = house.operator_json(&["account", "list", "--after", &id]);
    assert_eq!(rest, json!({"accounts": [], "next": null}));
    let suspended = masked(&house.operator(&["account", "suspend", &id]));
    assert!(suspended.contains("suspended true"), "{suspended}");
    let resumed = masked(&house.operator(&["account", "resume", &id]));
    assert!(resumed.contains("suspended false"), "{resumed}");
}

#[test]
fn a_suspended_accounts_keys_are_refused_with_what_to_do() {
    let house = House::open();
    let account = house.account();
    house.operator_json(&["account", "suspend", &account]);
    let refused = house.admin(&["account", "show", &account]);
    assert_eq!((refused.code, refused.out.as_str()), (1, ""));
    assert!(refused.err.starts_with("error: the credential was rejected; send the operator token or an API key"));
    house.operator_json(&["account", "resume", &account]);
    assert_eq!(house.account(), account);
}

#[test]
fn a_plan_is_set_by_the_operator_and_shown_to_the_admin() {
    let house = House::open();
    let account = house.account();
    assert_eq!(masked(&house.admin(&["plan", "show"])), "plan unlimited\nstate active");
    let set = house.operator_json(&["plan", "set", &account, "starter", "--paid-until", "2020-01-01T00:00:00Z"]);
    assert_eq!((&set["plan"], &set["state"]), (&json!("starter"), &json!("suspended")));
    let shown = house.operator_json(&["plan", "show", &account]);
    assert_eq!(shown, json!({"plan": "starter", "paid_until": "2020-01-01T00:00:00Z", "state": "suspended"}));
    let set = masked(&house.operator(&["plan", "set", &account, "pro"]));
    assert!(set.contains("plan pro\nsuspended false\nstate active"), "no end when left out: {set}");
    assert_eq!(house.admin_json(&["plan", "show"])["plan"], "pro");
}

#[test]
fn an_admin_runs_projects() {
    let house = House::open();
    let first = house.project();
    let made = masked(&house.admin(&["project", "create", "Second"]));
    assert_eq!(made, "id <id>\naccount id <id>\nname Second\ncreated at <time>");
    let table = "ID NAME CREATED AT\n<id> default <time>\n<id> Second <time>";
    assert_eq!(masked(&house.admin(&["project", "list"])), table);
    assert_eq!(masked(&house.operator(&["project", "list", "--account", &house.account()])), table);
    let listed = house.admin_json(&["project", "list"]);
    let second = text(&listed["projects"][1], "id");
    assert_eq!(house.admin_json(&["project", "show", &second])["name"], "Second");
    assert_eq!(masked(&house.admin(&["project", "delete", &second, "--yes"])), "deleted true");
    let gone = house.admin(&["project", "show", &second]);
    assert_eq!((gone.code, gone.err.as_str()), (1, "error: no such project\n"));
    assert_eq!(house.project(), first);
}

#[test]
fn the_audit_log_is_a_table_and_json() {
    let house = House::open();
    house.admin_json(&["department", "create", "Sales"]);
    let table = masked(&house.admin(&["audit", "--limit", "2"]));
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[0], "AT ACTOR ACTOR NAME ACTION SUBJECT SUBJECT NAME AFFECTED");
    assert_eq!(lines[1], "<time> member admin department.create <id> Sales 1");
    assert_eq!(lines.len(), 4, "two rows, and where the next page starts");
    let narrowed = house.admin_json(&["audit", "--action", "department,member", "--except", "member"]);
    assert_eq!(narrowed["audit"].as_array().map(Vec::len), Some(1), "{narrowed}");
    let log = house.operator_json(&["audit", &house.account()]);
    let actions: Vec<&Value> = log["audit"].as_array().expect("a list").iter().map(|line| &line["action"]).collect();
    assert_eq!(actions[0], "department.create");
    assert_eq!(actions.len(), 5, "the four of the first start, and the department");
}
