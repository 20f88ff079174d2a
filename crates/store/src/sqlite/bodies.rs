//! Reads whole records, with the names of the people and places in them.

use mnemon_core::{AccountId, DepartmentId, MemberId, ProjectId, Record, Seq, Timestamp, WorkspaceName, WorkspaceNo};
use rusqlite::{Connection, OptionalExtension};

use super::rows::{Cells, integer};
use crate::StoreError;
use crate::interface::stored::{Names, Stored};

/// Reads records of one project. A name is looked up once, however many of the records use it: most of an answer comes
/// from one workspace and few authors, and a join would look up all of them for each row.
pub(super) struct Bodies<'c> {
    conn: &'c Connection,
    project: ProjectId,
    account: Option<AccountId>,
    workspaces: Vec<(WorkspaceNo, WorkspaceName, Option<Timestamp>)>,
    members: Vec<(MemberId, Option<String>)>,
    departments: Vec<(DepartmentId, Option<String>)>,
}

impl<'c> Bodies<'c> {
    pub(super) fn new(conn: &'c Connection, project: ProjectId) -> Self {
        Self { conn, project, account: None, workspaces: Vec::new(), members: Vec::new(), departments: Vec::new() }
    }

    /// The record at a log position, live or not.
    pub(super) fn find(&mut self, seq: Seq) -> Result<Option<Stored>, StoreError> {
        const SELECT: &str = "
            SELECT seq, id, workspace_no, audience, author_id, department_id, is_key_given, confidence, valid_until,
                created_at, updated_at, fact_key, source, source_id, source_hash, source_revision, content, checksum,
                is_cautioned, tags, occurred_at, forgotten_at, superseded_by
            FROM record
            WHERE project_id = ?1 AND seq = ?2";
        let mut statement = self.conn.prepare_cached(SELECT)?;
        let mut rows = statement.query((self.project.to_bytes(), integer(seq.0)))?;
        let Some(row) = rows.next()? else { return Ok(None) };
        Stored::read(row, self.project, |record, department| self.names(record, department)).map(Some)
    }

    /// The live record at a log position.
    pub(super) fn find_living(&mut self, seq: Seq) -> Result<Option<Record>, StoreError> {
        Ok(self.find(seq)?.filter(Stored::is_alive).map(|stored| stored.record))
    }

    fn names(&mut self, record: &Record, department: Option<DepartmentId>) -> Result<Names, StoreError> {
        let (workspace, ended_at) = self.workspace(record.workspace_no)?;
        let author = self.member_name(record.author)?;
        let department = department.map(|id| self.department_name(id)).transpose()?.flatten();
        Ok(Names { workspace, ended_at, author, department })
    }

    /// The workspace's name, and when its life ended.
    fn workspace(&mut self, no: WorkspaceNo) -> Result<(WorkspaceName, Option<Timestamp>), StoreError> {
        const SELECT: &str = "SELECT name, deleted_at FROM workspace WHERE project_id = ?1 AND no = ?2";
        if let Some((_, name, ended_at)) = self.workspaces.iter().find(|known| known.0 == no) {
            return Ok((name.clone(), *ended_at));
        }
        let broken =
            || StoreError::Broken { table: "workspace", column: "no", row: format!("{}/{}", self.project, no.0) };
        let mut statement = self.conn.prepare_cached(SELECT)?;
        let mut rows = statement.query((self.project.to_bytes(), integer(no.0)))?;
        let row = rows.next()?.ok_or_else(broken)?;
        let cells = Cells::new(row, "workspace", || format!("{}/{}", self.project, no.0));
        let (name, ended_at) = (cells.workspace_name(0, "name")?, cells.time_opt(1, "deleted_at")?);
        self.workspaces.push((no, name.clone(), ended_at));
        Ok((name, ended_at))
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
