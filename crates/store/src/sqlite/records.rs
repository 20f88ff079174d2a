//! Saving, reading and forgetting records. The save itself is in `insert.rs`, what searches show is read by
//! `bodies.rs`, what is needed to judge records by `summaries.rs`.

use std::sync::Arc;

use async_trait::async_trait;
use mnemon_core::{
    Audience, ContentHash, NewRecord, ProjectId, Record, RecordId, Seq, Timestamp, WorkspaceName, WorkspaceNo,
};
use rusqlite::Connection;

use super::SqliteStore;
use super::batch::Tx;
use super::bodies::Bodies;
use super::insert::insert;
use super::statement::at_once;
use super::summaries::find_standing;
use crate::damaged::Damaged;
use crate::interface::records::read_id_and_audience;
use crate::interface::{forgetting, workspaces};
use crate::{AuditEntry, Basis, Insert, Inserted, Records, RestoredWorkspace, Standing, StoreError};

/// Up to this many records are read on the caller's thread; see [`super::readers::Readers::read`].
const SHORT_READ_MAX: usize = 64;

#[async_trait]
impl Records for SqliteStore {
    async fn insert(&self, given: Insert) -> Result<Inserted, StoreError> {
        // Hashed here and not in the act: the callers have many threads, the writer has one.
        let content_hash = ContentHash::of(&given.record.fact.content);
        self.writer.write(move |tx| insert(tx, &given, content_hash)).await
    }

    async fn insert_with_standing(&self, given: Insert) -> Result<(Inserted, Option<Standing>), StoreError> {
        let content_hash = ContentHash::of(&given.record.fact.content);
        let act = move |tx: &mut Tx<'_>| {
            let inserted = insert(tx, &given, content_hash)?;
            // Read by the writer, whose cache has these pages: a reader's is outdated by this very commit.
            let standing = standing_of_new(tx.conn, &given.record, &inserted)?;
            Ok((inserted, standing))
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

    async fn list_saying(
        &self,
        project: ProjectId,
        content: ContentHash,
    ) -> Result<Vec<(RecordId, Audience)>, StoreError> {
        self.readers.read_at_once(|conn| list_saying(conn, project, content))
    }

    async fn find_standing(&self, project: ProjectId, bases: &[Basis<'_>]) -> Result<Standing, StoreError> {
        self.readers.read_at_once(|conn| find_standing(conn, project, bases))
    }

    async fn forget(&self, project: ProjectId, seqs: &[Seq], audit: AuditEntry) -> Result<Vec<RecordId>, StoreError> {
        let seqs = seqs.to_vec();
        self.writer.write(move |tx| at_once(forgetting::forget(tx, project, &seqs, &audit))).await
    }

    async fn restore(
        &self,
        project: ProjectId,
        id: RecordId,
        forgotten_since: Timestamp,
        records_max: Option<u64>,
        audit: AuditEntry,
    ) -> Result<Option<Record>, StoreError> {
        let act =
            move |tx: &mut Tx<'_>| at_once(forgetting::restore(tx, project, id, forgotten_since, records_max, &audit));
        self.writer.write(act).await
    }

    async fn delete_workspace(
        &self,
        project: ProjectId,
        name: &WorkspaceName,
        audit: AuditEntry,
    ) -> Result<Option<u64>, StoreError> {
        let name = name.clone();
        self.writer.write(move |tx| at_once(workspaces::delete(tx, project, &name, &audit))).await
    }

    async fn restore_workspace(
        &self,
        project: ProjectId,
        no: WorkspaceNo,
        deleted_since: Timestamp,
        records_max: Option<u64>,
        audit: AuditEntry,
    ) -> Result<RestoredWorkspace, StoreError> {
        let act =
            move |tx: &mut Tx<'_>| at_once(workspaces::restore(tx, project, no, deleted_since, records_max, &audit));
        self.writer.write(act).await
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

/// What cannot be read must not fail the save: its caller is left without a standing, and asks for itself.
fn standing_of_new(conn: &Connection, record: &NewRecord, inserted: &Inserted) -> Result<Option<Standing>, StoreError> {
    let Inserted::New { workspace_no, .. } = inserted else { return Ok(None) };
    let basis = Basis::of(*workspace_no, &record.fact_key, &record.fact);
    match find_standing(conn, record.project, &[basis]) {
        Err(error @ StoreError::Away(_)) => Err(error),
        standing => Ok(standing.ok()),
    }
}

/// By the index that finds duplicates: left to itself, SQLite walks through the whole project.
fn list_saying(
    conn: &Connection,
    project: ProjectId,
    content: ContentHash,
) -> Result<Vec<(RecordId, Audience)>, StoreError> {
    const SELECT: &str = "
        SELECT r.id, r.audience
        FROM workspace w
        CROSS JOIN record r INDEXED BY record_duplicate ON r.project_id = w.project_id AND r.workspace_no = w.no
        WHERE w.project_id = ?1 AND w.deleted_at IS NULL AND r.content_hash = ?2 AND r.forgotten_at IS NULL
        ORDER BY r.seq DESC
        LIMIT 20";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((project.to_bytes(), content.as_bytes()))?;
    let mut copies = Vec::new();
    while let Some(row) = rows.next()? {
        copies.push(read_id_and_audience(row, project)?);
    }
    Ok(copies)
}
