//! An index that comes back from its snapshot answers as before; one whose snapshot is damaged or gone does too, from
//! the log.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use mnemon_testkit::{Caller, TestServer, eventually};
use serde_json::{Value, json};

/// More than an index without a snapshot has.
const RECORDS: usize = 520;

async fn view(caller: &Caller) -> Vec<Value> {
    let mut answers = Vec::new();
    for query in ["shelf 7", "box 512", "who counted the boxes", "ledger"] {
        answers.push(caller.call("search", json!({"query": query, "limit": 50})).await.result);
    }
    answers
}

/// A stopped server whose index has a snapshot.
async fn stopped() -> (TestServer, String, Vec<Value>) {
    let mut server = TestServer::start().await;
    let caller = server.first_caller().await;
    for n in 0..RECORDS {
        let source = json!({"content": format!("shelf {n} holds box {n}, and Anna counted it"), "source_id": format!("ledger-{}", n % 9)});
        caller.call("remember", source).await.structured();
    }
    let before = view(&caller).await;
    server.stop().await;
    (server, caller.key, before)
}

/// The files of snapshots; none where they are in the database.
fn files(server: &TestServer) -> Vec<PathBuf> {
    let found = fs::read_dir(server.data_dir().join("snapshots")).into_iter().flatten();
    found.map(|entry| entry.expect("an entry").path()).collect()
}

/// How many indexes were loaded from snapshots, and from the log.
fn loads(server: &TestServer) -> (u64, u64) {
    let figures = server.engine.figures();
    (figures.index_loads_from_snapshot, figures.index_loads_from_log)
}

#[tokio::test]
async fn an_index_comes_back_from_its_snapshot() {
    let (mut server, key, before) = stopped().await;
    server.restart().await;
    let caller = server.caller(&key);
    assert_eq!(view(&caller).await, before);
    assert_eq!(loads(&server), (1, 0));
    let figures = server.engine.figures();
    assert!(figures.index_bytes > 100_000, "it counts against the budget: {} bytes", figures.index_bytes);
    caller.remember("shelf 7000 holds a hat").await;
    assert_eq!(caller.search("hat").await[0]["content"], "shelf 7000 holds a hat");
}

#[tokio::test]
async fn a_snapshot_that_is_gone_or_cut_short_is_not_missed() {
    let (mut server, key, before) = stopped().await;
    let cut = |file: &PathBuf| File::options().write(true).open(file)?.set_len(5_000);
    let remove = |file: &PathBuf| fs::remove_file(file);
    for harm in [remove as fn(&PathBuf) -> std::io::Result<()>, cut] {
        let [file] = &files(&server)[..] else { return };
        harm(file).expect("the file can be harmed");
        server.restart().await;
        assert_eq!(view(&server.caller(&key)).await, before);
        assert_eq!(loads(&server), (0, 1));
        // It has followed the whole log, and so leaves a snapshot again.
        server.stop().await;
    }
    assert_eq!(files(&server).len(), 1, "each time another one, and the old one is gone");
}

#[tokio::test]
async fn a_snapshot_with_a_wrong_byte_is_found_out() {
    let (mut server, key, before) = stopped().await;
    let [path] = &files(&server)[..] else { return };
    let file = File::options().read(true).write(true).open(path).expect("the file opens");
    let size = file.metadata().expect("a size").len();
    let flip = |at: u64| {
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).expect("a byte");
        file.write_all_at(&[!byte[0]], at).expect("a byte");
    };
    // The largest part, the vectors, has the middle of the file; it is checked only after the first answer.
    flip(size / 2);
    server.restart().await;
    let caller = server.caller(&key);
    eventually("the damage is found, and the index made from the log", async || {
        view(&caller).await;
        loads(&server) == (1, 1)
    })
    .await;
    assert_eq!(view(&caller).await, before);
}

#[tokio::test]
async fn files_that_a_crash_has_left_are_removed() {
    let (mut server, key, before) = stopped().await;
    let named = files(&server);
    let [path] = &named[..] else { return };
    fs::copy(path, path.with_file_name("0123456789abcdef")).expect("a copy");
    server.restart().await;
    eventually("the stray file is gone", async || files(&server) == named).await;
    assert_eq!(view(&server.caller(&key)).await, before);
    assert_eq!(loads(&server), (1, 0));
}
