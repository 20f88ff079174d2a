//! Stories of records that take the place of others.

use std::sync::Arc;

use mnemon_core::{Audience, DepartmentTree, FactKey, MemberId, NewRecord, RecordId, Role, Seq, Viewer};
use mnemon_store::{Change, Idempotency, Insert, Inserted, Portion, RecordFilter, Supersede};

use super::{House, MakeEngine, at, audit, workspace};

fn keyed(house: &House, content: &str, key: &str) -> NewRecord {
    NewRecord { fact_key: FactKey { text: key.to_owned(), is_given: true }, ..house.record(content) }
}

fn viewer(member: MemberId) -> Viewer {
    Viewer::new(member, Role::Member, None, &DepartmentTree::default())
}

fn by_ids(house: &House, ids: &[RecordId]) -> Supersede {
    let audit = audit(house.account, 50, "record.supersede");
    Supersede { ids: ids.to_vec(), same_key: false, viewer: viewer(house.ana), audit }
}

fn by_key(house: &House) -> Supersede {
    Supersede { same_key: true, ..by_ids(house, &[]) }
}

async fn insert(house: &House, record: NewRecord, supersede: Supersede) -> Inserted {
    let insert =
        Insert { record, records_max: None, workspaces_max: None, idempotency: None, supersede: Some(supersede) };
    house.store.insert(insert).await.expect("storage works")
}

/// Saving the new and forgetting the old is one act; the old ones know what replaced them and can be restored.
pub async fn a_record_takes_the_place_of_others(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let (first, second) = (house.record("one"), NewRecord { workspace: workspace("team"), ..house.record("two") });
    let (seq, no) = house.save_numbered(first.clone()).await;
    house.save(second.clone()).await;
    let new = house.record("three");
    let answer = insert(&house, new.clone(), by_ids(&house, &[second.id, first.id, first.id])).await;
    let expected = vec![first.id, second.id];
    assert_eq!(answer, Inserted::New { seq: Seq(3), workspace_no: no, superseded: expected.clone() });
    assert_eq!(house.last_seq().await, Seq(5), "the save, and each end");
    for old in [&first, &second] {
        assert_eq!(house.store.find(house.project, old.id).await, Ok(None));
        let listed = house.store.find_any(house.project, old.id).await.expect("storage works").expect("forgotten");
        assert_eq!((listed.forgotten_at, listed.superseded_by), (Some(at(50)), Some(new.id)));
    }
    let tail = house.store.tail(house.project, no, seq, 100).await.expect("storage works");
    assert!(tail.changes.contains(&Change::Absent(seq)), "an index follows: {tail:?}");
    let lines = house.store.list_audit(house.account, 10).await.expect("storage works");
    let line = lines.iter().find(|(line, _)| line.action == "record.supersede").expect("noted");
    assert_eq!((line.0.subject.clone(), line.1), (new.id.to_string(), 2));
    let forgotten = RecordFilter { is_forgotten: true, ..RecordFilter::default() };
    let listed =
        house.store.list_records(house.project, forgotten, None, Portion::of_rows(10)).await.expect("storage works");
    assert!(listed.iter().all(|listed| listed.superseded_by == Some(new.id)) && listed.len() == 2);
    assert!(house.restore(first.id, 0, 60).await.is_some());
    let back = house.store.find_any(house.project, first.id).await.expect("storage works").expect("alive");
    assert_eq!((back.forgotten_at, back.superseded_by), (None, None));
}

/// A key is replaced where it is: in its workspace, for who replaces, and only where a caller gave it.
pub async fn a_key_is_replaced_within_sight(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let ben = house.add_member("Ben", Role::Member, None).await;
    let shared = keyed(&house, "port 1", "port");
    let draft = NewRecord { audience: Audience::Author(house.ana), ..keyed(&house, "port 2", "port") };
    let hidden = NewRecord { author: ben, audience: Audience::Author(ben), ..keyed(&house, "port 3", "port") };
    let elsewhere = NewRecord { workspace: workspace("team"), ..keyed(&house, "port 4", "port") };
    let other = keyed(&house, "host", "host");
    let made = FactKey { text: "port".to_owned(), is_given: false };
    let made = NewRecord { fact_key: made, ..house.record("port 5") };
    for record in [&shared, &draft, &hidden, &elsewhere, &other, &made] {
        house.save(record.clone()).await;
    }
    let answer = insert(&house, keyed(&house, "port 6", "port"), by_key(&house)).await;
    let Inserted::New { superseded, .. } = answer else { panic!("{answer:?}") };
    assert_eq!(superseded, [shared.id, draft.id]);
    for kept in [&hidden, &elsewhere, &other, &made] {
        assert!(
            house.store.find(house.project, kept.id).await.expect("storage works").is_some(),
            "{}",
            kept.fact.content
        );
    }
    let fresh = NewRecord { workspace: workspace("new"), ..keyed(&house, "port 7", "port") };
    let answer = insert(&house, fresh, by_key(&house)).await;
    assert!(matches!(&answer, Inserted::New { superseded, .. } if superseded.is_empty()), "{answer:?}");
}

/// A record that is absent, forgotten, hidden or another project's can't be replaced, and then nothing is stored.
pub async fn what_is_not_there_is_not_replaced(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let other = House { project: house.add_project().await, ..house.clone() };
    let ben = house.add_member("Ben", Role::Member, None).await;
    let (alive, gone, foreign) = (house.record("one"), house.record("two"), other.record("three"));
    let hidden = NewRecord { author: ben, audience: Audience::Author(ben), ..house.record("four") };
    let ended = NewRecord { workspace: workspace("ended"), ..house.record("five") };
    for record in [&alive, &hidden, &ended] {
        house.save(record.clone()).await;
    }
    let seq = house.save(gone.clone()).await;
    house.forget(&[seq], 20).await;
    house.delete_workspace("ended", 20).await;
    other.save(foreign.clone()).await;
    let absent = RecordId::new(super::fixtures::fresh_uuid());
    let before = house.last_seq().await;
    for id in [gone.id, hidden.id, foreign.id, ended.id, absent] {
        let answer = insert(&house, house.record("six"), by_ids(&house, &[alive.id, id])).await;
        assert_eq!(answer, Inserted::NotFound(id));
    }
    assert_eq!(house.last_seq().await, before, "nothing was stored");
    assert!(house.store.find(house.project, alive.id).await.expect("storage works").is_some());
}

/// An equal record takes the place itself, and never its own; a draft becomes shared by being saved again.
pub async fn a_duplicate_takes_the_place_of_others(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let (one, two) = (keyed(&house, "port 1", "port"), keyed(&house, "port 2", "port"));
    let (seq, no) = house.save_numbered(one.clone()).await;
    house.save(two.clone()).await;
    let answer = insert(&house, keyed(&house, "port 1", "port"), by_key(&house)).await;
    let Inserted::Duplicate { record, superseded } = answer else { panic!("{answer:?}") };
    assert_eq!((record.seq, superseded), (seq, vec![two.id]));
    let answer = insert(&house, keyed(&house, "port 1", "port"), by_ids(&house, &[one.id])).await;
    assert!(matches!(&answer, Inserted::Duplicate { superseded, .. } if superseded.is_empty()), "{answer:?}");
    assert!(house.load(seq).await.is_some(), "a record does not replace itself");
    let old = house.store.find_any(house.project, two.id).await.expect("storage works").expect("forgotten");
    assert_eq!(old.superseded_by, Some(one.id));
    let draft = NewRecord { audience: Audience::Author(house.ana), ..house.record("a draft") };
    house.save(draft.clone()).await;
    let answer = insert(&house, house.record("a draft"), by_ids(&house, &[draft.id])).await;
    let Inserted::New { workspace_no, superseded, .. } = answer else { panic!("{answer:?}") };
    assert_eq!((workspace_no, superseded), (no, vec![draft.id]));
}

/// A full project can be corrected: what goes makes room for what comes, and no more than that.
pub async fn replacing_works_at_the_limit(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let (one, two) = (house.record("one"), house.record("two"));
    house.save(one.clone()).await;
    house.save(two.clone()).await;
    let save = async |content: &str, records_max: u64, ids: &[RecordId]| {
        let supersede = (!ids.is_empty()).then(|| by_ids(&house, ids));
        let record = house.record(content);
        let insert =
            Insert { record, records_max: Some(records_max), workspaces_max: None, idempotency: None, supersede };
        house.store.insert(insert).await.expect("storage works")
    };
    assert_eq!(save("three", 2, &[]).await, Inserted::LimitReached);
    assert_eq!(save("three", 1, &[one.id]).await, Inserted::LimitReached, "two stay, one is allowed");
    assert!(house.store.find(house.project, one.id).await.expect("storage works").is_some());
    assert!(matches!(save("three", 2, &[one.id]).await, Inserted::New { .. }));
    assert_eq!(save("four", 2, &[]).await, Inserted::LimitReached, "full again");
    assert!(matches!(save("four", 2, &[two.id]).await, Inserted::New { .. }));
    assert!(matches!(save("five", 3, &[]).await, Inserted::New { .. }));
}

/// A repeated key answers with what the first call replaced, and replaces nothing again.
pub async fn a_repeated_replace_changes_nothing(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let old = keyed(&house, "port 1", "port");
    house.save(old.clone()).await;
    let idempotency =
        Idempotency { member: house.ana, key: "k".to_owned(), arguments_hash: [1; 32], valid_since: at(0) };
    let again = async || {
        let (record, idempotency) = (keyed(&house, "port 2", "port"), Some(idempotency.clone()));
        let insert =
            Insert { record, records_max: None, workspaces_max: None, idempotency, supersede: Some(by_key(&house)) };
        house.store.insert(insert).await.expect("storage works")
    };
    assert!(matches!(again().await, Inserted::New { superseded, .. } if superseded == [old.id]));
    let later = keyed(&house, "port 3", "port");
    house.save(later.clone()).await;
    let before = house.last_seq().await;
    let answer = again().await;
    assert!(matches!(&answer, Inserted::Replayed(replay) if replay.superseded == [old.id]), "{answer:?}");
    assert_eq!(house.last_seq().await, before);
    assert!(house.store.find(house.project, later.id).await.expect("storage works").is_some());
}

/// Of many who replace one key at once exactly one is alive in the end, and all others know what replaced them.
pub async fn concurrent_replaces_leave_one_winner(make: MakeEngine) {
    const CALLERS: usize = 24;
    let engine = make().await;
    let house = Arc::new(House::build(&engine.store).await);
    let first = keyed(&house, "port 0", "port");
    house.save(first.clone()).await;
    let mut tasks = Vec::new();
    for n in 1..=CALLERS {
        let house = Arc::clone(&house);
        tasks.push(tokio::spawn(async move {
            let record = keyed(&house, &format!("port {n}"), "port");
            let id = record.id;
            let answer = insert(&house, record, by_key(&house)).await;
            assert!(matches!(answer, Inserted::New { .. }), "{answer:?}");
            id
        }));
    }
    let mut ids = vec![first.id];
    for task in tasks {
        ids.push(task.await.expect("a caller"));
    }
    let mut living = Vec::new();
    for id in ids {
        let listed = house.store.find_any(house.project, id).await.expect("storage works").expect("nothing is lost");
        match listed.forgotten_at {
            None => living.push(id),
            Some(_) => assert!(listed.superseded_by.is_some_and(|by| by != id)),
        }
    }
    assert_eq!(living.len(), 1, "exactly one is alive");
    let keys = [(mnemon_core::WorkspaceNo(1), "port")];
    let under_key = house.store.list_by_fact_key(house.project, &keys).await.expect("storage works");
    assert_eq!(under_key.iter().map(|summary| summary.id).collect::<Vec<_>>(), living);
    let sizes = house.store.list_sizes(house.project).await.expect("storage works");
    assert_eq!(sizes.iter().map(|size| size.records).sum::<u64>(), 1);
}
