//! A copy of a data directory's database, made while the service runs, and the way back into an empty directory.
//!
//! The copy shows one moment: it is read inside one transaction, and whatever is saved meanwhile goes on and is not in it.
//! The WAL can't be emptied while that transaction lasts. A copy has its final name only after it was read back and synced.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::files::{DATABASE, open_private, private_directory};
use crate::StoreError;

/// How many pages are copied before progress is told: 4 MiB.
const PAGES_PER_STEP: i32 = 1_024;
const BUSY_PAUSE: Duration = Duration::from_millis(20);

/// A finished copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    pub bytes: u64,
    pub records: u64,
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

/// Copies the database of a data directory into a new file, which nobody else may read. `bytes_per_second` bounds the load
/// on the disk; `tell` hears how many bytes of how many are copied.
pub fn back_up(
    dir: &Path,
    to: &Path,
    bytes_per_second: Option<u64>,
    tell: &mut dyn FnMut(u64, u64),
) -> Result<Copied, BackupError> {
    let database = dir.join(DATABASE);
    if !database.is_file() {
        return Err(BackupError::Refused(format!("there is no data of mnemon in {}", dir.display())));
    }
    if to.exists() {
        return Err(BackupError::Refused(format!("{} exists already; choose another name", to.display())));
    }
    let partial = partial_of(to);
    start_anew(&partial)?;
    let source = open_to_read(&database)?;
    // Everything below reads what was committed at this moment.
    source.execute_batch("BEGIN")?;
    let expected = count_rows(&source)?;
    copy_pages(&source, &partial, bytes_per_second, tell)?;
    finish(&partial, to, &expected)
}

/// Brings a copy back into a directory that is empty or does not exist yet.
pub fn restore(from: &Path, dir: &Path) -> Result<Copied, BackupError> {
    let source = open_to_read(from)?;
    let is_ours = count_rows(&source).is_ok_and(|counts| counts.iter().any(|(table, _)| table == "record"));
    if !is_ours {
        return Err(BackupError::Refused(format!("{} is not a backup made by mnemon", from.display())));
    }
    let expected = count_rows(&source)?;
    let is_empty = fs::read_dir(dir).map_or(true, |mut entries| entries.next().is_none());
    if !is_empty {
        let text = format!("{} is not empty; restore into an empty directory", dir.display());
        return Err(BackupError::Refused(text));
    }
    private_directory(dir).map_err(|error| failed("can't make", dir, &error))?;
    let database = dir.join(DATABASE);
    let partial = partial_of(&database);
    start_anew(&partial)?;
    copy_pages(&source, &partial, None, &mut |_, _| {})?;
    finish(&partial, &database, &expected)
}

fn partial_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

/// A new private file; what an interrupted run left is replaced.
fn start_anew(partial: &Path) -> Result<(), BackupError> {
    match fs::remove_file(partial) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed("can't replace", partial, &error)),
    }
    open_private(partial).map(drop).map_err(|error| failed("can't write", partial, &error))
}

fn open_to_read(database: &Path) -> Result<Connection, BackupError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(database, flags)
        .map_err(|error| BackupError::Refused(format!("can't read {}: {error}", database.display())))?;
    conn.busy_timeout(Duration::from_secs(5))?;
    Ok(conn)
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

/// Reads the copy back, syncs it and gives it its name.
fn finish(partial: &Path, to: &Path, expected: &[(String, u64)]) -> Result<Copied, BackupError> {
    let copy = open_to_read(partial)?;
    let verdict: String = copy.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    let found = count_rows(&copy)?;
    if verdict != "ok" || found != expected {
        let text = format!("the copy differs from the original ({verdict}); check the disk, then try again");
        return Err(BackupError::Refused(text));
    }
    drop(copy);
    let records = found.iter().find(|(table, _)| table == "record").map_or(0, |(_, rows)| *rows);
    let sync = || -> io::Result<u64> {
        let file = File::open(partial)?;
        file.sync_all()?;
        fs::rename(partial, to)?;
        let folder = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder)?.sync_all()?;
        Ok(file.metadata()?.len())
    };
    let bytes = sync().map_err(|error| failed("can't write", to, &error))?;
    Ok(Copied { bytes, records })
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
