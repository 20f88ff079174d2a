//! A project's change log, and the snapshots of what was derived from it. What a snapshot's bytes mean is not known here.

use async_trait::async_trait;
use mnemon_core::{Audience, Fact, FactKey, ProjectId, Record, RecordId, Seq, Timestamp, WorkspaceName, WorkspaceNo};

use super::stored::Nameless;
use crate::StoreError;
use crate::checksum::Covered;
use crate::rows::{Cells, Row};

/// Reading a project's change log, and keeping indexes that were derived from it.
#[async_trait]
pub trait Log: Send + Sync {
    /// The active workspace of this name.
    async fn find_workspace(&self, project: ProjectId, name: &WorkspaceName) -> Result<Option<Workspace>, StoreError>;

    /// What happened in one life of a workspace after a place of the log, at most about `rows_max` records at once. The
    /// answer is one consistent view: `upto` and the changes belong together.
    async fn tail(
        &self,
        project: ProjectId,
        workspace: WorkspaceNo,
        after: Seq,
        rows_max: usize,
    ) -> Result<Tail, StoreError>;

    /// Which past the logs belong to. It changes when a database takes over that may have lost their ends: what was derived
    /// from a log before is then worth nothing, whatever its seq says.
    fn epoch(&self) -> u64;

    /// How far the project's log has come.
    async fn last_seq(&self, project: ProjectId) -> Result<Option<Seq>, StoreError>;

    /// Keeps an index's bytes; an older snapshot of the workspace is replaced, a newer one stays.
    async fn save_snapshot(&self, project: ProjectId, snapshot: Snapshot) -> Result<(), StoreError>;

    /// The snapshot of a workspace, if there is one.
    async fn find_snapshot(&self, project: ProjectId, workspace: WorkspaceNo) -> Result<Option<Snapshot>, StoreError>;
}

/// An active workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Names this life of the workspace.
    pub no: WorkspaceNo,
    /// Every audience that something was ever saved for in it. Who sees none of them sees no workspace.
    pub audiences: Vec<Audience>,
}

/// A piece of a workspace's log.
#[derive(Debug, Clone, PartialEq)]
pub struct Tail {
    /// Everything up to here is contained.
    pub upto: Seq,
    /// Whether `upto` is the end of the log.
    pub is_end: bool,
    /// Whether this life of the workspace goes on; when not, the rest is empty.
    pub is_active: bool,
    /// The workspace's audiences, as in [`Workspace`].
    pub audiences: Vec<Audience>,
    /// The records touched in this piece, as they are now. The order does not matter, each record occurs once.
    pub changes: Vec<Change>,
    /// What is known now of sources: of those that the records in this piece name, and of those that living records of the
    /// workspace name and somebody has seen changed in this piece. The order does not matter; a source occurs once for each
    /// audience that knows something of it. There may be more than the piece needs.
    pub sightings: Vec<Sighting>,
}

/// A record touched in a piece of log, as it is now.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// It is alive.
    Present(Box<Present>),
    /// It is forgotten, purged or moved elsewhere.
    Absent(Seq),
}

/// The newest hash that an audience knows of a source. A reader knows the latest of the sightings that it may know, and
/// records with another hash of that source are stale for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    /// The source.
    pub source_id: String,
    /// Who may know it.
    pub audience: Audience,
    /// The hash.
    pub hash: String,
    /// The place in the log of the sighting: later ones win, across audiences too.
    pub seq: Seq,
}

/// A living record, with what an index needs of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Present {
    pub seq: Seq,
    pub id: RecordId,
    pub audience: Audience,
    pub fact_key: FactKey,
    pub fact: Fact,
    /// What the ranking derived from the text when it was saved.
    pub embedding: Vec<u8>,
    /// When a duplicate save last refreshed it.
    pub updated_at: Timestamp,
}

/// An index as bytes, and the place of the log it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The workspace.
    pub workspace: WorkspaceNo,
    /// Everything up to here is in it.
    pub seq: Seq,
    /// The bytes; what they mean is the ranking's business.
    pub bytes: Vec<u8>,
}

impl Tail {
    /// What there is to say of a workspace whose life is over.
    pub(crate) fn ended(upto: Seq) -> Self {
        let (audiences, changes, sightings) = (Vec::new(), Vec::new(), Vec::new());
        Self { upto, is_end: true, is_active: false, audiences, changes, sightings }
    }
}

/// Reads a living record: the columns of [`Nameless::read`] from column `first` on, and its embedding. Both halves of its
/// checksum must match, because an index answers from all of it.
pub(crate) fn read_present<R: Row>(row: &R, first: usize, project: ProjectId) -> Result<Present, StoreError> {
    let Nameless { record, department, checksum } = Nameless::read(row, first, project)?;
    let cells = Cells::new(row, "record", || format!("{project}/{}", record.seq));
    let embedding = cells.blob(first + 19, "embedding")?.to_vec();
    if !Covered::of_stored(project, &record, department).is_indexed_by(checksum, &embedding) {
        return Err(cells.broken("checksum"));
    }
    let Record { seq, id, audience, fact_key, fact, updated_at, .. } = record;
    Ok(Present { seq, id, audience, fact_key, fact, embedding, updated_at })
}

/// Reads source_id, audience, known_seq and known_hash, from column `first` on.
pub(crate) fn read_sighting<R: Row>(row: &R, first: usize, project: ProjectId) -> Result<Sighting, StoreError> {
    let cells = Cells::new(row, "source", || project.to_string());
    Ok(Sighting {
        source_id: cells.text(first, "source_id")?,
        audience: cells.audience(first + 1, "audience")?,
        seq: Seq(cells.count(first + 2, "known_seq")?),
        hash: cells.text(first + 3, "known_hash")?,
    })
}

/// One place of a piece of log: a record that was touched there, a sighting, or neither (the whole workspace was meant).
pub(crate) struct Place<T> {
    pub(crate) at: Seq,
    pub(crate) what: T,
}

/// Cuts a piece to about `rows_max` places, and tells up to where it contains everything: where it was cut, up to its last
/// place, otherwise up to the end. What shares its place with the last one stays: nobody would come back for it.
///
/// `piece` must contain the first `rows_max` places of each kind.
pub(crate) fn cut<T>(piece: &mut Vec<Place<T>>, rows_max: usize, end: Seq) -> Seq {
    piece.sort_by_key(|place| place.at);
    let Some(last) = rows_max.checked_sub(1).and_then(|last| piece.get(last)).map(|place| place.at) else { return end };
    piece.truncate(piece.partition_point(|place| place.at <= last));
    last
}

/// Each source once for each audience.
pub(crate) fn dedup_sightings(sightings: &mut Vec<Sighting>) {
    sightings.sort_unstable_by(|a, b| (&a.source_id, a.audience).cmp(&(&b.source_id, b.audience)));
    sightings.dedup_by(|a, b| (&a.source_id, a.audience) == (&b.source_id, b.audience));
}

/// Reads the seq and the bytes of a snapshot.
pub(crate) fn read_snapshot<R: Row>(
    row: &R,
    project: ProjectId,
    workspace: WorkspaceNo,
) -> Result<Snapshot, StoreError> {
    let cells = Cells::new(row, "snapshot", || format!("{project}/{}", workspace.0));
    Ok(Snapshot { workspace, seq: Seq(cells.count(0, "seq")?), bytes: cells.blob(1, "bytes")?.to_vec() })
}
