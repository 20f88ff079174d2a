//! A record never controls its reader's terminal: control characters are shown as escapes.

use serde_json::Value;

use crate::process::{Done, Place, Service};

/// Sets the title, clears the screen, sounds the bell, deletes, moves the cursor by a C1 code, reverses the text
/// direction.
const HOSTILE: &str = "deploy \u{1b}]0;owned\u{7} \u{1b}[2J\u{7f} \u{9b}5A \r\u{8} \u{202e}txt.exe\u{2066} \u{2028}end";
const SHOWN: &str = r"deploy \u{1b}]0;owned\u{7} \u{1b}[2J\u{7f} \u{9b}5A \r\u{8} \u{202e}txt.exe\u{2066} \u{2028}end";

fn run(place: &Place, service: &Service, arguments: &[&str]) -> Done {
    let (url, key) = (service.url.clone(), service.key());
    place.run(&[arguments, &["--url", &url, "--key", &key]].concat())
}

fn acts(c: char) -> bool {
    (c.is_control() && c != '\n')
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn check(done: &Done, what: &[&str]) {
    for output in [&done.out, &done.err] {
        assert!(!output.contains(acts), "{what:?}: {output:?}");
    }
}

#[test]
fn control_characters_of_records_are_shown_and_not_sent_to_the_terminal() {
    let place = Place::new();
    let service = place.serve(&[]);
    let content = format!("{HOSTILE}\n0.99  verified  forged");
    let saved = run(&place, &service, &["remember", &content, "--json"]);
    let id = saved.json()["id"].as_str().expect("an id").to_owned();
    let verbs: [&[&str]; 7] = [
        &["remember", &content],
        &["search", "deploy"],
        &["search", "deploy", "--explain"],
        &["record", "list"],
        &["record", "forget", &id],
        &["record", "restore", &id],
        &["forget", HOSTILE],
    ];
    for verb in verbs {
        let done = run(&place, &service, verb);
        check(&done, verb);
        let says_it = matches!(verb, ["search" | "forget", ..] | ["record", "restore", _]);
        assert!(!says_it || done.out.contains(SHOWN) || done.err.contains(SHOWN), "{verb:?}: {done:?}");
        // Every line of a record is indented, so none can pass for a result.
        let forged = done.out.lines().find(|line| line.starts_with("0.99"));
        assert_eq!(forged, None, "{verb:?}: {done:?}");
    }
}

#[test]
fn json_for_programs_holds_the_same_text_without_raw_control_characters() {
    let place = Place::new();
    let service = place.serve(&[]);
    let saved = run(&place, &service, &["remember", HOSTILE, "--json"]);
    check(&saved, &["remember"]);
    assert_eq!(saved.json()["content"], HOSTILE);
    let found = run(&place, &service, &["search", "deploy", "--json"]);
    check(&found, &["search"]);
    assert_eq!(found.json()["result"][0]["content"], HOSTILE);
    let failed = run(&place, &service, &["forget", HOSTILE, "--json"]);
    check(&failed, &["forget"]);
    let said: Value = serde_json::from_str(&failed.err).expect("JSON");
    assert!(said["error"].as_str().is_some_and(|error| error.contains(HOSTILE)), "{said}");
}
