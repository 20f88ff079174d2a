//! The sources of a project as people look through them: those that have changed first.

use std::cmp::Reverse;
use std::collections::HashMap;

use mnemon_core::{ProjectId, Timestamp, WorkspaceName, shown_hash};

use super::sources::{HASHES_MAX, ShownSource};
use super::standing::StatusCounts;
use super::{AdminContext, AdminError};
use crate::Engine;
use crate::freshness::{moments_of, newest_known};
use crate::ledger::{Ledger, Overview};

/// Which sources to look through.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceQuery {
    /// Only sources with these letters in their id.
    pub text: Option<String>,
    /// Only records of this workspace.
    pub workspace: Option<WorkspaceName>,
    pub show: SourceShow,
    /// The page starts after this one.
    pub after: Option<String>,
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
    /// The id after which the next page starts, if there is one.
    pub next: Option<String>,
    /// How many there are, whatever was asked for.
    pub total: u64,
    /// How many of them have changed since a record was saved from them.
    pub changed: u64,
    /// How many records are stale for that.
    pub stale: u64,
}

impl Engine {
    /// The sources of which the caller can see a live record: first those that have changed, the latest first, then by name.
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
        rows.sort_unstable_by_key(|row| (Reverse(row.has_changed()), Reverse(row.changed_at()), row.id));
        let start = query.after.as_deref().and_then(|after| rows.iter().position(|row| row.id == after));
        let start = start.map_or(0, |at| at + 1);
        let page = rows.get(start..(start + query.limit).min(rows.len())).unwrap_or_default();
        let has_more = start + page.len() < rows.len();
        let sources = show(&ledger, ctx, page);
        let next = sources.last().filter(|_| has_more).map(|source| source.source_id.clone());
        Ok(SourceStates { sources, next, total, changed, stale })
    }
}

/// One source with its counts.
struct Row<'a> {
    id: &'a str,
    counts: StatusCounts,
    known_at: Option<Timestamp>,
    confirmed_at: Option<Timestamp>,
}

impl Row<'_> {
    fn has_changed(&self) -> bool {
        self.counts.stale > 0
    }

    /// Among those that have changed the latest comes first; the others are in the order of their names.
    fn changed_at(&self) -> Option<Timestamp> {
        self.known_at.filter(|_| self.has_changed())
    }

    fn fits(&self, query: &SourceQuery) -> bool {
        let is_named = query.text.as_deref().is_none_or(|text| self.id.to_lowercase().contains(&text.to_lowercase()));
        is_named
            && match query.show {
                SourceShow::All => true,
                SourceShow::Changed => self.has_changed(),
                SourceShow::NeverChecked => self.confirmed_at.is_none(),
            }
    }
}

fn count<'a>(ledger: &'a Ledger, told: &'a Overview, ctx: &AdminContext, query: &SourceQuery) -> Vec<Row<'a>> {
    let viewer = ctx.viewer();
    let counts: Vec<(&str, StatusCounts)> = match &query.workspace {
        None => ledger.sources_of(told).collect(),
        Some(name) => count_in(ledger, told, name).into_iter().collect(),
    };
    let row = |(id, counts)| {
        let (known_at, confirmed_at) = moments_of(&viewer, ledger.parts_of(id), id);
        Row { id, counts, known_at, confirmed_at }
    };
    counts.into_iter().map(row).collect()
}

/// The sources of one workspace.
fn count_in<'a>(ledger: &'a Ledger, told: &Overview, name: &WorkspaceName) -> HashMap<&'a str, StatusCounts> {
    let mut counts: HashMap<&str, StatusCounts> = HashMap::new();
    let Some(place) = ledger.workspaces.iter().find(|row| row.name == *name) else { return counts };
    for (entry, status) in ledger.newest_first(told).filter(|(entry, _)| entry.workspace_no == place.no) {
        if let Some(id) = ledger.source_of(entry) {
            counts.entry(id).or_default().count(status);
        }
    }
    counts
}

fn show(ledger: &Ledger, ctx: &AdminContext, page: &[Row<'_>]) -> Vec<ShownSource> {
    let viewer = ctx.viewer();
    if page.is_empty() {
        return Vec::new();
    }
    let ids: Vec<&str> = page.iter().map(|row| row.id).collect();
    let mut hashes = ledger.hashes_of(&viewer, &ids, HASHES_MAX);
    let shown = |row: &Row<'_>| ShownSource {
        source_id: row.id.to_owned(),
        counts: row.counts,
        source_hashes: hashes.remove(row.id).unwrap_or_default(),
        current_source_hash: newest_known(&viewer, ledger.parts_of(row.id), row.id)
            .known_hash
            .map(|known| shown_hash(&known).to_owned()),
        known_at: row.known_at,
        confirmed_at: row.confirmed_at,
    };
    page.iter().map(shown).collect()
}
