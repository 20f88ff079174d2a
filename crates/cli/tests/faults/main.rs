//! The short forms of fault runs against the real program. The long ones, and the other faults, are in the bench:
//! `bench/README.md`.

mod disk;
mod nodes;

use std::path::Path;

use mnemon_testkit::faults::{Rounds, backup, backup_postgres, kill, kill_sync, power};

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_mnemon"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_survives_kill_9() {
    let scratch = tempfile::tempdir().unwrap();
    let report = kill(program(), scratch.path(), &Rounds::short(5, 1)).await.unwrap();
    assert!(report.is_passed(), "{report:?}");
}

/// Needs root to mount its own disk; otherwise it fails and says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_survives_power_loss() {
    let scratch = tempfile::tempdir().unwrap();
    let report = power(program(), scratch.path(), &Rounds::short(2, 1)).await.unwrap();
    assert!(report.is_passed(), "{report:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sync_that_is_killed_anywhere_loses_and_doubles_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let report = kill_sync(program(), scratch.path(), 5, 1).await.unwrap();
    assert!(report.is_passed(), "{report:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_under_load_is_whole_and_answers_alike_and_a_killed_one_is_none() {
    let scratch = tempfile::tempdir().unwrap();
    let report = backup(program(), scratch.path(), &Rounds::short(2, 1)).await.unwrap();
    assert!(report.is_passed(), "{report:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dump_under_load_is_whole_and_answers_alike_and_a_killed_one_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let report = backup_postgres(program(), scratch.path(), &Rounds::short(2, 1)).await.unwrap();
    assert!(report.is_passed(), "{report:?}");
}
