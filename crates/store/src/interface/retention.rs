//! Permanent deletion of records, and reclaiming their space.

use std::collections::BTreeSet;

use async_trait::async_trait;
use mnemon_core::{Audience, ProjectId, RecordId, Seq, Timestamp, WorkspaceNo};

use super::AuditEntry;
use super::audit::insert_audit;
use super::log::insert_change;
use crate::StoreError;
use crate::rows::{Cells, Row};
use crate::statement::{Cell, Sql, Statement, Touches, Transaction, Values, statement};
use crate::tenant::Tenant;

/// How many records a purge at once takes away: few enough to let saves through in between.
const PURGE_AT_ONCE: u64 = 500;

/// What a limit on forgotten records took away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PurgedBeyond {
    pub purged: u64,
    /// How many forgotten records are left.
    pub kept: u64,
}

#[async_trait]
pub trait Retention: Sql {
    /// Purges a record: its row, its workspace's snapshot, and everything that points to it. Freed space is
    /// overwritten. `false` if absent.
    async fn purge(&self, project: ProjectId, id: RecordId, audit: AuditEntry) -> Result<bool, StoreError>;

    /// Purges what was forgotten, or whose workspace or project was deleted, before a given time, up to `rows_max`
    /// records. Returns the number of records removed; fewer than `rows_max` means that nothing is left.
    async fn purge_forgotten(&self, before: Timestamp, rows_max: usize) -> Result<u64, StoreError> {
        let (rows_max, mut purged) = (rows_max.max(1), 0);
        for project in self.list_doomed(before).await? {
            while purged < rows_max as u64 {
                // Found by a reader: looking for them must not hold up those who save.
                let rest = rows_max - purged as usize;
                let rows = self.select(Tenant::project(project), ended_before(project, before, rest)).await?;
                let (seqs, is_rest) = (read_seqs(&rows, project)?, rows.len() < rest);
                let count = self.purge_ended(project, seqs, before, is_rest).await?;
                purged += count;
                // Where something came back between finding and removing, others take its place.
                if is_rest || count == 0 {
                    break;
                }
            }
        }
        Ok(purged)
    }

    /// The projects with something to purge: records, or what is left of workspaces and projects without records.
    async fn list_doomed(&self, before: Timestamp) -> Result<Vec<ProjectId>, StoreError>;

    /// Purges those of the records that ended before a time and did not come back. Where they are the rest, what is
    /// left of ended workspaces and of an ended project goes too. Returns how many records it were.
    async fn purge_ended(
        &self,
        project: ProjectId,
        seqs: Vec<Seq>,
        before: Timestamp,
        is_rest: bool,
    ) -> Result<u64, StoreError>;

    /// Purges the oldest forgotten records of a project, and those of its deleted workspaces, until at most `keep` are
    /// left. Nothing that ended after `now` is touched.
    async fn purge_beyond(&self, project: ProjectId, keep: u64, now: Timestamp) -> Result<PurgedBeyond, StoreError> {
        // What ended in this very moment has ended.
        let before = now + jiff::SignedDuration::from_micros(1);
        let mut purged = 0;
        loop {
            let row = self.select_one(Tenant::project(project), count_ended(project)).await?;
            let count = |row: Values| Cells::new(&row, "record", || project.to_string()).count(0, "seq");
            let kept = row.map(count).transpose()?.unwrap_or(0);
            if kept <= keep {
                return Ok(PurgedBeyond { purged, kept });
            }
            let rows_max = (kept - keep).min(PURGE_AT_ONCE);
            let rows = self.select(Tenant::project(project), oldest_ended(project, rows_max)).await?;
            let count = self.purge_ended(project, read_seqs(&rows, project)?, before, false).await?;
            purged += count;
            if count == 0 {
                return Ok(PurgedBeyond { purged, kept });
            }
        }
    }

    /// Rewrites storage without its free space.
    async fn compact(&self) -> Result<(), StoreError>;
}

/// Records that were forgotten, or ended with their workspace, before a time. The workspaces of a project end with it,
/// so this covers the records of deleted projects too.
fn ended_before(project: ProjectId, before: Timestamp, rows_max: usize) -> Statement {
    const SELECT: &str = "
        SELECT r.seq
        FROM record r /* INDEXED BY record_forgotten */
        WHERE r.project_id = $1 AND r.forgotten_at IS NOT NULL AND (r.forgotten_at < $2 OR EXISTS (
            SELECT 1
            FROM workspace w
            WHERE w.project_id = $1 AND w.no = r.workspace_no AND w.deleted_at < $2))
        UNION ALL
        SELECT r.seq
        FROM workspace w
        CROSS JOIN record r /* INDEXED BY record_workspace */
        WHERE w.project_id = $1 AND w.deleted_at < $2 AND r.project_id = w.project_id AND r.workspace_no = w.no
            AND r.forgotten_at IS NULL
        LIMIT $3";
    statement!(SELECT, project, before, rows_max)
}

fn count_ended(project: ProjectId) -> Statement {
    const COUNT: &str = "
        SELECT (
            SELECT COUNT(*)
            FROM record /* INDEXED BY record_forgotten */
            WHERE project_id = $1 AND forgotten_at IS NOT NULL) + (
            SELECT COUNT(*)
            FROM workspace w
            CROSS JOIN record r /* INDEXED BY record_workspace */
            WHERE w.project_id = $1 AND w.deleted_at IS NOT NULL AND r.project_id = w.project_id
                AND r.workspace_no = w.no AND r.forgotten_at IS NULL)";
    statement!(COUNT, project)
}

fn oldest_ended(project: ProjectId, rows_max: u64) -> Statement {
    const SELECT: &str = "
        SELECT seq
        FROM (
            SELECT r.seq, r.forgotten_at AS at
            FROM record r /* INDEXED BY record_forgotten */
            WHERE r.project_id = $1 AND r.forgotten_at IS NOT NULL
            UNION ALL
            SELECT r.seq, w.deleted_at
            FROM workspace w
            CROSS JOIN record r /* INDEXED BY record_workspace */
            WHERE w.project_id = $1 AND w.deleted_at IS NOT NULL AND r.project_id = w.project_id
                AND r.workspace_no = w.no AND r.forgotten_at IS NULL) AS ended
        ORDER BY at, seq
        LIMIT $2";
    statement!(SELECT, project, rows_max)
}

fn read_seqs(rows: &[Values], project: ProjectId) -> Result<Vec<Seq>, StoreError> {
    rows.iter().map(|row| Cells::new(row, "record", || project.to_string()).count(0, "seq").map(Seq)).collect()
}

/// Removes one record, live or not.
pub(crate) async fn purge<T: Transaction>(
    tx: &mut T,
    project: ProjectId,
    id: RecordId,
    audit: &AuditEntry,
) -> Result<bool, T::Error> {
    const FIND: &str = "
        SELECT r.seq, r.workspace_no, r.forgotten_at IS NULL AND w.deleted_at IS NULL
        FROM record r
        JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
        WHERE r.project_id = $1 AND r.id = $2";
    const DELETE: &str = "DELETE FROM record WHERE project_id = $1 AND seq = $2";
    const DELETE_KEYS: &str = "DELETE FROM idempotency WHERE project_id = $1 AND record_seq = $2";
    let found = tx.lock(project, vec![statement!(FIND, project, id)]).await?;
    let Some(row) = found.and_then(|mut answers| answers.pop()?.pop()) else { return Ok(false) };
    let place = Place::read(&row, project, id)?;
    tx.put(statement!(DELETE, project, place.seq)).await?;
    tx.put(statement!(DELETE_KEYS, project, place.seq)).await?;
    tx.put(delete_snapshots(project, [place.no])).await?;
    tx.put(remove_sources(project)).await?;
    insert_change(tx, project, place.no, "purge", Some(place.seq), audit.at).await?;
    if place.is_alive {
        let live_records = tx.live_records(project)?;
        *live_records = live_records.saturating_sub(1);
    }
    tx.touch(Touches::Purged);
    tx.put(insert_audit(audit, 1)).await?;
    Ok(true)
}

/// As [`Retention::purge_ended`].
pub(crate) async fn purge_ended<T: Transaction>(
    tx: &mut T,
    project: ProjectId,
    seqs: &[Seq],
    before: Timestamp,
    is_rest: bool,
) -> Result<u64, T::Error> {
    const DELETE: &str = "
        DELETE FROM record
        WHERE project_id = $1 AND seq = ANY($2) AND (forgotten_at < $3 OR EXISTS (
            SELECT 1
            FROM workspace w
            WHERE w.project_id = $1 AND w.no = record.workspace_no AND w.deleted_at < $3))
        RETURNING workspace_no";
    // No other act writes into a deleted one.
    tx.lock(project, Vec::new()).await?;
    let rows = tx.run(statement!(DELETE, project, Cell::list(seqs.iter().copied()), before)).await?;
    note_purge(tx, project, &read_numbers(&rows, project)?, before).await?;
    if !rows.is_empty() {
        tx.put(remove_keys(project, before)).await?;
        tx.put(remove_sources(project)).await?;
    }
    if is_rest {
        remove_workspaces(tx, project, before).await?;
        remove_leftovers(tx, project, before).await?;
    }
    tx.touch(Touches::Purged);
    Ok(rows.len() as u64)
}

/// The workspaces of deleted records, each once.
fn read_numbers(rows: &[Values], project: ProjectId) -> Result<BTreeSet<u64>, StoreError> {
    rows.iter().map(|row| Cells::new(row, "record", || project.to_string()).count(0, "workspace_no")).collect()
}

fn delete_snapshots(project: ProjectId, workspaces: impl IntoIterator<Item = WorkspaceNo>) -> Statement {
    const DELETE: &str = "DELETE FROM snapshot WHERE project_id = $1 AND workspace_no = ANY($2)";
    statement!(DELETE, project, Cell::list(workspaces))
}

/// Drops the snapshots of workspaces and records that ones taken earlier must not be stored later. The records
/// themselves need no log position: every index learned that they are gone when they were forgotten. There is no clock
/// here, so the row contains the bound instead of the time.
async fn note_purge<T: Transaction>(
    tx: &mut T,
    project: ProjectId,
    touched: &BTreeSet<u64>,
    before: Timestamp,
) -> Result<(), T::Error> {
    const ACTIVE: &str = "
        SELECT no
        FROM workspace
        WHERE project_id = $1 AND no = ANY($2) AND deleted_at IS NULL
        ORDER BY no";
    let touched = || touched.iter().copied().map(WorkspaceNo);
    tx.put(delete_snapshots(project, touched())).await?;
    let rows = tx.run(statement!(ACTIVE, project, Cell::list(touched()))).await?;
    for no in read_numbers(&rows, project)? {
        insert_change(tx, project, WorkspaceNo(no), "purge", None, before).await?;
    }
    Ok(())
}

/// Removes idempotency keys that led to a purged record. They were used before their record was forgotten.
fn remove_keys(project: ProjectId, before: Timestamp) -> Statement {
    const DELETE: &str = "
        DELETE FROM idempotency /* INDEXED BY idempotency_age */
        WHERE project_id = $1 AND created_at < $2 AND NOT EXISTS (
            SELECT 1
            FROM record r
            WHERE r.project_id = $1 AND r.seq = idempotency.record_seq)";
    statement!(DELETE, project, before)
}

/// Removes what is known of sources that not everybody may see, once their last record is gone: the id of a draft's
/// source must not outlive the draft. What is known of shared sources stays, as it says nothing that was hidden.
fn remove_sources(project: ProjectId) -> Statement {
    const DELETE: &str = "
        DELETE FROM source
        WHERE project_id = $1 AND audience <> $2
            AND NOT EXISTS (
                SELECT 1
                FROM record r /* INDEXED BY record_source */
                WHERE r.project_id = $1 AND r.source_id IS NOT NULL AND r.forgotten_at IS NULL
                    AND r.source_id = source.source_id AND r.workspace_no = source.workspace_no
                    AND r.audience = source.audience)
            AND NOT EXISTS (
                SELECT 1
                FROM record r /* INDEXED BY record_forgotten */
                WHERE r.project_id = $1 AND r.forgotten_at IS NOT NULL
                    AND r.source_id = source.source_id AND r.workspace_no = source.workspace_no
                    AND r.audience = source.audience)";
    statement!(DELETE, project, Audience::Shared)
}

/// Removes what is left of the ended workspaces that have no records.
async fn remove_workspaces<T: Transaction>(tx: &mut T, project: ProjectId, before: Timestamp) -> Result<(), T::Error> {
    const EMPTY: &str = "
        SELECT w.no
        FROM workspace w
        WHERE w.project_id = $1 AND w.deleted_at < $2
            AND NOT EXISTS (
                SELECT 1
                FROM record r /* INDEXED BY record_workspace */
                WHERE r.project_id = $1 AND r.workspace_no = w.no AND r.forgotten_at IS NULL)
            AND NOT EXISTS (
                SELECT 1
                FROM record r /* INDEXED BY record_forgotten */
                WHERE r.project_id = $1 AND r.workspace_no = w.no AND r.forgotten_at IS NOT NULL)";
    const DELETES: [&str; 6] = [
        "DELETE FROM source WHERE project_id = $1 AND workspace_no = ANY($2)",
        "DELETE FROM source_look WHERE project_id = $1 AND workspace_no = ANY($2)",
        "DELETE FROM snapshot WHERE project_id = $1 AND workspace_no = ANY($2)",
        "DELETE FROM change WHERE project_id = $1 AND workspace_no = ANY($2)",
        "DELETE FROM workspace_audience WHERE project_id = $1 AND workspace_no = ANY($2)",
        "DELETE FROM workspace WHERE project_id = $1 AND no = ANY($2)",
    ];
    let rows = tx.run(statement!(EMPTY, project, before)).await?;
    let numbers = read_numbers(&rows, project)?;
    if numbers.is_empty() {
        return Ok(());
    }
    for delete in DELETES {
        tx.put(statement!(delete, project, Cell::list(numbers.iter().copied().map(WorkspaceNo)))).await?;
    }
    Ok(())
}

/// Removes what an ended project had besides records. Its figures and its audit log stay.
async fn remove_leftovers<T: Transaction>(tx: &mut T, project: ProjectId, before: Timestamp) -> Result<(), T::Error> {
    const IS_OVER: &str = "SELECT 1 FROM project WHERE id = $1 AND deleted_at < $2";
    const DELETES: [&str; 6] = [
        "DELETE FROM source WHERE project_id = $1",
        "DELETE FROM source_look WHERE project_id = $1",
        "DELETE FROM idempotency WHERE project_id = $1",
        "DELETE FROM guard_release WHERE project_id = $1",
        "DELETE FROM session_part WHERE project_id = $1",
        "DELETE FROM session WHERE project_id = $1",
    ];
    if !tx.run(statement!(IS_OVER, project, before)).await?.is_empty() {
        for delete in DELETES {
            tx.put(statement!(delete, project)).await?;
        }
    }
    Ok(())
}

/// A record to purge, and whether it is live until then.
struct Place {
    seq: Seq,
    no: WorkspaceNo,
    is_alive: bool,
}

impl Place {
    fn read<R: Row>(row: &R, project: ProjectId, id: RecordId) -> Result<Self, StoreError> {
        let cells = Cells::new(row, "record", || format!("{project}/{id}"));
        Ok(Self {
            seq: Seq(cells.count(0, "seq")?),
            no: WorkspaceNo(cells.count(1, "workspace_no")?),
            is_alive: cells.flag(2, "forgotten_at")?,
        })
    }
}
