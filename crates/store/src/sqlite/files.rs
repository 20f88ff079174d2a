//! The files of a data directory and the connections to them: private to their owner, and to one process at a time.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use mnemon_platform::files as private;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::error::damaged;
use crate::StoreError;

/// How long a connection waits for a lock. Only a checkpoint or somebody with a SQLite shell ever holds one.
pub(super) const BUSY_TIMEOUT_MS: u32 = 5_000;
/// More than the number of statements, so that no connection compiles one twice.
const STATEMENTS_MAX: usize = 128;

/// The largest database that is checked completely at startup, in pages (16 MB): 20 MB took 100 ms of CPU time, and a
/// start should take no longer than 300 ms up to its first answer.
const CHECKED_PAGES_MAX: i64 = 4_096;

/// The name of the database in a data directory.
pub(super) const DATABASE: &str = "mnemon.db";

/// What the page cache of the writer, and of each reader, may take.
pub(super) const WRITER_CACHE_BYTES: u64 = 4 << 20;
pub(super) const READER_CACHE_BYTES: u64 = 16 << 20;

/// Room for the shared memory of the WAL, which the last connection removes: without it, no start on a full disk could
/// read. SQLite's first piece of it has half this size.
const SPARE_BYTES: usize = 64 << 10;

/// Room for the largest save, with all that it adds to the WAL and to the WAL's shared memory.
const SAVE_BYTES: usize = 256 << 10;
/// With this much left, nobody has to try whether a save finds room.
const PLENTY_BYTES: u64 = 64 << 20;

/// The paths of the database in a data directory, and of what keeps room for its next start.
#[derive(Debug, Clone)]
pub(super) struct Files {
    database: PathBuf,
    spare: PathBuf,
}

impl Files {
    /// Creates the directory if missing, and locks it for this process until the lock is dropped.
    pub(super) fn take(dir: &Path) -> Result<(Self, File), StoreError> {
        let failed = |what: &str, error: io::Error| StoreError::Failed(format!("{what} {}: {error}", dir.display()));
        private::make_folder(dir).map_err(|e| failed("can't make", e))?;
        let lock = open_private(&dir.join("mnemon.lock")).map_err(|e| failed("can't use", e))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let message = format!("another mnemon is using this data directory ({})", dir.display());
                return Err(StoreError::Failed(message));
            }
            Err(TryLockError::Error(error)) => return Err(failed("can't lock", error)),
        }
        tighten(dir).map_err(|e| failed("can't make private", e))?;
        let database = dir.join(DATABASE);
        // SQLite gives a new WAL the permissions of the database, so making the database private makes them all
        // private.
        open_private(&database).map_err(|e| failed("can't use", e))?;
        Ok((Self { database, spare: dir.join("mnemon.spare") }, lock))
    }

    /// The connection that writes, also on a full disk: then it opens with the room that was kept.
    pub(super) fn open_writer(&self) -> Result<Connection, StoreError> {
        let conn = match self.connect_writer() {
            Err(StoreError::Full) if fs::remove_file(&self.spare).is_ok() => self.connect_writer()?,
            outcome => outcome?,
        };
        self.keep_spare();
        Ok(conn)
    }

    /// Keeps room for the next start, if there is any.
    pub(super) fn keep_spare(&self) {
        if fs::metadata(&self.spare).is_ok_and(|about| about.len() == SPARE_BYTES as u64) {
            return;
        }
        let kept = open_private(&self.spare).and_then(|mut file| file.write_all(&[1; SPARE_BYTES]));
        if kept.is_err() {
            let _ = fs::remove_file(&self.spare);
        }
    }

    /// Whether the largest save finds room. A small write says too little: it fits into space that the files have.
    pub(super) fn check_room(&self) -> Result<(), StoreError> {
        let Some(dir) = self.database.parent() else { return Ok(()) };
        if private::free_bytes(dir).is_some_and(|free| free >= PLENTY_BYTES) {
            return Ok(());
        }
        let trial = dir.join("mnemon.trial");
        let written = open_private(&trial).and_then(|mut file| file.write_all(&[1; SAVE_BYTES]));
        let removed = fs::remove_file(&trial);
        match written.and(removed) {
            Err(error) if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => {
                Err(StoreError::Full)
            }
            Err(error) => Err(StoreError::Away(format!("can't write into {}: {error}", dir.display()))),
            Ok(()) => Ok(()),
        }
    }

    /// `synchronous=FULL` syncs the WAL at every commit: with NORMAL, a power loss lost acknowledged rows. On macOS a
    /// sync reaches only the drive's cache unless it is a full one; elsewhere the two `fullfsync` change nothing.
    /// `secure_delete` overwrites freed space: forgetting a record rewrites its row, and the old copy must not outlive
    /// a later purge. Saves free hardly anything. The cache is small because SQLite looks through all of it at the end
    /// of many a commit: whenever it has put the pages of an index in order.
    fn connect_writer(&self) -> Result<Connection, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(&self.database, flags)?;
        conn.execute_batch(&format!(
            "PRAGMA busy_timeout = {BUSY_TIMEOUT_MS};
             PRAGMA journal_mode = WAL;
             PRAGMA synchronous = FULL;
             PRAGMA fullfsync = ON;
             PRAGMA checkpoint_fullfsync = ON;
             PRAGMA foreign_keys = ON;
             PRAGMA secure_delete = ON;
             PRAGMA wal_autocheckpoint = 0;
             PRAGMA cache_size = -{};
             PRAGMA mmap_size = 0;
             PRAGMA temp_store = MEMORY;",
            WRITER_CACHE_BYTES >> 10
        ))?;
        prepare(conn)
    }

    /// A connection that reads.
    ///
    /// It uses no memory mapping, which has a price: ten records picked from 120,000, too many for the page cache, took
    /// 98 to 112 µs of CPU time without it and 53 to 56 µs with it. But a page that the disk fails to deliver would
    /// then end the whole process with a signal, and not one call with an error.
    pub(super) fn open_reader(&self) -> Result<Connection, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(&self.database, flags)?;
        conn.execute_batch(&format!(
            "PRAGMA busy_timeout = {BUSY_TIMEOUT_MS};
             PRAGMA cache_size = -{};
             PRAGMA mmap_size = 0;
             PRAGMA temp_store = MEMORY;",
            READER_CACHE_BYTES >> 10
        ))?;
        prepare(conn)
    }
}

/// Checks the whole file, if that takes no longer than a start may: a flipped bit in a key makes a row vanish silently,
/// and only the indexes reveal it, which `quick_check` does not read. Larger files open unchecked, and the log says so.
pub(super) fn check_whole(conn: &Connection) -> Result<(), StoreError> {
    let pages: i64 = conn.query_row("PRAGMA page_count", [], |row| row.get(0))?;
    if pages > CHECKED_PAGES_MAX {
        tracing::info!(pages, "the database is too large to be walked through at every start");
        return Ok(());
    }
    let verdict: String = conn.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if verdict == "ok" { Ok(()) } else { Err(damaged(&verdict)) }
}

fn prepare(conn: Connection) -> Result<Connection, StoreError> {
    #[cfg(feature = "testing")]
    let conn = counted(conn)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    // Otherwise the planner looks at the bound values and recompiles a statement whenever they change: that was a
    // quarter of the writer's time. Our statements name their index where it matters.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(conn)
}

/// A connection whose statements are counted.
#[cfg(feature = "testing")]
fn counted(mut conn: Connection) -> Result<Connection, StoreError> {
    use rusqlite::trace::{TraceEvent, TraceEventCodes};
    let count = |_: TraceEvent<'_>| crate::statements::count_statements(1);
    conn.trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, Some(count))?;
    Ok(conn)
}

/// Takes the rights of others away from the directory and from our files in it, the WAL and copies of the database
/// among them: a copy, a restored backup or a wide umask can have left them. The log says what was wrong.
fn tighten(dir: &Path) -> io::Result<()> {
    close_to_others(dir)?;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        // A link leads out of the directory, and what it leads to is not ours to change.
        let is_ours = entry.file_name().as_encoded_bytes().starts_with(b"mnemon");
        if is_ours && !entry.file_type()?.is_symlink() {
            close_to_others(&entry.path())?;
        }
    }
    Ok(())
}

pub(super) fn close_to_others(path: &Path) -> io::Result<()> {
    if let Some(was) = private::close_to_others(path)? {
        tracing::warn!(%was, "others could reach {}; now only its owner can", path.display());
    }
    Ok(())
}

fn open_private(path: &Path) -> io::Result<File> {
    private::open_private(path, File::options().read(true).write(true).create(true).truncate(false))
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("a file of the directory").permissions().mode() & 0o777
    }

    /// `.cargo/config.toml` says how, and why.
    #[test]
    fn sqlite_is_built_for_speed() {
        let conn = Connection::open_in_memory().unwrap();
        let mut options = conn.prepare("PRAGMA compile_options").unwrap();
        let options: Vec<String> = options.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        for option in ["DEFAULT_MEMSTATUS=0", "OMIT_SHARED_CACHE"] {
            assert!(options.iter().any(|own| own == option), "no {option} in {options:?}");
        }
    }

    #[test]
    fn a_data_directory_that_others_could_reach_is_closed_at_the_next_start() {
        let dir = std::env::temp_dir().join(format!("mnemon-loose-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        let names = ["mnemon.lock", "mnemon.db", "mnemon.db-wal", "mnemon.db-shm", "mnemon.snapshot"];
        for name in names.into_iter().chain(["somebody-elses.txt"]) {
            let path = dir.join(name);
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        }
        fs::set_permissions(&dir, Permissions::from_mode(0o755)).unwrap();
        let (_files, _lock) = Files::take(&dir).unwrap();
        assert_eq!(mode(&dir), 0o700);
        for name in names {
            assert_eq!(mode(&dir.join(name)), 0o600, "{name}");
        }
        assert_eq!(mode(&dir.join("somebody-elses.txt")), 0o644);
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn the_writer_asks_for_full_syncs() {
        let dir = std::env::temp_dir().join(format!("mnemon-syncs-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        let (files, _lock) = Files::take(&dir).unwrap();
        let conn = files.connect_writer().unwrap();
        let ask = |name: &str| conn.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!([ask("synchronous"), ask("fullfsync"), ask("checkpoint_fullfsync")], [2, 1, 1]);
        fs::remove_dir_all(&dir).unwrap();
    }
}
