//! The reason for a record's status, for lists: one judgement for all records of a page.

use std::collections::HashMap;

use mnemon_core::{ProjectId, Reason, Record};

use super::{ConsoleError, Visitor};
use crate::Engine;
use crate::admin::{ExplainQuery, Explained as Found};
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

    /// A search as the tool makes it, with why each record is in the answer and why it has its status.
    pub async fn search_in_console(
        &self,
        visitor: &Visitor,
        project: ProjectId,
        asked: ExplainQuery,
    ) -> Result<Explained, ConsoleError> {
        let found = self.explain(&visitor.admin, project, asked).await?;
        let records: Vec<&Record> = found.records.values().map(|explained| &explained.record).collect();
        let reasons = self.give_reasons(visitor, project, &records).await?;
        let because = records.iter().map(|record| record.seq.0).zip(reasons).collect();
        Ok(Explained { found, because })
    }
}
