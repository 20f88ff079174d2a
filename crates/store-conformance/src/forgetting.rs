//! Stories of forgetting, restoring, and of workspaces that end and come back.

use mnemon_core::{Audience, NewRecord, Seq, WorkspaceName};
use mnemon_store::RestoredWorkspace;

use super::log::{Followed, follow};
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
    let (two, three, four) = (house.record("two"), house.record("three"), house.record("four"));
    let (second, third) = (house.save(two.clone()).await, house.save(three.clone()).await);
    house.save(NewRecord { workspace: workspace("over"), ..four.clone() }).await;
    house.delete_workspace("over", 21).await;
    let asked = [three.id, record.id, two.id, four.id, house.record("never saved").id, three.id];
    assert_eq!(house.store.find_places(house.project, &asked).await, Ok(vec![second, third]), "many at once");
    assert_eq!(house.store.find_places(house.project, &[]).await, Ok(Vec::new()));
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

/// A deleted workspace ends with its records; a save brings its name back empty, under a new number.
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
    assert_eq!(house.forget(&[seq], 22).await, [], "it is gone already");

    let (again, reborn) = house.save_numbered(given("one")).await;
    assert!(again > seq && reborn != no && reborn.0 == again.0);
    assert!(house.load(seq).await.is_none(), "nothing of the former life appears");
    let found = house.store.find_workspace(house.project, &workspace("team")).await.expect("storage works");
    assert_eq!(found.map(|found| found.no), Some(reborn));
    assert_eq!(house.delete_workspace("team", 24).await, Some(1));
    let rows = house.store.list_audit(house.account, 10).await.expect("storage works");
    let counts: Vec<_> = rows.iter().filter(|(line, _)| line.action == "workspace.delete").map(|row| row.1).collect();
    assert_eq!(counts, [1, 1]);
}

/// What ended with its workspace comes back one by one: into the workspace that has the name now, and the name comes
/// back with the first. What was forgotten before stays so until it is asked for.
pub async fn records_of_a_deleted_workspace_come_back_one_by_one(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let given = |text: &str| NewRecord { workspace: workspace("team"), ..house.record(text) };
    let draft = NewRecord { audience: Audience::Author(house.ana), ..given("a draft") };
    let (one, two, three) = (given("one"), given("two"), given("three"));
    let (seq, no) = house.save_numbered(one.clone()).await;
    let dropped = house.save(two.clone()).await;
    let draft_seq = house.save(draft.clone()).await;
    house.save(three).await;
    house.forget(&[dropped], 15).await;
    assert_eq!(house.delete_workspace("team", 20).await, Some(3));
    assert_eq!(house.restore(one.id, 21, 30).await, None, "too late");
    assert_eq!(house.restore(two.id, 16, 30).await, None, "its own time is over");
    let place = house.last_seq().await;
    let back = house.restore(one.id, 20, 30).await.expect("in time");
    assert_eq!((back.seq, back.fact.content.as_str(), back.workspace.as_str()), (seq, "one", "team"));
    assert_eq!((back.workspace_no.0, house.last_seq().await.0), (place.0 + 1, place.0 + 1), "a new life");
    assert_ne!(back.workspace_no, no);
    assert_eq!(house.load(seq).await, Some(back.clone()));
    assert_eq!(house.restore(one.id, 0, 31).await, None, "it is alive again");
    let found = async || {
        let found = house.store.find_workspace(house.project, &workspace("team")).await.expect("storage works");
        found.expect("it is active")
    };
    assert_eq!((found().await.no, found().await.audiences), (back.workspace_no, vec![Audience::Shared]));
    let second = house.restore(two.id, 15, 32).await.expect("in time");
    let third = house.restore(draft.id, 20, 33).await.expect("in time");
    assert_eq!([second.workspace_no, third.workspace_no], [back.workspace_no; 2], "they join it");
    assert_eq!(found().await.audiences, [Audience::Shared, draft.audience]);
    let mut followed = Followed::new();
    follow(&house.store, house.project, back.workspace_no, Seq(0), 1, &mut followed).await;
    assert_eq!(followed.into_keys().collect::<Vec<_>>(), [seq, dropped, draft_seq], "the log tells of them");
    assert_eq!(house.delete_workspace("team", 40).await, Some(3), "they count as others do");
}

/// A deleted workspace comes back whole, until its time is over, and goes on under its old number.
pub async fn a_deleted_workspace_can_be_restored_for_a_while(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let given = |text: &str| NewRecord { workspace: workspace("team"), ..house.record(text) };
    let (seq, no) = house.save_numbered(given("one")).await;
    let dropped = house.save(given("two")).await;
    house.save(NewRecord { audience: Audience::Author(house.ana), ..given("a draft") }).await;
    house.forget(&[dropped], 15).await;
    house.delete_workspace("team", 20).await;
    let list = async |since: i64| {
        let rows = house.store.list_deleted_workspaces(house.project, at(since)).await.expect("storage works");
        rows.into_iter().map(|row| (row.workspace.no, row.deleted_at, row.living)).collect::<Vec<_>>()
    };
    assert_eq!(list(21).await, []);
    let living = vec![(Audience::Shared, 1), (Audience::Author(house.ana), 1)];
    assert_eq!(list(20).await, [(no, at(20), living)]);
    let line = || audit(house.account, 30, "workspace.restore");
    let restore = async |since: i64, max: Option<u64>| {
        house.store.restore_workspace(house.project, no, at(since), max, line()).await.expect("storage works")
    };
    house.save_text("elsewhere").await;
    let before = house.last_seq().await;
    assert_eq!(restore(21, None).await, RestoredWorkspace::Absent, "too late");
    assert_eq!(restore(20, Some(2)).await, RestoredWorkspace::Full);
    assert_eq!(house.last_seq().await, before, "what is refused takes no place");
    assert_eq!(restore(20, Some(3)).await, RestoredWorkspace::Done(2), "all or nothing");
    assert_eq!(restore(0, None).await, RestoredWorkspace::Absent, "it is active again");
    assert_eq!(list(0).await, []);
    let back = house.load(seq).await.expect("alive");
    assert_eq!((back.workspace_no, house.last_seq().await), (no, Seq(before.0 + 1)));
    assert!(house.load(dropped).await.is_none(), "forgotten before, forgotten still");
    assert_eq!(house.save_numbered(given("three")).await.1, no, "the same life goes on");
    let rows = house.store.list_audit(house.account, 10).await.expect("storage works");
    let counts: Vec<_> = rows.iter().filter(|(line, _)| line.action == "workspace.restore").map(|row| row.1).collect();
    assert_eq!(counts, [1]);
}

/// If a new workspace has the name, the records join it; after that, the deletion before can be undone.
pub async fn restored_records_join_a_workspace_that_took_the_name(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let given = |text: &str| NewRecord { workspace: workspace("team"), ..house.record(text) };
    let first = house.save(given("first life")).await;
    house.delete_workspace("team", 20).await;
    let second = house.save(NewRecord { audience: Audience::Author(house.ana), ..given("second life") }).await;
    house.delete_workspace("team", 21).await;
    let (third, no) = house.save_numbered(given("third life")).await;
    for (expected, seqs) in [(1, vec![second, third]), (1, vec![first, second, third])] {
        assert_eq!(house.restore_workspace("team", 0, 30).await, RestoredWorkspace::Done(expected));
        let mut followed = Followed::new();
        follow(&house.store, house.project, no, Seq(0), 1, &mut followed).await;
        assert_eq!(followed.into_keys().collect::<Vec<_>>(), seqs);
        for seq in seqs {
            assert_eq!(house.load(seq).await.map(|record| record.workspace_no), Some(no));
        }
    }
    assert_eq!(house.restore_workspace("team", 0, 31).await, RestoredWorkspace::Absent, "nothing is left");
    let found = house.store.find_workspace(house.project, &workspace("team")).await.expect("storage works");
    assert_eq!(found.map(|found| found.audiences), Some(vec![Audience::Shared, Audience::Author(house.ana)]));
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
