//! Which nodes are up, for the operator.

use jiff::SignedDuration;
use mnemon_store::NodeRow;

use super::{AdminContext, AdminError};
use crate::Engine;

/// A node that reported within this time is up: nodes report four times as often.
const READY_WITHIN: SignedDuration = SignedDuration::from_secs(60);

/// A node, and whether it is up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownNode {
    pub node: NodeRow,
    pub is_ready: bool,
    /// Whether it is the one that answers.
    pub is_this: bool,
}

impl Engine {
    /// The nodes that were heard of in the last hour, by when they started.
    pub async fn list_nodes(&self, ctx: &AdminContext) -> Result<Vec<ShownNode>, AdminError> {
        ctx.need_operator()?;
        let nodes = self.store.list_nodes().await?;
        let show = |node: NodeRow| ShownNode {
            is_ready: ctx.now.duration_since(node.seen_at) < READY_WITHIN,
            is_this: node.id == self.presence.id(),
            node,
        };
        Ok(nodes.into_iter().map(show).collect())
    }
}
