//! Stories of forgetting, restoring, and of workspaces that end and come back.

use mnemon_core::{NewRecord, Seq, WorkspaceName};

use super::{House, MakeEngine, at, audit, workspace};

/// The place of a record is known while it lives.
pub async fn a_living_record_has_a_place(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let record = house.record("one");
    let seq = house.save(record.clone()).await;
    let place = async || house.store.find_place(house.project, record.id).await.expect("storage works");
    assert_eq!(place().await, Some((seq, record.audience)));
    house.forget(&[seq], 20).await;
    assert_eq!(place().await, None, "a forgotten record has none");
    assert_eq!(house.store.find_place(house.project, house.record("two").id).await, Ok(None), "nor an absent one");
}

/// Forgetting answers with what was alive, oldest first, and leaves one audit row with the count.
pub async fn forgetting_takes_what_is_alive(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let (one, two, three) = (house.record("one"), house.record("two"), house.record("three"));
    let (first, second) = (house.save(one.clone()).await, house.save(two.clone()).await);
    house.save(three).await;
    assert_eq!(house.forget(&[second, Seq(77), first, second], 20).await, [one.id, two.id]);
    assert_eq!(house.last_seq().await, Seq(5), "each forgotten record takes a place of the log");
    assert!(house.load(first).await.is_none());
    assert_eq!(house.store.find(house.project, two.id).await, Ok(None));
    assert_eq!(house.forget(&[first, second], 21).await, [], "twice is nothing");
    assert_eq!(house.forget(&[], 21).await, []);
    assert_eq!(house.last_seq().await, Seq(5));
    let rows = house.store.list_audit(house.account, 10).await.expect("storage works");
    let forgets: Vec<_> = rows.iter().filter(|(line, _)| line.action == "record.forget").collect();
    assert_eq!(forgets.len(), 1, "nothing to forget leaves no row");
    assert_eq!((forgets[0].0.at, forgets[0].1), (at(20), 2));
}

/// A forgotten record comes back whole, in its old place, until its time is over.
pub async fn a_forgotten_record_can_be_restored_for_a_while(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let given = house.sourced("a fact", "page", "h1");
    let seq = house.save(given.clone()).await;
    let before = house.load(seq).await;
    assert_eq!(house.restore(given.id, 0, 15).await, None, "it is alive");
    house.forget(&[seq], 20).await;
    assert_eq!(house.restore(given.id, 21, 30).await, None, "too late");
    assert_eq!(house.last_seq().await, Seq(2), "what is refused takes no place");
    let restored = house.restore(given.id, 20, 30).await;
    assert_eq!(restored, before);
    assert_eq!(house.load(seq).await, before);
    assert_eq!(house.last_seq().await, Seq(3));
    assert_eq!(house.restore(given.id, 0, 31).await, None, "it is alive again");
    assert_eq!(house.restore(house.record("").id, 0, 31).await, None, "never existed");
    let rows = house.store.list_audit(house.account, 10).await.expect("storage works");
    let restores: Vec<_> = rows.iter().filter(|(line, _)| line.action == "record.restore").collect();
    assert_eq!((restores.len(), restores[0].1), (1, 1));
    assert_eq!(house.store.list_by_source(house.project, "page", None).await.map(|list| list.len()), Ok(1));
}

/// Restoring needs room, and takes it.
pub async fn restoring_respects_the_limit(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let given = house.record("one");
    let seq = house.save(given.clone()).await;
    house.forget(&[seq], 20).await;
    house.save_text("two").await;
    let restore = async |max: Option<u64>| {
        let line = audit(house.account, 30, "record.restore");
        house.store.restore(house.project, given.id, at(0), max, line).await.expect("storage works").is_some()
    };
    assert!(!restore(Some(1)).await);
    assert!(restore(Some(2)).await);
    house.forget(&[seq], 31).await;
    assert!(restore(None).await);
}

/// A deleted workspace ends with its records; its name comes back empty, under a new number.
pub async fn a_deleted_workspace_comes_back_empty(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let given = |text: &str| NewRecord { workspace: workspace("team"), ..house.record(text) };
    let first = given("one");
    let (seq, no) = house.save_numbered(first.clone()).await;
    let (dropped, _) = house.save_numbered(given("two")).await;
    house.forget(&[dropped], 15).await;
    let kept = house.save_text("elsewhere").await;
    assert_eq!(no.0, seq.0, "a workspace's number is the place of its first save");
    assert_eq!(house.delete_workspace("absent", 20).await, None);
    assert_eq!(house.delete_workspace("team", 20).await, Some(1));
    assert_eq!(house.delete_workspace("team", 21).await, None, "its life is over");
    assert_eq!(house.store.find_workspace(house.project, &workspace("team")).await, Ok(None));
    assert!(house.load(seq).await.is_none());
    assert!(house.load(kept).await.is_some());
    assert_eq!(house.restore(first.id, 0, 22).await, None, "its workspace is gone");
    assert_eq!(house.forget(&[seq], 22).await, [], "it is gone already");

    let (again, reborn) = house.save_numbered(given("one")).await;
    assert!(again > seq && reborn != no && reborn.0 == again.0);
    assert!(house.load(seq).await.is_none(), "nothing of the former life appears");
    assert_eq!(house.restore(first.id, 0, 23).await, None);
    let found = house.store.find_workspace(house.project, &workspace("team")).await.expect("storage works");
    assert_eq!(found.map(|found| found.no), Some(reborn));
    assert_eq!(house.delete_workspace("team", 24).await, Some(1));
    let rows = house.store.list_audit(house.account, 10).await.expect("storage works");
    let counts: Vec<_> = rows.iter().filter(|(line, _)| line.action == "workspace.delete").map(|row| row.1).collect();
    assert_eq!(counts, [1, 1]);
}

/// A workspace of forgotten records is there and empty.
pub async fn a_workspace_outlives_its_records(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let name = WorkspaceName::default();
    assert_eq!(house.store.find_workspace(house.project, &name).await, Ok(None), "reading makes nothing");
    let (seq, no) = house.save_numbered(house.record("one")).await;
    house.forget(&[seq], 20).await;
    let found = house.store.find_workspace(house.project, &name).await.expect("storage works");
    assert_eq!(found.map(|found| found.no), Some(no));
    assert_eq!(house.save_numbered(house.record("two")).await.1, no, "the same life goes on");
}
