//! Calls counted by other nodes: what each node reports to the others, and what a caller's node learns with the
//! credential.

use async_trait::async_trait;
use mnemon_core::{ProjectId, Timestamp};
use uuid::Uuid;

use crate::StoreError;

/// Reports to the other nodes how many calls were admitted here.
#[async_trait]
pub trait Rates: Send + Sync {
    /// Whether other nodes use the same storage at all.
    fn is_shared(&self) -> bool;

    /// Replaces what this node reported before for these counters. The others read it with their next credential
    /// look-up.
    async fn publish_calls(&self, windows: Vec<CallWindow>, now: Timestamp) -> Result<(), StoreError>;
}

/// The calls of one counter on one node within the last minute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallWindow {
    pub project: ProjectId,
    /// What is counted: the id of a key, of an OAuth connection, or of the project itself.
    pub counter: Uuid,
    /// The calls, oldest first.
    pub calls: Vec<Calls>,
}

/// Calls within one second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Calls {
    /// The second, counted from 1970.
    pub second: i64,
    pub count: u32,
}

/// What other nodes recently admitted. A single process has no others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CallsElsewhere {
    /// On the same connection.
    pub connection: Vec<Calls>,
    /// For the same project.
    pub project: Vec<Calls>,
}
