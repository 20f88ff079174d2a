//! Why a search returns what it does.

use std::collections::HashMap;

use mnemon_core::{ProjectId, QUERY_BYTES_MAX, Record, SEARCH_LIMIT_MAX, Seq, WorkspaceName};
use mnemon_recall::{Explanation, Filter};

use super::{AdminContext, AdminError};
use crate::Engine;
use crate::indexes::Asked;

/// The explanation of an answer, with the records it mentions.
#[derive(Debug, Clone)]
pub struct Explained {
    /// The explanation, by log positions.
    pub reasons: Explanation,
    /// The records at those positions.
    pub records: HashMap<u64, Record>,
}

impl Engine {
    /// Explains what a search by this caller would return. Without a workspace it means the one that the caller's key means.
    pub async fn explain(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        workspace: Option<WorkspaceName>,
        query: &str,
        limit: usize,
    ) -> Result<Explained, AdminError> {
        let project = self.readable_project(ctx, project).await?;
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
        let filter = Filter::default();
        let asked = Asked { query, limit, viewer: &viewer, now: ctx.now, scope: None, filter };
        let reasons = slot.explain(&asked);
        let hits = reasons.hits.iter().map(|hit| hit.seq);
        let seqs: Vec<Seq> = hits.chain(reasons.held_back.iter().map(|held| held.seq)).map(Seq).collect();
        let mut records = self.store.load(project.id, &seqs).await?;
        records.retain(|record| viewer.sees(&record.audience));
        Ok(Explained { reasons, records: records.into_iter().map(|record| (record.seq.0, record)).collect() })
    }
}
