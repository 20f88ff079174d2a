//! Finds records.

use std::sync::Arc;

use mnemon_core::{RecordId, Scope, Seq, Status, Timestamp, WorkspaceName};
use mnemon_recall::{Filter, Hit};
use mnemon_store::{AtLeast, StoreError};
use mnemon_traces::span;
use tracing::Instrument;

use crate::cleaning::{cleaned, cleaned_workspace};
use crate::freshness::Claim;
use crate::indexes::{Asked, Slot};
use crate::usage::Counted;
use crate::{Admission, Body, CallContext, CallError, Engine, Tool, ToolCall};

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

#[derive(Debug, Clone)]
pub struct Found {
    pub body: Arc<Body>,
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
        let current = self.indexes.current(ctx.project(), &search.workspace, ctx.seq);
        let slot = current.instrument(span!("index")).await?;
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
        let hits = span!("rank").in_scope(|| slot.rank(&asked));
        let mut found = self.judge_hits(ctx, &slot, &hits).await?;
        // The ranking has left them out; but a source may have changed since.
        found.retain(|found| !search.exclude_stale || found.status != Status::Stale);
        Ok(found)
    }

    /// The places in the log of the living records with these ids.
    async fn seqs_of(&self, ctx: &CallContext, ids: &[RecordId]) -> Result<Vec<u64>, CallError> {
        Ok(self.store.find_places(ctx.project(), ids).await?.into_iter().map(|seq| seq.0).collect())
    }

    /// Judges the ranked records. Records forgotten since the ranking are gone. Records that the caller may not see are
    /// dropped too: the ranking already excluded them, but one more check costs nothing.
    async fn judge_hits(&self, ctx: &CallContext, slot: &Slot, hits: &[Hit]) -> Result<Vec<Found>, CallError> {
        let bodies = self.load_bodies(ctx, slot, hits).await?;
        let seen = hits.iter().zip(bodies).filter_map(|(hit, body)| Some((hit, body?)));
        let seen: Vec<(&Hit, Arc<Body>)> = seen.filter(|(_, body)| ctx.viewer().sees(&body.record.audience)).collect();
        let claims: Vec<Claim<'_>> = seen.iter().map(|(_, body)| Claim::of_record(&body.record)).collect();
        let judged = self.judge(ctx, &claims, &[]).await?;
        let found = seen.into_iter().zip(judged);
        Ok(found.map(|((hit, body), judged)| Found { body, status: judged.status(), score: hit.score }).collect())
    }

    /// The ranked records, each at its position: those that an answer showed before from memory, the others from the
    /// store.
    async fn load_bodies(
        &self,
        ctx: &CallContext,
        slot: &Slot,
        hits: &[Hit],
    ) -> Result<Vec<Option<Arc<Body>>>, StoreError> {
        let account_version = ctx.credential.account_version;
        let (mut bodies, moment, applied) = slot.find_bodies(account_version, hits);
        let missing = hits.iter().zip(&bodies).filter(|(_, body)| body.is_none());
        let missing: Vec<Seq> = missing.map(|(hit, _)| Seq(hit.seq)).collect();
        if missing.is_empty() {
            return Ok(bodies);
        }
        let at_least = AtLeast { seq: applied.max(ctx.seq), account_version };
        let read = self.store.load_at_least(ctx.project(), &missing, at_least).instrument(span!("store")).await?;
        // They come in the order asked for, and some may be gone.
        let mut read = slot.keep_bodies(moment, account_version, read).into_iter().peekable();
        for (hit, body) in hits.iter().zip(&mut bodies).filter(|(_, body)| body.is_none()) {
            *body = read.next_if(|read| read.record.seq.0 == hit.seq);
        }
        Ok(bodies)
    }
}
