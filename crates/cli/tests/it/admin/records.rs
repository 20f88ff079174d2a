//! `mnemon record`, `workspace`, `usage` and `compact`.

use std::path::Path;

use serde_json::{Value, json};

use super::house::{House, masked, text};

fn remember(house: &House, content: &str, more: &[&str]) -> String {
    text(&house.admin_json(&[&["remember", content], more].concat()), "id")
}

#[test]
fn records_are_listed_forgotten_restored_and_purged() {
    let house = House::open();
    let first =
        remember(&house, "The boiler code is 4711", &["--source-id", "wiki/boiler", "--workspace", "cellar & co"]);
    remember(&house, "Lunch is at noon\nand tea at four", &[]);
    let table = "ID WORKSPACE SCOPE STATUS CONTENT\n<id> default shared unverified Lunch is at noon …\n\
                 <id> cellar & co shared unverified The boiler code is 4711";
    assert_eq!(masked(&house.admin(&["record", "list"])), table);
    let of_source = house.admin_json(&["record", "list", "--source-id", "wiki/boiler"]);
    assert_eq!(of_source["records"][0]["id"], first.as_str());
    let of_workspace = house.admin_json(&["record", "list", "--workspace", "cellar & co"]);
    assert_eq!(of_workspace["records"].as_array().map(Vec::len), Some(1));
    let page = house.admin(&["record", "list", "--limit", "1"]);
    let next = page
        .out
        .lines()
        .last()
        .and_then(|line| line.strip_prefix("More rows follow; continue with --before "))
        .map(|line| line.trim_end_matches('.'));
    let rest = house.admin_json(&["record", "list", "--before", next.expect("a page has a next one")]);
    assert_eq!(rest["records"][0]["id"], first.as_str());
    assert_eq!(masked(&house.admin(&["record", "forget", &first])), "forgotten true");
    let forgotten = house.admin_json(&["record", "list", "--forgotten", "--project", &house.project()]);
    assert_eq!(forgotten["records"][0]["id"], first.as_str());
    let restored = masked(&house.admin(&["record", "restore", &first]));
    assert!(restored.contains("content The boiler code is 4711"), "{restored}");
    let again = house.admin(&["record", "restore", &first]);
    assert_eq!((again.code, again.err.as_str()), (1, "error: the record is not forgotten\n"));
    assert_eq!(masked(&house.operator(&["record", "purge", &first, "--yes"])), "purged true");
    let gone = house.admin(&["record", "restore", &first, "--json"]);
    assert_eq!((gone.code, gone.err.as_str()), (1, "{\"error\":\"no such record\"}\n"));
}

#[test]
fn a_conflict_is_shown_and_settled() {
    let house = House::open();
    let old = remember(&house, "Deploys are on Monday", &["--fact-key", "deploy.day"]);
    let new = remember(&house, "Deploys are on Friday", &["--fact-key", "deploy.day"]);
    let shown = masked(&house.admin(&["record", "show", &new]));
    for line in [
        "status conflict",
        "reason One other record has different content under the same fact_key. Keep the one that is true.",
        "Contradicted by:",
        "<id> conflict admin <time> Deploys are on Monday",
        "History:",
        "<time> saved admin first key -",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}: {shown}");
    }
    let kept = house.admin_json(&["record", "keep", &new]);
    assert_eq!(kept, json!({"forgotten": 1, "memory_ids": [old]}));
    let shown = house.admin_json(&["record", "show", &new]);
    assert_eq!((&shown["status"], &shown["rivals"]), (&json!("unverified"), &json!([])));
    let gone = house.admin(&["record", "show", "01980000-0000-7000-8000-00000000dead"]);
    assert_eq!((gone.code, gone.err.as_str()), (1, "error: no such record\n"));
}

#[test]
fn whoami_says_whose_key_it_is() {
    let house = House::open();
    let shown = masked(&house.admin(&["whoami"]));
    for line in ["role admin", "access write", "plan unlimited: 1000 workspaces", "subscription active"] {
        assert!(shown.lines().any(|shown| shown == line), "{line}: {shown}");
    }
    assert_eq!(house.admin_json(&["whoami"])["project"]["id"], house.project().as_str());
    assert_eq!(masked(&house.operator(&["whoami"])), "role operator");
}

#[test]
fn workspaces_are_listed_deleted_and_restored() {
    let house = House::open();
    remember(&house, "one", &["--workspace", "a b/c"]);
    remember(&house, "two", &["--workspace", "a b/c"]);
    let table = "NAME RECORDS LAST SAVED AT CREATED AT\na b/c 2 <time> <time>";
    assert_eq!(masked(&house.admin(&["workspace", "list"])), table);
    assert_eq!(masked(&house.operator(&["workspace", "list", "--project", &house.project()])), table);
    let deleted = house.admin_json(&["workspace", "delete", "a b/c", "--yes"]);
    assert_eq!(deleted, json!({"deleted": true, "records_forgotten": 2}));
    assert_eq!(house.admin_json(&["workspace", "list"]), json!({"workspaces": []}));
    let gone = house.admin(&["workspace", "delete", "a b/c", "--yes"]);
    assert_eq!((gone.code, gone.err.as_str()), (1, "error: no such workspace\n"));
    let table = "NAME RECORDS CREATED AT DELETED AT\na b/c 2 <time> <time>";
    assert_eq!(masked(&house.admin(&["workspace", "list", "--deleted"])), table);
    assert_eq!(masked(&house.admin(&["workspace", "restore", "a b/c"])), "restored true\nrecords restored 2");
    let gone = house.admin(&["workspace", "restore", "a b/c"]);
    assert_eq!((gone.code, gone.err.as_str()), (1, "error: no such deleted workspace\n"));
}

#[test]
fn usage_is_shown_per_day_and_per_key() {
    let house = House::open();
    remember(&house, "eleven byte", &[]);
    house.admin_json(&["search", "eleven"]);
    let usage = house.operator_json(&["usage", &house.project(), "--days", "7"]);
    assert_eq!((&usage["records"], &usage["bytes"]), (&json!(1), &json!(11)));
    let day = &usage["days"][6];
    assert_eq!((&day["saves"], &day["searches"], &day["rejections"]), (&json!(1), &json!(1), &json!(0)));
    let shown = masked(&house.operator(&["usage", &house.project()]));
    let lines: Vec<&str> = shown.lines().collect();
    let figures = "CALLS SAVES SEARCHES REJECTIONS REFUSED BY CONNECTION REFUSED BY PROJECT BYTES";
    assert_eq!((lines[0], lines[2], lines[3]), (&*format!("DAY {figures}"), "", &*format!("KEY ID {figures}")));
    assert!(lines[1].starts_with("<day> ") && lines[1].ends_with(" 1 1 0 0 0 11"), "{shown}");
    assert!(lines[4].starts_with("<id> ") && lines[4].ends_with(" 1 1 0 0 0 11"), "{shown}");
    assert_eq!(lines.last(), Some(&"1 records hold 11 bytes of text."));
}

fn holds(directory: &Path, canary: &[u8]) -> bool {
    std::fs::read_dir(directory).expect("the directory can be read").any(|entry| {
        let path = entry.expect("an entry can be read").path();
        if path.is_dir() {
            return holds(&path, canary);
        }
        let bytes = std::fs::read(path).expect("a file can be read").to_ascii_lowercase();
        bytes.windows(canary.len()).any(|window| window == canary)
    })
}

#[test]
fn after_a_purge_and_a_compaction_no_byte_of_a_record_is_left_on_disk() {
    let house = House::open();
    let canary = b"quetzalcoatl";
    let id = remember(&house, "the Quetzalcoatlus nests in vault nineteen", &[]);
    remember(&house, "an ordinary fact", &[]);
    assert!(holds(&house.place.data_dir(), canary), "the search finds what is there");
    assert_eq!(house.admin_json(&["record", "purge", &id, "--yes"]), json!({"purged": true}));
    assert_eq!(masked(&house.operator(&["compact"])), "compacted true");
    assert!(!holds(&house.place.data_dir(), canary), "while it runs");
    let log = house.admin_json(&["audit", "--limit", "1"]);
    assert_eq!(log["audit"][0]["subject"], Value::from(id));
    let data = house.place.data_dir();
    assert_eq!(house.service.stop().code, 0);
    assert!(!holds(&data, canary), "after it stopped");
    assert!(holds(&data, b"an ordinary fact"));
}
