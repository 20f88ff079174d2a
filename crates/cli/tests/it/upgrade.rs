//! A database that an earlier version wrote: it opens, is brought up to date, and everything in it is found again.
//!
//! `upgrade/schema-12.jsonl` has rows for every table that schema 12 had, a line each. Bytes are hexadecimal.

use std::path::Path;

use mnemon_testkit::postgres::Database;
use serde_json::Value;

use crate::process::{Place, Service};

const SCHEMA: usize = 12;
const ROWS: &str = include_str!("upgrade/schema-12.jsonl");

/// The credentials whose hashes are among the rows.
const KEY: &str = concat!("mnm_", "rdTTYYmPwrVrJealKW5aX7IjirnwFLeA3OLI1xJIhfo3NZJuK");
const OPERATOR: &str = concat!("mnp_", "ET7rqVeB0E16kHlYRNdCn2QF0iHLJX1B3VAtg3ibsTZ2LUTYG");

/// A query for each living record, with the workspace it is in and a part of its text.
const LIVING: [(&str, &str, &str); 5] = [
    ("when do we deploy", "default", "Tuesdays at nine"),
    ("staging database", "default", "every Sunday"),
    ("office move", "default", "My own draft"),
    ("when are invoices due", "finance", "thirty days"),
    ("payroll questions", "finance", "Anna answers"),
];

/// The statements that make an earlier database: the migrations up to its schema, the note of each, and its rows.
fn statements(engine: &str, literal: impl Fn(&str, &Value) -> String) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/migrations").join(engine);
    let mut files: Vec<_> = std::fs::read_dir(folder).expect("migrations").map(|e| e.expect("a file").path()).collect();
    files.sort();
    let note = "CREATE TABLE migration (no BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL)";
    let mut statements =
        vec![if engine == "sqlite" { note.replace("BIGINT", "INTEGER") + " STRICT" } else { note.to_owned() }];
    for (no, file) in (1..).zip(&files[..SCHEMA]) {
        statements.push(std::fs::read_to_string(file).expect("a migration"));
        let name = file.file_stem().and_then(|name| name.to_str()).and_then(|name| name.get(5..)).expect("0001_name");
        statements.push(format!("INSERT INTO migration (no, name) VALUES ({no}, '{name}')"));
    }
    for line in ROWS.lines() {
        let line: Value = serde_json::from_str(line).expect("a line of JSON");
        let row = line["row"].as_object().expect("a row");
        let names: Vec<&str> = row.keys().map(String::as_str).collect();
        let values: Vec<String> = row.iter().map(|(name, value)| literal(name, value)).collect();
        let table = line["table"].as_str().expect("a table");
        statements.push(format!("INSERT INTO {table} ({}) VALUES ({})", names.join(", "), values.join(", ")));
    }
    statements
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => format!("'{}'", text.replace('\'', "''")),
        other => other.to_string(),
    }
}

fn make_sqlite(place: &Place) {
    std::fs::create_dir(place.data_dir()).expect("a directory");
    let made = rusqlite::Connection::open(place.data_dir().join("mnemon.db")).expect("a database");
    let literal = |_: &str, value: &Value| match value["hex"].as_str() {
        Some(hex) => format!("X'{hex}'"),
        None => plain(value),
    };
    for statement in statements("sqlite", literal) {
        made.execute_batch(&statement).unwrap_or_else(|error| panic!("{error}: {statement}"));
    }
}

fn make_postgres(database: &Database) {
    // Ids are UUIDs there, and what is true or false has a type of its own.
    let literal = |name: &str, value: &Value| match value["hex"].as_str() {
        Some(hex) if name == "id" || name.ends_with("_id") || name.ends_with("_by") => format!("'{hex}'"),
        Some(hex) => format!("'\\x{hex}'"),
        None if name.starts_with("is_") || name.starts_with("was_") => format!("{}", value == 1),
        None => plain(value),
    };
    // Another test may make the role at the same moment; the service makes sure of it again.
    let role = "DO $$ BEGIN CREATE ROLE mnemon_app NOLOGIN; EXCEPTION WHEN OTHERS THEN NULL; END $$";
    database.sql(role).expect("the role is there");
    database.sql(&statements("postgres", literal).join(";\n")).expect("an earlier database");
}

/// Everything that the earlier version stored is there, and what it forgot is not.
fn everything_is_found(place: &Place, service: &Service) {
    let run = |arguments: &[&str], credential: [&str; 2]| {
        let done = place.run(&[arguments, &["--url", &service.url], &credential].concat());
        assert_eq!(done.code, 0, "{arguments:?}: {done:?}");
        done.out
    };
    let key = ["--key", KEY];
    for (query, workspace, text) in LIVING {
        let found = run(&["search", query, "--workspace", workspace], key);
        assert!(found.contains(text), "{query}: {found}");
    }
    assert!(!run(&["search", "the old office in Porto"], key).contains("Porto"), "it was forgotten");
    let exported = run(&["export"], key);
    let records = exported.lines().filter(|line| line.contains(r#""type":"record""#)).count();
    assert_eq!(records, LIVING.len(), "{exported}");
    let accounts = run(&["account", "list"], ["--operator-token", OPERATOR]);
    assert!(accounts.contains("Default account"), "{accounts}");
    for (listed, expected) in [
        (["department", "list"], "Sales"),
        (["member", "list"], "Bo"),
        (["integration", "list"], "tracker"),
        (["connection", "list"], "A client"),
        (["session", "list"], "one session"),
    ] {
        let shown = run(&listed, key);
        assert!(shown.contains(expected), "{listed:?}: {shown}");
    }
    // It goes on where it was.
    run(&["remember", "Porto has a new office since spring."], key);
    assert!(run(&["search", "new office in Porto"], key).contains("since spring"));
}

#[test]
fn every_table_of_the_earlier_schema_has_a_row() {
    let made = rusqlite::Connection::open_in_memory().expect("a database");
    let literal =
        |_: &str, value: &Value| value["hex"].as_str().map_or_else(|| plain(value), |hex| format!("X'{hex}'"));
    for statement in statements("sqlite", literal) {
        made.execute_batch(&statement).unwrap_or_else(|error| panic!("{error}: {statement}"));
    }
    let mut listed = made.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").expect("a query");
    let names: Vec<String> =
        listed.query_map([], |row| row.get(0)).expect("names").map(|name| name.expect("one")).collect();
    assert_eq!(names.len(), 26, "{names:?}");
    for name in names {
        let rows: i64 = made.query_row(&format!("SELECT COUNT(*) FROM {name}"), [], |row| row.get(0)).expect("a count");
        assert!(rows > 0, "{name} is empty");
    }
}

#[test]
fn a_database_of_an_earlier_version_opens_and_everything_is_found() {
    let place = Place::new();
    make_sqlite(&place);
    let service = place.serve(&[]);
    everything_is_found(&place, &service);
    let log = service.stop().err;
    for no in SCHEMA + 1..=17 {
        assert!(log.contains(&format!("applied migration {no} ")), "{no}: {log}");
    }
    assert!(!log.contains("applied migration 12 "), "{log}");
}

#[test]
fn a_database_of_an_earlier_version_opens_on_postgresql_too() {
    let (place, database) = (Place::new(), Database::fresh().expect("PostgreSQL is installed"));
    make_postgres(&database);
    let service = place.serve(&["--database", &database.url]);
    everything_is_found(&place, &service);
    let log = service.stop().err;
    assert!(log.contains("applied migration 13 ") && !log.contains("applied migration 12 "), "{log}");
}

#[test]
fn a_database_of_a_later_version_is_refused_in_words() {
    let place = Place::new();
    make_sqlite(&place);
    let made = rusqlite::Connection::open(place.data_dir().join("mnemon.db")).expect("a database");
    made.execute_batch("INSERT INTO migration (no, name) VALUES (999, 'later')").expect("a note");
    drop(made);
    let done = place.run(&["serve", "--data-dir", "data", "--listen", "127.0.0.1:0"]);
    assert_eq!(done.code, 1);
    assert!(done.err.contains("the database has schema 999") && done.err.contains("a newer mnemon"), "{}", done.err);
}
