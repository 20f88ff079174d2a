//! The files of a data directory and the connections to them: private to their owner, and to one process at a time.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::StoreError;

/// How long a connection waits for a lock. Only a checkpoint and a visitor with a SQLite shell ever hold one.
pub(super) const BUSY_TIMEOUT_MS: u32 = 5_000;
/// More than all the statements there are, so none is ever compiled twice by one connection.
const STATEMENTS_MAX: usize = 128;

/// Where the database of a data directory lies.
#[derive(Debug, Clone)]
pub(super) struct Files {
    database: PathBuf,
}

impl Files {
    /// Makes the directory if it is missing, and takes it for this process until the lock is dropped.
    pub(super) fn take(dir: &Path) -> Result<(Self, File), StoreError> {
        let failed = |what: &str, error: io::Error| StoreError::Failed(format!("{what} {}: {error}", dir.display()));
        DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|e| failed("can't make", e))?;
        let lock = open_private(&dir.join("mnemon.lock")).map_err(|e| failed("can't use", e))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let message = format!("another mnemon is using this data directory ({})", dir.display());
                return Err(StoreError::Failed(message));
            }
            Err(TryLockError::Error(error)) => return Err(failed("can't lock", error)),
        }
        let database = dir.join("mnemon.db");
        // SQLite gives its WAL the permissions of the database, so making the database private makes them all private.
        open_private(&database).map_err(|e| failed("can't use", e))?;
        Ok((Self { database }, lock))
    }

    /// The connection that writes.
    ///
    /// `synchronous=FULL` syncs the WAL at every commit: with NORMAL a power loss took acknowledged rows. No memory
    /// mapping: a failing disk would then end the process by a signal instead of failing one call, and with pages in
    /// SQLite's own cache it reads no faster. `secure_delete=FAST` overwrites what is freed inside of pages that are
    /// written anyway; a purge asks for more (`purging.rs`).
    pub(super) fn open_writer(&self) -> Result<Connection, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(&self.database, flags)?;
        conn.execute_batch(&format!(
            "PRAGMA busy_timeout = {BUSY_TIMEOUT_MS};
             PRAGMA journal_mode = WAL;
             PRAGMA synchronous = FULL;
             PRAGMA foreign_keys = ON;
             PRAGMA secure_delete = FAST;
             PRAGMA wal_autocheckpoint = 0;
             PRAGMA cache_size = -16384;
             PRAGMA mmap_size = 0;
             PRAGMA temp_store = MEMORY;"
        ))?;
        prepare(conn)
    }

    /// A connection that reads.
    pub(super) fn open_reader(&self) -> Result<Connection, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(&self.database, flags)?;
        conn.execute_batch(&format!(
            "PRAGMA busy_timeout = {BUSY_TIMEOUT_MS};
             PRAGMA cache_size = -16384;
             PRAGMA mmap_size = 0;
             PRAGMA temp_store = MEMORY;"
        ))?;
        prepare(conn)
    }
}

fn prepare(conn: Connection) -> Result<Connection, StoreError> {
    conn.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    // Otherwise the planner looks at the bound values and compiles a statement again whenever they change: that was a
    // quarter of the writer's time. Our statements name their index where it matters.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(conn)
}

fn open_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}
