//! A database that another version wrote.

use crate::process::Place;

#[test]
fn a_database_of_a_later_version_is_refused_in_words() {
    let place = Place::new();
    place.serve(&[]).stop();
    let made = rusqlite::Connection::open(place.data_dir().join("mnemon.db")).expect("a database");
    made.execute_batch("INSERT INTO migration (no, name) VALUES (999, 'later')").expect("a note");
    drop(made);
    let done = place.run(&["serve", "--data-dir", "data", "--listen", "127.0.0.1:0"]);
    assert_eq!(done.code, 1);
    let told = done.err.lines().last().unwrap_or_default();
    assert!(told.starts_with("error: the database has schema 999") && told.contains("a newer mnemon"), "{}", done.err);
}
