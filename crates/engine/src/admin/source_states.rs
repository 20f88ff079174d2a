//! The sources of a project as people look through them: those that have changed first.

use std::cmp::Reverse;
use std::collections::HashMap;

use mnemon_core::{ProjectId, Timestamp, WorkspaceName, WorkspaceNo};

use super::sources::{HASHES_MAX, ShownSource};
use super::standing::StatusCounts;
use super::{AdminContext, AdminError};
use crate::Engine;
use crate::freshness::KnownSource;
use crate::ledger::{Ledger, Overview};

/// Which sources to look through.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceQuery {
    /// Only sources with these letters in their id.
    pub text: Option<String>,
    /// Only those of this workspace.
    pub workspace: Option<WorkspaceName>,
    pub show: SourceShow,
    /// The page starts after this one, by workspace and id.
    pub after: Option<(WorkspaceName, String)>,
    /// Maximum number of rows.
    pub limit: usize,
}

/// Which of them, by their state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SourceShow {
    /// All, and those that have changed first.
    #[default]
    All,
    Changed,
    NeverChecked,
}

/// A part of a project's sources, and how all of them stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceStates {
    pub sources: Vec<ShownSource>,
    /// The source after which the next page starts, if there is one.
    pub next: Option<(WorkspaceName, String)>,
    /// How many there are, whatever was asked for.
    pub total: u64,
    /// How many of them have changed since a record was saved from them.
    pub changed: u64,
    /// How many records are stale for that.
    pub stale: u64,
}

impl Engine {
    /// The sources of which the caller can see a live record: first those that have changed, the latest first, then by
    /// name.
    pub async fn survey_sources(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        query: &SourceQuery,
    ) -> Result<SourceStates, AdminError> {
        let project = self.readable_project(ctx, project).await?;
        let ledger = self.survey(project.id, ctx.now).await?;
        let told = ledger.overview(&ctx.viewer(), ctx.now);
        let mut rows = count(&ledger, &told, ctx, query);
        let (total, changed) = (rows.len() as u64, rows.iter().filter(|row| row.has_changed()).count() as u64);
        let stale = rows.iter().map(|row| row.counts.stale).sum();
        rows.retain(|row| row.fits(query));
        rows.sort_unstable_by_key(|row| (Reverse(row.has_changed()), Reverse(row.changed_at()), row.id, row.name));
        let is_last = |row: &Row<'_>| query.after.as_ref().is_some_and(|(name, id)| row.name == name && row.id == id);
        let start = rows.iter().position(is_last);
        let start = start.map_or(0, |at| at + 1);
        let page = rows.get(start..(start + query.limit).min(rows.len())).unwrap_or_default();
        let has_more = start + page.len() < rows.len();
        let sources = show(&ledger, ctx, page);
        let next = sources.last().filter(|_| has_more);
        let next = next.map(|source| (source.workspace.clone(), source.source_id.clone()));
        Ok(SourceStates { sources, next, total, changed, stale })
    }
}

/// One source with its counts.
struct Row<'a> {
    id: &'a str,
    no: WorkspaceNo,
    name: &'a WorkspaceName,
    counts: StatusCounts,
    known: KnownSource,
}

impl Row<'_> {
    fn has_changed(&self) -> bool {
        self.counts.stale > 0
    }

    /// Among those that have changed the latest comes first; the others are in the order of their names.
    fn changed_at(&self) -> Option<Timestamp> {
        self.known.known_at.filter(|_| self.has_changed())
    }

    fn fits(&self, query: &SourceQuery) -> bool {
        let is_named = query.text.as_deref().is_none_or(|text| self.id.to_lowercase().contains(&text.to_lowercase()));
        is_named
            && match query.show {
                SourceShow::All => true,
                SourceShow::Changed => self.has_changed(),
                SourceShow::NeverChecked => self.known.confirmed_at.is_none(),
            }
    }
}

fn count<'a>(ledger: &'a Ledger, told: &'a Overview, ctx: &AdminContext, query: &SourceQuery) -> Vec<Row<'a>> {
    let viewer = ctx.viewer();
    let wanted = ledger.workspaces.iter().filter(|row| query.workspace.as_ref().is_none_or(|name| row.name == *name));
    let names: HashMap<WorkspaceNo, &WorkspaceName> = wanted.map(|row| (row.no, &row.name)).collect();
    let row = |(no, id, counts)| {
        let known = KnownSource::of(&viewer, ledger.parts_of(no, id), no, id);
        Some(Row { id, no, name: *names.get(&no)?, counts, known })
    };
    ledger.sources_of(told).filter_map(row).collect()
}

fn show(ledger: &Ledger, ctx: &AdminContext, page: &[Row<'_>]) -> Vec<ShownSource> {
    if page.is_empty() {
        return Vec::new();
    }
    let sources: Vec<(WorkspaceNo, &str)> = page.iter().map(|row| (row.no, row.id)).collect();
    let mut hashes = ledger.hashes_of(&ctx.viewer(), &sources, HASHES_MAX);
    let mut shown = Vec::new();
    for row in page {
        shown.push(ShownSource {
            source_id: row.id.to_owned(),
            workspace: row.name.clone(),
            counts: row.counts,
            source_hashes: hashes.remove(&(row.no, row.id)).unwrap_or_default(),
            known: row.known.clone(),
        });
    }
    shown
}
