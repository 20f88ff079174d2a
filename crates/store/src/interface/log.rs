//! A project's change log, and snapshots of indexes derived from it. What is in a snapshot's bytes is the ranking's
//! business.

use std::fs::File;
use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use mnemon_core::{Audience, Fact, FactKey, ProjectId, Record, RecordId, Seq, Timestamp, WorkspaceName, WorkspaceNo};

use super::stored::Nameless;
use crate::StoreError;
use crate::checksum::Covered;
use crate::rows::{Cells, Row};
use crate::statement::{Cell, Statement, Transaction, Values, statement};

/// Reads a project's change log, and keeps indexes that were derived from it.
#[async_trait]
pub trait Log: Send + Sync {
    /// The active workspace of this name.
    async fn find_workspace(&self, project: ProjectId, name: &WorkspaceName) -> Result<Option<Workspace>, StoreError>;

    /// What happened in one life of a workspace after a position in the log, about `rows_max` records at most. The
    /// answer is one consistent view: `upto` and the changes belong together.
    async fn tail(
        &self,
        project: ProjectId,
        workspace: WorkspaceNo,
        after: Seq,
        rows_max: usize,
    ) -> Result<Tail, StoreError>;

    /// As [`Self::tail`], from any server that has followed the log at least up to `at_least`.
    async fn tail_at_least(
        &self,
        project: ProjectId,
        workspace: WorkspaceNo,
        after: Seq,
        rows_max: usize,
        _at_least: Seq,
    ) -> Result<Tail, StoreError> {
        self.tail(project, workspace, after, rows_max).await
    }

    /// Identifies the history that the logs belong to. It changes when a database takes over that may have lost the
    /// ends of the logs: whatever was derived from them before is then worthless, no matter what its seq says.
    fn epoch(&self) -> u64;

    /// The last position in the project's log.
    async fn last_seq(&self, project: ProjectId) -> Result<Option<Seq>, StoreError>;

    /// Stores an index. Replaces an older snapshot of the workspace and leaves a newer one alone.
    async fn save_snapshot(
        &self,
        project: ProjectId,
        snapshot: Snapshot<Arc<dyn SnapshotImage>>,
    ) -> Result<(), StoreError>;

    async fn find_snapshot(
        &self,
        project: ProjectId,
        workspace: WorkspaceNo,
    ) -> Result<Option<Snapshot<KeptImage>>, StoreError>;

    /// As [`Self::find_snapshot`], from any server that has followed the log at least up to `at_least`.
    async fn find_snapshot_at_least(
        &self,
        project: ProjectId,
        workspace: WorkspaceNo,
        _at_least: Seq,
    ) -> Result<Option<Snapshot<KeptImage>>, StoreError> {
        self.find_snapshot(project, workspace).await
    }
}

/// What a server must have followed before a search may read from it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AtLeast {
    /// The project's log up to here.
    pub seq: Seq,
    /// The names in the account's records: see [`crate::Credential::account_version`].
    pub account_version: u64,
}

impl AtLeast {
    /// Whether a server that is this far has all that is needed.
    pub const fn contains(self, needed: Self) -> bool {
        self.seq.0 >= needed.seq.0 && self.account_version >= needed.account_version
    }
}

/// An active workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Identifies this life of the workspace.
    pub no: WorkspaceNo,
    /// Every audience for whom something was ever saved here. A reader who belongs to none of them sees no workspace.
    pub audiences: Vec<Audience>,
}

/// A piece of a workspace's log.
#[derive(Debug, Clone, PartialEq)]
pub struct Tail {
    /// The piece contains everything up to here.
    pub upto: Seq,
    /// Whether `upto` is the end of the log.
    pub is_end: bool,
    /// Whether the workspace is still active; if not, the rest is empty.
    pub is_active: bool,
    /// The workspace's audiences, as in [`Workspace`].
    pub audiences: Vec<Audience>,
    /// The records that changed in this piece, as they are now. In any order; each record occurs once.
    pub changes: Vec<Change>,
    /// What is now known about the sources of the records in this piece, and about the workspace's other sources that
    /// were seen to change in this piece. In any order; a source occurs once for each audience that knows something
    /// about it. There may be more than the piece needs.
    pub sightings: Vec<Sighting>,
}

/// A record that changed in a piece of the log, as it is now.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    Present(Box<Present>),
    /// Forgotten, purged, or no longer in this workspace.
    Absent(Seq),
}

impl Change {
    /// The place in the log of the record that was touched.
    pub fn seq(&self) -> Seq {
        match self {
            Self::Present(present) => present.seq,
            Self::Absent(seq) => *seq,
        }
    }
}

/// What an audience knows of a source: its newest hash or that it is gone, and what was confirmed. Of the sightings
/// open to a reader the latest counts: records with another hash of that source are stale for this reader, and all of
/// one that is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    pub source_id: String,
    /// Who may know it.
    pub audience: Audience,
    /// `None` if the source is gone.
    pub hash: Option<String>,
    /// Its position in the log. A later sighting wins, across audiences too.
    pub seq: Seq,
    /// The hash that was confirmed last, and its position; of the open ones the latest counts.
    pub confirmed: Option<(String, Seq)>,
}

/// A live record, with what an index needs of it.
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

/// An index as it is kept, and how far in the log it goes.
#[derive(Debug, Clone)]
pub struct Snapshot<T> {
    pub workspace: WorkspaceNo,
    /// It contains everything up to here.
    pub seq: Seq,
    /// A [`SnapshotImage`] to be saved, or the [`KeptImage`] that was found.
    pub image: T,
}

/// An index that can be written in two forms: an engine takes the one that it can keep.
pub trait SnapshotImage: Send + Sync {
    /// All of it, for a table.
    fn to_bytes(&self) -> Vec<u8>;

    /// Into a new file, which may have holes.
    fn write_to(&self, file: &File) -> io::Result<()>;

    /// About how many bytes either has.
    fn size_bytes(&self) -> usize;
}

/// An index as it was found.
#[derive(Debug)]
pub enum KeptImage {
    /// What [`SnapshotImage::to_bytes`] gave.
    Bytes(Vec<u8>),
    /// What [`SnapshotImage::write_to`] wrote. It is never changed again, and may be unlinked while in use.
    File(File),
}

impl Tail {
    /// The tail of a workspace that is no longer active.
    pub(crate) fn ended(upto: Seq) -> Self {
        let (audiences, changes, sightings) = (Vec::new(), Vec::new(), Vec::new());
        Self { upto, is_end: true, is_active: false, audiences, changes, sightings }
    }
}

/// Reads a live record: the columns of [`Nameless::read`] from column `first` on, and its embedding. Both halves of its
/// checksum must match, because an index answers from all of it.
pub(crate) fn read_present<R: Row>(row: &R, first: usize, project: ProjectId) -> Result<Present, StoreError> {
    let Nameless { record, department, checksum } = Nameless::read(row, first, project)?;
    let cells = Cells::new(row, "record", || format!("{project}/{}", record.seq));
    let embedding = cells.blob(first + 21, "embedding")?.to_vec();
    if !Covered::of_stored(project, &record, department).is_indexed_by(checksum, &embedding) {
        return Err(cells.broken("checksum"));
    }
    let Record { seq, id, audience, fact_key, fact, updated_at, .. } = record;
    Ok(Present { seq, id, audience, fact_key, fact, embedding, updated_at })
}

/// Reads source_id, audience, known_seq, known_hash, confirmed_seq and confirmed_hash, from column `first` on.
pub(crate) fn read_sighting<R: Row>(row: &R, first: usize, project: ProjectId) -> Result<Sighting, StoreError> {
    let cells = Cells::new(row, "source", || project.to_string());
    let confirmed_seq = Seq(cells.count(first + 4, "confirmed_seq")?);
    Ok(Sighting {
        source_id: cells.text(first, "source_id")?,
        audience: cells.audience(first + 1, "audience")?,
        seq: Seq(cells.count(first + 2, "known_seq")?),
        hash: cells.text_opt(first + 3, "known_hash")?,
        confirmed: cells.text_opt(first + 5, "confirmed_hash")?.map(|hash| (hash, confirmed_seq)),
    })
}

/// The active workspace of a name.
pub(crate) async fn find_workspace<T: Transaction>(
    tx: &mut T,
    project: ProjectId,
    name: &WorkspaceName,
) -> Result<Option<WorkspaceNo>, T::Error> {
    const SELECT: &str = "SELECT no FROM workspace WHERE project_id = $1 AND name = $2 AND deleted_at IS NULL";
    let rows = tx.run(statement!(SELECT, project, name.as_str())).await?;
    let read = |row: &Values| Cells::new(row, "workspace", || format!("{project}/{name}")).count(0, "no");
    Ok(rows.first().map(read).transpose()?.map(WorkspaceNo))
}

/// Takes the next place in the log of a project for something that happened to a record, or to a whole workspace.
pub(crate) async fn insert_change<T: Transaction>(
    tx: &mut T,
    project: ProjectId,
    no: WorkspaceNo,
    kind: &'static str,
    record: Option<Seq>,
    at: Timestamp,
) -> Result<(), T::Error> {
    const INSERT: &str = "
        INSERT INTO change (project_id, seq, workspace_no, kind, record_seq, at)
        VALUES ($1, $2, $3, $4, $5, $6)";
    let seq = tx.take_seq(project)?;
    tx.put(statement!(INSERT, project, seq, no, kind, record, at)).await
}

/// Takes places in the log of a project, and returns the first of them.
pub(crate) fn take_places<T: Transaction>(
    tx: &mut T,
    project: ProjectId,
    count: usize,
) -> Result<Option<Seq>, T::Error> {
    let places = (0..count).map(|_| tx.take_seq(project)).collect::<Result<Vec<_>, _>>()?;
    Ok(places.first().copied())
}

/// The rows of the log for what happened to records, at a place for each, from the first one on.
pub(crate) fn changes(project: ProjectId, first: Seq, kind: &'static str, records: &[Seq], at: Timestamp) -> Statement {
    const INSERT: &str = "
        INSERT INTO change (project_id, seq, workspace_no, kind, record_seq, at)
        SELECT r.project_id, $2 + ROW_NUMBER() OVER (ORDER BY r.seq), r.workspace_no, $3, r.seq, $4
        FROM record r
        WHERE r.project_id = $1 AND r.seq = ANY($5)";
    statement!(INSERT, project, Seq(first.0 - 1), kind, at, Cell::list(records.iter().copied()))
}

/// One position in a piece of the log: a record that changed there, a sighting, or neither (it concerned the whole
/// workspace).
pub(crate) struct Place<T> {
    pub(crate) at: Seq,
    pub(crate) what: T,
}

/// Cuts a piece to about `rows_max` positions and returns how far it is complete: up to its last position if it was
/// cut, up to the end otherwise. Whatever shares the last position stays in, because the next piece starts after it.
///
/// `piece` must contain the first `rows_max` positions of each kind.
pub(crate) fn cut<T>(piece: &mut Vec<Place<T>>, rows_max: usize, end: Seq) -> Seq {
    piece.sort_by_key(|place| place.at);
    let Some(last) = rows_max.checked_sub(1).and_then(|last| piece.get(last)).map(|place| place.at) else { return end };
    piece.truncate(piece.partition_point(|place| place.at <= last));
    last
}

/// Keeps each source once per audience.
pub(crate) fn dedup_sightings(sightings: &mut Vec<Sighting>) {
    sightings.sort_unstable_by(|a, b| (&a.source_id, a.audience).cmp(&(&b.source_id, b.audience)));
    sightings.dedup_by(|a, b| (&a.source_id, a.audience) == (&b.source_id, b.audience));
}
