//! Why a search returns what it does.

use std::collections::HashMap;
use std::ops::Range;

use mnemon_core::{ProjectId, QUERY_BYTES_MAX, Record, SEARCH_LIMIT_MAX, Scope, Seq, Status, WorkspaceName};
use mnemon_recall::{Explanation, Filter, matched_spans, time_phrase};

use super::{AdminContext, AdminError};
use crate::Engine;
use crate::freshness::{Claim, Judged};
use crate::indexes::Asked;
use crate::when::day;

/// A search to be explained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainQuery {
    pub query: String,
    pub limit: usize,
    /// Without one it is the workspace that the caller's key means.
    pub workspace: Option<WorkspaceName>,
    pub scope: Option<Scope>,
    pub exclude_stale: bool,
}

/// The explanation of an answer, with the records it mentions.
#[derive(Debug, Clone)]
pub struct Explained {
    /// The explanation, by log positions.
    pub reasons: Explanation,
    /// The records at those positions.
    pub records: HashMap<u64, ExplainedRecord>,
}

/// A record that an explanation mentions.
#[derive(Debug, Clone)]
pub struct ExplainedRecord {
    pub record: Record,
    pub status: Status,
    /// Where its text has words of the query, in bytes.
    pub spans: Vec<Range<usize>>,
}

impl Engine {
    /// Explains what a search by this caller would return.
    pub async fn explain(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        asked: ExplainQuery,
    ) -> Result<Explained, AdminError> {
        let project = self.readable_project(ctx, project).await?;
        let ExplainQuery { query, limit, workspace, scope, exclude_stale } = asked;
        if query.trim().is_empty() || query.len() > QUERY_BYTES_MAX {
            return Err(AdminError::Invalid(format!("query must be 1 to {QUERY_BYTES_MAX} bytes long")));
        }
        if !(1..=SEARCH_LIMIT_MAX).contains(&limit) {
            return Err(AdminError::Invalid(format!("limit must be between 1 and {SEARCH_LIMIT_MAX}")));
        }
        let viewer = ctx.viewer();
        let seq = self.store.last_seq(project.id).await?.unwrap_or_default();
        let workspace = workspace.or_else(|| ctx.workspace_in(project.id)).unwrap_or_default();
        let slot = self.indexes.current(project.id, &workspace, seq).await?;
        let slot = slot.filter(|slot| slot.is_visible_to(&viewer)).ok_or(AdminError::NotFound("workspace"))?;
        let filter = Filter { exclude_stale, ..Filter::default() };
        let time = time_phrase(&query, day(ctx.now));
        let asked = Asked { query: &query, limit, viewer: &viewer, now: ctx.now, time: time.as_ref(), scope, filter };
        let reasons = slot.explain(&asked);
        let hits = reasons.hits.iter().map(|hit| hit.seq);
        let seqs: Vec<Seq> = hits.chain(reasons.held_back.iter().map(|held| held.seq)).map(Seq).collect();
        let mut records = self.store.load(project.id, &seqs).await?;
        records.retain(|record| viewer.sees(&record.audience));
        let claims: Vec<Claim<'_>> = records.iter().map(Claim::of_record).collect();
        let judged = self.judge_for(project.id, &viewer, ctx.now, &claims, &[]).await?;
        let statuses: Vec<Status> = judged.iter().map(Judged::status).collect();
        let explained =
            records.into_iter().zip(statuses).map(|(record, status)| explain_record(&reasons, record, status));
        let records = explained.collect();
        Ok(Explained { reasons, records })
    }
}

fn explain_record(reasons: &Explanation, record: Record, status: Status) -> (u64, ExplainedRecord) {
    let seq = record.seq.0;
    let hit = reasons.hits.iter().find(|hit| hit.seq == seq);
    let spans = hit.map_or_else(Vec::new, |hit| matched_spans(&record.fact.content, &hit.matched));
    (seq, ExplainedRecord { record, status, spans })
}
