//! Permanent deletion of records.
//!
//! PostgreSQL keeps the bytes of a deleted row until vacuum frees their space, and in its log until that is recycled;
//! rewriting the tables removes the former at once.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mnemon_core::{Audience, ProjectId, RecordId, Timestamp, WorkspaceNo};
use tokio_postgres::Row;

use super::PostgresStore;
use super::audit::insert_audit;
use super::connect::{Pool, connect_as_owner};
use super::error::Fault;
use super::project::{self, Locked};
use super::rows::{Cells, integer, micros};
use super::snapshots;
use super::transaction::{Ask, Tenant, Tx, ask};
use crate::encoding::AudienceBytes;
use crate::interface::retention::{PURGE_AT_ONCE, Place, PurgedBeyond};
use crate::{AuditEntry, Retention, StoreError};

/// How many projects are checked in one round trip.
const PROJECTS_AT_ONCE: usize = 64;
/// How long a rewrite waits for transactions that could still see deleted rows, and how often it checks.
const OLDER_VIEWS_MAX: Duration = Duration::from_secs(30);
const OLDER_VIEWS_PAUSE: Duration = Duration::from_millis(20);

#[async_trait]
impl Retention for PostgresStore {
    async fn purge(&self, project: ProjectId, id: RecordId, audit: AuditEntry) -> Result<bool, StoreError> {
        self.attempt(|| purge(&self.pool, project, id, &audit)).await
    }

    /// Project by project. Maintenance is the only act that belongs to no tenant: it sees which projects exist, and
    /// selects each in turn.
    async fn purge_forgotten(&self, before: Timestamp, rows_max: usize) -> Result<u64, StoreError> {
        const PROJECTS: &str = "SELECT id FROM project ORDER BY id";
        let rows = self.ask(Tenant::for_upkeep(), PROJECTS, &[]).await?;
        let projects: Vec<ProjectId> = rows.iter().map(|row| ProjectId::new(row.get(0))).collect();
        let mut left = rows_max.max(1) as u64;
        let mut purged = 0;
        for some in projects.chunks(PROJECTS_AT_ONCE) {
            let doomed = self.attempt(|| list_doomed(&self.pool, some, before)).await?;
            for project in doomed {
                let count = self.attempt(|| purge_project(&self.pool, project, before, left)).await?;
                purged += count;
                left -= count;
                if left == 0 {
                    return Ok(purged);
                }
            }
        }
        Ok(purged)
    }

    async fn purge_beyond(&self, project: ProjectId, keep: u64, now: Timestamp) -> Result<PurgedBeyond, StoreError> {
        let mut purged = 0;
        loop {
            let kept = self.attempt(|| count_ended(&self.pool, project)).await?;
            if kept <= keep {
                return Ok(PurgedBeyond { purged, kept });
            }
            let rows_max = (kept - keep).min(PURGE_AT_ONCE);
            let count = self.attempt(|| purge_oldest(&self.pool, project, now, rows_max)).await?;
            purged += count;
            if count == 0 {
                return Ok(PurgedBeyond { purged, kept });
            }
        }
    }

    /// Rewrites the tables that hold memory, one after the other. Calls that need one meanwhile get `storage is
    /// unavailable`.
    async fn compact(&self) -> Result<(), StoreError> {
        let client = connect_as_owner(&self.config).await?;
        let failed = |error: tokio_postgres::Error| Fault::from(error).error;
        client.batch_execute("SET lock_timeout = '30s'").await.map_err(failed)?;
        outlive_older_views(&client).await?;
        for table in [
            "record",
            "change",
            "source",
            "idempotency",
            "snapshot",
            "workspace",
            "workspace_audience",
            "session",
            "session_part",
        ] {
            client.batch_execute(&format!("VACUUM (FULL, ANALYZE) {table}")).await.map_err(failed)?;
        }
        // The planner's statistics hold samples of what the tables held: keys of facts, sources. They were gathered
        // again above, and their old rows go as those of the tables did.
        outlive_older_views(&client).await?;
        client.batch_execute("VACUUM (FULL) pg_catalog.pg_statistic").await.map_err(failed)?;
        Ok(())
    }
}

/// Removes one record, live or not.
async fn purge(pool: &Arc<Pool>, project: ProjectId, id: RecordId, audit: &AuditEntry) -> Result<bool, Fault> {
    const DELETE: &str = "DELETE FROM record WHERE project_id = $1 AND seq = $2";
    const DELETE_KEYS: &str = "DELETE FROM idempotency WHERE project_id = $1 AND record_seq = $2";
    let tx = Tx::write(pool, Tenant::project_of(project, audit.account)).await?;
    let row = tx.row(project::LOCK, &[&project.uuid()]).await?;
    let Some(mut locked) = project::read(row.as_ref(), project)? else { return Ok(false) };
    let Some(place) = find_place(&tx, project, id).await? else { return Ok(false) };
    let (uuid, seq, no) = (project.uuid(), integer(place.seq.0), integer(place.no.0));
    let deletes =
        vec![ask(DELETE, &[&uuid, &seq]), ask(DELETE_KEYS, &[&uuid, &seq]), ask(snapshots::DELETE, &[&uuid, &no])];
    tx.ask_all(deletes).await?;
    remove_sources(&tx, project).await?;
    locked.insert_change(&tx, place.no, "purge", Some(place.seq), audit.at).await?;
    if place.is_alive {
        locked.live_records = locked.live_records.saturating_sub(1);
    }
    insert_audit(&tx, audit, 1).await?;
    tx.finish(vec![locked.flush()]).await?;
    Ok(true)
}

/// The projects that have something to remove.
async fn list_doomed(pool: &Arc<Pool>, projects: &[ProjectId], before: Timestamp) -> Result<Vec<ProjectId>, Fault> {
    const SELECT: &str = "
        SELECT 1
        WHERE EXISTS (
                SELECT 1 FROM record r
                WHERE r.project_id = $1 AND r.forgotten_at IS NOT NULL AND r.forgotten_at < $2)
            OR EXISTS (SELECT 1 FROM workspace w WHERE w.project_id = $1 AND w.deleted_at < $2)
            OR EXISTS (SELECT 1 FROM project p WHERE p.id = $1 AND p.deleted_at < $2 AND (
                EXISTS (SELECT 1 FROM source s WHERE s.project_id = $1)
                OR EXISTS (SELECT 1 FROM idempotency i WHERE i.project_id = $1)
                OR EXISTS (SELECT 1 FROM guard_release g WHERE g.project_id = $1)
                OR EXISTS (SELECT 1 FROM session h WHERE h.project_id = $1)))";
    let tx = Tx::read(pool, Tenant::nobody()).await?;
    let tenants: Vec<Tenant> = projects.iter().map(|project| Tenant::project(*project)).collect();
    let ids: Vec<_> = projects.iter().map(|project| project.uuid()).collect();
    let before = micros(before);
    let mut asks = Vec::with_capacity(projects.len() * 2);
    for (tenant, id) in tenants.iter().zip(&ids) {
        asks.push(tenant.turn());
        asks.push(ask(SELECT, &[id, &before]));
    }
    let answers = tx.finish(asks).await?;
    let is_doomed = |(project, answers): (&ProjectId, &[Vec<Row>])| (!answers[1].is_empty()).then_some(*project);
    Ok(projects.iter().zip(answers.chunks_exact(2)).filter_map(is_doomed).collect())
}

async fn purge_project(pool: &Arc<Pool>, id: ProjectId, before: Timestamp, rows_max: u64) -> Result<u64, Fault> {
    // Deleted projects too: no other act writes into those.
    const LOCK: &str = "SELECT seq, live_records, deleted_at < $2 FROM project WHERE id = $1 FOR NO KEY UPDATE";
    let tx = Tx::write(pool, Tenant::project(id)).await?;
    let row = tx.row(LOCK, &[&id.uuid(), &micros(before)]).await?;
    let Some(mut locked) = project::read(row.as_ref(), id)? else { return Ok(0) };
    let is_over = row.is_some_and(|row| row.get::<_, Option<bool>>(2) == Some(true));
    let (count, touched) = remove_records(&tx, id, before, rows_max).await?;
    for no in &touched {
        note_purge(&tx, &mut locked, *no, before).await?;
    }
    if !touched.is_empty() {
        remove_keys(&tx, id, before).await?;
        remove_sources(&tx, id).await?;
    }
    if count < rows_max {
        remove_workspaces(&tx, id, before).await?;
        if is_over {
            remove_leftovers(&tx, id).await?;
        }
    }
    tx.finish(vec![locked.flush()]).await?;
    Ok(count)
}

/// How many records of a project have ended.
async fn count_ended(pool: &Arc<Pool>, project: ProjectId) -> Result<u64, Fault> {
    const COUNT: &str = "
        SELECT (
            SELECT count(*)
            FROM record r
            WHERE r.project_id = $1 AND r.forgotten_at IS NOT NULL) + (
            SELECT count(*)
            FROM workspace w
            JOIN record r ON r.project_id = w.project_id AND r.workspace_no = w.no AND r.forgotten_at IS NULL
            WHERE w.project_id = $1 AND w.deleted_at IS NOT NULL)";
    let tx = Tx::read(pool, Tenant::project(project)).await?;
    let answers = tx.finish(vec![ask(COUNT, &[&project.uuid()])]).await?;
    let count = answers.first().and_then(|rows| rows.first()).map_or(0, |row| row.get::<_, i64>(0));
    Ok(count.unsigned_abs())
}

/// Purges records of a project that have ended, the oldest first.
async fn purge_oldest(pool: &Arc<Pool>, id: ProjectId, now: Timestamp, rows_max: u64) -> Result<u64, Fault> {
    const OLDEST: &str = "
        DELETE FROM record
        WHERE project_id = $1 AND seq IN (
            SELECT ended.seq
            FROM (
                SELECT r.seq, r.forgotten_at AS at
                FROM record r
                WHERE r.project_id = $1 AND r.forgotten_at IS NOT NULL
                UNION ALL
                SELECT r.seq, w.deleted_at
                FROM workspace w
                JOIN record r ON r.project_id = w.project_id AND r.workspace_no = w.no AND r.forgotten_at IS NULL
                WHERE w.project_id = $1 AND w.deleted_at IS NOT NULL) ended
            ORDER BY ended.at, ended.seq
            LIMIT $2)
        RETURNING workspace_no";
    // What ended in this very moment has ended.
    let before = now + jiff::SignedDuration::from_micros(1);
    let tx = Tx::write(pool, Tenant::project(id)).await?;
    let row = tx.row(project::LOCK, &[&id.uuid()]).await?;
    let Some(mut locked) = project::read(row.as_ref(), id)? else { return Ok(0) };
    let rows = tx.rows(OLDEST, &[&id.uuid(), &integer(rows_max)]).await?;
    for no in touched_by(&rows, id)? {
        note_purge(&tx, &mut locked, no, before).await?;
    }
    remove_keys(&tx, id, before).await?;
    remove_sources(&tx, id).await?;
    tx.finish(vec![locked.flush()]).await?;
    Ok(rows.len() as u64)
}

/// The workspaces of deleted records.
fn touched_by(rows: &[Row], project: ProjectId) -> Result<BTreeSet<WorkspaceNo>, StoreError> {
    let read = |row| Ok(WorkspaceNo(Cells::new(row, "record", || project.to_string()).count(0, "workspace_no")?));
    rows.iter().map(read).collect()
}

/// Waits until no transaction sees this database as it was before now, and none that is still running could make a new
/// one see it. Rewriting a table keeps deleted rows for as long as they might still be seen.
async fn outlive_older_views(client: &tokio_postgres::Client) -> Result<(), StoreError> {
    const NOW: &str = "SELECT pg_current_xact_id()::text, pg_current_xact_id()::xid::text";
    const ARE_OLDER: &str = "
        SELECT pg_snapshot_xmin(pg_current_snapshot()) < $1::text::xid8 OR EXISTS (
            SELECT 1
            FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()
                AND age(backend_xmin) > age($2::text::xid))";
    let failed = |error: tokio_postgres::Error| Fault::from(error).error;
    let now = client.query_one(NOW, &[]).await.map_err(failed)?;
    let (now, now_of_sessions): (String, String) = (now.get(0), now.get(1));
    let until = tokio::time::Instant::now() + OLDER_VIEWS_MAX;
    while client.query_one(ARE_OLDER, &[&now, &now_of_sessions]).await.map_err(failed)?.get(0) {
        if tokio::time::Instant::now() >= until {
            let why =
                "a transaction on the database server stays open for too long; end it, or run compact again later";
            return Err(StoreError::Away(why.to_owned()));
        }
        tokio::time::sleep(OLDER_VIEWS_PAUSE).await;
    }
    Ok(())
}

async fn find_place(tx: &Tx, project: ProjectId, id: RecordId) -> Result<Option<Place>, Fault> {
    const SELECT: &str = "
        SELECT r.seq, r.workspace_no, r.forgotten_at IS NULL AND w.deleted_at IS NULL
        FROM record r
        JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
        WHERE r.project_id = $1 AND r.id = $2";
    let row = tx.row(SELECT, &[&project.uuid(), &id.uuid()]).await?;
    Ok(row.map(|row| Place::read(&row, project, id)).transpose()?)
}

/// Removes at most this many of the ended records, and returns their workspaces.
async fn remove_records(
    tx: &Tx,
    project: ProjectId,
    before: Timestamp,
    rows_max: u64,
) -> Result<(u64, BTreeSet<WorkspaceNo>), Fault> {
    const DELETE: &str = "
        DELETE FROM record
        WHERE project_id = $1 AND seq IN (
            SELECT r.seq
            FROM record r
            WHERE r.project_id = $1 AND r.forgotten_at IS NOT NULL AND r.forgotten_at < $2
            UNION
            SELECT r.seq
            FROM workspace w
            JOIN record r ON r.project_id = w.project_id AND r.workspace_no = w.no
            WHERE w.project_id = $1 AND w.deleted_at < $2
            LIMIT $3)
        RETURNING workspace_no";
    let rows = tx.rows(DELETE, &[&project.uuid(), &micros(before), &integer(rows_max)]).await?;
    Ok((rows.len() as u64, touched_by(&rows, project)?))
}

/// Drops the snapshot of a workspace and records that one taken earlier must not be stored later. The records
/// themselves need no log position: every index learned that they are gone when they were forgotten. There is no clock
/// here, so the row contains the bound instead of the time.
async fn note_purge(tx: &Tx, project: &mut Locked, no: WorkspaceNo, before: Timestamp) -> Result<(), Fault> {
    const IS_ACTIVE: &str = "SELECT 1 FROM workspace WHERE project_id = $1 AND no = $2 AND deleted_at IS NULL";
    let (id, number) = (project.id.uuid(), integer(no.0));
    let answers = tx.ask_all(vec![ask(snapshots::DELETE, &[&id, &number]), ask(IS_ACTIVE, &[&id, &number])]).await?;
    if answers.last().is_some_and(|rows| !rows.is_empty()) {
        project.insert_change(tx, no, "purge", None, before).await?;
    }
    Ok(())
}

/// Removes idempotency keys that led to a purged record. They were used before their record was forgotten.
async fn remove_keys(tx: &Tx, project: ProjectId, before: Timestamp) -> Result<(), Fault> {
    const DELETE: &str = "
        DELETE FROM idempotency i
        WHERE i.project_id = $1 AND i.created_at < $2 AND NOT EXISTS (
            SELECT 1
            FROM record r
            WHERE r.project_id = $1 AND r.seq = i.record_seq)";
    tx.rows(DELETE, &[&project.uuid(), &micros(before)]).await?;
    Ok(())
}

/// Removes what is known of sources that not everybody may see, once their last record is gone: the id of a draft's
/// source must not outlive the draft. What is known of shared sources stays, as it says nothing that was hidden.
async fn remove_sources(tx: &Tx, project: ProjectId) -> Result<(), Fault> {
    const DELETE: &str = "
        DELETE FROM source s
        WHERE s.project_id = $1 AND s.audience <> $2
            AND NOT EXISTS (
                SELECT 1
                FROM record r
                WHERE r.project_id = $1 AND r.source_id IS NOT NULL AND r.forgotten_at IS NULL
                    AND r.source_id = s.source_id AND r.workspace_no = s.workspace_no AND r.audience = s.audience)
            AND NOT EXISTS (
                SELECT 1
                FROM record r
                WHERE r.project_id = $1 AND r.forgotten_at IS NOT NULL
                    AND r.source_id = s.source_id AND r.workspace_no = s.workspace_no AND r.audience = s.audience)";
    let shared = AudienceBytes::of(Audience::Shared);
    tx.rows(DELETE, &[&project.uuid(), &shared.as_slice()]).await?;
    Ok(())
}

/// Removes what is left of the ended workspaces that have no records.
async fn remove_workspaces(tx: &Tx, project: ProjectId, before: Timestamp) -> Result<(), Fault> {
    const EMPTY: &str = "
        SELECT w.no
        FROM workspace w
        WHERE w.project_id = $1 AND w.deleted_at < $2 AND NOT EXISTS (
            SELECT 1
            FROM record r
            WHERE r.project_id = $1 AND r.workspace_no = w.no)";
    const DELETES: [&str; 5] = [
        "DELETE FROM source WHERE project_id = $1 AND workspace_no = ANY($2)",
        "DELETE FROM snapshot WHERE project_id = $1 AND workspace_no = ANY($2)",
        "DELETE FROM change WHERE project_id = $1 AND workspace_no = ANY($2)",
        "DELETE FROM workspace_audience WHERE project_id = $1 AND workspace_no = ANY($2)",
        "DELETE FROM workspace WHERE project_id = $1 AND no = ANY($2)",
    ];
    let rows = tx.rows(EMPTY, &[&project.uuid(), &micros(before)]).await?;
    let numbers: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    if numbers.is_empty() {
        return Ok(());
    }
    let id = project.uuid();
    let deletes: Vec<Ask<'_>> = DELETES.iter().map(|delete| ask(delete, &[&id, &numbers])).collect();
    tx.ask_all(deletes).await?;
    Ok(())
}

/// Removes what a deleted project had besides records. Its figures and its audit log stay.
async fn remove_leftovers(tx: &Tx, project: ProjectId) -> Result<(), Fault> {
    const DELETES: [&str; 5] = [
        "DELETE FROM source WHERE project_id = $1",
        "DELETE FROM idempotency WHERE project_id = $1",
        "DELETE FROM guard_release WHERE project_id = $1",
        "DELETE FROM session_part WHERE project_id = $1",
        "DELETE FROM session WHERE project_id = $1",
    ];
    let id = project.uuid();
    tx.ask_all(DELETES.iter().map(|delete| ask(delete, &[&id])).collect()).await?;
    Ok(())
}
