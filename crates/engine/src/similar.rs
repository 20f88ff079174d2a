//! Which records say nearly what a saved one says, so that an assistant can replace instead of adding.

use std::time::Duration;

use mnemon_core::{Record, RecordId, Seq};
use mnemon_store::StoreError;

use crate::{CallContext, Engine};

/// How many a save names at most.
pub const SIMILAR_MAX: usize = 3;
/// How much of a text is shown.
const SHOWN_CHARS_MAX: usize = 120;
/// The record is durable already, so its answer does not wait for an index that takes long to build.
const WAIT_MAX: Duration = Duration::from_millis(500);

/// A record that says nearly the same.
#[derive(Debug, Clone, PartialEq)]
pub struct SimilarRecord {
    pub id: RecordId,
    /// How likely it is the same fact, from 0 to 1, in two decimals.
    pub score: f64,
    /// The beginning of its text.
    pub content: String,
}

impl SimilarRecord {
    pub(crate) fn of(record: &Record, score: f64) -> Self {
        Self { id: record.id, score, content: record.fact.content.chars().take(SHOWN_CHARS_MAX).collect() }
    }
}

impl Engine {
    /// The visible records of the same workspace that say nearly what this one says, best first. They are optional:
    /// without an index there are none.
    pub(crate) async fn similar_to(&self, ctx: &CallContext, record: &Record) -> Vec<SimilarRecord> {
        match tokio::time::timeout(WAIT_MAX, self.find_similar(ctx, record)).await {
            Ok(Ok(similar)) => similar,
            Ok(Err(error)) => {
                tracing::warn!(%error, "could not look for similar records; the answer names none");
                Vec::new()
            }
            Err(_) => {
                tracing::debug!("looking for similar records took too long; the answer names none");
                Vec::new()
            }
        }
    }

    async fn find_similar(&self, ctx: &CallContext, record: &Record) -> Result<Vec<SimilarRecord>, StoreError> {
        let current = self.indexes.current(ctx.project(), &record.workspace, record.seq.max(ctx.seq)).await?;
        let Some(slot) = current else { return Ok(Vec::new()) };
        let named = slot.similar(ctx.viewer(), record.seq, SIMILAR_MAX);
        if named.is_empty() {
            return Ok(Vec::new());
        }
        let seqs: Vec<Seq> = named.iter().map(|similar| Seq(similar.seq)).collect();
        let found = self.store.load(ctx.project(), &seqs).await?;
        let show = |similar: &mnemon_recall::Similar| {
            let record = found.iter().find(|record| record.seq.0 == similar.seq)?;
            // The index has left out what the caller may not see; one more check costs nothing. A text that may contain
            // instructions is shown where it can carry its warning.
            let is_shown = ctx.viewer().sees(&record.audience) && !record.is_cautioned;
            is_shown.then(|| SimilarRecord::of(record, similar.score))
        };
        Ok(named.iter().filter_map(show).collect())
    }
}
