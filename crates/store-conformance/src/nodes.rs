//! Stories of nodes.

use mnemon_core::NodeId;
use mnemon_store::NodeRow;

use super::fixtures::fresh_uuid;
use super::{MakeEngine, at};

/// A node is listed as it last told, until it ends or is not heard of for too long.
pub async fn nodes_are_listed_while_they_tell_of_themselves(make: MakeEngine) {
    let engine = make().await;
    let store = &engine.store;
    assert_eq!(store.list_nodes().await, Ok(Vec::new()));
    let node = |started: i64| NodeRow {
        id: NodeId::new(fresh_uuid()),
        name: format!("node-{started}"),
        version: "1.0.0".to_owned(),
        started_at: at(started),
        seen_at: at(started),
        index_bytes: 1,
        index_bytes_max: u64::from(u32::MAX) * 4,
        calls_per_minute: 0,
        storage_micros: None,
    };
    let (first, mut second) = (node(1), node(2));
    for node in [&second, &first] {
        store.note_node(node.clone(), at(0)).await.expect("storage works");
    }
    assert_eq!(store.list_nodes().await, Ok(vec![first.clone(), second.clone()]));
    second.seen_at = at(20);
    (second.index_bytes, second.calls_per_minute, second.storage_micros) = (2, 400, Some(1_800));
    store.note_node(second.clone(), at(1)).await.expect("storage works");
    assert_eq!(store.list_nodes().await, Ok(vec![first.clone(), second.clone()]), "the first was heard of just then");
    store.note_node(second.clone(), at(2)).await.expect("storage works");
    assert_eq!(store.list_nodes().await, Ok(vec![second.clone()]));
    store.remove_node(second.id).await.expect("storage works");
    assert_eq!(store.list_nodes().await, Ok(Vec::new()));
}
