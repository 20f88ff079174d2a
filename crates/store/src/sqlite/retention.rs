//! Removing records for good.
//!
//! What is freed in the file is overwritten (`files.rs`), and the WAL is emptied before the answer (`writer.rs`). The
//! files of snapshots that knew the record are removed. Out of
//! reach are copies in the unused parts of pages, which SQLite leaves when it splits a page, for about one record in a
//! hundred: only rewriting the file takes those away.

use std::collections::BTreeSet;

use async_trait::async_trait;
use mnemon_core::{Audience, ProjectId, RecordId, Seq, Timestamp, WorkspaceNo};
use rusqlite::Connection;

use super::SqliteStore;
use super::audit::insert_audit;
use super::batch::Tx;
use super::log::{delete_snapshot, insert_change, is_active};
use super::projects::find_project;
use super::rows::{Cells, integer, micros};
use crate::encoding::AudienceBytes;
use crate::interface::retention::{PURGE_AT_ONCE, Place, PurgedBeyond};
use crate::{AuditEntry, Retention, StoreError};

#[async_trait]
impl Retention for SqliteStore {
    async fn purge(&self, project: ProjectId, id: RecordId, audit: AuditEntry) -> Result<bool, StoreError> {
        let files = self.writer.write(move |tx| purge(tx, project, id, &audit)).await?;
        self.snapshot_files.remove_all(files.as_deref().unwrap_or_default());
        Ok(files.is_some())
    }

    async fn purge_forgotten(&self, before: Timestamp, rows_max: usize) -> Result<u64, StoreError> {
        let mut purged = 0;
        loop {
            // Found by a reader: looking through everything must not hold up those who save.
            let rest = rows_max.max(1) - purged as usize;
            let doomed = self.readers.read_long(move |conn| list_doomed(conn, before, rest)).await?;
            if doomed.is_nothing() {
                return Ok(purged);
            }
            let found = doomed.records.len();
            let (count, files) = self.writer.write(move |tx| purge_doomed(tx, &doomed, before)).await?;
            self.snapshot_files.remove_all(&files);
            purged += count;
            // Where something came back between finding and removing, others take its place.
            if found < rest || count == 0 || count as usize == rest {
                return Ok(purged);
            }
        }
    }

    async fn purge_beyond(&self, project: ProjectId, keep: u64, now: Timestamp) -> Result<PurgedBeyond, StoreError> {
        // What ended in this very moment has ended.
        let before = now + jiff::SignedDuration::from_micros(1);
        let mut purged = 0;
        loop {
            let (kept, records) = self.readers.read_long(move |conn| list_beyond(conn, project, keep)).await?;
            if records.is_empty() {
                return Ok(PurgedBeyond { purged, kept });
            }
            let doomed = Doomed { records, ..Doomed::default() };
            let (count, files) = self.writer.write(move |tx| purge_doomed(tx, &doomed, before)).await?;
            self.snapshot_files.remove_all(&files);
            purged += count;
            if count == 0 {
                return Ok(PurgedBeyond { purged, kept });
            }
        }
    }

    async fn compact(&self) -> Result<(), StoreError> {
        self.writer.compact().await
    }
}

/// The files of snapshots that have lost their row.
type Files = Vec<String>;

/// Removes one record, alive or not. `None` if there is no such record.
fn purge(tx: &mut Tx<'_>, project: ProjectId, id: RecordId, audit: &AuditEntry) -> Result<Option<Files>, StoreError> {
    const DELETE: &str = "DELETE FROM record WHERE project_id = ?1 AND seq = ?2";
    const DELETE_KEYS: &str = "DELETE FROM idempotency WHERE project_id = ?1 AND record_seq = ?2";
    if find_project(tx.conn, project)?.is_none() {
        return Ok(None);
    }
    let Some(place) = find_place(tx.conn, project, id)? else { return Ok(None) };
    for delete in [DELETE, DELETE_KEYS] {
        tx.conn.prepare_cached(delete)?.execute((project.to_bytes(), integer(place.seq.0)))?;
    }
    remove_sources(tx.conn, project)?;
    let files = delete_snapshot(tx.conn, project, place.no)?;
    tx.touch_purged();
    insert_change(tx, project, place.no, "purge", Some(place.seq), audit.at)?;
    if place.is_alive {
        let state = tx.project(project)?;
        state.live_records = state.live_records.saturating_sub(1);
    }
    insert_audit(tx.conn, audit, 1)?;
    Ok(Some(files.into_iter().collect()))
}

fn find_place(conn: &Connection, project: ProjectId, id: RecordId) -> Result<Option<Place>, StoreError> {
    const SELECT: &str = "
        SELECT r.seq, r.workspace_no, r.forgotten_at IS NULL AND w.deleted_at IS NULL
        FROM record r
        JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
        WHERE r.project_id = ?1 AND r.id = ?2";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((project.to_bytes(), id.to_bytes()))?;
    rows.next()?.map(|row| Place::read(row, project, id)).transpose()
}

/// What is to be removed: records, and what is left of workspaces and projects without records.
#[derive(Default)]
struct Doomed {
    records: Vec<(ProjectId, Seq)>,
    workspaces: Vec<(ProjectId, WorkspaceNo)>,
    projects: Vec<ProjectId>,
}

impl Doomed {
    fn is_nothing(&self) -> bool {
        self.records.is_empty() && self.workspaces.is_empty() && self.projects.is_empty()
    }
}

/// Finds what ended before a moment, in all projects: upkeep is the one act that belongs to no tenant. Reads the index
/// of the forgotten records and the tables of workspaces and projects from end to end.
fn list_doomed(conn: &Connection, before: Timestamp, rows_max: usize) -> Result<Doomed, StoreError> {
    const FORGOTTEN: &str = "
        SELECT r.project_id, r.seq
        FROM record r INDEXED BY record_forgotten
        WHERE r.forgotten_at IS NOT NULL AND (r.forgotten_at < ?1 OR EXISTS (
            SELECT 1
            FROM workspace w
            WHERE w.project_id = r.project_id AND w.no = r.workspace_no AND w.deleted_at < ?1))
        LIMIT ?2";
    // The workspaces of a project end with it, so this covers the records of deleted projects too.
    const OF_WORKSPACES: &str = "
        SELECT r.project_id, r.seq
        FROM workspace w
        CROSS JOIN record r INDEXED BY record_workspace ON r.project_id = w.project_id AND r.workspace_no = w.no
        WHERE w.deleted_at < ?1 AND r.forgotten_at IS NULL
        LIMIT ?2";
    const WORKSPACES: &str = "SELECT project_id, no FROM workspace WHERE deleted_at < ?1 LIMIT ?2";
    let mut doomed = Doomed { records: list_places(conn, FORGOTTEN, before, rows_max)?, ..Doomed::default() };
    let rest = rows_max - doomed.records.len();
    doomed.records.extend(list_places(conn, OF_WORKSPACES, before, rest)?);
    if doomed.records.len() < rows_max {
        let workspaces = list_places(conn, WORKSPACES, before, rows_max)?;
        doomed.workspaces = workspaces.into_iter().map(|(project, no)| (project, WorkspaceNo(no.0))).collect();
        doomed.projects = list_leftovers(conn, before)?;
    }
    Ok(doomed)
}

/// How many records of a project have ended, and the oldest of them beyond those that are kept.
fn list_beyond(conn: &Connection, project: ProjectId, keep: u64) -> Result<(u64, Vec<(ProjectId, Seq)>), StoreError> {
    const ENDED: &str = "
        SELECT r.seq, r.forgotten_at
        FROM record r INDEXED BY record_forgotten
        WHERE r.project_id = ?1 AND r.forgotten_at IS NOT NULL
        UNION ALL
        SELECT r.seq, w.deleted_at
        FROM workspace w
        CROSS JOIN record r INDEXED BY record_workspace ON r.project_id = w.project_id AND r.workspace_no = w.no
        WHERE w.project_id = ?1 AND w.deleted_at IS NOT NULL AND r.forgotten_at IS NULL
        ORDER BY 2, 1";
    let mut statement = conn.prepare_cached(ENDED)?;
    let mut rows = statement.query([project.to_bytes()])?;
    let mut ended = Vec::new();
    while let Some(row) = rows.next()? {
        ended.push((project, Seq(Cells::new(row, "record", || project.to_string()).count(0, "seq")?)));
    }
    let count = ended.len() as u64;
    ended.truncate(usize::try_from(count.saturating_sub(keep).min(PURGE_AT_ONCE)).unwrap_or(usize::MAX));
    Ok((count, ended))
}

fn list_places(
    conn: &Connection,
    select: &'static str,
    before: Timestamp,
    rows_max: usize,
) -> Result<Vec<(ProjectId, Seq)>, StoreError> {
    let mut statement = conn.prepare_cached(select)?;
    let mut rows = statement.query((micros(before), integer(rows_max as u64)))?;
    let mut places = Vec::new();
    while let Some(row) = rows.next()? {
        let cells = Cells::new(row, "record", String::new);
        places.push((cells.id(0, "project_id")?, Seq(cells.count(1, "seq")?)));
    }
    Ok(places)
}

/// Projects that ended and still have something beside records.
fn list_leftovers(conn: &Connection, before: Timestamp) -> Result<Vec<ProjectId>, StoreError> {
    const SELECT: &str = "
        SELECT p.id
        FROM project p
        WHERE p.deleted_at < ?1 AND (
            EXISTS (SELECT 1 FROM source s WHERE s.project_id = p.id)
            OR EXISTS (SELECT 1 FROM idempotency i WHERE i.project_id = p.id)
            OR EXISTS (SELECT 1 FROM guard_release g WHERE g.project_id = p.id)
            OR EXISTS (SELECT 1 FROM session s WHERE s.project_id = p.id))";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([micros(before)])?;
    let mut projects = Vec::new();
    while let Some(row) = rows.next()? {
        projects.push(Cells::new(row, "project", String::new).id(0, "id")?);
    }
    Ok(projects)
}

/// Removes what was found, unless it came back in the meantime. Answers how many records it were.
fn purge_doomed(tx: &mut Tx<'_>, doomed: &Doomed, before: Timestamp) -> Result<(u64, Files), StoreError> {
    let mut files = Files::new();
    let (count, touched) = remove_records(tx.conn, &doomed.records, before)?;
    for (project, no) in &touched {
        files.extend(delete_snapshot(tx.conn, *project, *no)?);
        note_purge(tx, *project, *no, before)?;
    }
    for project in touched.into_iter().map(|(project, _)| project).collect::<BTreeSet<_>>() {
        remove_keys(tx.conn, project, before)?;
        remove_sources(tx.conn, project)?;
    }
    for (project, no) in &doomed.workspaces {
        files.extend(delete_snapshot(tx.conn, *project, *no)?);
        remove_workspace(tx.conn, *project, *no)?;
    }
    for project in &doomed.projects {
        remove_leftovers(tx.conn, *project)?;
    }
    tx.touch_purged();
    Ok((count, files))
}

type Workspaces = BTreeSet<(ProjectId, WorkspaceNo)>;

fn remove_records(
    conn: &Connection,
    records: &[(ProjectId, Seq)],
    before: Timestamp,
) -> Result<(u64, Workspaces), StoreError> {
    const DELETE: &str = "
        DELETE FROM record
        WHERE project_id = ?1 AND seq = ?2 AND (forgotten_at < ?3 OR EXISTS (
            SELECT 1
            FROM workspace w
            WHERE w.project_id = ?1 AND w.no = record.workspace_no AND w.deleted_at < ?3))
        RETURNING workspace_no";
    let (mut count, mut touched) = (0, Workspaces::new());
    let mut statement = conn.prepare_cached(DELETE)?;
    for (project, seq) in records {
        let mut rows = statement.query((project.to_bytes(), integer(seq.0), micros(before)))?;
        while let Some(row) = rows.next()? {
            let cells = Cells::new(row, "record", || format!("{project}/{seq}"));
            touched.insert((*project, WorkspaceNo(cells.count(0, "workspace_no")?)));
            count += 1;
        }
    }
    Ok((count, touched))
}

/// Notes that a snapshot taken earlier must not come in later. The records themselves need no place in the log: every
/// index learned that they are gone when they were forgotten. No clock comes in here, so the line carries the bound
/// instead of the moment.
fn note_purge(tx: &mut Tx<'_>, project: ProjectId, no: WorkspaceNo, before: Timestamp) -> Result<(), StoreError> {
    if is_active(tx.conn, project, no)? {
        insert_change(tx, project, no, "purge", None, before)?;
    }
    Ok(())
}

/// Removes idempotency keys that led to a record which is gone. They were used before their record was forgotten.
fn remove_keys(conn: &Connection, project: ProjectId, before: Timestamp) -> Result<(), StoreError> {
    const DELETE: &str = "
        DELETE FROM idempotency INDEXED BY idempotency_age
        WHERE project_id = ?1 AND created_at < ?2 AND NOT EXISTS (
            SELECT 1
            FROM record r
            WHERE r.project_id = ?1 AND r.seq = idempotency.record_seq)";
    conn.prepare_cached(DELETE)?.execute((project.to_bytes(), micros(before)))?;
    Ok(())
}

/// Removes what is known of sources that not everybody may see, once their last record is gone: the id of a draft's
/// source must not outlive the draft. What is known of shared sources stays, as it says nothing that was hidden.
fn remove_sources(conn: &Connection, project: ProjectId) -> Result<(), StoreError> {
    const DELETE: &str = "
        DELETE FROM source
        WHERE project_id = ?1 AND audience <> ?2
            AND NOT EXISTS (
                SELECT 1
                FROM record r INDEXED BY record_source
                WHERE r.project_id = ?1 AND r.source_id IS NOT NULL AND r.forgotten_at IS NULL
                    AND r.source_id = source.source_id AND r.workspace_no = source.workspace_no
                    AND r.audience = source.audience)
            AND NOT EXISTS (
                SELECT 1
                FROM record r INDEXED BY record_forgotten
                WHERE r.project_id = ?1 AND r.forgotten_at IS NOT NULL
                    AND r.source_id = source.source_id AND r.workspace_no = source.workspace_no
                    AND r.audience = source.audience)";
    let shared = AudienceBytes::of(Audience::Shared);
    conn.prepare_cached(DELETE)?.execute((project.to_bytes(), shared.as_slice()))?;
    Ok(())
}

/// Removes what is left of an ended workspace, once it has no records.
fn remove_workspace(conn: &Connection, project: ProjectId, no: WorkspaceNo) -> Result<(), StoreError> {
    const HAS_RECORDS: &str = "
        SELECT EXISTS (
                SELECT 1
                FROM record INDEXED BY record_workspace
                WHERE project_id = ?1 AND workspace_no = ?2 AND forgotten_at IS NULL)
            OR EXISTS (
                SELECT 1
                FROM record INDEXED BY record_forgotten
                WHERE project_id = ?1 AND workspace_no = ?2 AND forgotten_at IS NOT NULL)";
    const DELETES: [&str; 4] = [
        "DELETE FROM source WHERE project_id = ?1 AND workspace_no = ?2",
        "DELETE FROM change WHERE project_id = ?1 AND workspace_no = ?2",
        "DELETE FROM workspace_audience WHERE project_id = ?1 AND workspace_no = ?2",
        "DELETE FROM workspace WHERE project_id = ?1 AND no = ?2",
    ];
    let values = (project.to_bytes(), integer(no.0));
    if conn.prepare_cached(HAS_RECORDS)?.query_row(values, |row| row.get(0))? {
        return Ok(());
    }
    for delete in DELETES {
        conn.prepare_cached(delete)?.execute(values)?;
    }
    Ok(())
}

/// Removes what an ended project knew beside records. Its figures and its audit log stay.
fn remove_leftovers(conn: &Connection, project: ProjectId) -> Result<(), StoreError> {
    const DELETES: [&str; 5] = [
        "DELETE FROM source WHERE project_id = ?1",
        "DELETE FROM idempotency WHERE project_id = ?1",
        "DELETE FROM guard_release WHERE project_id = ?1",
        "DELETE FROM session_part WHERE project_id = ?1",
        "DELETE FROM session WHERE project_id = ?1",
    ];
    for delete in DELETES {
        conn.prepare_cached(delete)?.execute([project.to_bytes()])?;
    }
    Ok(())
}
