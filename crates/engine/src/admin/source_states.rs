//! The sources of a project as people look through them: those that have changed first.

use std::cmp::Reverse;
use std::collections::HashMap;

use mnemon_core::{ProjectId, Seq, Timestamp, WorkspaceName, WorkspaceNo};
use mnemon_store::WorkspaceRow;

use super::sources::ShownSource;
use super::standing::StatusCounts;
use super::{AdminContext, AdminError};
use crate::Engine;
use crate::freshness::KnownSource;
use crate::standings::{SourceParts, Stood};
use crate::validate::HASHES_MAX;

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

/// A page of a project's sources, and figures of all of them.
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
    pub async fn list_source_states(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        query: &SourceQuery,
    ) -> Result<SourceStates, AdminError> {
        let project = self.readable_project(ctx, project).await?.id;
        let parts = self.source_parts(project).await?;
        let mut rows = self.count_by_source(ctx, project, query, &parts).await?;
        let (total, changed) = (rows.len() as u64, rows.iter().filter(|row| row.has_changed()).count() as u64);
        let stale = rows.iter().map(|row| row.counts.stale).sum();
        rows.retain(|row| row.fits(query));
        rows.sort_unstable_by(|a, b| a.place().cmp(&b.place()));
        let is_last = |row: &Row| query.after.as_ref().is_some_and(|(name, id)| row.name == *name && row.id == *id);
        let start = rows.iter().position(is_last).map_or(0, |at| at + 1);
        let has_more = rows.len() > start + query.limit;
        let page: Vec<Row> = rows.into_iter().skip(start).take(query.limit).collect();
        let sources = self.show_states(ctx, project, page).await?;
        let next = sources.last().filter(|_| has_more);
        let next = next.map(|source| (source.workspace.clone(), source.source_id.clone()));
        Ok(SourceStates { sources, next, total, changed, stale })
    }

    async fn count_by_source(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        query: &SourceQuery,
        parts: &SourceParts,
    ) -> Result<Vec<Row>, AdminError> {
        let (viewer, known) = (ctx.viewer(), parts.by_source());
        let mut rows = Vec::new();
        let count = |place: &WorkspaceRow, records: &mut dyn Iterator<Item = Stood<'_>>| {
            if query.workspace.as_ref().is_some_and(|name| place.name != *name) {
                return;
            }
            let mut counts: HashMap<&str, StatusCounts> = HashMap::new();
            for record in records {
                let Some(id) = record.source_id else { continue };
                counts.entry(id).or_default().count(record.status);
            }
            rows.extend(counts.into_iter().map(|(id, counts)| {
                let parts = known.get(&(place.no, id)).copied().unwrap_or_default();
                let known = KnownSource::of(&viewer, parts, place.no, id);
                Row { id: id.to_owned(), no: place.no, name: place.name.clone(), counts, known }
            }));
        };
        self.each_workspace(project, &viewer, ctx.now, parts, count).await?;
        Ok(rows)
    }

    /// Adds the different hashes that the records of these sources were saved with.
    async fn show_states(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        page: Vec<Row>,
    ) -> Result<Vec<ShownSource>, AdminError> {
        let mut hashes: HashMap<WorkspaceNo, HashMap<String, Vec<(Seq, String)>>> = HashMap::new();
        for row in &page {
            hashes.entry(row.no).or_default().insert(row.id.clone(), Vec::new());
        }
        let gather = |place: &WorkspaceRow, records: &mut dyn Iterator<Item = Stood<'_>>| {
            let Some(of_workspace) = hashes.get_mut(&place.no) else { return };
            for record in records {
                let Some((id, hash)) = record.source_id.zip(record.source_hash) else { continue };
                let Some(own) = of_workspace.get_mut(id) else { continue };
                match own.iter_mut().find(|(_, known)| known == hash) {
                    Some((newest, _)) => *newest = record.seq.max(*newest),
                    None => own.push((record.seq, hash.to_owned())),
                }
            }
        };
        self.each_workspace(project, &ctx.viewer(), ctx.now, &SourceParts::unknown(), gather).await?;
        let shown = |Row { id, no, name, counts, known }| {
            let own = hashes.get_mut(&no).and_then(|of_workspace| of_workspace.remove(&id));
            let mut own = own.unwrap_or_default();
            own.sort_unstable_by_key(|(seq, _)| Reverse(*seq));
            let source_hashes = own.into_iter().map(|(_, hash)| hash).take(HASHES_MAX).collect();
            ShownSource { source_id: id, workspace: name, counts, source_hashes, known }
        };
        Ok(page.into_iter().map(shown).collect())
    }
}

/// One source with its counts.
struct Row {
    id: String,
    no: WorkspaceNo,
    name: WorkspaceName,
    counts: StatusCounts,
    known: KnownSource,
}

impl Row {
    fn has_changed(&self) -> bool {
        self.counts.stale > 0
    }

    /// Among those that have changed the latest comes first; the others are in the order of their names.
    fn changed_at(&self) -> Option<Timestamp> {
        self.known.known_at.filter(|_| self.has_changed())
    }

    /// Where it is in the list.
    fn place(&self) -> impl Ord + '_ {
        (Reverse(self.has_changed()), Reverse(self.changed_at()), self.id.as_str(), &self.name)
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
