//! Saving, reading and forgetting records. The save itself is in `insert.rs`, whole records are read by `bodies.rs`,
//! what is needed to judge them by `summaries.rs`, lists by `listing.rs`; workspaces end in `workspaces.rs`.

use std::sync::Arc;

use async_trait::async_trait;
use mnemon_core::{
    Audience, ContentHash, MemberId, ProjectId, Record, RecordId, Seq, Timestamp, WorkspaceName, WorkspaceNo,
};
use rusqlite::Connection;

use super::SqliteStore;
use super::audit::insert_audit;
use super::batch::{Tx, is_living};
use super::bodies::{Bodies, find_seq};
use super::insert::insert;
use super::listing::{find_any, list_onward, list_records, list_workspaces};
use super::log::insert_change;
use super::rows::{Cells, integer, micros};
use super::summaries::{list_after_source, list_by_fact_key, list_by_source};
use super::workspaces::{bring_back, delete_workspace, list_deleted_workspaces, restore_workspace};
use crate::damaged::Damaged;
use crate::interface::records::read_seq_and_audience;
use crate::interface::stored::Stored;
use crate::{
    AuditEntry, DeletedWorkspace, Insert, Inserted, Listed, Portion, RecordFilter, RecordSummary, Records,
    RestoredWorkspace, StoreError, Stretch, WorkspaceRow,
};

/// Up to this many records are read on the caller's thread; see [`super::readers::Readers::read`].
const SHORT_READ_MAX: usize = 64;

#[async_trait]
impl Records for SqliteStore {
    async fn insert(&self, given: Insert) -> Result<Inserted, StoreError> {
        // Hashed here and not in the act: the callers have many threads, the writer has one.
        let content_hash = ContentHash::of(&given.record.fact.content);
        self.writer.write(move |tx| insert(tx, &given, content_hash)).await
    }

    async fn save_answer(
        &self,
        project: ProjectId,
        member: MemberId,
        key: &str,
        answer: String,
    ) -> Result<(), StoreError> {
        const UPDATE: &str = "
            UPDATE idempotency
            SET answer = ?4
            WHERE project_id = ?1 AND member_id = ?2 AND key = ?3 AND answer IS NULL";
        let key = key.to_owned();
        let act = move |tx: &mut Tx<'_>| {
            let values = (project.to_bytes(), member.to_bytes(), &key, &answer);
            tx.conn.prepare_cached(UPDATE)?.execute(values)?;
            Ok(())
        };
        self.writer.write(act).await
    }

    async fn load(&self, project: ProjectId, seqs: &[Seq]) -> Result<Vec<Record>, StoreError> {
        if seqs.len() <= SHORT_READ_MAX {
            return self.load_known(project, seqs);
        }
        let seqs = seqs.to_vec();
        let damaged = Arc::clone(&self.damaged);
        self.readers.read_long(move |conn| load(conn, project, &seqs, &damaged)).await
    }

    async fn find_place(&self, project: ProjectId, id: RecordId) -> Result<Option<(Seq, Audience)>, StoreError> {
        const SELECT: &str = "
            SELECT r.seq, r.audience
            FROM record r
            JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
            WHERE r.project_id = ?1 AND r.id = ?2 AND r.forgotten_at IS NULL AND w.deleted_at IS NULL";
        self.readers.read(|conn| {
            let mut statement = conn.prepare_cached(SELECT)?;
            let mut rows = statement.query((project.to_bytes(), id.to_bytes()))?;
            rows.next()?.map(|row| read_seq_and_audience(row, project, id)).transpose()
        })
    }

    async fn find_places(&self, project: ProjectId, ids: &[RecordId]) -> Result<Vec<Seq>, StoreError> {
        let mut seqs: Vec<Seq> = self.readers.read_at_once(|conn| {
            let place = |id: &RecordId| match find_seq(conn, project, *id)? {
                Some(seq) => Ok(find_living_place(conn, project, seq)?.map(|_| seq)),
                None => Ok(None),
            };
            ids.iter().map(place).filter_map(Result::transpose).collect()
        })?;
        seqs.sort_unstable();
        seqs.dedup();
        Ok(seqs)
    }

    async fn find(&self, project: ProjectId, id: RecordId) -> Result<Option<Record>, StoreError> {
        self.readers.read_at_once(|conn| match find_seq(conn, project, id)? {
            Some(seq) => self.damaged.leave_out(Bodies::new(conn, project).find_living(seq)),
            None => Ok(None),
        })
    }

    async fn list_by_source(
        &self,
        project: ProjectId,
        source_id: &str,
        workspace: Option<&WorkspaceName>,
    ) -> Result<Vec<RecordSummary>, StoreError> {
        let rows_max = SHORT_READ_MAX + 1;
        let first = self.readers.read(|conn| list_by_source(conn, project, source_id, workspace, rows_max))?;
        if first.len() < rows_max {
            return Ok(first);
        }
        let (source_id, workspace) = (source_id.to_owned(), workspace.cloned());
        let read = move |conn: &Connection| list_by_source(conn, project, &source_id, workspace.as_ref(), usize::MAX);
        self.readers.read_long(read).await
    }

    async fn list_after_source(
        &self,
        project: ProjectId,
        after: Option<&str>,
        sources_max: usize,
    ) -> Result<Vec<RecordSummary>, StoreError> {
        let after = after.unwrap_or_default().to_owned();
        self.readers.read_long(move |conn| list_after_source(conn, project, &after, sources_max)).await
    }

    async fn list_by_fact_key(
        &self,
        project: ProjectId,
        keys: &[(WorkspaceNo, &str)],
    ) -> Result<Vec<RecordSummary>, StoreError> {
        self.readers.read_at_once(|conn| {
            let mut summaries = Vec::new();
            for (no, key) in keys {
                list_by_fact_key(conn, project, *no, key, &mut summaries)?;
            }
            summaries.sort_unstable_by_key(|summary| summary.seq);
            summaries.dedup_by_key(|summary| summary.seq);
            Ok(summaries)
        })
    }

    async fn list_workspaces(&self, project: ProjectId) -> Result<Vec<WorkspaceRow>, StoreError> {
        self.readers.read_long(move |conn| list_workspaces(conn, project)).await
    }

    async fn list_records(
        &self,
        project: ProjectId,
        filter: RecordFilter,
        before: Option<Seq>,
        portion: Portion,
    ) -> Result<Vec<Listed>, StoreError> {
        let damaged = Arc::clone(&self.damaged);
        self.readers.read_long(move |conn| list_records(conn, project, &filter, before, portion, &damaged)).await
    }

    async fn list_onward(
        &self,
        project: ProjectId,
        stretch: Stretch,
        portion: Portion,
    ) -> Result<Vec<Record>, StoreError> {
        let damaged = Arc::clone(&self.damaged);
        self.readers.read_long(move |conn| list_onward(conn, project, stretch, portion, &damaged)).await
    }

    async fn find_any(&self, project: ProjectId, id: RecordId) -> Result<Option<Listed>, StoreError> {
        self.readers.read_at_once(|conn| self.damaged.leave_out(find_any(conn, project, id)))
    }

    async fn forget(&self, project: ProjectId, seqs: &[Seq], audit: AuditEntry) -> Result<Vec<RecordId>, StoreError> {
        let mut seqs = seqs.to_vec();
        seqs.sort_unstable();
        seqs.dedup();
        self.writer.write(move |tx| forget(tx, project, &seqs, &audit)).await
    }

    async fn restore(
        &self,
        project: ProjectId,
        id: RecordId,
        forgotten_since: Timestamp,
        records_max: Option<u64>,
        audit: AuditEntry,
    ) -> Result<Option<Record>, StoreError> {
        self.writer.write(move |tx| restore(tx, project, id, forgotten_since, records_max, &audit)).await
    }

    async fn delete_workspace(
        &self,
        project: ProjectId,
        name: &WorkspaceName,
        audit: AuditEntry,
    ) -> Result<Option<u64>, StoreError> {
        let name = name.clone();
        self.writer.write(move |tx| delete_workspace(tx, project, &name, &audit)).await
    }

    async fn list_deleted_workspaces(
        &self,
        project: ProjectId,
        since: Timestamp,
    ) -> Result<Vec<DeletedWorkspace>, StoreError> {
        self.readers.read_long(move |conn| list_deleted_workspaces(conn, project, since)).await
    }

    async fn restore_workspace(
        &self,
        project: ProjectId,
        no: WorkspaceNo,
        deleted_since: Timestamp,
        records_max: Option<u64>,
        audit: AuditEntry,
    ) -> Result<RestoredWorkspace, StoreError> {
        self.writer.write(move |tx| restore_workspace(tx, project, no, deleted_since, records_max, &audit)).await
    }
}

impl SqliteStore {
    fn load_known(&self, project: ProjectId, seqs: &[Seq]) -> Result<Vec<Record>, StoreError> {
        self.readers.read_at_once(|conn| load(conn, project, seqs, &self.damaged))
    }
}

fn load(conn: &Connection, project: ProjectId, seqs: &[Seq], damaged: &Damaged) -> Result<Vec<Record>, StoreError> {
    let mut bodies = Bodies::new(conn, project);
    let found = seqs.iter().map(|seq| damaged.leave_out(bodies.find_living(*seq)));
    found.filter_map(Result::transpose).collect()
}

fn forget(tx: &mut Tx<'_>, project: ProjectId, seqs: &[Seq], audit: &AuditEntry) -> Result<Vec<RecordId>, StoreError> {
    const UPDATE: &str = "UPDATE record SET forgotten_at = ?3 WHERE project_id = ?1 AND seq = ?2";
    let mut forgotten = Vec::new();
    for seq in seqs {
        let Some((id, no)) = find_living_place(tx.conn, project, *seq)? else { continue };
        tx.conn.prepare_cached(UPDATE)?.execute((project.to_bytes(), integer(seq.0), micros(audit.at)))?;
        insert_change(tx, project, no, "forget", Some(*seq), audit.at)?;
        forgotten.push(id);
    }
    if forgotten.is_empty() {
        return Ok(forgotten);
    }
    let count = forgotten.len() as u64;
    let project = tx.project(project)?;
    project.live_records = project.live_records.saturating_sub(count);
    insert_audit(tx.conn, audit, count)?;
    Ok(forgotten)
}

/// The id and the workspace of the live record at a log position.
fn find_living_place(
    conn: &Connection,
    project: ProjectId,
    seq: Seq,
) -> Result<Option<(RecordId, WorkspaceNo)>, StoreError> {
    const SELECT: &str = "
        SELECT r.id, r.workspace_no
        FROM record r
        JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
        WHERE r.project_id = ?1 AND r.seq = ?2 AND r.forgotten_at IS NULL AND w.deleted_at IS NULL";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((project.to_bytes(), integer(seq.0)))?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let cells = Cells::new(row, "record", || format!("{project}/{seq}"));
    Ok(Some((cells.id(0, "id")?, WorkspaceNo(cells.count(1, "workspace_no")?))))
}

fn restore(
    tx: &mut Tx<'_>,
    project: ProjectId,
    id: RecordId,
    forgotten_since: Timestamp,
    records_max: Option<u64>,
    audit: &AuditEntry,
) -> Result<Option<Record>, StoreError> {
    if !is_living(tx.conn, project)? {
        return Ok(None);
    }
    let Some(seq) = find_seq(tx.conn, project, id)? else { return Ok(None) };
    let stored = Bodies::new(tx.conn, project).find(seq)?;
    let is_restorable = |stored: &Stored| stored.gone_at().is_some_and(|gone_at| gone_at >= forgotten_since);
    let Some(stored) = stored.filter(is_restorable) else { return Ok(None) };
    let live_records = tx.project(project)?.live_records;
    if records_max.is_some_and(|max| live_records >= max) {
        return Ok(None);
    }
    bring_back(tx, project, &stored, audit.at)?;
    tx.project(project)?.live_records += 1;
    insert_audit(tx.conn, audit, 1)?;
    Bodies::new(tx.conn, project).find_living(seq)
}
