//! Finds records.

use mnemon_core::{Record, RecordId, Scope, Seq, Status, Timestamp, WorkspaceName};
use mnemon_recall::{Filter, Hit};

use crate::cleaning::{cleaned, cleaned_workspace};
use crate::freshness::Claim;
use crate::indexes::Asked;
use crate::usage::Counted;
use crate::{Admission, CallContext, CallError, Engine, Tool, ToolCall};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    pub query: String,
    pub limit: usize,
    pub workspace: WorkspaceName,
    /// Only records with this scope.
    pub scope: Option<Scope>,
    pub exclude_stale: bool,
    /// Only records under this key, which a caller chose.
    pub fact_key: Option<String>,
    pub source_id: Option<String>,
    /// Only these records.
    pub memory_ids: Option<Vec<RecordId>>,
    /// Only records last saved at or after this second.
    pub since: Option<Timestamp>,
    /// Only records last saved at or before this second.
    pub until: Option<Timestamp>,
}

impl Search {
    /// A search for the best records of a workspace, without any filter.
    pub fn new(query: String, limit: usize, workspace: WorkspaceName) -> Self {
        Self {
            query,
            limit,
            workspace,
            scope: None,
            exclude_stale: false,
            fact_key: None,
            source_id: None,
            memory_ids: None,
            since: None,
            until: None,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub record: Record,
    pub status: Status,
    /// How well it matches, in (0, 1].
    pub score: f64,
}

impl ToolCall for Search {
    const TOOL: Tool = Tool::Search;
}

impl Engine {
    /// Finds records, best first. Searching changes nothing.
    pub async fn search(
        &self,
        ctx: &CallContext,
        _admission: Admission<Search>,
        search: Search,
    ) -> Result<Vec<Found>, CallError> {
        let search = Search {
            workspace: cleaned_workspace(search.workspace)?,
            fact_key: search.fact_key.map(cleaned),
            source_id: search.source_id.map(cleaned),
            ..search
        };
        let slot = self.indexes.current(ctx.project(), &search.workspace, ctx.seq).await?;
        let slot = slot
            .filter(|slot| slot.is_visible_to(ctx.viewer()))
            .ok_or_else(|| CallError::WorkspaceNotActive(search.workspace.to_string()))?;
        self.usage.count(ctx, Counted::Search);
        let seqs = match &search.memory_ids {
            Some(ids) => Some(self.seqs_of(ctx, ids).await?),
            None => None,
        };
        let filter = Filter {
            exclude_stale: search.exclude_stale,
            fact_key: search.fact_key.as_deref(),
            source_id: search.source_id.as_deref(),
            seqs: seqs.as_deref(),
            since: search.since.map(Timestamp::as_second),
            until: search.until.map(Timestamp::as_second),
        };
        let (viewer, now) = (ctx.viewer(), ctx.now);
        let asked = Asked { query: &search.query, limit: search.limit, viewer, now, scope: search.scope, filter };
        let mut found = self.judge_hits(ctx, &slot.rank(&asked)).await?;
        // The ranking has left them out; but a source may have changed since.
        found.retain(|found| !search.exclude_stale || found.status != Status::Stale);
        Ok(found)
    }

    /// The places in the log of the living records with these ids.
    async fn seqs_of(&self, ctx: &CallContext, ids: &[RecordId]) -> Result<Vec<u64>, CallError> {
        let mut seqs = Vec::with_capacity(ids.len());
        for &id in ids {
            seqs.extend(self.store.find(ctx.project(), id).await?.map(|record| record.seq.0));
        }
        Ok(seqs)
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
