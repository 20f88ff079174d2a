//! The sources of a project as people look through them: those that have changed first.

use std::cmp::Reverse;
use std::collections::HashMap;

use mnemon_core::{ProjectId, Seq, Timestamp, Viewer, WorkspaceName, WorkspaceNo};
use mnemon_store::{SourcePart, WorkspaceRow};

use super::sources::ShownSource;
use super::standing::StatusCounts;
use super::{AdminContext, AdminError};
use crate::Engine;
use crate::freshness::KnownSource;
use crate::standings::Stood;
use crate::validate::HASHES_MAX;

/// Which sources to look through.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceQuery {
    /// Only sources with these letters in their id.
    pub text: Option<String>,
    /// Only those of this workspace.
    pub workspace: Option<WorkspaceName>,
    pub show: SourceShow,
    pub sort: SourceSort,
    /// The page starts after this one, by workspace and id.
    pub after: Option<(WorkspaceName, String)>,
    /// Maximum number of rows.
    pub limit: usize,
}

impl SourceQuery {
    /// Whether it depends on when sources were confirmed.
    fn asks_for_checks(&self) -> bool {
        self.show == SourceShow::NeverChecked || self.sort == SourceSort::Checked
    }
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

/// The order of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SourceSort {
    /// Those that have changed first, the latest first, then by name.
    #[default]
    Changed,
    Name,
    /// Most records first.
    Records,
    /// Most stale records first.
    Stale,
    /// The latest checked first.
    Checked,
}

impl SourceSort {
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "name" => Self::Name,
            "records" => Self::Records,
            "stale" => Self::Stale,
            "checked" => Self::Checked,
            _ => return None,
        })
    }
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
        let viewer = ctx.viewer();
        let mut rows = self.count_by_source(ctx, project, query).await?;
        let (total, changed) = (rows.len() as u64, rows.iter().filter(|row| row.has_changed()).count() as u64);
        let stale = rows.iter().map(|row| row.counts.stale).sum();
        rows.retain(|row| row.fits(query));
        if query.sort == SourceSort::Changed {
            self.learn(project, &viewer, rows.iter_mut().filter(|row| row.has_changed()).collect()).await?;
        }
        let compare = |a: &Row, b: &Row| a.place(query.sort).cmp(&b.place(query.sort));
        let is_last = |row: &Row| query.after.as_ref().is_some_and(|(name, id)| row.name == *name && row.id == *id);
        if let Some(at) = rows.iter().position(is_last) {
            let last = rows.swap_remove(at);
            rows.retain(|row| compare(row, &last).is_gt());
        }
        // Only the page has to be in order.
        let has_more = rows.len() > query.limit;
        if has_more {
            rows.select_nth_unstable_by(query.limit, compare);
            rows.truncate(query.limit);
        }
        rows.sort_unstable_by(compare);
        self.learn(project, &viewer, rows.iter_mut().collect()).await?;
        let sources: Vec<ShownSource> = rows.into_iter().map(Row::show).collect();
        let next = sources.last().filter(|_| has_more);
        let next = next.map(|source| (source.workspace.clone(), source.source_id.clone()));
        Ok(SourceStates { sources, next, total, changed, stale })
    }

    async fn count_by_source(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        query: &SourceQuery,
    ) -> Result<Vec<Row>, AdminError> {
        let viewer = ctx.viewer();
        let mut confirmed = match query.asks_for_checks() {
            true => self.store.list_confirmations(project).await?,
            false => Vec::new(),
        };
        confirmed.retain(|own| viewer.sees(&own.audience));
        // The latest of each source is the last one, and stays.
        confirmed.sort_unstable_by_key(|own| own.seq);
        let checked: HashMap<(WorkspaceNo, &str), Option<Timestamp>> =
            confirmed.iter().map(|own| ((own.workspace_no, own.source_id.as_str()), own.at)).collect();
        let mut rows = Vec::new();
        let count = |place: &WorkspaceRow, records: &mut dyn Iterator<Item = Stood<'_>>| {
            if query.workspace.as_ref().is_some_and(|name| place.name != *name) {
                return;
            }
            let mut counted: Vec<Counted<'_>> = Vec::new();
            for record in records {
                let Some(source) = record.source_no() else { continue };
                counted.resize_with(counted.len().max(source as usize + 1), Counted::default);
                counted[source as usize].take(&record);
            }
            rows.extend(counted.into_iter().filter_map(|Counted { id, counts, mut hashes }| {
                let id = id?;
                hashes.sort_unstable_by_key(|(_, newest, _)| Reverse(*newest));
                Some(Row {
                    id: id.to_owned(),
                    no: place.no,
                    name: place.name.clone(),
                    counts,
                    hashes: hashes.into_iter().map(|(_, _, hash)| hash.to_owned()).take(HASHES_MAX).collect(),
                    checked_at: checked.get(&(place.no, id)).copied().flatten(),
                    known: KnownSource::default(),
                })
            }));
        };
        self.each_workspace(project, &viewer, ctx.now, count).await?;
        Ok(rows)
    }

    /// Reads what is known of these sources.
    async fn learn(&self, project: ProjectId, viewer: &Viewer, rows: Vec<&mut Row>) -> Result<(), AdminError> {
        let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        let parts = self.store.list_sources(project, &ids).await?;
        let of_source = parts.chunk_by(|a, b| (a.workspace_no, &a.source_id) == (b.workspace_no, &b.source_id));
        let known: HashMap<(WorkspaceNo, &str), &[SourcePart]> =
            of_source.map(|parts| ((parts[0].workspace_no, parts[0].source_id.as_str()), parts)).collect();
        for row in rows {
            let parts = known.get(&(row.no, row.id.as_str())).copied().unwrap_or_default();
            row.known = KnownSource::of(viewer, parts, row.no, &row.id);
        }
        Ok(())
    }
}

/// The records of one source.
#[derive(Default)]
struct Counted<'a> {
    id: Option<&'a str>,
    counts: StatusCounts,
    /// The different hashes that they were saved with: the number, the newest record and the text of each.
    hashes: Vec<(u32, Seq, &'a str)>,
}

impl<'a> Counted<'a> {
    fn take(&mut self, record: &Stood<'a>) {
        self.counts.count(record.status());
        if self.id.is_none() {
            self.id = record.source_id();
        }
        let Some(number) = record.source_hash_no() else { return };
        match self.hashes.iter_mut().find(|(known, ..)| *known == number) {
            Some((_, newest, _)) => *newest = record.seq().max(*newest),
            None => self.hashes.extend(record.source_hash().map(|hash| (number, record.seq(), hash))),
        }
    }
}

/// One source with its counts.
struct Row {
    id: String,
    no: WorkspaceNo,
    name: WorkspaceName,
    counts: StatusCounts,
    /// The different hashes that its records were saved with, the newest first.
    hashes: Vec<String>,
    /// When it was last confirmed, if the question depends on it.
    checked_at: Option<Timestamp>,
    /// Learned for those that are shown, and for those whose order depends on it.
    known: KnownSource,
}

impl Row {
    fn show(self) -> ShownSource {
        let Self { id, name, counts, hashes, known, .. } = self;
        ShownSource { source_id: id, workspace: name, counts, source_hashes: hashes, known }
    }

    fn has_changed(&self) -> bool {
        self.counts.stale > 0
    }

    /// Among those that have changed the latest comes first; the others are in the order of their names.
    fn changed_at(&self) -> Option<Timestamp> {
        self.known.known_at.filter(|_| self.has_changed())
    }

    /// Where it is in the list.
    fn place(&self, sort: SourceSort) -> impl Ord + '_ {
        let moment = |at: Option<Timestamp>| at.map_or(0, Timestamp::as_microsecond);
        let (first, second) = match sort {
            SourceSort::Changed => (i64::from(self.has_changed()), moment(self.changed_at())),
            SourceSort::Name => (0, 0),
            SourceSort::Records => (self.counts.total().cast_signed(), 0),
            SourceSort::Stale => (self.counts.stale.cast_signed(), 0),
            SourceSort::Checked => (moment(self.checked_at), 0),
        };
        (Reverse((first, second)), self.id.as_str(), &self.name)
    }

    fn fits(&self, query: &SourceQuery) -> bool {
        let is_named = query.text.as_deref().is_none_or(|text| self.id.to_lowercase().contains(&text.to_lowercase()));
        is_named
            && match query.show {
                SourceShow::All => true,
                SourceShow::Changed => self.has_changed(),
                SourceShow::NeverChecked => self.checked_at.is_none(),
            }
    }
}
