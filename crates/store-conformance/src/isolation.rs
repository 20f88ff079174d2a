//! The story of two projects with the same words: every act on one with the other's places and ids finds nothing.

use mnemon_core::{Audience, FactKey, NewRecord, Seq, WorkspaceName, WorkspaceNo};
use mnemon_store::{Idempotency, Inserted, Observation, Seen};

use super::{House, MakeEngine, at, audit};

/// Project B holds nothing, whatever of A's it is asked for; and nothing done to B touches A.
pub async fn projects_do_not_see_each_other(make: MakeEngine) {
    let engine = make().await;
    let a = House::build(&engine.store).await;
    let same_account = House { project: a.add_project().await, ..a.clone() };
    let other_account = House::build(&engine.store).await;
    let given = NewRecord {
        fact_key: FactKey { text: "k".to_owned(), is_given: true },
        ..a.sourced("the same words", "page", "h1")
    };
    // Four places of A's log, so that B's own numbers can't be taken for A's by chance.
    for n in 0..3 {
        a.save_text(&format!("before {n}")).await;
    }
    let (seq, no) = a.save_numbered(given.clone()).await;
    let forgotten = a.record("forgotten");
    let gone = a.save(forgotten.clone()).await;
    a.forget(&[gone], 15).await;
    let idempotency = Idempotency { member: a.ana, key: "i".to_owned(), arguments_hash: [1; 32], valid_since: at(0) };
    a.insert_with_key(a.record("keyed"), idempotency.clone()).await;
    let before = (a.load(seq).await, a.last_seq().await);

    for b in [same_account, other_account] {
        let (store, name) = (&b.store, WorkspaceName::default());
        assert_eq!(b.last_seq().await, Seq(0));
        assert_eq!(store.load(b.project, &[seq, gone]).await, Ok(Vec::new()));
        assert_eq!(store.find(b.project, given.id).await, Ok(None));
        assert_eq!(store.list_by_source(b.project, "page", None).await, Ok(Vec::new()));
        assert_eq!(store.list_by_source(b.project, "page", Some(&name)).await, Ok(Vec::new()));
        assert_eq!(store.list_after_source(b.project, None, 9).await, Ok(Vec::new()));
        assert_eq!(store.list_by_fact_key(b.project, &[(no, "k")]).await, Ok(Vec::new()));
        assert_eq!(b.forget(&[seq], 20).await, []);
        assert_eq!(b.restore(forgotten.id, 0, 20).await, None);
        assert_eq!(b.delete_workspace("default", 20).await, None);
        assert_eq!(store.find_workspace(b.project, &name).await, Ok(None));
        let tail = store.tail(b.project, no, Seq(0), 100).await.expect("storage works");
        assert!(!tail.is_active && tail.changes.is_empty() && tail.audiences.is_empty());
        assert_eq!(store.list_sources(b.project, &["page"]).await, Ok(Vec::new()));
        store.save_answer(b.project, a.ana, "i", "b's".to_owned()).await.expect("storage works");

        // The same record saved into B is new there, full limits of A or not.
        let twin = NewRecord { project: b.project, author: b.ana, ..given.clone() };
        let (own, own_no) = b.save_numbered(twin).await;
        assert_eq!((own, own_no), (Seq(1), WorkspaceNo(1)));
        assert_eq!(b.observe_hash("page", "h9", 30).await, Some(Seq(2)));
        assert_eq!(b.forget(&[own], 40).await, [given.id]);
        assert_eq!(b.delete_workspace("default", 50).await, Some(0));
    }

    assert_eq!((a.load(seq).await, a.last_seq().await), before);
    let sources = a.store.list_sources(a.project, &["page"]).await.expect("storage works");
    assert_eq!(
        sources.iter().map(|part| (part.audience, part.state.known_seq)).collect::<Vec<_>>(),
        [(Audience::Shared, seq)]
    );
    assert!(a.restore(forgotten.id, 0, 60).await.is_some());
    let Inserted::Replayed(replay) = a.insert_with_key(a.record("keyed"), idempotency).await else {
        panic!("a replay")
    };
    assert_eq!(replay.answer, None, "B's answer did not reach A's key");
}

/// A project that was never made is told as such where something would have to be written, and is empty to readers.
pub async fn an_unknown_project_is_empty_and_takes_nothing(make: MakeEngine) {
    let engine = make().await;
    let house = House::build(&engine.store).await;
    let nowhere = mnemon_core::ProjectId::new(uuid::Uuid::from_u128(123));
    let store = &engine.store;
    assert_eq!(store.last_seq(nowhere).await, Ok(None));
    assert_eq!(store.load(nowhere, &[Seq(1)]).await, Ok(Vec::new()));
    assert_eq!(store.find_workspace(nowhere, &WorkspaceName::default()).await, Ok(None));
    let insert = mnemon_store::Insert {
        record: NewRecord { project: nowhere, ..house.record("lost") },
        records_max: None,
        workspaces_max: None,
        idempotency: None,
        supersede: None,
    };
    assert!(store.insert(insert).await.is_err());
    for name in [None, Some(&WorkspaceName::default())] {
        let observation = Observation { source_id: "page".to_owned(), seen: Seen::Hash("h".to_owned()) };
        assert!(
            store
                .observe_source(nowhere, name, observation, mnemon_store::Look { by: None, key: None, at: at(1) })
                .await
                .is_err()
        );
    }
    assert_eq!(store.forget(nowhere, &[Seq(1)], audit(house.account, 1, "record.forget")).await, Ok(Vec::new()));
}
