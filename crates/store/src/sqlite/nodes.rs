//! The node of this data directory. There is one, and it is this process: nothing is stored.

use async_trait::async_trait;
use mnemon_core::{NodeId, Timestamp};

use super::SqliteStore;
use crate::{NodeRow, Nodes, StoreError};

#[async_trait]
impl Nodes for SqliteStore {
    async fn note_node(&self, node: NodeRow, silent_since: Timestamp) -> Result<(), StoreError> {
        let mut nodes = self.nodes.lock();
        nodes.retain(|known| known.id != node.id && known.seen_at >= silent_since);
        nodes.push(node);
        nodes.sort_unstable_by_key(|node| (node.started_at, node.id));
        Ok(())
    }

    async fn remove_node(&self, id: NodeId) -> Result<(), StoreError> {
        self.nodes.lock().retain(|known| known.id != id);
        Ok(())
    }

    async fn list_nodes(&self) -> Result<Vec<NodeRow>, StoreError> {
        Ok(self.nodes.lock().clone())
    }
}
