//! Emptying the WAL, and rewriting the file without its free space.

use std::time::Duration;

use rusqlite::Connection;

use super::files::BUSY_TIMEOUT_MS;
use crate::StoreError;

/// Writes and syncs the whole WAL into the database and empties it.
pub(super) fn checkpoint_all(conn: &Connection) -> Result<(), StoreError> {
    let is_busy: i64 = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    if is_busy == 0 { Ok(()) } else { Err(StoreError::Away("readers are using the WAL".to_owned())) }
}

/// The same for when a busy writer is worse than a full WAL: waits for readers no longer than given, and returns
/// `false` if some still hold it.
pub(super) fn empty_wal(conn: &Connection, wait_max: Duration) -> Result<bool, StoreError> {
    conn.busy_timeout(wait_max)?;
    let is_busy = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    conn.busy_timeout(Duration::from_millis(u64::from(BUSY_TIMEOUT_MS)))?;
    Ok(is_busy? == 0)
}

/// Rewrites the whole database without free space. Readers continue meanwhile; writers wait.
///
/// SQLite's temporary copy goes to an unnamed file (`SQLITE_TMPDIR` says where): in memory, like other intermediate
/// results, it would need room for the whole database.
pub(super) fn rewrite(conn: &Connection) -> Result<(), StoreError> {
    conn.execute_batch("PRAGMA temp_store = FILE")?;
    let done = conn.execute_batch("VACUUM");
    conn.execute_batch("PRAGMA temp_store = MEMORY")?;
    Ok(done?)
}
