//! Looks at a data directory from outside, also while a service uses it: for the operator, before trouble comes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use mnemon_platform::files::{free_bytes, is_open_to_others};

use super::backup::{BackupError, Copied, prove};
use super::files::DATABASE;
use super::snapshot_files::DIRECTORY;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// The size of the database, and how many records were read.
    pub read: Copied,
    /// What the disk has left for its owner's processes.
    pub free_bytes: Option<u64>,
    pub snapshots: usize,
    /// Files that others than their owner can read or write.
    pub open_to_others: Vec<PathBuf>,
}

/// Reads the whole database and compares every record with its checksum. `None` if the directory has none.
pub fn inspect(dir: &Path) -> Result<Option<Inspection>, BackupError> {
    let database = dir.join(DATABASE);
    if !database.is_file() {
        return Ok(None);
    }
    let failed = |error: io::Error| BackupError::Refused(format!("can't look into {}: {error}", dir.display()));
    let snapshots = match fs::read_dir(dir.join(DIRECTORY)) {
        Ok(entries) => entries.count(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(error) => return Err(failed(error)),
    };
    let mut open_to_others = Vec::new();
    for path in [dir.to_owned(), database.clone(), dir.join(format!("{DATABASE}-wal")), dir.join(DIRECTORY)] {
        if is_open_to_others(&path) {
            open_to_others.push(path);
        }
    }
    Ok(Some(Inspection { read: prove(&database)?, free_bytes: free_bytes(dir), snapshots, open_to_others }))
}
