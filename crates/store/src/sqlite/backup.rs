//! A copy of a data directory's database, made while the service runs, and the way back into an empty directory.
//!
//! The copy shows one moment: it is read inside one transaction, and whatever is saved meanwhile goes on and is not in
//! it. The WAL can't be emptied while that transaction lasts. A copy has its final name only after it was read back,
//! sealed (`seal.rs`) and synced.
//!
//! A file that comes back may be damaged, or a stranger's. Its seal must fit before SQLite opens it; then its schema
//! becomes exactly ours (`schema.rs`), and the whole file and the checksum of every record are read (`proof.rs`).

mod proof;
mod schema;
mod scratch;
mod seal;
#[cfg(all(test, feature = "testing"))]
mod tests;

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use self::proof::check_records;
use self::schema::make_ours;
use self::scratch::{Scratch, check_room, is_free};
use self::seal::Seal;
use super::files::DATABASE;
use crate::StoreError;

/// How many pages are copied between two reports of progress: 4 MiB.
const PAGES_PER_STEP: i32 = 1_024;
const BUSY_PAUSE: Duration = Duration::from_millis(20);

/// A finished copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    pub bytes: u64,
    pub records: u64,
    /// What a restored file had beside our schema and has no more, as "trigger x".
    pub dropped: Vec<String>,
}

/// What a restore takes without proof.
#[derive(Debug, Clone, Copy, Default)]
pub struct Trust {
    /// A file without a seal: a plain copy of a database, or a backup of an earlier version.
    pub unsealed: bool,
    /// Records whose checksum does not match. Answers leave them out.
    pub damaged_records: bool,
}

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The text says what is in the way.
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for BackupError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// Copies the database of a data directory into a new file, which no other user may read. `bytes_per_second` bounds the
/// load on the disk; `tell` receives the bytes copied so far and the total. Damaged records are a reason to refuse,
/// unless `keeps_damaged`.
pub fn back_up(
    dir: &Path,
    to: &Path,
    bytes_per_second: Option<u64>,
    keeps_damaged: bool,
    tell: &mut dyn FnMut(u64, u64),
) -> Result<Copied, BackupError> {
    let database = dir.join(DATABASE);
    if !database.is_file() {
        return Err(BackupError::Refused(format!("there is no data of mnemon in {}", dir.display())));
    }
    if to.symlink_metadata().is_ok() {
        return Err(BackupError::Refused(format!("{} exists already; choose another name", to.display())));
    }
    let folder = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let scratch = Scratch::new(folder).map_err(|error| failed("can't write to", folder, &error))?;
    let source = open_to_read(&database)?;
    // Everything below reads what was committed at this moment.
    source.execute_batch("BEGIN")?;
    let expected = count_rows(&source)?;
    check_room(folder, size_bytes(&source)?)?;
    copy_pages(&source, &scratch.database(), bytes_per_second, tell)?;
    drop(source);
    let copy = open_to_read(&scratch.database())?;
    check_whole(&copy)?;
    if count_rows(&copy)? != expected {
        return Err(BackupError::Refused("the copy differs from the original; check the disk, then try again".into()));
    }
    let records = check_records(&copy, keeps_damaged)?;
    drop(copy);
    seal::close(&scratch.database()).map_err(|error| failed("can't write to", folder, &error))?;
    let bytes = scratch.keep_as(to).map_err(|error| failed("can't write", to, &error))?;
    Ok(Copied { bytes, records, dropped: Vec::new() })
}

/// Brings a copy back into a directory that is empty or does not exist yet.
pub fn restore(from: &Path, dir: &Path, trust: Trust) -> Result<Copied, BackupError> {
    let source = open_file(from)?;
    let seal = seal::find(&source).map_err(|error| failed("can't read", from, &error))?;
    if seal.is_none() && !trust.unsealed {
        return Err(BackupError::Refused(no_seal(from, &source)));
    }
    if !is_free(dir) {
        let text = format!("{} is not empty; restore into an empty directory", dir.display());
        return Err(BackupError::Refused(text));
    }
    let was_there = dir.exists();
    mnemon_platform::files::make_folder(dir).map_err(|error| failed("can't make", dir, &error))?;
    let restored = bring_back(from, &source, seal.filter(|_| !trust.unsealed), dir, trust);
    if restored.is_err() && !was_there {
        // Only an empty directory can be removed this way.
        let _ = fs::remove_dir(dir);
    }
    restored
}

fn bring_back(from: &Path, source: &File, seal: Option<Seal>, dir: &Path, trust: Trust) -> Result<Copied, BackupError> {
    let scratch = Scratch::new(dir).map_err(|error| failed("can't write to", dir, &error))?;
    check_room(dir, source.metadata().map_err(|error| failed("can't read", from, &error))?.len())?;
    match seal {
        Some(seal) => copy_sealed(from, source, &seal, &scratch)?,
        None => copy_pages(&open_to_read(from)?, &scratch.database(), None, &mut |_, _| {})?,
    }
    let copy = open_warily(&scratch.database())?;
    let dropped = make_ours(&copy, from)?;
    check_whole(&copy)?;
    let records = check_records(&copy, trust.damaged_records)?;
    copy.close().map_err(|(_, error)| error)?;
    let database = dir.join(DATABASE);
    let bytes = scratch.keep_as(&database).map_err(|error| failed("can't write", &database, &error))?;
    Ok(Copied { bytes, records, dropped })
}

/// Reads the whole database of a data directory, as it is at this moment.
pub(super) fn prove(database: &Path) -> Result<Copied, BackupError> {
    let conn = open_to_read(database)?;
    conn.execute_batch("BEGIN")?;
    check_whole(&conn)?;
    let records = check_records(&conn, false)?;
    Ok(Copied { bytes: size_bytes(&conn)?, records, dropped: Vec::new() })
}

fn copy_sealed(from: &Path, source: &File, seal: &Seal, scratch: &Scratch) -> Result<(), BackupError> {
    let copied = seal.copy(source, &scratch.database()).map_err(|error| failed("can't copy", from, &error))?;
    if copied {
        return Ok(());
    }
    let from = from.display();
    Err(BackupError::Refused(format!(
        "{from} is damaged: its checksum does not fit what is in it. Copy it again from where it was made, or use another \
         backup"
    )))
}

/// Why a file without a seal is not taken.
fn no_seal(from: &Path, source: &File) -> String {
    let from = from.display();
    if !seal::is_database(source) {
        return format!("{from} is not a backup made by mnemon");
    }
    format!(
        "{from} has no checksum at its end: it was cut short, or it is a plain copy of a database, or a backup by an earlier \
         version. Use another backup; or pass --raw to restore it with nothing but its records checked"
    )
}

fn open_file(from: &Path) -> Result<File, BackupError> {
    let file = File::open(from).map_err(|error| failed("can't read", from, &error))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Ok(file);
    }
    Err(BackupError::Refused(format!("{} is not a file", from.display())))
}

fn open_to_read(database: &Path) -> Result<Connection, BackupError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(database, flags)
        .map_err(|error| BackupError::Refused(format!("can't read {}: {error}", database.display())))?;
    conn.busy_timeout(Duration::from_secs(5))?;
    Ok(conn)
}

/// Opens a file that a stranger may have made: nothing in its schema runs.
fn open_warily(database: &Path) -> Result<Connection, BackupError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(database, flags)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    conn.execute_batch("PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA foreign_keys = OFF;")?;
    Ok(conn)
}

/// Reads the whole file, and compares its indexes with its tables.
fn check_whole(conn: &Connection) -> Result<(), BackupError> {
    let verdict: String = conn.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if verdict == "ok" {
        return Ok(());
    }
    Err(BackupError::Refused(format!("the file is damaged ({verdict}); check the disk, and use another backup")))
}

fn size_bytes(conn: &Connection) -> Result<u64, BackupError> {
    let size = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
    let bytes: i64 = conn.query_row(size, [], |row| row.get(0))?;
    Ok(bytes.unsigned_abs())
}

fn copy_pages(
    source: &Connection,
    to: &Path,
    bytes_per_second: Option<u64>,
    tell: &mut dyn FnMut(u64, u64),
) -> Result<(), BackupError> {
    let page: u32 = source.query_row("PRAGMA page_size", [], |row| row.get(0))?;
    let page = u64::from(page);
    let mut target = Connection::open(to)?;
    let (begun, pages_of) = (Instant::now(), |count: i32| u64::try_from(count).unwrap_or(0));
    let backup = Backup::new(source, &mut target)?;
    let pages_per_step = bytes_per_second.map_or(PAGES_PER_STEP, |rate| pages_per_step(rate, page));
    loop {
        let step = backup.step(pages_per_step)?;
        let progress = backup.progress();
        let done = pages_of(progress.pagecount - progress.remaining) * page;
        tell(done, pages_of(progress.pagecount) * page);
        match step {
            StepResult::Done => break,
            StepResult::More => {
                let due = bytes_per_second.map(|rate| Duration::from_secs_f64(done as f64 / rate.max(1) as f64));
                std::thread::sleep(due.unwrap_or_default().saturating_sub(begun.elapsed()));
            }
            _ => std::thread::sleep(BUSY_PAUSE),
        }
    }
    drop(backup);
    // One file, whatever journal the original had.
    target.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?;
    target.close().map_err(|(_, error)| error.into())
}

/// What is copied between two pauses: a tenth of a second's share, so that a limit is kept from the start.
fn pages_per_step(bytes_per_second: u64, page_bytes: u64) -> i32 {
    let pages = bytes_per_second / 10 / page_bytes.max(1);
    i32::try_from(pages).unwrap_or(PAGES_PER_STEP).clamp(1, PAGES_PER_STEP)
}

/// The rows of every table, by name.
fn count_rows(conn: &Connection) -> Result<Vec<(String, u64)>, BackupError> {
    const TABLES: &str =
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";
    let mut tables = conn.prepare(TABLES)?;
    let names: Vec<String> = tables.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let count = |name: String| {
        let rows: i64 = conn.query_row(&format!("SELECT COUNT(*) FROM \"{name}\""), [], |row| row.get(0))?;
        Ok((name, rows.unsigned_abs()))
    };
    names.into_iter().map(count).collect()
}

fn failed(what: &str, path: &Path, error: &io::Error) -> BackupError {
    BackupError::Refused(format!("{what} {}: {error}", path.display()))
}
