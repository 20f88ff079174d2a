//! Updates the server's statistics early while its tables grow.
//!
//! The server plans a statement with its last statistics, and keeps the plan. It updates them only about once a minute:
//! a plan made for an empty table would read a whole project for each save until then, while a first import brings in
//! thousands of records. So a node updates the statistics while the tables may still be young.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::connect::{PostgresConfig, connect_as_owner};
use super::error::describe;

/// After how many saves of this node the statistics are updated. Later the server's own rhythm is enough. The first is
/// early: between some 150 and 250 records that were never counted, all indexes look equally good.
const MILESTONES: [u64; 6] = [64, 256, 1_024, 4_096, 16_384, 65_536];
const ANALYZE: &str = "ANALYZE record, workspace, workspace_audience, change, source, idempotency";
/// A tenth of the rows that the server usually looks at: plans need to know how large the tables are, and callers share
/// the server's time.
const LOOK_AT_FEW: &str = "SET default_statistics_target = 10";

pub(super) struct Statistics {
    config: PostgresConfig,
    saves: AtomicU64,
}

impl Statistics {
    pub(super) fn new(config: &PostgresConfig) -> Arc<Self> {
        Arc::new(Self { config: config.clone(), saves: AtomicU64::new(0) })
    }

    /// Counts what a batch stored; at a milestone the server updates its statistics in the background.
    pub(super) fn note_saves(self: &Arc<Self>, count: usize) {
        let before = self.saves.fetch_add(count as u64, Ordering::Relaxed);
        if !crosses_milestone(before, before + count as u64) {
            return;
        }
        let this = Arc::clone(self);
        tokio::spawn(async move {
            if let Err(why) = this.refresh().await {
                tracing::debug!("could not update PostgreSQL's statistics: {why}");
            }
        });
    }

    async fn refresh(&self) -> Result<(), String> {
        let client = connect_as_owner(&self.config).await.map_err(|error| error.to_string())?;
        for statement in [LOOK_AT_FEW, ANALYZE] {
            client.batch_execute(statement).await.map_err(|error| describe(&error))?;
        }
        Ok(())
    }
}

fn crosses_milestone(before: u64, after: u64) -> bool {
    MILESTONES.iter().any(|milestone| (before + 1..=after).contains(milestone))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_milestone_is_crossed_once() {
        assert!(!crosses_milestone(0, 63));
        assert!(crosses_milestone(63, 64));
        assert!(!crosses_milestone(64, 255));
        assert!(crosses_milestone(200, 712), "a batch may jump over it");
        assert!(!crosses_milestone(65_536, 1_000_000));
    }
}
