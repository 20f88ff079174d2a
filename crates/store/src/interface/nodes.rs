//! The nodes of a service: each reports its status periodically.

use async_trait::async_trait;
use mnemon_core::{NodeId, Timestamp};

use crate::StoreError;

#[async_trait]
pub trait Nodes: Send + Sync {
    /// Says that a node is up, and drops those that have been silent since a moment.
    async fn note_node(&self, node: NodeRow, silent_since: Timestamp) -> Result<(), StoreError>;

    /// Drops a node that ends.
    async fn remove_node(&self, id: NodeId) -> Result<(), StoreError>;

    /// The nodes that were heard of, by when they started.
    async fn list_nodes(&self) -> Result<Vec<NodeRow>, StoreError>;
}

/// What a node last said of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeRow {
    pub id: NodeId,
    /// The name of its machine.
    pub name: String,
    pub version: String,
    pub started_at: Timestamp,
    pub seen_at: Timestamp,
    /// What its search indexes take, and may take.
    pub index_bytes: u64,
    pub index_bytes_max: u64,
    /// Calls of tools.
    pub calls_per_minute: u64,
    /// How long storage took to answer the last time.
    pub storage_micros: Option<u64>,
}
