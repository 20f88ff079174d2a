//! The service on PostgreSQL, as a person starts it.

use mnemon_testkit::postgres::Database;

use crate::process::{NAMED_CONFIG, Place};

fn database() -> Database {
    Database::fresh().expect("PostgreSQL is installed: apt-get install postgresql")
}

#[test]
fn a_service_on_postgresql_starts_from_nothing_and_is_in_good_health() {
    let (place, database) = (Place::new(), database());
    let first = place.serve(&["--database", &database.url]);
    let (url, key) = (first.url.clone(), first.key());
    let saved = place.run(&["remember", "the boiler is in the cellar", "--url", &url, "--key", &key]);
    assert_eq!((saved.code, saved.err.as_str()), (0, ""), "{}", saved.out);
    let second = place.serve(&["--database", &database.url]);
    let found = place.run(&["search", "boiler", "--url", &second.url, "--key", &key]);
    assert!(found.out.contains("the boiler is in the cellar"), "{found:?}");
    let done = place.run(&["doctor", "--database", &database.url, "--url", &url, "--key", &key]);
    assert_eq!(done.code, 0, "{}", done.out);
    let expected = "ok      PostgreSQL: reachable and writable; the schema is current and row-level security is on\n";
    assert!(done.out.contains(expected), "{}", done.out);
}

#[test]
fn a_database_that_is_not_there_is_said_in_words_and_without_the_password() {
    let place = Place::new();
    let url = "postgres://mnemon:hunter2-secret@127.0.0.1:1/mnemon";
    let doctor = place.run(&["doctor", "--database", url, "--key", "k"]);
    assert!(doctor.out.contains("FAILED  PostgreSQL: can't connect to PostgreSQL"), "{}", doctor.out);
    assert!(doctor.out.contains("; the data is in postgres://mnemon@127.0.0.1:1/mnemon"), "{}", doctor.out);
    let printed = place.run(&["config", "print", "--database", url]);
    assert!(printed.out.contains("database = \"***\""), "{}", printed.out);
    for text in [doctor.out, doctor.err, printed.out] {
        assert!(!text.contains("hunter2"), "{text}");
    }
    let wrong = place.run(&["serve", "--database", "mysql://root:hunter2@host/db"]);
    assert!(
        wrong.err.contains("storage.database must start with postgres://") && !wrong.err.contains("hunter2"),
        "{wrong:?}"
    );
}

#[test]
fn read_replicas_are_checked_by_the_doctor_and_their_passwords_are_not_shown() {
    let (place, database) = (Place::new(), database());
    let first = place.serve(&["--database", &database.url]);
    let config =
        |replicas: &[&str]| format!("[storage]\ndatabase = {:?}\n[database]\nreplicas = {replicas:?}\n", database.url);
    let doctor = |replicas: &[&str]| {
        place.write(NAMED_CONFIG, &config(replicas));
        place.run(&["doctor", "--url", &first.url, "--key", &first.key()])
    };
    let gone = concat!("postgres://mnemon:", "hunter2@127.0.0.1:1/mnemon");
    let done = doctor(&[gone, &database.url]);
    assert_eq!(done.code, 1, "{}", done.out);
    let expected = "FAILED  read replica: can't connect to PostgreSQL";
    assert!(done.out.contains(expected) && !done.out.contains("hunter2"), "{}", done.out);
    assert!(done.out.contains("no standby of the primary"), "the primary itself is none: {}", done.out);
    let printed = place.run(&["config", "print"]);
    assert!(printed.out.contains("replicas = [\"***\", \"***\"]"), "{}", printed.out);
    assert!(!printed.out.contains("hunter2"), "{}", printed.out);
    first.stop();
}

#[test]
fn a_list_of_read_replicas_has_a_database_and_at_most_sixteen_servers() {
    let place = Place::new();
    let check = |database: &str, replicas: &[&str]| {
        place
            .write(NAMED_CONFIG, &format!("[storage]\ndatabase = {database:?}\n[database]\nreplicas = {replicas:?}\n"));
        place.run(&["config", "check"])
    };
    let (primary, replica) = ("postgres://db/mnemon", "postgres://standby/mnemon");
    assert_eq!(check(primary, &[replica; 16]).code, 0);
    let wrong = |database: &str, replicas: &[&str], words: &str| {
        let done = check(database, replicas);
        assert!(done.code != 0 && done.err.contains(words), "{done:?}");
    };
    wrong(primary, &[replica; 17], "database.replicas may list 16 servers at most, not 17");
    wrong("", &[replica], "database.replicas needs storage.database: replicas of which PostgreSQL?");
    wrong(primary, &["mysql://standby"], "each of database.replicas must start with postgres://");
}

#[test]
fn random_calls_leak_nothing_on_postgresql() {
    let (place, database) = (Place::new(), database());
    let done = place.run(&["selftest", "isolation", "--cases", "1600", "--database", &database.url]);
    assert_eq!(done.out, "isolation: 1600 cases, 0 leaks, 0 other mismatches (seed 1)\n", "{}", done.err);
    let again = place.run(&["selftest", "isolation", "--cases", "1", "--database", &database.url]);
    assert!(again.err.contains("the database already contains accounts; use an empty one"), "{again:?}");
}

#[test]
fn everything_moves_to_postgresql_and_the_same_key_finds_it_there() {
    let (place, database) = (Place::new(), database());
    let first = place.serve(&[]);
    let key = first.key();
    let saved = place.run(&["remember", "the boiler is in the cellar", "--url", &first.url, "--key", &key]);
    assert_eq!(saved.code, 0, "{saved:?}");
    let busy = place.run(&["transfer", "--from", "sqlite:data", "--to", &database.url]);
    assert_eq!(busy.code, 1);
    assert!(busy.err.contains("another mnemon is using this data directory"), "{}", busy.err);
    first.stop();
    let moved = place.run(&["transfer", "--from", "sqlite:data", "--to", &database.url]);
    assert_eq!((moved.code, moved.err.as_str()), (0, ""), "{}", moved.out);
    assert!(moved.out.contains("Transferred 1 accounts with 1 projects."), "{}", moved.out);
    assert!(moved.out.contains("row counts and hashes of every table agree"), "{}", moved.out);

    let second = place.serve(&["--database", &database.url]);
    let found = place.run(&["search", "boiler", "--url", &second.url, "--key", &key]);
    assert!(found.out.contains("the boiler is in the cellar"), "{found:?}");
    let more = place.run(&["remember", "the key hangs behind the door", "--url", &second.url, "--key", &key]);
    assert_eq!(more.code, 0, "{more:?}");
    second.stop();
    std::fs::remove_dir_all(place.data_dir()).expect("nobody uses it");
    // The command's first name still works.
    let back = place.run(&["--json", "migrate", "--from", &database.url, "--to", "sqlite:data"]);
    assert_eq!(back.json()["accounts"], 1, "{back:?}");
    let third = place.serve(&[]);
    let found = place.run(&["search", "where is the key", "--url", &third.url, "--key", &key]);
    assert!(found.out.contains("the key hangs behind the door"), "{found:?}");
}

#[test]
fn a_move_from_or_to_nowhere_says_how_storages_are_named() {
    let place = Place::new();
    let wrong = place.run(&["transfer", "--from", "data", "--to", "postgres://me@127.0.0.1:1/db"]);
    assert_eq!(wrong.code, 1);
    assert!(wrong.err.contains("--from: a storage must be sqlite:DIRECTORY"), "{}", wrong.err);
    let absent = place.run(&["transfer", "--from", "sqlite:absent", "--to", "postgres://me@127.0.0.1:1/db"]);
    assert!(absent.err.contains("there is no mnemon.db in absent"), "{}", absent.err);
}

/// Runs one of PostgreSQL's own programs.
fn tool(name: &str, arguments: &[&str]) {
    let program = mnemon_testkit::postgres::find_program(name).expect("PostgreSQL is installed");
    let output = std::process::Command::new(program).args(arguments).output().expect("it runs");
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_restored_dump_is_read_as_a_whole_and_answers_as_before() {
    let (place, original, restored) = (Place::new(), database(), database());
    let service = place.serve(&["--database", &original.url]);
    let key = service.key();
    for n in 0..30 {
        let text = format!("Boiler number {n} stands in the cellar");
        let saved = place.run(&["remember", &text, "--source-id", "plan", "--url", &service.url, "--key", &key]);
        assert_eq!(saved.code, 0, "{saved:?}");
    }
    let exported = place.run(&["export", "--url", &service.url, "--key", &key]).out;
    let empty = place.run(&["doctor", "--restore-check", "--database", &database().url]);
    assert!(empty.code == 1 && empty.out.contains("the database is empty: there is no account in it"), "{empty:?}");
    let dump = place.path().join("mnemon.dump");
    let dump = dump.to_str().expect("a plain path");
    tool("pg_dump", &["-Fc", "-f", dump, &original.url]);
    tool("pg_restore", &["--exit-on-error", "-d", &restored.url, dump]);
    service.stop();
    let checked = place.run(&["doctor", "--restore-check", "--database", &restored.url]);
    let told = "ok      restored data: 30 records in 1 project(s) of 1 account(s) read; all checksums match\n";
    assert!(checked.code == 0 && checked.out.contains(told), "{checked:?}");
    let again = place.serve(&["--database", &restored.url]);
    assert_eq!(place.run(&["export", "--url", &again.url, "--key", &key]).out, exported);
    again.stop();
    // One changed character is enough to be noticed.
    restored.sql("UPDATE record SET content = replace(content, 'number 7 ', 'number 8 ')").expect("it is damaged");
    let damaged = place.run(&["doctor", "--restore-check", "--database", &restored.url]);
    assert!(damaged.code == 1 && damaged.out.contains("FAILED  restored data: project "), "{damaged:?}");
    let told = "30 records are counted, but 29 can be read and 29 are in the log; the checksum does not match in 1;";
    assert!(damaged.out.contains(told), "{damaged:?}");
}
