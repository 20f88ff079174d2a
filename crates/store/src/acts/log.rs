//! A project's change log, and the snapshots of what was derived from it. What a snapshot's bytes mean is not known here.

use async_trait::async_trait;
use mnemon_core::{Audience, ProjectId, RecordId, Seq, Timestamp, WorkspaceName, WorkspaceNo};

use crate::rows::{Cells, Row};
use crate::{StoreError, checksum};

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
    /// Its place in the log.
    pub seq: Seq,
    /// The record's id.
    pub id: RecordId,
    /// Who may see it.
    pub audience: Audience,
    /// Its text.
    pub content: String,
    /// What the ranking derived from the text when it was saved.
    pub embedding: Vec<u8>,
    /// Its fact key, only if the caller chose it.
    pub given_fact_key: Option<String>,
    /// A human-readable source.
    pub source: Option<String>,
    /// The source's id.
    pub source_id: Option<String>,
    /// The hash of the source when the fact was taken from it.
    pub source_hash: Option<String>,
    /// From this moment on the record is stale.
    pub valid_until: Option<Timestamp>,
    /// When it was last brought up to date.
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

/// Reads a living record from column `first` on: audience, content, embedding, checksum, id, is_key_given, fact_key,
/// source, source_id, source_hash, valid_until and updated_at. The checksum guards the first three, which are what is
/// ranked; what an answer shows is read with the whole record and guarded there.
pub(crate) fn read_present<R: Row>(row: &R, first: usize, project: ProjectId, seq: Seq) -> Result<Present, StoreError> {
    let cells = Cells::new(row, "record", || format!("{project}/{seq}"));
    let is_key_given = cells.flag(first + 5, "is_key_given")?;
    let present = Present {
        seq,
        id: cells.id(first + 4, "id")?,
        audience: cells.audience(first, "audience")?,
        content: cells.text(first + 1, "content")?,
        embedding: cells.blob(first + 2, "embedding")?.to_vec(),
        given_fact_key: if is_key_given { Some(cells.text(first + 6, "fact_key")?) } else { None },
        source: cells.text_opt(first + 7, "source")?,
        source_id: cells.text_opt(first + 8, "source_id")?,
        source_hash: cells.text_opt(first + 9, "source_hash")?,
        valid_until: cells.time_opt(first + 10, "valid_until")?,
        updated_at: cells.time(first + 11, "updated_at")?,
    };
    let sum = checksum::of_indexed(project, seq, present.audience, &present.content, &present.embedding);
    if sum == checksum::indexed_half(cells.integer(first + 3, "checksum")?) {
        Ok(present)
    } else {
        Err(cells.broken("checksum"))
    }
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
