//! Stories of idempotency keys.

use mnemon_core::{MemberId, Role, Timestamp};
use mnemon_store::{Idempotency, Insert, Inserted, Replay};

use super::{House, MakeEngine, at, at_micro};

fn key(member: MemberId, text: &str, arguments: u8, valid_since: Timestamp) -> Idempotency {
    Idempotency { member, key: text.to_owned(), arguments_hash: [arguments; 32], valid_since }
}

fn replay(inserted: Inserted) -> Replay {
    match inserted {
        Inserted::Replayed(replay) => *replay,
        other => panic!("expected a replay and got {other:?}"),
    }
}

/// The same key with the same arguments answers as the first call did and stores nothing.
pub async fn a_repeated_key_answers_as_the_first_call(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let save = async |arguments: u8| {
        house.insert_with_key(house.record("a fact"), key(house.ana, "k", arguments, at(0))).await
    };
    let Inserted::New { seq, .. } = save(1).await else { panic!("new") };
    let first = replay(save(1).await);
    assert_eq!((first.was_duplicate, first.answer.clone()), (false, None));
    assert_eq!(first.record, house.load(seq).await);
    house.store.save_answer(house.project, house.ana, "k", "{\"n\":1}".to_owned()).await.expect("storage works");
    house.store.save_answer(house.project, house.ana, "k", "{\"n\":2}".to_owned()).await.expect("storage works");
    house.store.save_answer(house.project, house.ana, "unused", "x".to_owned()).await.expect("storage works");
    assert_eq!(replay(save(1).await).answer.as_deref(), Some("{\"n\":1}"), "the first answer stays");
    assert_eq!(save(2).await, Inserted::KeyReused);
    assert_eq!(house.last_seq().await, seq);
    house.forget(&[seq], 20).await;
    let after = replay(save(1).await);
    assert_eq!(
        after.record.map(|record| record.fact.content).as_deref(),
        Some("a fact"),
        "even after it was forgotten"
    );
}

/// A key used by one member says nothing to another, nor in another project.
pub async fn keys_are_apart_per_member_and_project(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let ben = house.add_member("Ben", Role::Member, None).await;
    house.insert_with_key(house.record("ana's"), key(house.ana, "k", 1, at(0))).await;
    let bens = house.insert_with_key(house.record("ben's"), key(ben, "k", 2, at(0))).await;
    assert!(matches!(bens, Inserted::New { .. }));
    let other = House { project: house.add_project().await, ..house.clone() };
    let others = other.insert_with_key(other.record("other"), key(house.ana, "k", 3, at(0))).await;
    assert!(matches!(others, Inserted::New { .. }));
    assert!(matches!(house.insert_with_key(house.record("x"), key(ben, "K", 9, at(0))).await, Inserted::New { .. }));
}

/// A key counts while it was made at or after the window's begin, to the microsecond.
pub async fn a_key_counts_within_its_window(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let made_at = 50_000_000;
    let mut record = house.record("a fact");
    record.created_at = at_micro(made_at);
    let Inserted::New { seq, .. } = house.insert_with_key(record, key(house.ana, "k", 1, at(0))).await else {
        panic!("new")
    };
    house.store.save_answer(house.project, house.ana, "k", "old".to_owned()).await.expect("storage works");
    let again = async |since: i64, arguments: u8, text: &str| {
        let mut record = house.record(text);
        record.created_at = at_micro(made_at + 10);
        house.insert_with_key(record, key(house.ana, "k", arguments, at_micro(since))).await
    };
    assert_eq!(replay(again(made_at - 1, 1, "a fact").await).answer.as_deref(), Some("old"));
    assert_eq!(replay(again(made_at, 1, "a fact").await).answer.as_deref(), Some("old"));
    assert_eq!(again(made_at, 2, "a fact").await, Inserted::KeyReused);
    let Inserted::New { seq: second, .. } = again(made_at + 1, 2, "another").await else { panic!("the key is free") };
    assert!(second > seq);
    let fresh = replay(again(made_at, 2, "another").await);
    assert_eq!(
        (fresh.record.map(|record| record.seq), fresh.answer),
        (Some(second), None),
        "nothing of its old use is left"
    );
    assert_eq!(again(made_at, 1, "a fact").await, Inserted::KeyReused);
}

/// The key comes before the duplicate and the limit; a refused save leaves its key free.
pub async fn the_key_is_looked_at_first(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let save = async |text: &str, name: &str, arguments: u8, max: u64| {
        let idempotency = Some(key(house.ana, name, arguments, at(0)));
        let insert = Insert {
            record: house.record(text),
            records_max: Some(max),
            workspaces_max: None,
            idempotency,
            supersede: None,
        };
        house.store.insert(insert).await.expect("storage works")
    };
    assert!(matches!(save("one", "a", 1, 1).await, Inserted::New { .. }));
    assert_eq!(save("two", "b", 2, 1).await, Inserted::LimitReached);
    assert!(!replay(save("one", "a", 1, 1).await).was_duplicate, "at the limit, and itself a duplicate by now");
    assert_eq!(save("one", "a", 3, 1).await, Inserted::KeyReused);
    assert!(matches!(save("one", "c", 4, 1).await, Inserted::Duplicate { .. }));
    assert!(replay(save("one", "c", 4, 1).await).was_duplicate);
    assert!(matches!(save("two", "b", 9, 2).await, Inserted::New { .. }), "the refused save left its key free");
}

/// The same key from many callers at once stores one record.
pub async fn concurrent_uses_of_a_key_store_one_record(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let mut tasks = Vec::new();
    for _ in 0..32 {
        let house = house.clone();
        tasks.push(tokio::spawn(async move {
            house.insert_with_key(house.record("a fact"), key(house.ana, "k", 1, at(0))).await
        }));
    }
    let mut new = 0;
    for task in tasks {
        match task.await.expect("a caller") {
            Inserted::New { .. } => new += 1,
            Inserted::Replayed(replay) => assert!(replay.record.is_some() && !replay.was_duplicate),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(new, 1);
    assert_eq!(house.last_seq().await.0, 1);
}
