//! A disk without a free byte.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use mnemon_testkit::faults::{Mounted, Program, Service, Signal, Story};
use mnemon_testkit::postgres::{Cluster, ClusterOptions};
use mnemon_testkit::wire::{CallFailed, Wire};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::program;

/// Needs root to mount its own disk; otherwise it fails and says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_no_byte_free_a_start_after_a_clean_stop_searches_and_says_why_nothing_is_saved() {
    let scratch = tempfile::tempdir().unwrap();
    let disk = Mounted::tmpfs(16 << 20, &scratch.path().join("disk")).unwrap();
    let mut program = Program::new(program(), &disk.path.join("data"), scratch.path());
    let mut service = program.start().await.unwrap();
    program.key = Some(service.key.clone());
    let mut story = Story::new("filling", "one-writer");
    assert!(story.save(&mut service.connect().await.unwrap()).await.unwrap());
    let mut filler = None;
    // The second start has the room that the first one left.
    for _ in 0..2 {
        service.signal(Signal::Terminate).unwrap();
        service.wait(Duration::from_secs(10)).await.unwrap();
        filler = Some(disk.fill().unwrap());
        service = program.start().await.unwrap();
        let mut wire = service.connect().await.unwrap();
        let found = wire.call("search", &json!({"query": "note of a writer", "workspace": "filling"})).await.unwrap();
        assert_eq!(found["result"].as_array().unwrap().len(), 1, "{found}");
        // What the start gave back of its own room may hold one or two.
        let mut refused = None;
        for n in 0..20 {
            let content = format!("{n} {}", "long ".repeat(2_000));
            match wire.call("remember", &json!({"content": content})).await {
                Err(CallFailed::Refused { text, .. }) => refused = Some(text),
                outcome => assert!(refused.is_none(), "{outcome:?}"),
            }
        }
        assert!(refused.as_ref().is_some_and(|text| text.contains("storage is full")), "{refused:?}");
    }
    std::fs::remove_file(filler.unwrap()).unwrap();
    let mut wire = service.connect().await.unwrap();
    let began = std::time::Instant::now();
    while !story.save(&mut wire).await.unwrap() {
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", story.refusals);
    }
}

/// What a command says, beside a disk at `disk`, and whether it succeeds.
fn run(beside: &Path, arguments: &[&str]) -> (bool, String) {
    let output = Command::new(program()).args(arguments).env_clear().current_dir(beside).output();
    let output = output.expect("the binary runs");
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

/// Takes the whole disk but six megabytes: less than the database has, and plenty for saves.
fn leave_little(disk: &Mounted) -> PathBuf {
    let filler = disk.fill().expect("it fills up");
    let file = std::fs::File::options().write(true).open(&filler).expect("a file");
    let length = file.metadata().expect("a file").len();
    file.set_len(length - (6 << 20)).expect("it is cut");
    filler
}

/// Needs root to mount its own disk; otherwise it fails and says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_or_a_restore_that_does_not_fit_leaves_nothing_behind_and_saves_go_on() {
    let scratch = tempfile::tempdir().unwrap();
    let beside = scratch.path();
    let disk = Mounted::tmpfs(96 << 20, &beside.join("disk")).unwrap();
    let mut program = Program::new(program(), &disk.path.join("data"), beside);
    let mut service = program.start().await.unwrap();
    program.key = Some(service.key.clone());
    service.signal(Signal::Terminate).unwrap();
    service.wait(Duration::from_secs(10)).await.unwrap();
    // Pages without content, which a copy takes along.
    let database = rusqlite::Connection::open(disk.path.join("data/mnemon.db")).unwrap();
    let ballast =
        "CREATE TABLE ballast (bytes BLOB); INSERT INTO ballast VALUES (randomblob(12000000)); DROP TABLE ballast";
    database.execute_batch(ballast).unwrap();
    drop(database);
    let service = program.start().await.unwrap();
    let (mut wire, mut story) = (service.connect().await.unwrap(), Story::new("beside", "one-writer"));
    let filler = leave_little(&disk);
    // Nobody else takes what the refused backup left, hour after hour.
    for _ in 0..3 {
        let (is_made, said) = run(beside, &["backup", "disk/kept/", "--data-dir", "disk/data"]);
        assert!(!is_made && said.contains("no backup was made") && said.contains("; make room for "), "{said}");
        assert_eq!(std::fs::read_dir(disk.path.join("kept")).unwrap().count(), 0, "{said}");
        assert!(story.save(&mut wire).await.unwrap(), "{:?}", story.refusals);
    }
    let (is_well, said) = run(beside, &["doctor", "--restore-check", "--data-dir", "disk/data"]);
    assert!(!is_well && said.contains("FAILED  room on the disk: only "), "{said}");
    std::fs::remove_file(filler).unwrap();
    let (is_made, said) = run(beside, &["backup", "disk/kept/one.db", "--data-dir", "disk/data"]);
    assert!(is_made, "{said}");
    let filler = leave_little(&disk);
    let restore = ["restore", "disk/kept/one.db", "--data-dir", "disk/new"];
    let (is_restored, said) = run(beside, &restore);
    assert!(!is_restored && said.contains("nothing was restored") && said.contains("; make room for "), "{said}");
    assert!(!disk.path.join("new").exists(), "{said}");
    std::fs::remove_file(filler).unwrap();
    let (is_restored, said) = run(beside, &restore);
    assert!(is_restored && said.contains(": 3 records, "), "{said}");
}

/// Whether saves are stored, as a balancer or an alert asks.
async fn is_writable(service: &Service) -> bool {
    let mut stream = tokio::net::TcpStream::connect(service.address).await.expect("the service answers");
    stream.write_all(b"GET /health/writable HTTP/1.0\r\nhost: x\r\n\r\n").await.expect("the service answers");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("the service answers");
    match answer.split(' ').nth(1) {
        Some("200") => true,
        Some("503") => false,
        other => panic!("{other:?}: {answer}"),
    }
}

/// Needs root to mount its own disk; otherwise it fails and says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_largest_save_may_fail_the_service_never_says_that_it_is_writable() {
    let scratch = tempfile::tempdir().unwrap();
    let disk = Mounted::tmpfs(24 << 20, &scratch.path().join("disk")).unwrap();
    let service = Program::new(program(), &disk.path.join("data"), scratch.path()).start().await.unwrap();
    let mut wire = service.connect().await.unwrap();
    assert!(is_writable(&service).await, "there is room");
    let filler = disk.fill().unwrap();
    let (mut refused, mut numbers) = (0, 0..100);
    let mut save = async |wire: &mut Wire| {
        let content = format!("{} {}", numbers.next().unwrap_or(0), "long ".repeat(3_000));
        let tags: Vec<String> = (0..16).map(|n| format!("{n} {}", "tag ".repeat(15))).collect();
        wire.call("remember", &json!({"content": content, "tags": tags, "source_id": "a".repeat(500)})).await
    };
    let room = std::fs::File::options().write(true).open(&filler).unwrap();
    for n in 1..=30 {
        // A few pages: too few for such a save, and enough for a small write.
        room.set_len(room.metadata().unwrap().len() - 3 * 4096).unwrap();
        let was_writable = is_writable(&service).await;
        let saved = save(&mut wire).await;
        assert!(!was_writable || saved.is_ok(), "{n}: it was said to be writable: {saved:?}");
        refused += usize::from(saved.is_err());
    }
    assert!(refused > 0, "the disk is full");
    drop(room);
    std::fs::remove_file(filler).unwrap();
    assert!(is_writable(&service).await, "there is room again");
    save(&mut wire).await.unwrap();
}

/// Needs root to mount its own disk; otherwise it fails and says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_whose_database_has_no_room_for_a_save_says_so_until_there_is_some() {
    const TEXT: &str = include_str!("../../../../docs/guides/many-nodes.md");
    let scratch = tempfile::tempdir().unwrap();
    // The server's own user goes through it.
    std::fs::set_permissions(scratch.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let disk = Mounted::tmpfs(512 << 20, &scratch.path().join("disk")).unwrap();
    let parent = Some(disk.path.clone());
    let cluster = Cluster::start(ClusterOptions { parent, ..ClusterOptions::default() }).unwrap();
    let mut program = Program::new(program(), &scratch.path().join("data"), scratch.path());
    program.database = Some(cluster.url("postgres"));
    let service = program.start().await.unwrap();
    let mut wire = service.connect().await.unwrap();
    let mut save = async |n: usize| {
        let text: String = TEXT.chars().cycle().skip(7 * n).take(12_000).collect();
        wire.call("remember", &json!({"content": format!("{n} {text}")})).await
    };
    save(0).await.unwrap();
    assert!(is_writable(&service).await, "there is room");
    let filler = disk.fill().unwrap();
    let mut refused = None;
    for n in 1..2_000 {
        refused = save(n).await.err();
        if refused.is_some() {
            break;
        }
    }
    let told = format!("{refused:?}");
    assert!(told.contains("storage is full"), "{told}");
    assert!(!is_writable(&service).await, "no room was found, and a heartbeat needs none");
    std::fs::remove_file(filler).unwrap();
    let began = std::time::Instant::now();
    while !is_writable(&service).await {
        assert!(began.elapsed() < Duration::from_secs(10), "there is room again");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    save(0).await.unwrap();
}
