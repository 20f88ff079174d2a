//! A project while it is written to: its row is locked, its seq and its count change in memory and are written once, as
//! the last step before the commit.

use mnemon_core::{AccountId, ProjectId, Seq, Timestamp, WorkspaceNo};
use tokio_postgres::Row;

use super::error::{Fault, no_such_project};
use super::rows::{Cells, integer, micros};
use super::transaction::{Ask, Tx, ask};
use crate::StoreError;

/// Takes the project's lock. `NO KEY UPDATE` leaves room for those who only refer to the project, as a new key does.
pub(super) const LOCK: &str = "
    SELECT seq, live_records
    FROM project
    WHERE id = $1 AND deleted_at IS NULL
    FOR NO KEY UPDATE";
const UPDATE: &str = "UPDATE project SET seq = $2, live_records = $3 WHERE id = $1";

/// A living project whose row this transaction holds.
pub(super) struct Locked {
    pub(super) id: ProjectId,
    pub(super) seq: u64,
    pub(super) live_records: u64,
    /// What `flush` writes, kept where a statement can borrow it.
    written: (uuid::Uuid, i64, i64),
}

/// Locks a project; its absence is a fault of the caller, which has it from a credential.
pub(super) async fn lock(tx: &Tx, id: ProjectId) -> Result<Locked, Fault> {
    let row = tx.row(LOCK, &[&id.uuid()]).await?;
    Ok(read(row.as_ref(), id)?.ok_or_else(|| no_such_project(id))?)
}

/// From the row that [`LOCK`] gave.
pub(super) fn read(row: Option<&Row>, id: ProjectId) -> Result<Option<Locked>, StoreError> {
    let Some(row) = row else { return Ok(None) };
    let cells = Cells::new(row, "project", || id.to_string());
    let (seq, live_records) = (cells.count(0, "seq")?, cells.count(1, "live_records")?);
    Ok(Some(Locked::new(id, seq, live_records)))
}

/// Keeps new projects, members and departments from coming into an account until the transaction ends.
pub(super) async fn lock_account(tx: &Tx, account: AccountId) -> Result<(), Fault> {
    const LOCK: &str = "SELECT 1 FROM account WHERE id = $1 FOR UPDATE";
    tx.rows(LOCK, &[&account.uuid()]).await?;
    Ok(())
}

impl Locked {
    pub(super) fn new(id: ProjectId, seq: u64, live_records: u64) -> Self {
        Self { id, seq, live_records, written: (id.uuid(), 0, 0) }
    }

    /// Takes the next place of the log.
    pub(super) fn take_seq(&mut self) -> Seq {
        self.seq += 1;
        Seq(self.seq)
    }

    /// Takes the next place of the log for something that happened to a record or to its whole workspace.
    pub(super) async fn insert_change(
        &mut self,
        tx: &Tx,
        no: WorkspaceNo,
        kind: &str,
        record: Option<Seq>,
        at: Timestamp,
    ) -> Result<Seq, Fault> {
        self.insert_changes(tx, &[(no, record)], kind, at).await?;
        Ok(Seq(self.seq))
    }

    /// As [`Self::insert_change`], for many at once.
    pub(super) async fn insert_changes(
        &mut self,
        tx: &Tx,
        touched: &[(WorkspaceNo, Option<Seq>)],
        kind: &str,
        at: Timestamp,
    ) -> Result<(), Fault> {
        const INSERT: &str = "
            INSERT INTO change (project_id, seq, workspace_no, kind, record_seq, at)
            SELECT $1, g.seq, g.workspace_no, $5, g.record_seq, $6
            FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) AS g (seq, workspace_no, record_seq)";
        let seqs: Vec<i64> = touched.iter().map(|_| integer(self.take_seq().0)).collect();
        let workspaces: Vec<i64> = touched.iter().map(|(no, _)| integer(no.0)).collect();
        let records: Vec<Option<i64>> = touched.iter().map(|(_, record)| record.map(|seq| integer(seq.0))).collect();
        tx.rows(INSERT, &[&self.id.uuid(), &seqs, &workspaces, &records, &kind, &micros(at)]).await?;
        Ok(())
    }

    /// Writes seq and count: goes out with the commit.
    pub(super) fn flush(&mut self) -> Ask<'_> {
        self.written = (self.id.uuid(), integer(self.seq), integer(self.live_records));
        ask(UPDATE, &[&self.written.0, &self.written.1, &self.written.2])
    }
}
