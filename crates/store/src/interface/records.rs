//! Saving, reading, listing and forgetting records: the acts, their values, and the rules that both engines share.

use async_trait::async_trait;
use mnemon_core::{
    Audience, ContentHash, MemberId, NewRecord, ProjectId, Record, RecordId, Scope, Seq, Timestamp, Viewer,
    WorkspaceName, WorkspaceNo,
};

use super::stored::Stored;
use super::{AtLeast, AuditEntry, SourcePart};
use crate::StoreError;
use crate::rows::{Cells, Row};

/// Saves, reads, lists and forgets records.
#[async_trait]
pub trait Records: Send + Sync {
    /// Saves a record. Returns once it is durable.
    ///
    /// One transaction checks, in this order, the idempotency key, the records to supersede, duplicates and the
    /// project's limit, then saves the record and ends what it supersedes. Either all of this happens or nothing. A
    /// save with a `source_hash` makes that hash the newest known one of its source, for the record's audience. A
    /// duplicate takes a seq only if it refreshes the record or changes what is known about its source.
    async fn insert(&self, insert: Insert) -> Result<Inserted, StoreError>;

    /// As [`Self::insert`]. Also brings what the record's status depends on, where that costs no round trip of its own.
    async fn insert_with_standing(&self, insert: Insert) -> Result<(Inserted, Option<Standing>), StoreError> {
        Ok((self.insert(insert).await?, None))
    }

    /// Keeps the answer to the first call with an idempotency key, without the record's text.
    async fn save_answer(
        &self,
        project: ProjectId,
        member: MemberId,
        key: &str,
        answer: String,
    ) -> Result<(), StoreError>;

    /// The live records at these positions in the log, in the given order. Positions without one are left out.
    async fn load(&self, project: ProjectId, seqs: &[Seq]) -> Result<Vec<Record>, StoreError>;

    /// As [`Self::load`], from any server that has followed at least this much.
    async fn load_at_least(
        &self,
        project: ProjectId,
        seqs: &[Seq],
        _at_least: AtLeast,
    ) -> Result<Vec<Record>, StoreError> {
        self.load(project, seqs).await
    }

    /// The position of the live record with this id, and who may see it. One statement whether or not it exists.
    async fn find_place(&self, project: ProjectId, id: RecordId) -> Result<Option<(Seq, Audience)>, StoreError>;

    /// The positions of those of the records that are live, each once, oldest first.
    async fn find_places(&self, project: ProjectId, ids: &[RecordId]) -> Result<Vec<Seq>, StoreError>;

    /// The live record with this id.
    async fn find(&self, project: ProjectId, id: RecordId) -> Result<Option<Record>, StoreError>;

    /// The live records of a source, oldest first, in one active workspace or in all of them.
    async fn list_by_source(
        &self,
        project: ProjectId,
        source_id: &str,
        workspace: Option<&WorkspaceName>,
    ) -> Result<Vec<RecordSummary>, StoreError>;

    /// The live records of the next sources after this one, by source and oldest first. At most `sources_max` sources
    /// are taken; the last one is complete.
    async fn list_after_source(
        &self,
        project: ProjectId,
        after: Option<&str>,
        sources_max: usize,
    ) -> Result<Vec<RecordSummary>, StoreError>;

    /// The live records with one of these caller-given keys in its workspace, oldest first.
    async fn list_by_fact_key(
        &self,
        project: ProjectId,
        keys: &[(WorkspaceNo, &str)],
    ) -> Result<Vec<RecordSummary>, StoreError>;

    /// The active workspaces of a project, by name.
    async fn list_workspaces(&self, project: ProjectId) -> Result<Vec<WorkspaceRow>, StoreError>;

    /// Records of a project before a position in the log, newest first.
    async fn list_records(
        &self,
        project: ProjectId,
        filter: RecordFilter,
        before: Option<Seq>,
        portion: Portion,
    ) -> Result<Vec<Listed>, StoreError>;

    /// The first records of a stretch of a project's live ones, oldest first.
    async fn list_onward(
        &self,
        project: ProjectId,
        stretch: Stretch,
        portion: Portion,
    ) -> Result<Vec<Record>, StoreError>;

    /// A record, live or not.
    async fn find_any(&self, project: ProjectId, id: RecordId) -> Result<Option<Listed>, StoreError>;

    /// Forgets those of the records that are live, and returns their ids, oldest first. Writes the audit row, with the
    /// count, if there was anything to forget. Returns once this is durable.
    async fn forget(&self, project: ProjectId, seqs: &[Seq], audit: AuditEntry) -> Result<Vec<RecordId>, StoreError>;

    /// Brings a record back, if it was forgotten, or ended with its workspace, at or after `forgotten_since`, and the
    /// project has room. `None` when there is no such record. The restored record keeps its place in the log; the
    /// restoring itself takes a seq. One whose workspace was deleted joins the workspace that has the name now; if none
    /// has, the name comes back with it.
    async fn restore(
        &self,
        project: ProjectId,
        id: RecordId,
        forgotten_since: Timestamp,
        records_max: Option<u64>,
        audit: AuditEntry,
    ) -> Result<Option<Record>, StoreError>;

    /// Deletes an active workspace together with its records and returns how many there were; `None` if no such
    /// workspace is active. A later save creates it again under the same name, empty, with a new number.
    async fn delete_workspace(
        &self,
        project: ProjectId,
        name: &WorkspaceName,
        audit: AuditEntry,
    ) -> Result<Option<u64>, StoreError>;

    /// The workspaces that were deleted at or after a moment and that can still be restored, the latest first.
    async fn list_deleted_workspaces(
        &self,
        project: ProjectId,
        since: Timestamp,
    ) -> Result<Vec<DeletedWorkspace>, StoreError>;

    /// Brings back all that lived in a workspace when it was deleted, at or after `deleted_since`. If a new workspace
    /// has taken the name meanwhile, the records join the workspace that has it now.
    async fn restore_workspace(
        &self,
        project: ProjectId,
        no: WorkspaceNo,
        deleted_since: Timestamp,
        records_max: Option<u64>,
        audit: AuditEntry,
    ) -> Result<RestoredWorkspace, StoreError>;
}

/// What became of restoring a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoredWorkspace {
    /// Restored; the number of records.
    Done(u64),
    /// There is nothing to restore.
    Absent,
    /// The project has no room for all of it. Nothing was restored.
    Full,
}

/// A save, with everything that its transaction decides about.
#[derive(Debug, Clone)]
pub struct Insert {
    pub record: NewRecord,
    /// How many live records the project may have. Checked inside the transaction, so concurrent saves can't exceed it.
    pub records_max: Option<u64>,
    /// How many active workspaces the project may have.
    pub workspaces_max: Option<u64>,
    /// Makes a repeated save return the first one's answer.
    pub idempotency: Option<Idempotency>,
    pub supersede: Option<Supersede>,
}

/// Which records a save replaces. They are forgotten and keep the id of the record that took their place. If the save
/// finds a duplicate, that duplicate takes their place, so it is never one of them.
#[derive(Debug, Clone)]
pub struct Supersede {
    /// Each of these must be live and visible, in any workspace.
    pub ids: Vec<RecordId>,
    /// Also every live, visible record in the workspace with the same caller-given key.
    pub same_key: bool,
    /// Who replaces them. What this viewer can't see does not exist.
    pub viewer: Viewer,
    /// Written with the count if anything was superseded. Its subject becomes the record that took their place.
    pub audit: AuditEntry,
}

impl Supersede {
    /// Keeps those of the records under the same key that the viewer sees.
    pub(crate) fn retain_seen(&self, under_key: &mut Vec<RecordSummary>) {
        under_key.retain(|summary| self.viewer.sees(&summary.audience));
    }

    /// The audit row, about the record that took their place.
    pub(crate) fn audit_of(&self, by: RecordId, audience: Audience) -> AuditEntry {
        AuditEntry { subject: audit_subject(by, audience), ..self.audit.clone() }
    }

    /// The record that was found, or the id if the viewer can't see it.
    pub(crate) fn find_seen(&self, id: RecordId, found: Option<RecordSummary>) -> Result<RecordSummary, RecordId> {
        found.filter(|summary| self.viewer.sees(&summary.audience)).ok_or(id)
    }
}

/// What the audit log calls a record. Others read the log, and drafts are their author's.
pub fn audit_subject(id: RecordId, audience: Audience) -> String {
    if audience.scope() == Scope::Draft { "(a draft)".to_owned() } else { id.to_string() }
}

/// An idempotency key, and what it was used for. Each member has its own keys: one member's key never returns another's
/// record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idempotency {
    pub member: MemberId,
    pub key: String,
    pub arguments_hash: [u8; 32],
    /// Older uses of the key no longer count.
    pub valid_since: Timestamp,
}

/// What became of a save.
#[derive(Debug, Clone, PartialEq)]
pub enum Inserted {
    New {
        seq: Seq,
        workspace_no: WorkspaceNo,
        /// What it took the place of, oldest first.
        superseded: Vec<RecordId>,
    },
    /// An equal record already exists: same content, workspace, audience, `source` and `source_id`. Its hash, revision,
    /// confidence and `valid_until` were refreshed where the save gave them.
    Duplicate {
        record: Box<Record>,
        /// What it took the place of, oldest first.
        superseded: Vec<RecordId>,
    },
    /// A record to supersede does not exist for the viewer. Nothing was stored.
    NotFound(RecordId),
    /// The idempotency key was used before with the same arguments.
    Replayed(Box<Replay>),
    /// The idempotency key was used before with other arguments. Nothing was stored.
    KeyReused,
    /// The project is full. Nothing was stored.
    LimitReached,
    /// The save would begin a workspace too many. Nothing was stored.
    TooManyWorkspaces,
}

/// What the first use of an idempotency key led to.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    /// The record as it is now, even if it has been forgotten. `None` if it has been purged.
    pub record: Option<Record>,
    /// Whether the first save found a duplicate.
    pub was_duplicate: bool,
    /// What it took the place of and has not been restored, oldest first.
    pub superseded: Vec<RecordId>,
    /// What [`crate::Records::save_answer`] kept, if the first call got that far.
    pub answer: Option<String>,
}

/// What it takes to judge a record without reading its text.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordSummary {
    pub id: RecordId,
    pub seq: Seq,
    pub workspace_no: WorkspaceNo,
    /// Who may see it.
    pub audience: Audience,
    /// Its fact key, only if the caller chose it.
    pub given_fact_key: Option<String>,
    pub content_hash: ContentHash,
    pub source_id: Option<String>,
    /// The source's hash when the fact was taken from it.
    pub source_hash: Option<String>,
    /// From then on it is stale.
    pub valid_until: Option<Timestamp>,
}

/// What the status of a saved record depends on beside itself, for every audience: the reader filters.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Standing {
    /// The live records under its caller-given key in its workspace, itself among them, oldest first.
    pub under_key: Vec<RecordSummary>,
    /// What is known about its source and about theirs.
    pub sources: Vec<SourcePart>,
}

/// A workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceRow {
    /// Identifies this life of the workspace.
    pub no: WorkspaceNo,
    pub name: WorkspaceName,
    pub created_at: Timestamp,
    /// Every audience for whom something was ever saved here.
    pub audiences: Vec<Audience>,
}

/// What is left of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletedWorkspace {
    pub workspace: WorkspaceRow,
    pub deleted_at: Timestamp,
    /// How many records of each audience lived in it then.
    pub living: Vec<(Audience, u64)>,
}

/// Which records to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordFilter {
    /// Only those in this workspace; of the forgotten, those of its former lives too.
    pub workspace: Option<WorkspaceName>,
    /// Only those of this source.
    pub source_id: Option<String>,
    /// Forgotten records instead of live ones, and those that ended with their workspace.
    pub is_forgotten: bool,
    /// Only those that one of these audiences may see.
    pub audiences: Option<Vec<Audience>>,
    /// Only those of these authors.
    pub authors: Option<Vec<MemberId>>,
    /// Only those with this key, if a caller gave it.
    pub fact_key: Option<String>,
    /// Only those that name a source, or only those that name none.
    pub has_source: Option<bool>,
    /// Only those whose hash was the last confirmed one of their source, or only the others.
    pub is_confirmed: Option<bool>,
    /// Only those at these positions.
    pub among: Option<Vec<Seq>>,
}

/// A part of a project's log, as some readers see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// Only records that one of these audiences may see.
    pub audiences: Vec<Audience>,
    /// Only those in this workspace.
    pub workspace: Option<WorkspaceName>,
    /// It begins after this position.
    pub after: Seq,
    /// It ends with this one.
    pub upto: Seq,
}

/// How much of a list one read takes: at most `rows_max` rows, ending with the row whose text brings the total to
/// `bytes_max`. What is not taken is not read either, so a page of large records takes no more memory than one of small
/// ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Portion {
    pub rows_max: usize,
    pub bytes_max: usize,
}

impl Portion {
    /// At most `rows_max` rows, however large they are.
    pub const fn of_rows(rows_max: usize) -> Self {
        Self { rows_max, bytes_max: usize::MAX }
    }

    /// Whether these rows are all of it: a read that gives less has reached the end of the list.
    pub fn is_filled_by<'a>(&self, records: impl IntoIterator<Item = &'a Record>) -> bool {
        let mut filling = Filling::new(*self);
        records.into_iter().any(|record| filling.add(record.text_bytes()))
    }
}

impl Portion {
    /// What is left of it after these.
    pub(crate) fn without<'a>(self, records: impl Iterator<Item = &'a Record>) -> Self {
        records.fold(self, |rest, record| Self {
            rows_max: rest.rows_max.saturating_sub(1),
            bytes_max: rest.bytes_max.saturating_sub(record.text_bytes()),
        })
    }

    pub(crate) const fn is_over(self) -> bool {
        self.rows_max == 0 || self.bytes_max == 0
    }
}

/// A portion while it is read.
pub(crate) struct Filling {
    rows_left: usize,
    bytes_left: usize,
}

impl Filling {
    pub(crate) const fn new(portion: Portion) -> Self {
        Self { rows_left: portion.rows_max, bytes_left: portion.bytes_max }
    }

    /// Counts a row, and returns whether it was the last one.
    pub(crate) const fn add(&mut self, bytes: usize) -> bool {
        self.rows_left = self.rows_left.saturating_sub(1);
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
        self.rows_left == 0 || self.bytes_left == 0
    }
}

/// A record in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    pub record: Record,
    /// When it was forgotten, or ended with its workspace, if it did.
    pub forgotten_at: Option<Timestamp>,
    /// The record that took its place, if one did.
    pub superseded_by: Option<RecordId>,
}

pub(crate) fn read_seq_and_audience<R: Row>(
    row: &R,
    project: ProjectId,
    id: RecordId,
) -> Result<(Seq, Audience), StoreError> {
    let cells = Cells::new(row, "record", || format!("{project}/{id}"));
    Ok((Seq(cells.count(0, "seq")?), cells.audience(1, "audience")?))
}

/// Reads seq, id, workspace_no, audience, is_key_given, fact_key, content_hash, source_id, source_hash and valid_until.
pub(crate) fn read_summary<R: Row>(row: &R, project: ProjectId) -> Result<RecordSummary, StoreError> {
    read_brief_from(row, 0, project)
}

/// As [`read_summary`], from column `first` on.
pub(crate) fn read_brief_from<R: Row>(row: &R, first: usize, project: ProjectId) -> Result<RecordSummary, StoreError> {
    let seq = Seq(Cells::new(row, "record", || project.to_string()).count(first, "seq")?);
    let cells = Cells::new(row, "record", || format!("{project}/{seq}"));
    let is_given = cells.flag(first + 4, "is_key_given")?;
    Ok(RecordSummary {
        id: cells.id(first + 1, "id")?,
        seq,
        workspace_no: WorkspaceNo(cells.count(first + 2, "workspace_no")?),
        audience: cells.audience(first + 3, "audience")?,
        given_fact_key: is_given.then(|| cells.text(first + 5, "fact_key")).transpose()?,
        content_hash: cells.content_hash(first + 6, "content_hash")?,
        source_id: cells.text_opt(first + 7, "source_id")?,
        source_hash: cells.text_opt(first + 8, "source_hash")?,
        valid_until: cells.time_opt(first + 9, "valid_until")?,
    })
}

/// How many outdated idempotency keys of a project each new one removes: more than are added, so they can't pile up.
pub(crate) const OUTDATED_PER_KEY: i64 = 4;

/// An earlier use of an idempotency key.
#[derive(Clone)]
pub(crate) struct EarlierUse {
    pub(crate) is_same: bool,
    pub(crate) seq: Seq,
    pub(crate) was_duplicate: bool,
    pub(crate) answer: Option<String>,
}

impl EarlierUse {
    /// Reads arguments_hash, record_seq, was_duplicate and answer, from column `first` on.
    pub(crate) fn read<R: Row>(
        row: &R,
        first: usize,
        project: ProjectId,
        key: &Idempotency,
    ) -> Result<Self, StoreError> {
        let cells = Cells::new(row, "idempotency", || format!("{project}/{}/{}", key.member, key.key));
        Ok(Self {
            is_same: cells.bytes(first, "arguments_hash")? == key.arguments_hash,
            seq: Seq(cells.count(first + 1, "record_seq")?),
            was_duplicate: cells.flag(first + 2, "was_duplicate")?,
            answer: cells.text_opt(first + 3, "answer")?,
        })
    }
}

impl From<Stored> for Listed {
    fn from(stored: Stored) -> Self {
        Self { forgotten_at: stored.gone_at(), record: stored.record, superseded_by: stored.superseded_by }
    }
}
