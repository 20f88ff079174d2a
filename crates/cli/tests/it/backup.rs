//! `mnemon backup` and `mnemon restore`, as an operator types them.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::operations::{address_of, operator_token, request};
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
    let has_partial = || {
        let mut entries = std::fs::read_dir(place.path()).expect("the directory");
        entries.any(|entry| entry.expect("an entry").file_name().to_string_lossy().ends_with(".partial"))
    };
    let begun = Instant::now();
    while !has_partial() && begun.elapsed() < Duration::from_secs(20) && child.try_wait().expect("a state").is_none() {
        std::thread::yield_now();
    }
    child.kill().expect("it is killed");
    child.wait().expect("it ends");
    // Either it was killed before it was whole, or it was done: never half a file under the name.
    if !place.path().join("kept.db").exists() {
        let again = place.run(&["backup", "kept.db", "--data-dir", "data"]);
        assert_eq!(again.code, 0, "{again:?}");
    }
    assert!(!has_partial(), "what a killed one left is gone");
    let restored = json(&place.run(&["restore", "kept.db", "--data-dir", "new", "--json"]));
    assert_eq!(restored["records"], 8);
}

#[test]
fn a_backup_is_proved_by_its_last_line_and_a_plain_copy_needs_a_flag() {
    let place = Place::new();
    let service = place.serve(&[]);
    let key = service.key();
    remember(&place, &service.url, &key, "The boiler stands in the cellar");
    service.stop();
    assert_eq!(place.run(&["backup", "kept.db", "--data-dir", "data"]).code, 0);
    let mut bytes = std::fs::read(place.path().join("kept.db")).expect("a file");
    let at = bytes.windows(6).position(|window| window == b"boiler").expect("the text is in there");
    bytes[at] = b'B';
    std::fs::write(place.path().join("altered.db"), &bytes).expect("a file");
    let altered = place.run(&["restore", "altered.db", "--data-dir", "new"]);
    assert_eq!(altered.code, 1);
    let told = "error: nothing was restored: altered.db is damaged: its checksum does not fit what is in it.";
    assert!(altered.err.starts_with(told), "{altered:?}");
    let raw = place.run(&["restore", "altered.db", "--data-dir", "new", "--raw"]);
    assert!(raw.code == 1 && raw.err.contains("does not match in 1 of 1 records"), "{raw:?}");
    assert!(!place.path().join("new").exists());
    let copied = place.run(&["restore", "data/mnemon.db", "--data-dir", "new"]);
    assert!(copied.code == 1 && copied.err.contains("has no checksum at its end") && copied.err.contains("--raw"));
    let copied = json(&place.run(&["restore", "data/mnemon.db", "--data-dir", "new", "--raw", "--json"]));
    assert_eq!(copied["records"], 1);
}

#[test]
fn damaged_data_is_told_at_backup_and_left_out_of_answers_without_failing_them() {
    let place = Place::new();
    let service = place.serve(&[]);
    let (key, token) = (service.key(), operator_token(&service));
    for n in 0..3 {
        remember(&place, &service.url, &key, &format!("Boiler number {n} stands in the cellar"));
    }
    service.stop();
    let database = place.path().join("data/mnemon.db");
    let mut bytes = std::fs::read(&database).expect("the database");
    let at = bytes.windows(8).position(|window| window == b"number 1").expect("the text is in there");
    bytes[at + 7] = b'7';
    std::fs::write(&database, &bytes).expect("it is damaged");
    let refused = place.run(&["backup", "kept.db", "--data-dir", "data"]);
    let told = "error: no backup was made: the checksum does not match in 1 of 3 records: ";
    assert!(refused.err.starts_with(told) && refused.err.contains("--keep-damaged"), "{refused:?}");
    assert!(!place.path().join("kept.db").exists());
    assert_eq!(place.run(&["backup", "kept.db", "--data-dir", "data", "--keep-damaged"]).code, 0);
    let service = place.serve(&[]);
    let mut sound = found(&place, &service.url, &key, "boiler cellar");
    sound.sort_unstable();
    assert_eq!(sound, ["Boiler number 0 stands in the cellar", "Boiler number 2 stands in the cellar"]);
    let exported = place.run(&["export", "--url", &service.url, "--key", &key]);
    assert_eq!((exported.code, exported.out.matches("\"content\"").count()), (0, 2), "{exported:?}");
    let listed = place.run(&["record", "list", "--url", &service.url, "--key", &key, "--json"]);
    assert_eq!((listed.code, listed.out.matches("stands in the cellar").count()), (0, 2), "{listed:?}");
    let page = request(address_of(&service), "GET", "/metrics", &format!("Bearer {token}"), "");
    assert!(page.contains("\nmnemon_damaged_records 1\n"), "{page}");
    let digest = place.run(&["context", "--query", "boiler", "--url", &service.url, "--key", &key]);
    assert!(digest.code == 0 && digest.out.contains("number 2"), "{digest:?}");
    // Forgetting it and saving it again makes backups possible.
    let id = refused.err.split(": ").nth(3).and_then(|rest| rest.split('.').next()).expect("its id");
    assert_eq!(place.run(&["forget", id, "--url", &service.url, "--key", &key]).code, 0, "{id}");
    remember(&place, &service.url, &key, "Boiler number 1 stands in the cellar");
    assert_eq!(found(&place, &service.url, &key, "boiler cellar").len(), 3);
    let again = place.run(&["backup", "again.db", "--data-dir", "data"]);
    assert_eq!(again.code, 0, "{again:?}");
    let stopped = service.stop();
    assert!(stopped.err.contains("a stored record is damaged and left out of answers"), "{stopped:?}");
}

#[test]
fn what_does_not_fit_on_the_disk_is_refused_before_it_is_copied() {
    let place = Place::new();
    place.serve(&[]).stop();
    assert_eq!(place.run(&["backup", "kept.db", "--data-dir", "data"]).code, 0);
    // Mostly a hole: only its length is large. The seal is at its end.
    let kept = std::fs::read(place.path().join("kept.db")).expect("a file");
    let large = std::fs::File::create(place.path().join("large.db")).expect("a file");
    std::os::unix::fs::FileExt::write_all_at(&large, &kept, 8 << 40).expect("a file with a hole");
    let refused = place.run(&["restore", "large.db", "--data-dir", "new"]);
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains(" has room for ") && refused.err.contains("; make room for "), "{refused:?}");
    assert!(!place.path().join("new").exists());
}
