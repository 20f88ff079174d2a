//! Heartbeats: each node reports its status periodically, so that the operator sees which are up.

use jiff::SignedDuration;
use mnemon_core::{NodeId, Timestamp};
use mnemon_store::{NodeRow, StoreError};
use parking_lot::Mutex;

use crate::Engine;

/// A node that has been silent for this long is dropped.
const KEPT: SignedDuration = SignedDuration::from_hours(1);
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a node knows of itself.
pub(crate) struct Presence {
    id: NodeId,
    started_at: Timestamp,
    /// When it last reported, and how many calls there had been.
    told: Mutex<Option<(Timestamp, u64)>>,
}

impl Presence {
    pub(crate) fn new(id: NodeId, started_at: Timestamp) -> Self {
        Self { id, started_at, told: Mutex::default() }
    }

    pub(crate) const fn id(&self) -> NodeId {
        self.id
    }

    /// Calls a minute since its last report.
    fn rate(&self, now: Timestamp, calls: u64) -> u64 {
        let before = self.told.lock().replace((now, calls));
        let Some((at, before)) = before else { return 0 };
        let seconds = u64::try_from(now.as_second() - at.as_second()).unwrap_or(0).max(1);
        (calls - before) * 60 / seconds
    }
}

impl Engine {
    /// The id of this node, as the operator's list shows it.
    pub const fn node_id(&self) -> NodeId {
        self.presence.id()
    }

    /// Reports that this node is up. How long storage takes is measured by a read that every engine answers alike.
    pub(crate) async fn tell_of_node(&self) -> Result<(), StoreError> {
        let began = self.clock.now();
        self.store.list_accounts(None, 1).await?;
        let now = self.clock.now();
        let figures = self.figures();
        let node = NodeRow {
            id: self.presence.id,
            name: crate::system::machine_name(),
            version: VERSION.to_owned(),
            started_at: self.presence.started_at,
            seen_at: now,
            index_bytes: figures.index_bytes,
            index_bytes_max: figures.index_bytes_max,
            calls_per_minute: self.presence.rate(now, self.usage.calls()),
            storage_micros: u64::try_from(now.duration_since(began).as_micros()).ok(),
        };
        self.store.note_node(node, now.saturating_sub(KEPT).unwrap_or(Timestamp::MIN)).await
    }

    /// Says that this node ends.
    pub(crate) async fn take_leave(&self) {
        if let Err(error) = self.store.remove_node(self.presence.id).await {
            tracing::debug!(%error, "could not say that this node ends; the others forget it in an hour");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_told_by_the_minute() {
        let at = |second| Timestamp::from_second(second).expect("within the calendar");
        let presence = Presence::new(NodeId::from_bytes([1; 16]), at(0));
        assert_eq!(presence.rate(at(0), 7), 0, "nothing to compare with");
        assert_eq!(presence.rate(at(15), 107), 400);
        assert_eq!(presence.rate(at(30), 107), 0);
        assert_eq!(presence.rate(at(30), 108), 60, "a clock that stands still divides nothing by zero");
    }
}
