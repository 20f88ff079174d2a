//! Finds records.

use mnemon_core::{Record, Scope, Seq, Status, WorkspaceName};
use mnemon_recall::Hit;

use crate::freshness::Claim;
use crate::usage::Counted;
use crate::{Admission, CallContext, CallError, Engine};

/// How much deeper to search each time too few of the records found are kept.
const DEEPER: usize = 4;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    pub query: String,
    pub limit: usize,
    pub workspace: WorkspaceName,
    /// Only records with this scope.
    pub scope: Option<Scope>,
    pub exclude_stale: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub record: Record,
    pub status: Status,
    /// How well it matches, in (0, 1].
    pub score: f64,
}

impl Engine {
    /// Finds records, best first. Searching changes nothing.
    pub async fn search(
        &self,
        ctx: &CallContext,
        _admission: Admission<Search>,
        search: Search,
    ) -> Result<Vec<Found>, CallError> {
        let slot = self.indexes.current(ctx.project(), &search.workspace, ctx.seq).await?;
        let slot = slot
            .filter(|slot| slot.is_visible_to(ctx.viewer()))
            .ok_or_else(|| CallError::WorkspaceNotActive(search.workspace.to_string()))?;
        self.usage.count(ctx, Counted::Search);
        let mut depth = search.limit;
        loop {
            let hits = slot.rank(&search.query, depth, ctx.viewer(), search.scope);
            let is_all = hits.len() < depth;
            let mut found = self.judge_hits(ctx, &hits).await?;
            if search.exclude_stale {
                found.retain(|found| found.status != Status::Stale);
            }
            if is_all || found.len() >= search.limit {
                found.truncate(search.limit);
                return Ok(found);
            }
            depth = depth.saturating_mul(DEEPER);
        }
    }

    /// Loads the ranked records. Records forgotten since the ranking are gone. Records that the caller may not see are dropped
    /// too: the ranking already excluded them, but one more check costs nothing.
    async fn judge_hits(&self, ctx: &CallContext, hits: &[Hit]) -> Result<Vec<Found>, CallError> {
        let seqs: Vec<Seq> = hits.iter().map(|hit| Seq(hit.seq)).collect();
        let mut records = self.store.load(ctx.project(), &seqs).await?;
        records.retain(|record| ctx.viewer().sees(&record.audience));
        let claims: Vec<Claim<'_>> = records.iter().map(Claim::of_record).collect();
        let judged = self.judge(ctx, &claims, None).await?;
        let mut hits = hits.iter();
        let found = records.into_iter().zip(judged).map(|(record, judged)| {
            let hit = hits.find(|hit| hit.seq == record.seq.0).expect("records come in the order of the hits");
            Found { record, status: judged.status, score: hit.score }
        });
        Ok(found.collect())
    }
}
