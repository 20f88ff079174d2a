//! A project's change log, and the snapshots of what was derived from it. What a snapshot's bytes mean is not known here.

use async_trait::async_trait;
use mnemon_core::{Audience, ProjectId, Seq, WorkspaceName, WorkspaceNo};

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
}

/// A record touched in a piece of log, as it is now.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// It is alive.
    Present(Present),
    /// It is forgotten, purged or moved elsewhere.
    Absent(Seq),
}

/// A living record, with what an index needs of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Present {
    /// Its place in the log.
    pub seq: Seq,
    /// Who may see it.
    pub audience: Audience,
    /// Its text.
    pub content: String,
    /// What the ranking derived from the text when it was saved.
    pub embedding: Vec<u8>,
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
        Self { upto, is_end: true, is_active: false, audiences: Vec::new(), changes: Vec::new() }
    }
}

/// Reads the audience, content, embedding and checksum of a living record, from column `first` on.
pub(crate) fn read_present<R: Row>(row: &R, first: usize, project: ProjectId, seq: Seq) -> Result<Present, StoreError> {
    let cells = Cells::new(row, "record", || format!("{project}/{seq}"));
    let present = Present {
        seq,
        audience: cells.audience(first, "audience")?,
        content: cells.text(first + 1, "content")?,
        embedding: cells.blob(first + 2, "embedding")?.to_vec(),
    };
    let sum = checksum::of_indexed(project, seq, present.audience, &present.content, &present.embedding);
    if sum == checksum::indexed_half(cells.integer(first + 3, "checksum")?) {
        Ok(present)
    } else {
        Err(cells.broken("checksum"))
    }
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
