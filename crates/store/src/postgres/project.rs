//! A project while it is written to: its row is locked, its seq and its count change in memory and are written once, as
//! the last step before the commit.

use mnemon_core::{ProjectId, Seq};

use super::rows::{Cells, integer};
use super::transaction::{Ask, ask};
use crate::StoreError;
use crate::rows::Row;

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
    /// As they were when the row was locked.
    found: (u64, u64),
    /// What `flush` writes, kept where a statement can borrow it.
    written: (uuid::Uuid, i64, i64),
}

/// From the row that [`LOCK`] gave.
pub(super) fn read<R: Row>(row: Option<&R>, id: ProjectId) -> Result<Option<Locked>, StoreError> {
    let Some(row) = row else { return Ok(None) };
    let cells = Cells::new(row, "project", || id.to_string());
    let (seq, live_records) = (cells.count(0, "seq")?, cells.count(1, "live_records")?);
    Ok(Some(Locked::new(id, seq, live_records)))
}

impl Locked {
    pub(super) fn new(id: ProjectId, seq: u64, live_records: u64) -> Self {
        Self { id, seq, live_records, found: (seq, live_records), written: (id.uuid(), 0, 0) }
    }

    pub(super) fn is_changed(&self) -> bool {
        (self.seq, self.live_records) != self.found
    }

    /// Takes the next place of the log.
    pub(super) fn take_seq(&mut self) -> Seq {
        self.seq += 1;
        Seq(self.seq)
    }

    /// Writes seq and count: goes out with the commit.
    pub(super) fn flush(&mut self) -> Ask<'_> {
        self.written = (self.id.uuid(), integer(self.seq), integer(self.live_records));
        ask(UPDATE, &[&self.written.0, &self.written.1, &self.written.2])
    }
}
