//! Finds records.

use std::sync::Arc;

use mnemon_core::{RecordId, Scope, Seq, Status, Tags, Timestamp, WorkspaceName};
use mnemon_recall::{Filter, Hit, time_phrase};
use mnemon_store::{AtLeast, StoreError};
use mnemon_traces::span;
use tracing::Instrument;

use crate::cleaning::{cleaned, cleaned_workspace};
use crate::indexes::{Asked, Slot};
use crate::usage::Counted;
use crate::when::{TimeUnderstood, day};
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
    /// Only records with all of these tags.
    pub tags: Tags,
    /// Only records whose time is this second or later.
    pub since: Option<Timestamp>,
    /// Only records whose time is this second or earlier.
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
            tags: Tags::default(),
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

/// The answer to a search.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Best first.
    pub found: Vec<Found>,
    /// What the query says about time.
    pub time: Option<TimeUnderstood>,
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
    ) -> Result<Answer, CallError> {
        let mut search = Search {
            workspace: cleaned_workspace(search.workspace)?,
            fact_key: search.fact_key.map(cleaned),
            source_id: search.source_id.map(cleaned),
            ..search
        };
        search.tags.iter_mut().for_each(|tag| *tag = cleaned(std::mem::take(tag)));
        let tags = search.tags.folded();
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
            tags: &tags,
            seqs: seqs.as_deref(),
            since: search.since.map(Timestamp::as_second),
            until: search.until.map(Timestamp::as_second),
        };
        let (viewer, now) = (ctx.viewer(), ctx.now);
        let time = time_phrase(&search.query, day(now));
        let time = time.as_ref();
        let asked = Asked { query: &search.query, limit: search.limit, viewer, now, time, scope: search.scope, filter };
        let (hits, statuses) = span!("rank").in_scope(|| slot.rank_and_judge(&asked));
        let found = self.show(ctx, &slot, &hits, &statuses).await?;
        let in_time = hits.iter().filter(|hit| hit.is_in_time).count();
        let time = time.map(|phrase| TimeUnderstood::new(phrase, &search.query, in_time));
        Ok(Answer { found, time })
    }

    /// The places in the log of the living records with these ids.
    async fn seqs_of(&self, ctx: &CallContext, ids: &[RecordId]) -> Result<Vec<u64>, CallError> {
        Ok(self.store.find_places(ctx.project(), ids).await?.into_iter().map(|seq| seq.0).collect())
    }

    /// The ranked records with their texts. Records forgotten since the ranking are gone. Records that the caller may
    /// not see are dropped too: the ranking already excluded them, but one more check costs nothing.
    async fn show(
        &self,
        ctx: &CallContext,
        slot: &Slot,
        hits: &[Hit],
        statuses: &[Status],
    ) -> Result<Vec<Found>, CallError> {
        let bodies = self.load_bodies(ctx, slot, hits).await?;
        let found = hits.iter().zip(statuses).zip(bodies).filter_map(|((hit, &status), body)| {
            let body = body.filter(|body| ctx.viewer().sees(&body.record.audience))?;
            Some(Found { body, status, score: hit.score })
        });
        Ok(found.collect())
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
