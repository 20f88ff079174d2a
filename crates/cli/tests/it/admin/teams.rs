//! `mnemon login`, names instead of ids, and `mnemon apply`: a team in three commands.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::{Value, json};

use super::house::{House, masked, text};
use crate::process::{Done, at_terminal};

const TEAM: &str = r#"
project = "Shop"

[[department]]
name = "North"
parent = "Sales"

[[department]]
name = "Sales"

[[member]]
name = "Ana"
role = "head"
department = "Sales"
key = "laptop"

[[member]]
name = "Ben"
department = "North"
key = "laptop"

[[member]]
name = "Cleo"
department = "North"
key = "laptop"

[[member]]
name = "Dan"
department = "Sales"
key = "laptop"

[[member]]
name = "Eve"
role = "admin"
key = "laptop"
"#;

/// A command at home, where settings are kept.
fn at_home(house: &House, arguments: &[&str]) -> Command {
    let mut command = house.place.command(arguments);
    command.env("HOME", house.place.path().join("home"));
    command
}

fn run(house: &House, arguments: &[&str]) -> Done {
    Done::of(at_home(house, arguments).output().expect("the binary runs"))
}

#[test]
fn a_team_of_five_in_two_departments_takes_two_commands() {
    let house = House::open();
    house.place.write("team.toml", TEAM);
    let address = house.service.url.trim_start_matches("http://").to_owned();
    let login = run(&house, &["login", &format!("{address}/mcp"), "--key", &house.key]);
    assert_eq!((login.code, login.err.as_str()), (0, ""), "{login:?}");
    assert!(login.out.contains("saved in ~/.config/mnemon/agent.toml; only you can read that file."), "{login:?}");
    let file = house.place.path().join("home/.config/mnemon/agent.toml");
    assert_eq!(std::fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);

    let unasked = run(&house, &["apply", "team.toml"]);
    assert_eq!(unasked.code, 1);
    assert!(unasked.err.contains("add --yes to make these 13 changes"), "{unasked:?}");
    let lines: Vec<&str> = unasked.out.lines().collect();
    let expected = [
        "+ project Shop",
        "+ department Sales",
        "+ department North below Sales",
        "+ member Ana (head, Sales)",
        "+ member Ben (member, North)",
    ];
    assert_eq!(lines[..5], expected, "the difference comes first");
    assert_eq!(lines.last(), Some(&"Left alone, because the file does not name them: admin"));
    assert_eq!(run(&house, &["department", "list", "--json"]).json()["departments"], json!([]), "nothing was changed");

    let applied = run(&house, &["apply", "team.toml", "--yes"]);
    assert_eq!((applied.code, applied.err.as_str()), (0, ""), "{applied:?}");
    assert_eq!(applied.out.matches("mnm_").count(), 5, "{applied:?}");
    let key = applied.out.split_whitespace().find(|word| word.starts_with("mnm_")).expect("a key").to_owned();
    let me = house.with_key(&key, &["whoami", "--json"]).json();
    assert_eq!(
        (&me["member"]["name"], &me["role"], &me["project"]["name"]),
        (&json!("Ana"), &json!("head"), &json!("Shop"))
    );

    let again = run(&house, &["apply", "team.toml", "--yes"]);
    assert!(again.code == 0 && again.out.ends_with("Nothing to change.\n"), "{again:?}");
    house.place.write("team.toml", &TEAM.replace("name = \"Dan\"\n", "name = \"Dan\"\nrole = \"head\"\n"));
    let changed = run(&house, &["apply", "team.toml", "--dry-run"]);
    assert!(changed.out.starts_with("~ member Dan: role member → head\n"), "{changed:?}");
    assert!(changed.out.ends_with("Dry run; nothing was changed.\n"), "{changed:?}");
    assert_eq!(run(&house, &["apply", "team.toml", "--yes"]).code, 0);
    assert_eq!(text(&run(&house, &["member", "show", "Dan", "--json"]).json(), "role"), "head");
}

#[test]
fn a_file_that_can_not_be_meant_changes_nothing() {
    let house = House::open();
    for (file, told) in [
        ("[[member]]\nname = \"A\"\ndepartment = \"Sals\"\n", "no department is called `Sals`; there are none"),
        ("[[member]]\nname = \"A\"\n[[member]]\nname = \"A\"\n", "the member `A` is described twice"),
        ("[[member]]\nname = \"A\"\nrolle = \"head\"\n", "unknown field `rolle`"),
        ("member = 1\n", "team.toml is not a description of a team"),
    ] {
        house.place.write("team.toml", file);
        let done = house.admin(&["apply", "team.toml", "--yes"]);
        assert!(done.code == 1 && done.err.contains(told), "{file}: {done:?}");
    }
    assert_eq!(house.admin_json(&["member", "list"])["members"].as_array().map(Vec::len), Some(1));
}

#[test]
fn names_do_where_ids_do() {
    let house = House::open();
    let made = house.admin(&["member", "create", "Zoe", "--with-key", "phone"]);
    assert!(masked(&made).contains("key <key>\nThis key will not be shown again."), "{made:?}");
    let keys = house.admin_json(&["key", "list"]);
    assert!(keys["keys"].as_array().expect("a list").iter().any(|key| key["label"] == "phone"), "{keys}");
    let bare = house.admin_json(&["member", "create", "Yan", "--with-key"]);
    assert!(text(&bare, "key").starts_with("mnm_"));
    house.admin_json(&["project", "create", "Shop"]);
    let key = house.admin_json(&["key", "create", "--member", "Zoe", "--project", "Shop"]);
    let me = house.with_key(&text(&key, "key"), &["whoami", "--json"]).json();
    assert_eq!((&me["member"]["name"], &me["project"]["name"]), (&json!("Zoe"), &json!("Shop")));
    assert_eq!(house.admin(&["usage", "Shop"]).code, 0);
    let twice = text(&house.admin_json(&["member", "create", "Zoe"]), "id");
    let refused = house.admin(&["member", "show", "Zoe"]);
    assert!(
        refused.err.starts_with("error: several members are called `Zoe`; give the id of one of them: "),
        "{refused:?}"
    );
    assert!(refused.err.contains(&twice), "{refused:?}");
    assert_eq!(house.admin(&["member", "delete", &twice, "--yes"]).code, 0);
    let gone = house.admin(&["member", "delete", "Zoe", "--hand-over-to", "admin", "--yes"]);
    assert_eq!(masked(&gone), "deleted true\nkeys revoked 2\nrecords handed over 0");
    let account = house.admin_json(&["account", "show"]);
    let by_name = house.operator_json(&["member", "list", "--account", &text(&account, "name")]);
    assert_eq!(by_name, house.admin_json(&["member", "list"]));
    assert_eq!(house.operator_json(&["usage", "Shop"]), house.admin_json(&["usage", "Shop"]));
}

#[test]
fn profiles_keep_several_connections_apart() {
    let house = House::open();
    let other = text(&house.admin_json(&["member", "create", "Zoe", "--with-key"]), "key");
    let piped = |arguments: &[&str], input: &str| {
        let mut command = at_home(&house, arguments);
        command
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        std::io::Write::write_all(&mut child.stdin.take().expect("piped"), input.as_bytes()).expect("it reads");
        Done::of(child.wait_with_output().expect("it ends"))
    };
    let url = house.service.url.as_str();
    let wrong = piped(&["login", url], "mnm_wrong\n");
    assert_eq!(wrong.code, 1);
    assert!(!house.place.path().join("home/.config/mnemon/agent.toml").exists(), "what is refused is not kept");
    assert!(piped(&["login", url], "").err.contains("no key was given"), "an empty pipe");
    assert_eq!(piped(&["login", url], &format!(" {}\n", house.key)).code, 0);
    assert_eq!(run(&house, &["login", url, "--key", &other, "--profile", "zoe"]).code, 0);
    let who = |done: Done| -> Value { done.json()["member"]["name"].clone() };
    assert_eq!(who(run(&house, &["whoami", "--json"])), "admin");
    assert_eq!(who(run(&house, &["whoami", "--json", "--profile", "zoe"])), "Zoe");
    let mut command = at_home(&house, &["whoami", "--json"]);
    command.env("MNEMON_PROFILE", "zoe");
    assert_eq!(who(Done::of(command.output().expect("the binary runs"))), "Zoe");
    assert_eq!(run(&house, &["remember", "saved without a flag"]).code, 0, "the other commands find it too");
    let unknown = run(&house, &["whoami", "--profile", "nobody"]);
    let told = "error: there is no profile 'nobody'; save it with `mnemon login --profile nobody`, or use one of zoe\n";
    assert_eq!((unknown.code, unknown.err.as_str()), (1, told));
    assert_eq!(run(&house, &["logout", "--profile", "zoe"]).code, 0);
    assert_eq!(run(&house, &["whoami", "--profile", "zoe"]).code, 1);
    let typed = at_terminal(at_home(&house, &["login", url]), &format!("{}\n", house.key));
    assert_eq!(typed.code, 0, "{typed:?}");
    assert!(typed.err.contains(&format!("API key for {url}: ")), "{typed:?}");
}
