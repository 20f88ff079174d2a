//! How the records of a project stand, as far as that can be told without a reader: totals by audience, and those records
//! that only a reader's view can decide about. The statuses themselves are derived elsewhere.

use std::collections::HashMap;

use async_trait::async_trait;
use mnemon_core::{Audience, MemberId, ProjectId, Seq, Timestamp, WorkspaceName, WorkspaceNo};

use super::records::{Brief, WorkspaceRow};
use super::sources::SourcePart;
use crate::StoreError;
use crate::rows::{Cells, Row};

/// Looks at all live records of a project at once.
#[async_trait]
pub trait Surveys: Send + Sync {
    /// The whole project in one consistent view. It costs statements, and not one row for each record.
    async fn survey(&self, project: ProjectId) -> Result<Survey, StoreError>;

    /// What a member has in a project: what its leaving would hand over or delete. Scans the project.
    async fn count_holdings(&self, project: ProjectId, member: MemberId) -> Result<Holdings, StoreError>;
}

/// What a member has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Holdings {
    /// Records that can still be read or restored.
    pub records: u64,
    /// How many of them only the member sees.
    pub drafts: u64,
    /// Uploaded session histories.
    pub sessions: u64,
}

/// A project at one place of its log.
#[derive(Debug, Clone, PartialEq)]
pub struct Survey {
    pub seq: Seq,
    /// The active workspaces, by name.
    pub workspaces: Vec<WorkspaceRow>,
    /// Every part of an active workspace that has a live record.
    pub places: Vec<Place>,
    /// Live records that may be stale or disputed: those with an end, with another hash than somebody knows of their source, or
    /// with a caller-given key that others have too. All that share a key are here. Oldest first.
    pub suspects: Vec<Brief>,
    /// What is known of the sources of the suspects.
    pub parts: Vec<SourcePart>,
}

/// What one audience has in a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub no: WorkspaceNo,
    pub workspace: WorkspaceName,
    pub audience: Audience,
    /// Live records.
    pub records: u64,
    /// How many of them have the hash that was last confirmed of their source. Only everybody can confirm.
    pub confirmed: u64,
    /// How many of them name no source.
    pub sourceless: u64,
    pub last_saved_at: Timestamp,
}

/// Reads workspace_no, name, audience, the counts of records and of those without a source, and the last save.
pub(crate) fn read_place<R: Row>(row: &R, project: ProjectId) -> Result<Place, StoreError> {
    let cells = Cells::new(row, "record", || project.to_string());
    Ok(Place {
        no: WorkspaceNo(cells.count(0, "workspace_no")?),
        workspace: cells.workspace_name(1, "name")?,
        audience: cells.audience(2, "audience")?,
        records: cells.count(3, "seq")?,
        confirmed: 0,
        sourceless: cells.count(4, "source_id")?,
        last_saved_at: cells.time(5, "updated_at")?,
    })
}

/// Takes over workspace_no, audience and the count of confirmed records.
pub(crate) fn add_confirmed<R: Row>(places: &mut [Place], row: &R, project: ProjectId) -> Result<(), StoreError> {
    let cells = Cells::new(row, "record", || project.to_string());
    let (no, audience) = (WorkspaceNo(cells.count(0, "workspace_no")?), cells.audience(1, "audience")?);
    if let Some(place) = places.iter_mut().find(|place| place.no == no && place.audience == audience) {
        place.confirmed = cells.count(2, "seq")?;
    }
    Ok(())
}

/// How many live records each audience has, by workspace.
pub(crate) fn living_by_workspace(places: &[Place]) -> HashMap<WorkspaceNo, Vec<(Audience, u64)>> {
    let mut living: HashMap<_, Vec<_>> = HashMap::new();
    for place in places {
        living.entry(place.no).or_default().push((place.audience, place.records));
    }
    living
}

pub(crate) fn read_holdings<R: Row>(row: &R, project: ProjectId) -> Result<Holdings, StoreError> {
    let cells = Cells::new(row, "record", || project.to_string());
    Ok(Holdings {
        records: cells.count(0, "author_id")?,
        drafts: cells.count(1, "audience")?,
        sessions: cells.count(2, "session")?,
    })
}

/// Oldest first, each once.
pub(crate) fn once_each(mut suspects: Vec<Brief>) -> Vec<Brief> {
    suspects.sort_unstable_by_key(|brief| brief.seq);
    suspects.dedup_by_key(|brief| brief.seq);
    suspects
}

/// The sources by which suspects are judged, each once.
pub(crate) fn sources_of(suspects: &[Brief]) -> Vec<&str> {
    let hashed = suspects.iter().filter(|brief| brief.source_hash.is_some());
    let mut ids: Vec<&str> = hashed.filter_map(|brief| brief.source_id.as_deref()).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}
