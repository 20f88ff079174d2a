//! Purging, and snapshots, which must not bring purged records back.

use mnemon_core::{NewRecord, RecordId, Seq, WorkspaceName, WorkspaceNo};
use mnemon_store::{Change, Idempotency, Inserted, Portion, RecordFilter};

use super::log::{Followed, follow};
use super::{House, MakeEngine, at, audit, find_snapshot, save_snapshot, workspace};

async fn purge(house: &House, id: RecordId) -> bool {
    let line = audit(house.account, 50, "record.purge");
    house.store.purge(house.project, id, line).await.expect("storage works")
}

async fn purge_forgotten(house: &House, second: i64, rows_max: usize) -> u64 {
    house.store.purge_forgotten(at(second), rows_max).await.expect("storage works")
}

/// A purged record can't be found, counted or restored, and its log position says so.
pub async fn a_purged_record_is_gone(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let given = house.sourced("a fact", "page", "h");
    let key = Idempotency { member: house.ana, key: "i".to_owned(), arguments_hash: [1; 32], valid_since: at(0) };
    let Inserted::New { seq, workspace_no: no, .. } = house.insert_with_key(given.clone(), key.clone()).await else {
        panic!("a new record")
    };
    let other = house.save_text("stays").await;
    let before = house.last_seq().await;
    assert!(!purge(&house, house.record("").id).await, "never existed");
    assert!(purge(&house, given.id).await);
    assert!(!purge(&house, given.id).await, "once");
    assert_eq!(house.last_seq().await, Seq(before.0 + 1));
    let tail = house.store.tail(house.project, no, before, 10).await.expect("storage works");
    assert_eq!(tail.changes, [Change::Absent(seq)]);
    assert_eq!(house.load(seq).await, None);
    assert_eq!(house.store.find_any(house.project, given.id).await, Ok(None));
    assert_eq!(house.store.list_by_source(house.project, "page", None).await, Ok(Vec::new()));
    assert_eq!(house.restore(given.id, 0, 60).await, None);
    assert_eq!(house.forget(&[seq, other], 60).await.len(), 1);
    let rows = house.store.list_audit(house.account, 100).await.expect("storage works");
    assert_eq!(rows.iter().filter(|(line, _)| line.action == "record.purge").map(|row| row.1).collect::<Vec<_>>(), [1]);
    let again = house.insert_with_key(house.record("under the same key"), key).await;
    assert!(matches!(again, Inserted::New { .. }), "the key that led to it is gone too: {again:?}");
}

/// Forgotten records and those of deleted workspaces count alike, and the oldest go first.
pub async fn a_project_keeps_a_limit_of_forgotten_records(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let beyond = async |keep: u64| {
        let purged = house.store.purge_beyond(house.project, keep, at(100)).await.expect("storage works");
        (purged.purged, purged.kept)
    };
    assert_eq!(beyond(0).await, (0, 0));
    let mut ids = Vec::new();
    for n in 0..6 {
        let name = if n == 2 { "over" } else { "default" };
        let record = NewRecord { workspace: workspace(name), ..house.record(&format!("text {n}")) };
        ids.push(record.id);
        let seq = house.save(record).await;
        match n {
            2 => assert_eq!(house.delete_workspace("over", 30).await, Some(1)),
            5 => {}
            n => assert_eq!(house.forget(&[seq], 10 + i64::from(n) * 10).await.len(), 1),
        }
    }
    assert_eq!(beyond(5).await, (0, 5), "the limit itself is kept");
    assert_eq!(beyond(4).await, (1, 4));
    assert_eq!(beyond(2).await, (2, 2), "the workspace's record is the third oldest");
    let mut left = Vec::new();
    for id in ids {
        left.push(house.store.find_any(house.project, id).await.expect("storage works").is_some());
    }
    assert_eq!(left, [false, false, false, true, true, true]);
    assert_eq!(beyond(0).await, (2, 0), "what is alive stays");
    let living = house.store.list_records(house.project, RecordFilter::default(), None, Portion::of_rows(10)).await;
    assert_eq!(living.map(|rows| rows.len()), Ok(1));
}

/// Only purging a live record makes room.
pub async fn a_purge_makes_room_once(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let fits = async |text: &str, records_max: u64| {
        let insert = mnemon_store::Insert {
            record: house.record(text),
            records_max: Some(records_max),
            workspaces_max: None,
            idempotency: None,
            supersede: None,
        };
        matches!(house.store.insert(insert).await.expect("storage works"), Inserted::New { .. })
    };
    let (living, forgotten) = (house.record("living"), house.record("forgotten"));
    let dead = NewRecord { workspace: workspace("over"), ..house.record("dead") };
    house.save(living.clone()).await;
    let seq = house.save(forgotten.clone()).await;
    house.save(dead.clone()).await;
    house.forget(&[seq], 20).await;
    house.delete_workspace("over", 21).await;
    assert!(!fits("one more", 1).await);
    assert!(purge(&house, forgotten.id).await && purge(&house, dead.id).await);
    assert!(!fits("one more", 1).await, "they counted no more");
    assert!(purge(&house, living.id).await);
    assert!(fits("one more", 1).await);
    assert!(!fits("and more", 1).await);
}

/// What was forgotten, or ended with its workspace or project, is purged when its time is over, in pieces, and nothing
/// else.
pub async fn what_ended_long_ago_goes_in_pieces(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let second = House { project: house.add_project().await, ..house.clone() };
    let stranger = House::build(&engine.store).await;
    let mut late = Vec::new();
    for (n, house) in [&house, &second, &stranger].into_iter().enumerate() {
        for m in 0..4 {
            let seq = house.save_text(&format!("early {n} {m}")).await;
            house.forget(&[seq], 20).await;
            let record = house.record(&format!("late {n} {m}"));
            late.push((house.clone(), record.id));
            let seq = house.save(record).await;
            house.forget(&[seq], 30).await;
            house.save_text(&format!("living {n} {m}")).await;
            house.save(NewRecord { workspace: workspace("over"), ..house.record(&format!("over {n} {m}")) }).await;
        }
    }
    house.delete_workspace("over", 25).await;
    second.delete_workspace("over", 35).await;
    let line = audit(stranger.account, 26, "project.delete");
    assert_eq!(stranger.store.delete_project(stranger.account, stranger.project, line).await, Ok(true));
    assert_eq!(purge_forgotten(&house, 20, 100).await, 0, "at its moment it is not before it");
    // Four early ones of each, four of the first's workspace, and the other twelve of the deleted project.
    let mut counts = Vec::new();
    loop {
        counts.push(purge_forgotten(&house, 30, 10).await);
        if *counts.last().expect("just pushed") < 10 {
            break;
        }
    }
    assert_eq!(counts, [10, 10, 8]);
    assert_eq!(purge_forgotten(&house, 30, 10).await, 0);
    for (house, id) in &late[..8] {
        assert!(house.store.find_any(house.project, *id).await.expect("storage works").is_some());
    }
    let forgotten = RecordFilter { is_forgotten: true, ..RecordFilter::default() };
    // The second's workspace is within its time, and its records can still be restored.
    for (house, expected) in [(&house, 4), (&second, 8)] {
        let listed = house.store.list_records(house.project, forgotten.clone(), None, Portion::of_rows(100)).await;
        assert_eq!(listed.map(|rows| rows.len()), Ok(expected));
        let living =
            house.store.list_records(house.project, RecordFilter::default(), None, Portion::of_rows(100)).await;
        assert_eq!(living.map(|rows| rows.len()), Ok(4));
    }
    assert_eq!(purge_forgotten(&house, 40, 100).await, 12, "eight late ones, and the second's workspace");
    assert!(house.restore(late[0].1, 0, 50).await.is_none());
    house.save(NewRecord { workspace: workspace("over"), ..house.record("fresh") }).await;
    let found = house.store.find_workspace(house.project, &workspace("over")).await.expect("storage works");
    assert!(found.is_some(), "the name is free");
}

/// A reader that follows the log while records are purged ends with exactly the live ones.
pub async fn following_while_records_are_purged_converges(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let mut ids = Vec::new();
    let (_, no) = house.save_numbered(house.record("the first")).await;
    for n in 0..30 {
        let record = house.record(&format!("fact {n}"));
        ids.push(record.id);
        house.save(record).await;
    }
    let mut known = Followed::new();
    let mut after = follow(&house.store, house.project, no, Seq(0), 7, &mut known).await;
    for (n, id) in ids.into_iter().enumerate() {
        let listed = house.store.find_any(house.project, id).await.expect("storage works").expect("there");
        match n % 4 {
            0 => assert!(purge(&house, id).await),
            1 => drop(house.forget(&[listed.record.seq], 20).await),
            2 => {
                house.forget(&[listed.record.seq], 20).await;
                assert!(purge(&house, id).await);
            }
            _ => {}
        }
        if n % 10 == 9 {
            purge_forgotten(&house, 30, 2).await;
            after = follow(&house.store, house.project, no, after, 3, &mut known).await;
        }
    }
    follow(&house.store, house.project, no, after, 3, &mut known).await;
    let mut fresh = Followed::new();
    follow(&house.store, house.project, no, Seq(0), 1, &mut fresh).await;
    let living = house.store.list_records(house.project, RecordFilter::default(), None, Portion::of_rows(100)).await;
    let expected: Followed =
        living.expect("storage works").into_iter().map(|row| (row.record.seq, row.record.fact.content)).collect();
    assert_eq!(expected.len(), 1 + 7);
    assert_eq!((known, fresh), (expected.clone(), expected));
}

/// A newer snapshot stays, an equal or older one is replaced; each workspace has its own, which ends with it.
pub async fn the_newest_snapshot_stays(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let (seq, no) = house.save_numbered(house.record("one")).await;
    let save = async |no, seq: u64, byte: u8| save_snapshot(&house, no, Seq(seq), vec![byte; 100_000]).await;
    let find = async || find_snapshot(&house, no).await;
    assert_eq!(find().await, None);
    for (given, expected) in [((5, 1), (5, 1)), ((4, 2), (5, 1)), ((5, 3), (5, 3)), ((6, 4), (6, 4))] {
        save(no, given.0, given.1).await;
        assert_eq!(find().await, Some((Seq(expected.0), vec![expected.1; 100_000])));
    }
    save(WorkspaceNo(77), 9, 9).await;
    assert_eq!(find_snapshot(&house, WorkspaceNo(77)).await, None);
    assert!(house.load(seq).await.is_some());
    house.delete_workspace(WorkspaceName::default().as_str(), 20).await;
    save(no, 9, 9).await;
    assert_ne!(find().await.map(|(seq, _)| seq), Some(Seq(9)), "its life is over");
    purge_forgotten(&house, 30, 10).await;
    assert_eq!(find().await, None);
}

/// A purge removes the snapshot of its workspace, and one from before the purge is not accepted after it.
pub async fn a_snapshot_does_not_bring_back_what_was_purged(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let (one, two, three) = (house.record("one"), house.record("two"), house.record("three"));
    let (_, no) = house.save_numbered(one.clone()).await;
    let forgotten = house.save(two).await;
    let (_, other) = house.save_numbered(NewRecord { workspace: workspace("team"), ..three }).await;
    let save = async |workspace, seq| {
        save_snapshot(&house, workspace, seq, vec![1]).await;
        find_snapshot(&house, workspace).await.map(|(seq, _)| seq)
    };
    let before = house.last_seq().await;
    assert_eq!(save(no, before).await, Some(before));
    assert_eq!(save(other, before).await, Some(before));
    assert!(purge(&house, one.id).await);
    assert_eq!(find_snapshot(&house, no).await, None);
    assert_eq!(save(no, before).await, None, "it holds what is gone");
    assert_eq!(save(other, before).await, Some(before), "another workspace's does not");
    let after = house.last_seq().await;
    assert_eq!(save(no, after).await, Some(after));
    house.forget(&[forgotten], 20).await;
    assert_eq!(purge_forgotten(&house, 30, 10).await, 1);
    assert_eq!(find_snapshot(&house, no).await, None);
    assert_eq!(save(no, after).await, None);
}

/// Compaction changes nothing visible, while others read and write.
pub async fn compacting_changes_nothing_to_be_seen(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let mut seqs = Vec::new();
    for n in 0..50 {
        seqs.push(house.save_text(&format!("fact {n}")).await);
    }
    let writer = {
        let house = house.clone();
        tokio::spawn(async move {
            for n in 0..50 {
                house.save_text(&format!("meanwhile {n}")).await;
                house.load(Seq(1)).await.expect("readers go on");
            }
        })
    };
    for _ in 0..3 {
        house.store.compact().await.expect("storage works");
    }
    writer.await.expect("the writer");
    let records = house.store.load(house.project, &seqs).await.expect("storage works");
    assert_eq!(records.len(), 50);
    assert_eq!(house.last_seq().await, Seq(100));
    assert_eq!(house.store.check().await, Ok(()));
}
