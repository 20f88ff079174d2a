//! Reading whole records, with the names of the people and places in them.

use mnemon_core::{
    AccountId, DepartmentId, FactKey, MemberId, ProjectId, Record, RecordId, Seq, Timestamp, WorkspaceName, WorkspaceNo,
};
use rusqlite::{Connection, OptionalExtension, Row};

use super::rows::{Cells, integer};
use crate::{StoreError, checksum};

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
}

/// Reads records of one project. A name is looked up once, however many of the records carry it: most of an answer comes
/// from one workspace and few authors, and a join would look all of them up for each row.
pub(super) struct Bodies<'c> {
    conn: &'c Connection,
    project: ProjectId,
    account: Option<AccountId>,
    workspaces: Vec<(WorkspaceNo, WorkspaceName, bool)>,
    members: Vec<(MemberId, Option<String>)>,
    departments: Vec<(DepartmentId, Option<String>)>,
}

impl<'c> Bodies<'c> {
    pub(super) fn new(conn: &'c Connection, project: ProjectId) -> Self {
        Self { conn, project, account: None, workspaces: Vec::new(), members: Vec::new(), departments: Vec::new() }
    }

    /// The record at a place of the log, whatever became of it.
    pub(super) fn find(&mut self, seq: Seq) -> Result<Option<Stored>, StoreError> {
        const SELECT: &str = "
            SELECT id, workspace_no, audience, author_id, department_id, is_key_given, confidence, valid_until,
                created_at, updated_at, forgotten_at, fact_key, source, source_id, source_hash, source_revision, content,
                checksum
            FROM record
            WHERE project_id = ?1 AND seq = ?2";
        let mut statement = self.conn.prepare_cached(SELECT)?;
        let mut rows = statement.query((self.project.to_bytes(), integer(seq.0)))?;
        match rows.next()? {
            Some(row) => self.read(row, seq).map(Some),
            None => Ok(None),
        }
    }

    /// The living record at a place of the log.
    pub(super) fn find_living(&mut self, seq: Seq) -> Result<Option<Record>, StoreError> {
        Ok(self.find(seq)?.filter(Stored::is_alive).map(|stored| stored.record))
    }

    fn read(&mut self, row: &Row<'_>, seq: Seq) -> Result<Stored, StoreError> {
        let cells = Cells::new(row, "record", || format!("{}/{seq}", self.project));
        let workspace_no = WorkspaceNo(cells.count(1, "workspace_no")?);
        let author = MemberId::from_bytes(cells.bytes(3, "author_id")?);
        let department = cells.bytes_opt(4, "department_id")?.map(DepartmentId::from_bytes);
        let forgotten_at = cells.time_opt(10, "forgotten_at")?;
        let mut record = Record {
            id: RecordId::from_bytes(cells.bytes(0, "id")?),
            seq,
            workspace_no,
            workspace: WorkspaceName::default(),
            audience: cells.audience(2, "audience")?,
            author,
            author_name: None,
            department_name: None,
            fact_key: FactKey { text: cells.text(11, "fact_key")?, is_given: cells.flag(5, "is_key_given")? },
            confidence: cells.real_opt(6, "confidence")?,
            valid_until: cells.time_opt(7, "valid_until")?,
            created_at: cells.time(8, "created_at")?,
            updated_at: cells.time(9, "updated_at")?,
            source: cells.text_opt(12, "source")?,
            source_id: cells.text_opt(13, "source_id")?,
            source_hash: cells.text_opt(14, "source_hash")?,
            source_revision: cells.text_opt(15, "source_revision")?,
            content: cells.text(16, "content")?,
        };
        let checksum = cells.integer(17, "checksum")?;
        if checksum::of_shown(self.project, &record, department) != checksum::shown_half(checksum) {
            return Err(cells.broken("checksum"));
        }
        let (workspace, is_within_reach) = self.workspace(workspace_no)?;
        record.workspace = workspace;
        record.author_name = self.member_name(author)?;
        record.department_name = department.map(|id| self.department_name(id)).transpose()?.flatten();
        Ok(Stored { record, department, checksum, forgotten_at, is_within_reach })
    }

    /// The workspace's name, and whether this life of it goes on.
    fn workspace(&mut self, no: WorkspaceNo) -> Result<(WorkspaceName, bool), StoreError> {
        const SELECT: &str = "SELECT name, deleted_at IS NULL FROM workspace WHERE project_id = ?1 AND no = ?2";
        if let Some((_, name, is_active)) = self.workspaces.iter().find(|known| known.0 == no) {
            return Ok((name.clone(), *is_active));
        }
        let broken =
            || StoreError::Broken { table: "workspace", column: "no", row: format!("{}/{}", self.project, no.0) };
        let mut statement = self.conn.prepare_cached(SELECT)?;
        let mut rows = statement.query((self.project.to_bytes(), integer(no.0)))?;
        let row = rows.next()?.ok_or_else(broken)?;
        let cells = Cells::new(row, "workspace", || format!("{}/{}", self.project, no.0));
        let (name, is_active) = (cells.workspace_name(0, "name")?, cells.flag(1, "deleted_at")?);
        self.workspaces.push((no, name.clone(), is_active));
        Ok((name, is_active))
    }

    fn member_name(&mut self, id: MemberId) -> Result<Option<String>, StoreError> {
        const SELECT: &str = "SELECT name FROM member WHERE account_id = ?1 AND id = ?2";
        if let Some((_, name)) = self.members.iter().find(|known| known.0 == id) {
            return Ok(name.clone());
        }
        let name = self.name(SELECT, id.to_bytes())?;
        self.members.push((id, name.clone()));
        Ok(name)
    }

    fn department_name(&mut self, id: DepartmentId) -> Result<Option<String>, StoreError> {
        const SELECT: &str = "SELECT name FROM department WHERE account_id = ?1 AND id = ?2";
        if let Some((_, name)) = self.departments.iter().find(|known| known.0 == id) {
            return Ok(name.clone());
        }
        let name = self.name(SELECT, id.to_bytes())?;
        self.departments.push((id, name.clone()));
        Ok(name)
    }

    fn name(&mut self, select: &'static str, id: [u8; 16]) -> Result<Option<String>, StoreError> {
        let account = self.account()?;
        let mut statement = self.conn.prepare_cached(select)?;
        Ok(statement.query_row((account.to_bytes(), id), |row| row.get(0)).optional()?)
    }

    fn account(&mut self) -> Result<AccountId, StoreError> {
        const SELECT: &str = "SELECT account_id FROM project WHERE id = ?1";
        if let Some(account) = self.account {
            return Ok(account);
        }
        let bytes: [u8; 16] =
            self.conn.prepare_cached(SELECT)?.query_row([self.project.to_bytes()], |row| row.get(0))?;
        Ok(*self.account.insert(AccountId::from_bytes(bytes)))
    }
}

/// The place of the record with this id in the log.
pub(super) fn find_seq(conn: &Connection, project: ProjectId, id: RecordId) -> Result<Option<Seq>, StoreError> {
    const SELECT: &str = "SELECT seq FROM record WHERE project_id = ?1 AND id = ?2";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((project.to_bytes(), id.to_bytes()))?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(Seq(Cells::new(row, "record", || id.to_string()).count(0, "seq")?)))
}
