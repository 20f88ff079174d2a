//! What a save brings along for its answer is what reading it afterwards would show.

use std::sync::Arc;

use mnemon_core::{Audience, DepartmentTree, FactKey, NewRecord, Role, Viewer};
use mnemon_store::{Insert, Inserted, SourcePart, Standing, Store, Supersede};
use mnemon_store_conformance::{House, audit, with_fact, workspace};
use tokio::task::JoinSet;

use crate::{database, node};

/// A record under one of three keys, or none; from one of three sources, or none; for one of two audiences.
fn record(house: &House, n: usize) -> NewRecord {
    let fact_key = match n % 4 {
        3 => house.record("x").fact_key,
        key => FactKey { text: format!("key {key}"), is_given: true },
    };
    let audience = if n.is_multiple_of(3) { Audience::Author(house.ana) } else { Audience::Shared };
    let place = workspace(if n.is_multiple_of(5) { "elsewhere" } else { "default" });
    let record = NewRecord { fact_key, audience, workspace: place, ..house.record(&format!("fact {n}")) };
    with_fact(record, |fact| {
        fact.source_id = (n % 7 < 6).then(|| format!("source {}", n % 3));
        fact.source_hash = fact.source_id.as_ref().filter(|_| n % 2 == 1).map(|_| format!("hash-{}", n % 4));
    })
}

/// The same, read by itself.
async fn read(house: &House, record: &NewRecord, inserted: &Inserted) -> Standing {
    let (no, key, source_id) = match inserted {
        Inserted::New { workspace_no, .. } => (*workspace_no, record.fact_key.chosen(), &record.fact.source_id),
        Inserted::Duplicate { record, .. } => (record.workspace_no, record.fact_key.chosen(), &record.fact.source_id),
        other => panic!("{other:?}"),
    };
    let keys: Vec<_> = key.map(|key| (no, key)).into_iter().collect();
    let under_key = house.store.list_by_fact_key(house.project, &keys).await.expect("storage works");
    let ids = under_key.iter().filter_map(|summary| summary.source_id.as_deref()).chain(source_id.as_deref());
    let mut sources = house.store.list_sources(house.project, &ids.collect::<Vec<_>>()).await.expect("storage works");
    sources.retain(|part| part.workspace_no == no);
    Standing { under_key, sources }
}

fn in_order(mut standing: Standing) -> Standing {
    let key = |part: &SourcePart| (part.source_id.clone(), format!("{:?}", part.audience));
    standing.sources.sort_by_key(key);
    standing.sources.dedup();
    standing
}

fn insert_of(record: NewRecord) -> Insert {
    Insert { record, records_max: None, workspaces_max: None, idempotency: None, supersede: None }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_save_brings_what_reading_after_it_shows() {
    let database = database();
    let store: Arc<dyn Store> = Arc::new(node(&database.url).await);
    let house = House::build(&store).await;
    for n in 0..60 {
        // Some texts come twice.
        let record = record(&house, if n % 11 == 10 { n - 4 } else { n });
        let viewer = Viewer::new(house.ana, Role::Member, None, &DepartmentTree::default());
        let audit = audit(house.account, 20, "record.supersede");
        let supersede = (n % 13 == 12).then_some(Supersede { ids: Vec::new(), same_key: true, viewer, audit });
        let insert = Insert { supersede, ..insert_of(record.clone()) };
        let (inserted, standing) = store.insert_with_standing(insert).await.expect("storage works");
        let shown = read(&house, &record, &inserted).await;
        assert_eq!(standing.map(in_order), Some(in_order(shown)), "{n}: {inserted:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn saves_of_one_batch_know_of_each_other() {
    const CALLERS: usize = 24;
    let database = database();
    let store: Arc<dyn Store> = Arc::new(node(&database.url).await);
    let house = House::build(&store).await;
    house.save_text("a first one prepares the statements").await;
    let mut saves = JoinSet::new();
    for n in 0..CALLERS {
        let (house, fact_key) = (house.clone(), FactKey { text: "port".to_owned(), is_given: true });
        saves.spawn(async move {
            let record = NewRecord { fact_key, ..house.sourced(&format!("port {n}"), "file", &format!("hash-{n}")) };
            let (_, standing) = house.store.insert_with_standing(insert_of(record)).await.expect("storage works");
            standing.expect("it comes with the save").under_key.len()
        });
    }
    let mut seen = saves.join_all().await;
    seen.sort_unstable();
    assert_eq!(seen.last(), Some(&CALLERS), "the last batch sees all: {seen:?}");
    assert!(seen.iter().enumerate().all(|(nth, count)| *count > nth), "none sees fewer than are stored: {seen:?}");
}
