//! Kill -9 during saves and forgets: what was acknowledged is there, what was forgotten stays away.
//!
//! The test starts itself as a child that saves and prints each acknowledged act. The same child can be used to look at
//! single faults by hand, such as a failing sync:
//! `MNEMON_STORE_CHILD=/some/dir strace -f -e inject=fsync,fdatasync:error=EIO:when=40+ <this binary> child`.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use mnemon_core::{ProjectId, Seq};
use mnemon_store::sqlite::SqliteStore;
use mnemon_store::{Insert, Inserted, Store};
use mnemon_store_conformance::House;

const DIRECTORY: &str = "MNEMON_STORE_CHILD";
const CALLERS: usize = 8;
const ROUNDS: u64 = 5;

/// Saves for as long as it lives, forgets every fourth record, and prints what was acknowledged. Does nothing when run
/// as an ordinary test.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child() {
    #[expect(clippy::disallowed_methods, reason = "the way from the test to its own child")]
    let Ok(dir) = std::env::var(DIRECTORY) else { return };
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(Path::new(&dir)).expect("the directory is free"));
    let house = House::build(&store).await;
    tell(&format!("project {}", house.project));
    let callers = (0..CALLERS).map(|caller| tokio::spawn(save_on(house.clone(), caller)));
    for caller in callers.collect::<Vec<_>>() {
        caller.await.expect("a caller");
    }
}

async fn save_on(house: House, caller: usize) {
    for n in 0..u64::MAX {
        let record = house.record(&text(caller, n));
        let answer = house
            .store
            .insert(Insert { record, records_max: None, workspaces_max: None, idempotency: None, supersede: None })
            .await;
        match answer {
            Ok(Inserted::New { seq, .. }) => {
                tell(&format!("saved {} {}", seq.0, text(caller, n)));
                if n.is_multiple_of(4) {
                    house.forget(&[seq], 20).await;
                    tell(&format!("forgot {}", seq.0));
                }
            }
            other => {
                tell(&format!("refused {other:?}"));
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
}

fn text(caller: usize, n: u64) -> String {
    format!("fact {n} of caller {caller}")
}

fn tell(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// What the child printed before it died.
#[derive(Default)]
struct Told {
    project: Option<ProjectId>,
    saved: Vec<(Seq, String)>,
    forgotten: Vec<Seq>,
}

#[tokio::test]
async fn nothing_acknowledged_is_lost_and_nothing_forgotten_returns() {
    for round in 0..ROUNDS {
        let dir = std::env::temp_dir().join(format!("mnemon-kill-{}-{round}", std::process::id()));
        let mut child = start(&dir);
        let out = BufReader::new(child.stdout.take().expect("a pipe"));
        let reader = std::thread::spawn(move || listen(out));
        tokio::time::sleep(Duration::from_millis(150 + 137 * round)).await;
        child.kill().expect("it runs");
        child.wait().expect("it ended");
        let told = reader.join().expect("the reader ends with the pipe");
        compare(&dir, &told).await;
        // On a busy machine the child may have been killed before it made the folder.
        if dir.exists() {
            std::fs::remove_dir_all(&dir).expect("ours");
        }
    }
}

fn start(dir: &PathBuf) -> Child {
    let this = std::env::current_exe().expect("a test has a file");
    let mut command = Command::new(this);
    command.args(["--exact", "child", "--nocapture"]).env(DIRECTORY, dir).stdout(Stdio::piped());
    command.spawn().expect("it starts")
}

fn listen(out: impl BufRead) -> Told {
    let mut told = Told::default();
    for line in out.lines().map_while(Result::ok) {
        let mut words = line.splitn(3, ' ');
        match (words.next(), words.next(), words.next()) {
            (Some("project"), Some(id), _) => told.project = id.parse().ok(),
            (Some("saved"), Some(seq), Some(text)) => {
                told.saved.push((Seq(seq.parse().expect("a number")), text.into()))
            }
            (Some("forgot"), Some(seq), _) => told.forgotten.push(Seq(seq.parse().expect("a number"))),
            (Some("refused"), ..) => panic!("{line}"),
            _ => {}
        }
    }
    told
}

async fn compare(dir: &Path, told: &Told) {
    let Some(project) = told.project else { return };
    let store = SqliteStore::open(dir).expect("it opens after a kill");
    let store: &dyn Store = &store;
    for (seq, text) in &told.saved {
        let found = store.load(project, &[*seq]).await.expect("storage works").pop();
        let is_forgotten = told.forgotten.contains(seq);
        match found {
            Some(record) => assert!(!is_forgotten && record.fact.content == *text, "{seq}: {text}"),
            // The child may have been killed after a forget was done and before it could print it.
            None => assert!(is_forgotten || may_be_forgotten(text), "{seq} was acknowledged and is lost"),
        }
    }
    let last = store.last_seq(project).await.expect("storage works").unwrap_or_default();
    assert!(told.saved.iter().all(|(seq, _)| *seq <= last));
    assert_eq!(store.check().await, Ok(()));
}

fn may_be_forgotten(text: &str) -> bool {
    let n = text.split(' ').nth(1).and_then(|n| n.parse::<u64>().ok());
    n.is_some_and(|n| n.is_multiple_of(4))
}
