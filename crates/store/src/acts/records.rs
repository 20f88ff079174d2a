//! Saving, reading, listing and forgetting records: the acts, their values, and the rules that both engines share.

use async_trait::async_trait;
use mnemon_core::{
    Audience, ContentHash, MemberId, NewRecord, ProjectId, Record, RecordId, Seq, Timestamp, Viewer, WorkspaceName,
    WorkspaceNo,
};

use super::AuditEntry;
use super::stored::Stored;
use crate::StoreError;
use crate::rows::{Cells, Row};

/// Saving, reading, listing and forgetting records.
#[async_trait]
pub trait Records: Send + Sync {
    /// Saves a record. Answers only when it is durable.
    ///
    /// In this order, inside one transaction: the idempotency key, the records to be superseded, the duplicate, the
    /// project's limit, the save, and the end of what it supersedes. All of it happens or nothing. A save
    /// with a `source_hash` makes that hash the newest known of its source for the record's audience. A duplicate takes
    /// a seq where it brings the record up to date or changes what is known of its source.
    async fn insert(&self, insert: Insert) -> Result<Inserted, StoreError>;

    /// Keeps what the first call with an idempotency key was answered, without any record text.
    async fn save_answer(
        &self,
        project: ProjectId,
        member: MemberId,
        key: &str,
        answer: String,
    ) -> Result<(), StoreError>;

    /// The living records at these places of the log, in the order asked for; others are left out.
    async fn load(&self, project: ProjectId, seqs: &[Seq]) -> Result<Vec<Record>, StoreError>;

    /// Where the living record with this id stands, and who may see it: one statement, whether there is such a record or not.
    async fn find_place(&self, project: ProjectId, id: RecordId) -> Result<Option<(Seq, Audience)>, StoreError>;

    /// The living record with this id.
    async fn find(&self, project: ProjectId, id: RecordId) -> Result<Option<Record>, StoreError>;

    /// The living records of a source, oldest first; of one active workspace, or of all.
    async fn list_by_source(
        &self,
        project: ProjectId,
        source_id: &str,
        workspace: Option<&WorkspaceName>,
    ) -> Result<Vec<Brief>, StoreError>;

    /// The living records that carry one of these caller-given keys in its workspace, oldest first.
    async fn list_by_fact_key(
        &self,
        project: ProjectId,
        keys: &[(WorkspaceNo, &str)],
    ) -> Result<Vec<Brief>, StoreError>;

    /// The active workspaces of a project, by name.
    async fn list_workspaces(&self, project: ProjectId) -> Result<Vec<WorkspaceRow>, StoreError>;

    /// Records of a project, newest first, those before a place of the log.
    async fn list_records(
        &self,
        project: ProjectId,
        filter: RecordFilter,
        before: Option<Seq>,
        rows_max: usize,
    ) -> Result<Vec<Listed>, StoreError>;

    /// A record, alive or forgotten, as long as its workspace's life goes on.
    async fn find_any(&self, project: ProjectId, id: RecordId) -> Result<Option<Listed>, StoreError>;

    /// Soft-deletes those of the records that are alive, and answers with their ids, oldest first. Leaves the audit row
    /// (with the count) if there was anything to forget. Answers only when it is durable.
    async fn forget(&self, project: ProjectId, seqs: &[Seq], audit: AuditEntry) -> Result<Vec<RecordId>, StoreError>;

    /// Brings a forgotten record back, if it was forgotten at or after `forgotten_since`, its workspace's life goes on
    /// and the project has room. `None` when there is no such record. The restored record keeps its place in the log;
    /// the restoring itself takes a seq.
    async fn restore(
        &self,
        project: ProjectId,
        id: RecordId,
        forgotten_since: Timestamp,
        records_max: Option<u64>,
        audit: AuditEntry,
    ) -> Result<Option<Record>, StoreError>;

    /// Ends the life of an active workspace and soft-deletes its records. Answers how many there were; `None` when
    /// there is no such active workspace. A later save brings the name back, empty, under a new number.
    async fn delete_workspace(
        &self,
        project: ProjectId,
        name: &WorkspaceName,
        audit: AuditEntry,
    ) -> Result<Option<u64>, StoreError>;
}

/// A save, with everything that has to be decided inside its transaction.
#[derive(Debug, Clone)]
pub struct Insert {
    /// The record.
    pub record: NewRecord,
    /// How many live records the project may have; decided inside, so concurrent saves never exceed it.
    pub records_max: Option<u64>,
    /// Makes a repeated save answer as the first one did.
    pub idempotency: Option<Idempotency>,
    pub supersede: Option<Supersede>,
}

/// Which records a save takes the place of. They are soft-deleted and know what replaced them. The save's own duplicate is
/// never among them: it is the record that takes their place.
#[derive(Debug, Clone)]
pub struct Supersede {
    /// Each of these must be alive and visible, in whichever workspace.
    pub ids: Vec<RecordId>,
    /// Also every living, visible record of the workspace that has the same caller-given key.
    pub same_key: bool,
    /// Who replaces: what it can't see does not exist.
    pub viewer: Viewer,
    /// Left with the count if there was anything to supersede; its subject becomes the record that takes the place.
    pub audit: AuditEntry,
}

impl Supersede {
    /// Those of the records under the same key that are superseded too.
    pub(crate) fn retain_seen(&self, under_key: &mut Vec<Brief>) {
        under_key.retain(|brief| self.viewer.sees(&brief.audience));
    }

    /// The audit row, about the record that takes the place.
    pub(crate) fn audit_of(&self, by: RecordId) -> AuditEntry {
        AuditEntry { subject: by.to_string(), ..self.audit.clone() }
    }

    /// The record with this id, unless it does not exist for the viewer.
    pub(crate) fn find_seen(&self, id: RecordId, found: Option<Brief>) -> Result<Brief, RecordId> {
        found.filter(|brief| self.viewer.sees(&brief.audience)).ok_or(id)
    }
}

/// Oldest first, each once, and without the record that takes their place.
pub(crate) fn to_supersede(mut briefs: Vec<Brief>, kept: Option<Seq>) -> Vec<Brief> {
    briefs.sort_unstable_by_key(|brief| brief.seq);
    briefs.dedup_by_key(|brief| brief.seq);
    briefs.retain(|brief| Some(brief.seq) != kept);
    briefs
}

/// An idempotency key with what it was used for. Keys are apart per member: one member's key never answers with
/// another's record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idempotency {
    /// Whose key it is.
    pub member: MemberId,
    /// The key.
    pub key: String,
    /// A hash of the arguments of the call.
    pub arguments_hash: [u8; 32],
    /// Rows made before this moment no longer count.
    pub valid_since: Timestamp,
}

/// What became of a save.
#[derive(Debug, Clone, PartialEq)]
pub enum Inserted {
    /// It was stored.
    New {
        /// Its place in the log.
        seq: Seq,
        /// The workspace it joined.
        workspace_no: WorkspaceNo,
        /// What it took the place of, oldest first.
        superseded: Vec<RecordId>,
    },
    /// An equal record is there already: same content, workspace, audience, `source` and `source_id`. Its hash,
    /// revision, confidence and end of validity were brought up to date where the save gave them.
    Duplicate {
        record: Box<Record>,
        /// What it took the place of, oldest first.
        superseded: Vec<RecordId>,
    },
    /// A record that was to be superseded does not exist for the viewer. Nothing was stored.
    NotFound(RecordId),
    /// The idempotency key was used before with the same arguments.
    Replayed(Box<Replay>),
    /// The idempotency key was used before with other arguments. Nothing was stored.
    KeyReused,
    /// The project is full. Nothing was stored.
    LimitReached,
}

/// What the first use of an idempotency key led to.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    /// The record as it is now, even if it was forgotten since. `None` after it was purged.
    pub record: Option<Record>,
    /// Whether the first save found a duplicate.
    pub was_duplicate: bool,
    /// What it took the place of and what was not restored since, oldest first.
    pub superseded: Vec<RecordId>,
    /// What [`crate::Records::save_answer`] kept, if the first call came that far.
    pub answer: Option<String>,
}

/// What is needed to judge a record without reading its text.
#[derive(Debug, Clone, PartialEq)]
pub struct Brief {
    /// The record's id.
    pub id: RecordId,
    /// Its place in the log.
    pub seq: Seq,
    /// The workspace it belongs to.
    pub workspace_no: WorkspaceNo,
    /// Who may see it.
    pub audience: Audience,
    /// Its fact key, only if the caller chose it.
    pub given_fact_key: Option<String>,
    /// A fingerprint of its text.
    pub content_hash: ContentHash,
    /// Its source.
    pub source_id: Option<String>,
    /// The source's hash when the fact was taken from it.
    pub source_hash: Option<String>,
    /// From this moment on it is stale.
    pub valid_until: Option<Timestamp>,
}

/// An active workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceRow {
    /// Names this life of it.
    pub no: WorkspaceNo,
    /// What people call it.
    pub name: WorkspaceName,
    /// When it came into being.
    pub created_at: Timestamp,
    /// Every audience that something was ever saved for in it.
    pub audiences: Vec<Audience>,
    /// How many living records there are for each audience.
    pub living: Vec<(Audience, u64)>,
}

/// Which records to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordFilter {
    /// Only of this active workspace.
    pub workspace: Option<WorkspaceName>,
    /// Only of this source.
    pub source_id: Option<String>,
    /// The forgotten ones instead of the living.
    pub is_forgotten: bool,
}

/// A record in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// The record.
    pub record: Record,
    /// When it was forgotten, if it was.
    pub forgotten_at: Option<Timestamp>,
    /// The record that took its place, if it was forgotten for that.
    pub superseded_by: Option<RecordId>,
}

/// Reads the seq, id, workspace, audience, key and sources of a record.
pub(crate) fn read_seq_and_audience<R: Row>(
    row: &R,
    project: ProjectId,
    id: RecordId,
) -> Result<(Seq, Audience), StoreError> {
    let cells = Cells::new(row, "record", || format!("{project}/{id}"));
    Ok((Seq(cells.count(0, "seq")?), cells.audience(1, "audience")?))
}

pub(crate) fn read_brief<R: Row>(row: &R, project: ProjectId) -> Result<Brief, StoreError> {
    let seq = Seq(Cells::new(row, "record", || project.to_string()).count(0, "seq")?);
    let cells = Cells::new(row, "record", || format!("{project}/{seq}"));
    let given_fact_key = if cells.flag(4, "is_key_given")? { Some(cells.text(5, "fact_key")?) } else { None };
    Ok(Brief {
        id: cells.id(1, "id")?,
        seq,
        workspace_no: WorkspaceNo(cells.count(2, "workspace_no")?),
        audience: cells.audience(3, "audience")?,
        given_fact_key,
        content_hash: cells.content_hash(6, "content_hash")?,
        source_id: cells.text_opt(7, "source_id")?,
        source_hash: cells.text_opt(8, "source_hash")?,
        valid_until: cells.time_opt(9, "valid_until")?,
    })
}

/// An earlier use of an idempotency key.
pub(crate) struct EarlierUse {
    pub(crate) is_same: bool,
    pub(crate) seq: Seq,
    pub(crate) was_duplicate: bool,
    pub(crate) answer: Option<String>,
}

impl EarlierUse {
    /// Reads arguments_hash, record_seq, was_duplicate and answer.
    pub(crate) fn read<R: Row>(row: &R, project: ProjectId, key: &Idempotency) -> Result<Self, StoreError> {
        let cells = Cells::new(row, "idempotency", || format!("{project}/{}/{}", key.member, key.key));
        Ok(Self {
            is_same: cells.bytes(0, "arguments_hash")? == key.arguments_hash,
            seq: Seq(cells.count(1, "record_seq")?),
            was_duplicate: cells.flag(2, "was_duplicate")?,
            answer: cells.text_opt(3, "answer")?,
        })
    }
}

impl From<Stored> for Listed {
    fn from(stored: Stored) -> Self {
        Self { record: stored.record, forgotten_at: stored.forgotten_at, superseded_by: stored.superseded_by }
    }
}
