//! `mnemon backup` and `mnemon restore`, as an operator types them.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::process::{Done, Place};

fn json(done: &Done) -> Value {
    assert_eq!(done.code, 0, "{done:?}");
    serde_json::from_str(&done.out).expect("JSON")
}

fn remember(place: &Place, url: &str, key: &str, text: &str) {
    let done = place.run(&["remember", text, "--url", url, "--key", key]);
    assert_eq!(done.code, 0, "{done:?}");
}

fn found(place: &Place, url: &str, key: &str, query: &str) -> Vec<String> {
    let answer = json(&place.run(&["search", query, "--url", url, "--key", key, "--json"]));
    let rows = answer["result"].as_array().expect("a list").clone();
    rows.iter().map(|row| row["content"].as_str().expect("a text").to_owned()).collect()
}

#[test]
fn a_backup_of_a_running_service_comes_back_with_everything_of_its_moment() {
    let place = Place::new();
    let service = place.serve(&[]);
    let key = service.key();
    for n in 0..20 {
        remember(&place, &service.url, &key, &format!("Boiler number {n} stands in the cellar"));
    }
    let before = found(&place, &service.url, &key, "boiler cellar");
    let made = json(&place.run(&["backup", "kept.db", "--data-dir", "data", "--json"]));
    assert_eq!((&made["backup"], &made["records"]), (&Value::from("kept.db"), &Value::from(20)));
    let mode = std::fs::metadata(place.path().join("kept.db")).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "only its owner may read it");
    remember(&place, &service.url, &key, "The boiler in the attic came later");
    service.stop();
    let restored = place.run(&["restore", "kept.db", "--data-dir", "data2"]);
    assert_eq!(restored.code, 0, "{restored:?}");
    let told = format!("{}: 20 records, ", place.path().join("data2").display());
    assert!(restored.out.starts_with(&told), "{restored:?}");
    let next = format!("Start the service with `mnemon serve --data-dir {}`.\n", place.path().join("data2").display());
    assert!(restored.out.ends_with(&next), "{restored:?}");
    let elsewhere = Place::new();
    std::fs::rename(place.path().join("data2"), elsewhere.path().join("data")).expect("it moves");
    let again = elsewhere.serve(&[]);
    assert!(!again.welcome.contains("mnm_"), "it is no first start: {}", again.welcome);
    assert_eq!(found(&elsewhere, &again.url, &key, "boiler cellar"), before);
    assert!(found(&elsewhere, &again.url, &key, "attic").iter().all(|text| !text.contains("attic")));
    remember(&elsewhere, &again.url, &key, "Life goes on after a backup");
    again.stop();
}

#[test]
fn a_directory_gets_a_file_named_after_the_time() {
    let place = Place::new();
    place.serve(&[]).stop();
    std::fs::create_dir(place.path().join("kept")).expect("a directory");
    let made = json(&place.run(&["backup", "kept", "--data-dir", "data", "--json"]));
    let name = made["backup"].as_str().expect("a path");
    assert!(name.starts_with("kept/mnemon-20") && name.ends_with("Z.db"), "{name}");
    assert!(place.path().join(name).is_file());
}

#[test]
fn a_directory_that_is_named_as_one_is_made_and_takes_every_backup() {
    let place = Place::new();
    place.serve(&[]).stop();
    let made = place.run(&["backup", "new/kept/", "--data-dir", "data"]);
    assert_eq!(made.code, 0, "{made:?}");
    assert!(made.out.starts_with("new/kept/mnemon-20") && made.out.contains(": 0 records, "), "{made:?}");
    let mode = std::fs::metadata(place.path().join("new/kept")).expect("a directory").permissions().mode();
    assert_eq!(mode & 0o777, 0o700, "only its owner may read it");
    place.write("file", "mine");
    let refused = place.run(&["backup", "file/", "--data-dir", "data"]);
    assert!(refused.err.starts_with("error: no backup was made: the directory file/ can't be made"), "{refused:?}");
}

#[test]
fn what_can_not_be_done_is_said_and_changes_nothing() {
    let place = Place::new();
    let nothing = place.run(&["backup", "a.db", "--data-dir", "data"]);
    let data = place.path().join("data");
    let told = format!("error: no backup was made: there is no data of mnemon in {}\n", data.display());
    assert_eq!((nothing.code, nothing.err), (1, told));
    place.serve(&[]).stop();
    place.write("a.db", "mine");
    let taken = place.run(&["backup", "a.db", "--data-dir", "data"]);
    let told = "error: no backup was made: a.db exists already; choose another name\n";
    assert_eq!((taken.code, taken.err.as_str()), (1, told));
    assert_eq!(std::fs::read_to_string(place.path().join("a.db")).expect("a file"), "mine");
    let foreign = place.run(&["restore", "a.db", "--data-dir", "new"]);
    assert_eq!(foreign.code, 1);
    assert!(foreign.err.contains("a.db is not a backup made by mnemon"), "{foreign:?}");
    assert!(!place.path().join("new").exists());
    assert_eq!(place.run(&["backup", "b.db", "--data-dir", "data"]).code, 0);
    let full = place.run(&["restore", "b.db", "--data-dir", "data"]);
    let told =
        format!("error: nothing was restored: {} is not empty; restore into an empty directory\n", data.display());
    assert_eq!((full.code, full.err), (1, told));
    let database = ["--database", "postgres://nobody@localhost/none"];
    let postgres = place.run(&[&["backup", "c.db"], &database[..]].concat());
    assert!(postgres.err.contains("docs/operations/backup.md"), "{postgres:?}");
}

#[test]
fn a_killed_backup_leaves_nothing_under_its_name_and_the_next_one_works() {
    let place = Place::new();
    let service = place.serve(&[]);
    let key = service.key();
    for n in 0..8 {
        let page = format!("page {n} ") + &"the boiler hums in the cellar at night ".repeat(400);
        remember(&place, &service.url, &key, &page);
    }
    service.stop();
    let mut slow = place.command(&["backup", "kept.db", "--data-dir", "data", "--rate", "1"]);
    let mut child = slow.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary runs");
    let partial = place.path().join("kept.db.partial");
    let begun = Instant::now();
    while !partial.exists() && begun.elapsed() < Duration::from_secs(20) && child.try_wait().expect("a state").is_none()
    {
        std::thread::yield_now();
    }
    child.kill().expect("it is killed");
    child.wait().expect("it ends");
    // Either it was killed before it was whole, or it was done: never half a file under the name.
    if !place.path().join("kept.db").exists() {
        let again = place.run(&["backup", "kept.db", "--data-dir", "data"]);
        assert_eq!(again.code, 0, "{again:?}");
    }
    assert!(!partial.exists(), "what a killed one left is gone");
    let restored = json(&place.run(&["restore", "kept.db", "--data-dir", "new", "--json"]));
    assert_eq!(restored["records"], 8);
}
