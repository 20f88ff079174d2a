//! Saving, reading, listing and forgetting records: the acts, their values, and the rules that both engines share.

use async_trait::async_trait;
use mnemon_core::{
    Audience, ContentHash, Fact, FactKey, MemberId, NewRecord, ProjectId, Record, RecordId, Scope, Seq, Timestamp,
    Viewer, WorkspaceName, WorkspaceNo,
};

use super::lists::{DeletedWorkspace, Listed, Portion, RecordFilter, RestoredWorkspace, Stretch, WorkspaceRow};
use super::stored::{BY_ID, read_stored};
use super::summaries::{AFTER_SOURCE, BY_SOURCE, RecordSummary, read_summary};
use super::{AtLeast, AuditEntry, SourcePart};
use super::{listing, workspaces};
use crate::StoreError;
use crate::encoding::AudienceBytes;
use crate::rows::{Cells, Row};
use crate::statement::{Cell, Sql, statement};
use crate::tenant::Tenant;

/// Saves, reads, lists and forgets records.
#[async_trait]
pub trait Records: Sql {
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
    ) -> Result<(), StoreError> {
        const UPDATE: &str = "
            UPDATE idempotency
            SET answer = $4
            WHERE project_id = $1 AND member_id = $2 AND key = $3 AND answer IS NULL";
        self.write(Tenant::project(project), statement!(UPDATE, project, member, key, answer)).await.map(|_| ())
    }

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
    async fn find_place(&self, project: ProjectId, id: RecordId) -> Result<Option<(Seq, Audience)>, StoreError> {
        const SELECT: &str = "
            SELECT r.seq, r.audience
            FROM record r
            JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
            WHERE r.project_id = $1 AND r.id = $2 AND r.forgotten_at IS NULL AND w.deleted_at IS NULL";
        let row = self.select_one(Tenant::project(project), statement!(SELECT, project, id.uuid())).await?;
        row.map(|row| read_seq_and_audience(&row, project, id)).transpose()
    }

    /// The newest live records of a project that say the same, with who may see them.
    async fn list_saying(
        &self,
        project: ProjectId,
        content: ContentHash,
    ) -> Result<Vec<(RecordId, Audience)>, StoreError> {
        const SELECT: &str = "
            SELECT r.id, r.audience
            FROM workspace w
            JOIN record r ON r.project_id = w.project_id AND r.workspace_no = w.no
            WHERE w.project_id = $1 AND w.deleted_at IS NULL AND r.content_hash = $2 AND r.forgotten_at IS NULL
            ORDER BY r.seq DESC
            LIMIT 20";
        let rows = self.select(Tenant::project(project), statement!(SELECT, project, &content)).await?;
        rows.iter().map(|row| read_id_and_audience(row, project)).collect()
    }

    /// Whether a save would only repeat a live record.
    async fn is_repeated(&self, record: &NewRecord) -> Result<bool, StoreError> {
        const SELECT: &str = "
            SELECT r.seq
            FROM record r
            JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
            WHERE r.project_id = $1 AND w.name = $2 AND w.deleted_at IS NULL AND r.content_hash = $3
                AND r.forgotten_at IS NULL AND r.audience = $4
                AND r.source IS NOT DISTINCT FROM $5 AND r.source_id IS NOT DISTINCT FROM $6
            LIMIT 1";
        let hash = ContentHash::of(&record.fact.content).as_bytes().to_vec();
        let (audience, fact) = (AudienceBytes::of(record.audience), &record.fact);
        let (source, source_id) = (fact.source.as_ref(), fact.source_id.as_ref());
        let name = record.workspace.as_str();
        let statement = statement!(SELECT, record.project, name, &hash, audience, source, source_id);
        Ok(self.select_one(Tenant::project(record.project), statement).await?.is_some())
    }

    /// The positions of those of the records that are live, each once, oldest first.
    async fn find_places(&self, project: ProjectId, ids: &[RecordId]) -> Result<Vec<Seq>, StoreError> {
        const SELECT: &str = "
            SELECT r.seq
            FROM record r
            JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
            WHERE r.project_id = $1 AND r.id = ANY($2) AND r.forgotten_at IS NULL AND w.deleted_at IS NULL
            ORDER BY r.seq";
        let select = statement!(SELECT, project, Cell::list(ids.iter().copied()));
        let rows = self.select_few(Tenant::project(project), select).await?;
        rows.iter().map(|row| Cells::new(row, "record", || project.to_string()).count(0, "seq").map(Seq)).collect()
    }

    /// The live record with this id.
    async fn find(&self, project: ProjectId, id: RecordId) -> Result<Option<Record>, StoreError> {
        Ok(self.find_any(project, id).await?.filter(|listed| listed.forgotten_at.is_none()).map(|listed| listed.record))
    }

    /// The live records of a source, oldest first, in one active workspace or in all of them.
    async fn list_by_source(
        &self,
        project: ProjectId,
        source_id: &str,
        workspace: Option<&WorkspaceName>,
    ) -> Result<Vec<RecordSummary>, StoreError> {
        let select = statement!(BY_SOURCE, project, source_id, workspace.map(WorkspaceName::as_str));
        let rows = self.select(Tenant::project(project), select).await?;
        rows.iter().map(|row| read_summary(row, project)).collect()
    }

    /// The live records of the next sources after this one, by source and oldest first. At most `sources_max` sources
    /// are taken; the last one is complete.
    async fn list_after_source(
        &self,
        project: ProjectId,
        after: Option<&str>,
        sources_max: usize,
    ) -> Result<Vec<RecordSummary>, StoreError> {
        let select = statement!(AFTER_SOURCE, project, after.unwrap_or_default(), sources_max);
        let rows = self.select(Tenant::project(project), select).await?;
        rows.iter().map(|row| read_summary(row, project)).collect()
    }

    /// What the status of records depends on beside themselves.
    async fn find_standing(&self, project: ProjectId, bases: &[Basis<'_>]) -> Result<Standing, StoreError>;

    /// As [`Self::list_by_source`], with what the status of these records depends on.
    async fn list_with_standing(
        &self,
        project: ProjectId,
        source_id: &str,
        workspace: Option<&WorkspaceName>,
    ) -> Result<(Vec<RecordSummary>, Standing), StoreError> {
        let records = self.list_by_source(project, source_id, workspace).await?;
        let bases: Vec<Basis<'_>> = records.iter().map(Basis::of_summary).collect();
        let standing = self.find_standing(project, &bases).await?;
        Ok((records, standing))
    }

    /// The live records with one of these caller-given keys in its workspace, oldest first.
    async fn list_by_fact_key(
        &self,
        project: ProjectId,
        keys: &[(WorkspaceNo, &str)],
    ) -> Result<Vec<RecordSummary>, StoreError> {
        let basis = |workspace_no, key| Basis { workspace_no, given_key: Some(key), source_id: None };
        let bases: Vec<Basis<'_>> = keys.iter().map(|(no, key)| basis(*no, *key)).collect();
        Ok(self.find_standing(project, &bases).await?.under_key)
    }

    /// The active workspaces of a project, by name.
    async fn list_workspaces(&self, project: ProjectId) -> Result<Vec<WorkspaceRow>, StoreError> {
        let answers = self.select_together(Tenant::project(project), workspaces::list_active(project)).await?;
        let [workspaces, audiences] = answers.as_slice() else { return Ok(Vec::new()) };
        workspaces::read_workspaces(project, workspaces, audiences)
    }

    /// Records of a project before a position in the log, newest first.
    async fn list_records(
        &self,
        project: ProjectId,
        filter: RecordFilter,
        before: Option<Seq>,
        portion: Portion,
    ) -> Result<Vec<Listed>, StoreError> {
        listing::list_records(self, project, &filter, before, portion).await
    }

    /// The first records of a stretch of a project's live ones, oldest first.
    async fn list_onward(
        &self,
        project: ProjectId,
        stretch: Stretch,
        portion: Portion,
    ) -> Result<Vec<Record>, StoreError> {
        listing::list_onward(self, project, &stretch, portion).await
    }

    /// A record, live or not.
    async fn find_any(&self, project: ProjectId, id: RecordId) -> Result<Option<Listed>, StoreError> {
        let row = self.select_one(Tenant::project_and_people(project), statement!(BY_ID, project, id)).await?;
        let stored = row.map(|row| read_stored(&row, project)).transpose();
        Ok(self.damaged().leave_out(stored)?.map(Listed::from))
    }

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
    ) -> Result<Vec<DeletedWorkspace>, StoreError> {
        let answers = self.select_together(Tenant::project(project), workspaces::list_deleted(project, since)).await?;
        workspaces::read_deleted(project, &answers)
    }

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

/// What leads to the standing of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Basis<'a> {
    pub workspace_no: WorkspaceNo,
    pub given_key: Option<&'a str>,
    pub source_id: Option<&'a str>,
}

impl<'a> Basis<'a> {
    pub(crate) fn of(workspace_no: WorkspaceNo, key: &'a FactKey, fact: &'a Fact) -> Self {
        Self { workspace_no, given_key: key.chosen(), source_id: fact.source_id.as_deref() }
    }

    fn of_summary(summary: &'a RecordSummary) -> Self {
        let (given_key, source_id) = (summary.given_fact_key.as_deref(), summary.source_id.as_deref());
        Self { workspace_no: summary.workspace_no, given_key, source_id }
    }

    /// Whether the status depends on nothing but the record itself.
    pub fn is_nothing(&self) -> bool {
        self.given_key.is_none() && self.source_id.is_none()
    }
}

/// What the status of records depends on beside themselves, for every audience: the reader filters.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Standing {
    /// The live records under their caller-given keys in their workspaces, they among them, oldest first.
    pub under_key: Vec<RecordSummary>,
    /// What is known about the sources of all of these.
    pub sources: Vec<SourcePart>,
}

/// Reads id and audience.
pub(crate) fn read_id_and_audience<R: Row>(row: &R, project: ProjectId) -> Result<(RecordId, Audience), StoreError> {
    let cells = Cells::new(row, "record", || project.to_string());
    Ok((cells.id(0, "id")?, cells.audience(1, "audience")?))
}

fn read_seq_and_audience<R: Row>(row: &R, project: ProjectId, id: RecordId) -> Result<(Seq, Audience), StoreError> {
    let cells = Cells::new(row, "record", || format!("{project}/{id}"));
    Ok((Seq(cells.count(0, "seq")?), cells.audience(1, "audience")?))
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
