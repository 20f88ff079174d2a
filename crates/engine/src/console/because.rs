//! The reason for a record's status, for lists: one judgement for all records of a page.

use std::collections::{HashMap, HashSet};

use futures_util::future::try_join_all;
use mnemon_core::{ProjectId, Reason, Record, WorkspaceName};

use super::{ConsoleError, Visitor};
use crate::Engine;
use crate::admin::{AdminError, ExplainQuery, Explained as Found};
use crate::freshness::{Claim, KnownSource};

/// Why a record has its status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Because {
    pub reason: Reason,
    /// How many records that the person sees say otherwise.
    pub rivals: usize,
    /// What the person knows about its source.
    pub source: KnownSource,
}

/// An answer to a search, with its reasons.
#[derive(Debug, Clone)]
pub struct Explained {
    pub found: Found,
    /// By log position.
    pub because: HashMap<u64, Because>,
}

/// The reasons of a page of records, in their order.
pub type Explanations = Vec<Because>;

impl Engine {
    /// Why these records have their status, in the given order.
    pub async fn give_reasons(
        &self,
        visitor: &Visitor,
        project: ProjectId,
        records: &[&Record],
    ) -> Result<Explanations, ConsoleError> {
        let (viewer, now) = (visitor.admin.viewer(), visitor.admin.now());
        let claims: Vec<Claim<'_>> = records.iter().map(|record| Claim::of_record(record)).collect();
        let judged = self.judge_for(project, &viewer, now, &claims, &[]).await?;
        let mut ids: Vec<&str> = records.iter().filter_map(|record| record.fact.source_id.as_deref()).collect();
        ids.sort_unstable();
        ids.dedup();
        let parts = if ids.is_empty() { Vec::new() } else { self.store.list_sources(project, &ids).await? };
        let reasons = records.iter().zip(judged).map(|(record, judged)| {
            let known = |id: &str| KnownSource::of(&viewer, &parts, record.workspace_no, id);
            let source = record.fact.source_id.as_deref().map(known).unwrap_or_default();
            Because { reason: judged.reason, rivals: judged.rivals.len(), source }
        });
        Ok(reasons.collect())
    }

    /// A search as the tool makes it, in each of these workspaces: the best of all of them, with why each record is in
    /// the answer and why it has its status. Scores have one scale, so they can be compared. A workspace in which this
    /// person sees nothing answers nothing.
    pub async fn search_in_console(
        &self,
        visitor: &Visitor,
        project: ProjectId,
        asked: &ExplainQuery,
        workspaces: &[WorkspaceName],
    ) -> Result<Vec<Explained>, ConsoleError> {
        let search = async |workspace: &WorkspaceName| {
            let asked = ExplainQuery { workspace: Some(workspace.clone()), ..asked.clone() };
            match self.explain(&visitor.admin, project, asked).await {
                Ok(found) => Ok(Some(found)),
                Err(AdminError::NotFound("workspace")) => Ok(None),
                Err(error) => Err(error),
            }
        };
        let found = try_join_all(workspaces.iter().map(search)).await?;
        let explain = async |mut found: Found| {
            let kept: HashSet<u64> = found.reasons.hits.iter().map(|hit| hit.seq).collect();
            let held: HashSet<u64> = found.reasons.held_back.iter().map(|held| held.seq).collect();
            found.records.retain(|seq, _| kept.contains(seq) || held.contains(seq));
            let records: Vec<&Record> = found.records.values().map(|explained| &explained.record).collect();
            let reasons = self.give_reasons(visitor, project, &records).await?;
            let because = records.iter().map(|record| record.seq.0).zip(reasons).collect();
            Ok(Explained { found, because })
        };
        try_join_all(best_of(found.into_iter().flatten().collect(), asked.limit).into_iter().map(explain)).await
    }
}

/// Leaves out the hits that are not among the best of all.
fn best_of(mut found: Vec<Found>, limit: usize) -> Vec<Found> {
    let mut scores: Vec<(f64, u64)> =
        found.iter().flat_map(|one| &one.reasons.hits).map(|hit| (hit.score, hit.seq)).collect();
    scores.sort_by(|a, b| b.0.total_cmp(&a.0));
    scores.truncate(limit);
    let best: HashSet<u64> = scores.into_iter().map(|(_, seq)| seq).collect();
    found.iter_mut().for_each(|one| one.reasons.hits.retain(|hit| best.contains(&hit.seq)));
    found
}
