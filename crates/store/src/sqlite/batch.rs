//! What an act sees while it runs inside the writer: the open transaction, and the projects of this and earlier
//! batches.
//!
//! A project's seq and count change in memory and are written once per batch. That is sound because only the writer
//! ever changes them, and because a rollback discards all of this.

use std::collections::{HashMap, HashSet};

use mnemon_core::{Audience, MemberId, ProjectId, Seq, Timestamp, WorkspaceName, WorkspaceNo};
use rusqlite::{Connection, OptionalExtension};

use super::memory::Memory;
use super::rows::{AudienceBytes, Cells, integer, micros};
use crate::StoreError;

/// How many projects, workspaces and audiences are kept between batches.
const ENTRIES_MAX: usize = 100_000;

/// One act's view of its batch.
pub(super) struct Tx<'a> {
    pub(super) conn: &'a Connection,
    pub(super) projects: &'a mut Projects,
}

/// The projects as they are after the acts so far.
#[derive(Default)]
pub(super) struct Projects {
    known: HashMap<ProjectId, ProjectState>,
    changed: Vec<ProjectId>,
    has_new_people: bool,
    has_purged: bool,
    entries: usize,
}

/// One project, with the workspaces that were touched.
pub(super) struct ProjectState {
    pub(super) seq: u64,
    pub(super) live_records: u64,
    is_changed: bool,
    is_deleted: bool,
    workspaces: HashMap<WorkspaceName, WorkspaceNo>,
    audiences: HashSet<(WorkspaceNo, Audience)>,
    authors: HashSet<MemberId>,
}

impl Tx<'_> {
    /// The project; its absence is a fault of the caller, which has it from a credential.
    pub(super) fn project(&mut self, id: ProjectId) -> Result<&mut ProjectState, StoreError> {
        if !self.projects.known.contains_key(&id) {
            let state = load_project(self.conn, id)?.ok_or_else(|| StoreError::no_project(id))?;
            self.projects.known.insert(id, state);
            self.projects.entries += 1;
        }
        let known = self.projects.known.get_mut(&id).filter(|project| !project.is_deleted);
        known.ok_or_else(|| StoreError::no_project(id))
    }

    /// Takes the next position of the project's log.
    pub(super) fn take_seq(&mut self, id: ProjectId) -> Result<Seq, StoreError> {
        let project = self.project(id)?;
        project.seq += 1;
        let seq = Seq(project.seq);
        let is_first_change = !std::mem::replace(&mut project.is_changed, true);
        if is_first_change {
            self.projects.changed.push(id);
        }
        Ok(seq)
    }

    /// The active workspace of this name.
    pub(super) fn find_workspace(
        &mut self,
        project: ProjectId,
        name: &WorkspaceName,
    ) -> Result<Option<WorkspaceNo>, StoreError> {
        if let Some(no) = self.project(project)?.workspaces.get(name) {
            return Ok(Some(*no));
        }
        let found = find_living(self.conn, project, name)?;
        if let Some(no) = found {
            self.know_workspace(project, name, no)?;
        }
        Ok(found)
    }

    /// How many active workspaces the project has.
    pub(super) fn count_workspaces(&self, project: ProjectId) -> Result<u64, StoreError> {
        const COUNT: &str = "SELECT count(*) FROM workspace WHERE project_id = ?1 AND deleted_at IS NULL";
        let count: i64 = self.conn.prepare_cached(COUNT)?.query_row([project.to_bytes()], |row| row.get(0))?;
        Ok(count.unsigned_abs())
    }

    /// Creates a workspace under the number of the save that creates it.
    pub(super) fn insert_workspace(
        &mut self,
        project: ProjectId,
        name: &WorkspaceName,
        no: WorkspaceNo,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        const INSERT: &str = "
            INSERT INTO workspace (project_id, no, created_at, deleted_at, name)
            VALUES (?1, ?2, ?3, NULL, ?4)";
        let values = (project.to_bytes(), integer(no.0), micros(at), name.as_str());
        self.conn.prepare_cached(INSERT)?.execute(values)?;
        self.know_workspace(project, name, no)
    }

    /// Makes sure that an author still exists: a call admitted before its member left must save nothing afterwards.
    pub(super) fn check_author(&mut self, project: ProjectId, author: MemberId) -> Result<(), StoreError> {
        const SELECT: &str = "
            SELECT 1
            FROM project p
            JOIN member m ON m.account_id = p.account_id AND m.id = ?2
            WHERE p.id = ?1";
        if self.project(project)?.authors.contains(&author) {
            return Ok(());
        }
        let values = (project.to_bytes(), author.to_bytes());
        let found = self.conn.prepare_cached(SELECT)?.query_row(values, |_| Ok(())).optional()?;
        found.ok_or_else(|| StoreError::Failed(format!("no member {author}")))?;
        self.project(project)?.authors.insert(author);
        self.projects.entries += 1;
        Ok(())
    }

    /// Records that something was saved for this audience in the workspace.
    pub(super) fn note_audience(
        &mut self,
        project: ProjectId,
        no: WorkspaceNo,
        audience: Audience,
    ) -> Result<(), StoreError> {
        const INSERT: &str = "
            INSERT INTO workspace_audience (project_id, workspace_no, audience)
            VALUES (?1, ?2, ?3)
            ON CONFLICT DO NOTHING";
        if self.project(project)?.audiences.contains(&(no, audience)) {
            return Ok(());
        }
        let bytes = AudienceBytes::of(audience);
        self.conn.prepare_cached(INSERT)?.execute((project.to_bytes(), integer(no.0), bytes.as_slice()))?;
        self.project(project)?.audiences.insert((no, audience));
        self.projects.entries += 1;
        Ok(())
    }

    /// Says that this act purged something, so that the WAL must not keep it either.
    pub(super) fn touch_purged(&mut self) {
        self.projects.has_purged = true;
    }

    /// Says that this act changed what credentials depend on.
    pub(super) fn touch_people(&mut self) {
        self.projects.has_new_people = true;
    }

    fn know_workspace(&mut self, project: ProjectId, name: &WorkspaceName, no: WorkspaceNo) -> Result<(), StoreError> {
        self.project(project)?.workspaces.insert(name.clone(), no);
        self.projects.entries += 1;
        Ok(())
    }
}

impl Projects {
    /// Drops what is kept of a project beside its row: later acts read it again. In a deleted one they find nothing.
    pub(super) fn renew(&mut self, id: ProjectId, is_deleted: bool) {
        if let Some(project) = self.known.get_mut(&id) {
            project.is_deleted = is_deleted;
            project.workspaces.clear();
            project.audiences.clear();
            project.authors.clear();
        }
    }

    /// Writes the changes, as the last step before the commit.
    pub(super) fn flush(&self, conn: &Connection) -> Result<(), StoreError> {
        const UPDATE: &str = "UPDATE project SET seq = ?2, live_records = ?3 WHERE id = ?1";
        for id in &self.changed {
            if let Some(state) = self.known.get(id) {
                let values = (id.to_bytes(), integer(state.seq), integer(state.live_records));
                conn.prepare_cached(UPDATE)?.execute(values)?;
            }
        }
        Ok(())
    }

    /// Whether something was purged since the last call.
    pub(super) fn take_purged(&mut self) -> bool {
        std::mem::take(&mut self.has_purged)
    }

    /// Makes what was committed visible to readers. Comes after the commit and before the first answer.
    pub(super) fn publish(&mut self, memory: &Memory) {
        for id in self.changed.drain(..) {
            if let Some(state) = self.known.get_mut(&id) {
                state.is_changed = false;
                memory.seqs.raise(id, Seq(state.seq));
            }
        }
        if std::mem::take(&mut self.has_new_people) {
            memory.credentials.forget_all();
        }
        if self.entries > ENTRIES_MAX {
            *self = Self::default();
        }
    }
}

fn load_project(conn: &Connection, id: ProjectId) -> Result<Option<ProjectState>, StoreError> {
    const SELECT: &str = "SELECT seq, live_records FROM project WHERE id = ?1 AND deleted_at IS NULL";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([id.to_bytes()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let cells = Cells::new(row, "project", || id.to_string());
    Ok(Some(ProjectState {
        seq: cells.count(0, "seq")?,
        live_records: cells.count(1, "live_records")?,
        is_changed: false,
        is_deleted: false,
        workspaces: HashMap::new(),
        audiences: HashSet::new(),
        authors: HashSet::new(),
    }))
}

/// Whether the project exists and was not deleted.
pub(super) fn is_living(conn: &Connection, project: ProjectId) -> Result<bool, StoreError> {
    const SELECT: &str = "SELECT 1 FROM project WHERE id = ?1 AND deleted_at IS NULL";
    Ok(conn.prepare_cached(SELECT)?.query_row([project.to_bytes()], |_| Ok(())).optional()?.is_some())
}

/// The number of the active workspace of this name.
pub(super) fn find_living(
    conn: &Connection,
    project: ProjectId,
    name: &WorkspaceName,
) -> Result<Option<WorkspaceNo>, StoreError> {
    const SELECT: &str = "SELECT no FROM workspace WHERE project_id = ?1 AND name = ?2 AND deleted_at IS NULL";
    let no: Option<i64> =
        conn.prepare_cached(SELECT)?.query_row((project.to_bytes(), name.as_str()), |row| row.get(0)).optional()?;
    let read = |no| u64::try_from(no).map(WorkspaceNo);
    no.map(read).transpose().map_err(|_| StoreError::Broken {
        table: "workspace",
        column: "no",
        row: format!("{project}/{name}"),
    })
}
