//! Reading whole records, with the names of the people and places in them.

use mnemon_core::{
    DepartmentId, FactKey, MemberId, ProjectId, Record, RecordId, Seq, Timestamp, WorkspaceName, WorkspaceNo,
};
use tokio_postgres::Row;

use super::error::Fault;
use super::rows::{Cells, integer};
use super::transaction::Tx;
use crate::{StoreError, checksum};

/// The records at some places of the log, whatever became of them. Needs the people of the project's account opened.
pub(super) const BY_SEQ: &str = "
    SELECT r.seq, r.id, r.workspace_no, r.audience, r.author_id, r.department_id, r.is_key_given, r.confidence,
        r.valid_until, r.created_at, r.updated_at, r.forgotten_at, r.fact_key, r.source, r.source_id, r.source_hash,
        r.source_revision, r.content, r.checksum, w.name, w.deleted_at IS NULL, m.name, d.name
    FROM record r
    LEFT JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
    LEFT JOIN project p ON p.id = r.project_id
    LEFT JOIN member m ON m.account_id = p.account_id AND m.id = r.author_id
    LEFT JOIN department d ON d.account_id = p.account_id AND d.id = r.department_id
    WHERE r.project_id = $1 AND r.seq = ANY($2)";

/// The record with an id, whatever became of it.
pub(super) const BY_ID: &str = "
    SELECT r.seq, r.id, r.workspace_no, r.audience, r.author_id, r.department_id, r.is_key_given, r.confidence,
        r.valid_until, r.created_at, r.updated_at, r.forgotten_at, r.fact_key, r.source, r.source_id, r.source_hash,
        r.source_revision, r.content, r.checksum, w.name, w.deleted_at IS NULL, m.name, d.name
    FROM record r
    LEFT JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
    LEFT JOIN project p ON p.id = r.project_id
    LEFT JOIN member m ON m.account_id = p.account_id AND m.id = r.author_id
    LEFT JOIN department d ON d.account_id = p.account_id AND d.id = r.department_id
    WHERE r.project_id = $1 AND r.id = $2";

/// A record as it lies in storage, alive or not.
pub(super) struct Stored {
    pub(super) record: Record,
    pub(super) department: Option<DepartmentId>,
    pub(super) checksum: i64,
    pub(super) forgotten_at: Option<Timestamp>,
    /// Whether the life of its workspace goes on.
    pub(super) is_within_reach: bool,
}

impl Stored {
    pub(super) fn is_alive(&self) -> bool {
        self.is_within_reach && self.forgotten_at.is_none()
    }

    pub(super) fn read(row: &Row, project: ProjectId) -> Result<Self, StoreError> {
        let seq = Seq(Cells::new(row, "record", || project.to_string()).count(0, "seq")?);
        let cells = Cells::new(row, "record", || format!("{project}/{seq}"));
        let department = cells.uuid_opt(5, "department_id")?.map(DepartmentId::new);
        let mut record = Record {
            id: RecordId::new(cells.uuid(1, "id")?),
            seq,
            workspace_no: WorkspaceNo(cells.count(2, "workspace_no")?),
            workspace: WorkspaceName::default(),
            audience: cells.audience(3, "audience")?,
            author: MemberId::new(cells.uuid(4, "author_id")?),
            author_name: cells.text_opt(21, "name")?,
            department_name: cells.text_opt(22, "name")?,
            fact_key: FactKey { text: cells.text(12, "fact_key")?, is_given: cells.flag(6, "is_key_given")? },
            confidence: cells.real_opt(7, "confidence")?,
            valid_until: cells.time_opt(8, "valid_until")?,
            created_at: cells.time(9, "created_at")?,
            updated_at: cells.time(10, "updated_at")?,
            source: cells.text_opt(13, "source")?,
            source_id: cells.text_opt(14, "source_id")?,
            source_hash: cells.text_opt(15, "source_hash")?,
            source_revision: cells.text_opt(16, "source_revision")?,
            content: cells.text(17, "content")?,
        };
        let checksum = cells.integer(18, "checksum")?;
        if checksum::of_shown(project, &record, department) != checksum::shown_half(checksum) {
            return Err(cells.broken("checksum"));
        }
        let row_of_workspace = || format!("{project}/{}", record.workspace_no.0);
        let place = Cells::new(row, "workspace", row_of_workspace);
        let name = place.word_opt(19, "name", |name| WorkspaceName::parse(name).ok())?;
        let name = name.ok_or_else(|| place.broken("no"))?;
        let is_within_reach = place.flag(20, "deleted_at")?;
        record.workspace = name;
        let forgotten_at = cells.time_opt(11, "forgotten_at")?;
        Ok(Self { record, department, checksum, forgotten_at, is_within_reach })
    }
}

/// The record at a place of the log, whatever became of it.
pub(super) async fn find(tx: &Tx, project: ProjectId, seq: Seq) -> Result<Option<Stored>, Fault> {
    let row = tx.row(BY_SEQ, &[&project.uuid(), &vec![integer(seq.0)]]).await?;
    Ok(row.map(|row| Stored::read(&row, project)).transpose()?)
}

/// The record with an id, whatever became of it.
pub(super) async fn find_by_id(tx: &Tx, project: ProjectId, id: RecordId) -> Result<Option<Stored>, Fault> {
    let row = tx.row(BY_ID, &[&project.uuid(), &id.uuid()]).await?;
    Ok(row.map(|row| Stored::read(&row, project)).transpose()?)
}
