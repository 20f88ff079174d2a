//! What destroys asks first: at a terminal a person, elsewhere for `--yes`.

use serde_json::json;

use super::house::{House, text};
use crate::process::{Done, at_terminal};

/// Types a command as the admin, at a terminal, and then an answer.
fn typed(house: &House, arguments: &[&str], answer: &str) -> Done {
    let connection = ["--url", house.service.url.as_str(), "--key", house.key.as_str()];
    at_terminal(house.place.command(&[arguments, &connection].concat()), answer)
}

/// An id that nothing has.
const ABSENT: &str = "01980000-0000-7000-8000-00000000dead";

#[test]
fn without_a_terminal_every_command_that_destroys_needs_yes() {
    let house = House::open();
    house.admin_json(&["project", "create", "Shop"]);
    house.admin_json(&["department", "create", "Sales"]);
    house.admin_json(&["member", "create", "Ben"]);
    house.admin_json(&["remember", "one", "--workspace", "kiln"]);
    let commands: [&[&str]; 9] = [
        &["project", "delete", "Shop"],
        &["department", "delete", "Sales"],
        &["member", "delete", "Ben"],
        &["key", "revoke", ABSENT],
        &["connection", "revoke", ABSENT],
        &["workspace", "delete", "kiln"],
        &["record", "purge", ABSENT],
        &["session", "delete", ABSENT],
        &["forget", "--source-id", "x"],
    ];
    for command in commands {
        let refused = house.admin(command);
        assert_eq!((refused.code, refused.out.as_str()), (1, ""), "{command:?}: {refused:?}");
        let is_clear = refused.err.starts_with("error: add --yes to ")
            && refused.err.ends_with(": there is no terminal to ask at\n");
        assert!(is_clear, "{command:?}: {}", refused.err);
        let agreed = house.admin(&[command, &["--yes"]].concat());
        assert!(!agreed.err.contains("--yes"), "{command:?}: {}", agreed.err);
    }
}

#[test]
fn nobody_is_asked_about_what_is_not_there() {
    let house = House::open();
    let commands: [(&[&str], &str); 10] = [
        (&["project", "delete", "x"], "no project is called `x`; projects: default"),
        (&["department", "delete", "x"], "no department is called `x`; there are none"),
        (&["member", "delete", "Nobody"], "no member is called `Nobody`; members: admin"),
        (&["member", "delete", ABSENT], "no such member"),
        (&["key", "revoke", "x"], "no such key"),
        (&["connection", "revoke", "x"], "no such connection"),
        (&["integration", "remove", "x"], "no such integration"),
        (&["workspace", "delete", "x"], "no such workspace"),
        (&["record", "purge", "x"], "no such record"),
        (&["session", "delete", "x"], "no such session"),
    ];
    for (command, expected) in commands {
        let done = typed(&house, command, "y\n");
        assert!(done.code == 1 && !done.err.contains("Go on?"), "{command:?}: {done:?}");
        assert!(done.err.contains(&format!("error: {expected}")), "{command:?}: {}", done.err);
    }
}

#[test]
fn at_a_terminal_a_person_is_asked_and_only_a_yes_counts() {
    let house = House::open();
    for n in ["one", "two"] {
        house.admin_json(&["remember", n, "--workspace", "kiln", "--source-id", "page"]);
    }
    let records = || house.admin_json(&["record", "list"])["records"].as_array().map(Vec::len);
    let delete = ["workspace", "delete", "kiln"];
    for answer in ["n\n", "\n", "yep\n", "\u{4}"] {
        let cancelled = typed(&house, &delete, answer);
        assert_eq!((cancelled.code, cancelled.out.as_str()), (1, ""), "{cancelled:?}");
        let asked = "This will delete the workspace 'kiln' with all its records. Its records can be restored for 30 days. Go on? [y/N]";
        assert!(cancelled.err.contains(asked), "{}", cancelled.err);
        assert!(cancelled.err.contains("error: cancelled; nothing was changed"), "{}", cancelled.err);
        assert_eq!(records(), Some(2));
    }
    let deleted = typed(&house, &[&delete[..], &["--json"]].concat(), "Y\n");
    assert_eq!((deleted.code, deleted.json()), (0, json!({"deleted": true, "records_forgotten": 2})));
    house.admin_json(&["workspace", "restore", "kiln"]);
    assert_eq!(typed(&house, &["forget", "--source-id", "page"], "yes\n").out, "Forgot 2 record(s).\n");
}

/// One record named by its id can be restored: that is not asked about.
#[test]
fn forgetting_one_record_does_not_ask() {
    let house = House::open();
    for command in [&["forget"][..], &["record", "forget"]] {
        let id = text(&house.admin_json(&["remember", "one"]), "id");
        assert_eq!(house.admin(&[command, &[&id]].concat()).code, 0);
    }
}
