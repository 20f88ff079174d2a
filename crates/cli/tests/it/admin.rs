//! The commands that manage accounts, as the operator and an admin type them.

mod accounts;
mod confirming;
mod connections;
mod errors;
mod guarding;
pub(crate) mod house;
mod integrations;
mod isolation;
mod logs;
mod people;
mod records;
mod teams;

use crate::process::Place;

/// Every command.
const VERBS: [&str; 80] = [
    "account",
    "account create",
    "account list",
    "account show",
    "account suspend",
    "account resume",
    "plan",
    "plan set",
    "plan show",
    "project",
    "project create",
    "project list",
    "project show",
    "project change",
    "project delete",
    "department",
    "department create",
    "department list",
    "department show",
    "department change",
    "department delete",
    "member",
    "member create",
    "member list",
    "member show",
    "member change",
    "member delete",
    "key",
    "key create",
    "key list",
    "key revoke",
    "connection",
    "connection list",
    "connection revoke",
    "console",
    "console list",
    "console end",
    "node",
    "node list",
    "integration",
    "integration add",
    "integration change",
    "integration list",
    "integration test",
    "integration tools",
    "integration accept",
    "integration enable",
    "integration disable",
    "integration remove",
    "integration rotate-key",
    "workspace",
    "workspace list",
    "workspace delete",
    "workspace restore",
    "record",
    "record list",
    "record show",
    "record keep",
    "record forget",
    "record restore",
    "record purge",
    "session",
    "session list",
    "session delete",
    "audit",
    "usage",
    "whoami",
    "guard",
    "guard show",
    "guard set",
    "guard rejections",
    "guard release",
    "compact",
    "apply",
    "login",
    "logout",
    "export",
    "import",
    "selftest",
    "selftest isolation",
];

#[test]
fn every_verb_explains_itself() {
    let place = Place::new();
    for verb in VERBS {
        let words: Vec<&str> = verb.split(' ').chain(["--help"]).collect();
        let help = place.run(&words);
        assert_eq!((help.code, help.err.as_str()), (0, ""), "{verb}");
        let (sentence, rest) = help.out.split_once("\n\n").expect("a sentence comes first");
        assert!(sentence.len() > 10, "{verb}: {sentence}");
        assert!(rest.starts_with(&format!("Usage: mnemon {verb}")), "{verb}: {rest}");
        assert!(rest.contains("--json"), "{verb}");
        assert!(rest.contains("\nExample:\n  mnemon "), "{verb}: {rest}");
        for flag in rest.lines().map(str::trim_start).filter(|line| line.starts_with("--")) {
            let explained = flag.split_once("  ").is_some_and(|(_, text)| !text.trim().is_empty());
            let is_alone = rest.lines().any(|line| line.trim() == flag.trim());
            assert!(explained || is_alone, "{verb}: {flag}");
        }
    }
}

#[test]
fn the_commands_come_in_groups() {
    let help = Place::new().run(&["--help"]).out;
    for group in ["Memory", "Files and sources", "Assistants and keys", "People and projects", "The service"] {
        assert!(help.contains(&format!("\n{group}:\n  ")), "{group}: {help}");
    }
    assert!(!help.contains("\nCommands:"), "{help}");
}

#[test]
fn a_noun_without_a_verb_shows_its_verbs() {
    let place = Place::new();
    for noun in [
        "account",
        "plan",
        "project",
        "department",
        "member",
        "key",
        "connection",
        "console",
        "node",
        "integration",
        "workspace",
        "record",
        "guard",
    ] {
        let done = place.run(&[noun]);
        assert_eq!((done.code, done.out.as_str()), (2, ""), "{noun}");
        assert!(done.err.contains("Commands:") && done.err.contains(&format!("Usage: mnemon {noun}")), "{}", done.err);
    }
}
