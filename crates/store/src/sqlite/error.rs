//! What SQLite's error codes mean to a caller.

use rusqlite::ffi::{ErrorCode, SQLITE_IOERR_SHMSIZE};

use crate::StoreError;

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let Some(code) = error.sqlite_error_code() else { return Self::Failed(error.to_string()) };
        let extended = error.sqlite_error().map(|error| error.extended_code);
        match code {
            ErrorCode::DiskFull => Self::Full,
            // The shared memory of the WAL can't grow.
            ErrorCode::SystemIoFailure if extended == Some(SQLITE_IOERR_SHMSIZE) => Self::Full,
            ErrorCode::SystemIoFailure
            | ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::OutOfMemory => Self::Away(describe(&error)),
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => damaged(&describe(&error)),
            _ => Self::Failed(describe(&error)),
        }
    }
}

/// SQLite's message and its extended code, which distinguishes a failed sync from a failed read.
fn describe(error: &rusqlite::Error) -> String {
    match error.sqlite_error() {
        Some(code) => format!("{error}, SQLite code {}", code.extended_code),
        None => error.to_string(),
    }
}

/// The answer if the file as a whole is damaged.
pub(super) fn damaged(how: &str) -> StoreError {
    StoreError::Failed(format!("the database file is damaged ({how}); stop the service and restore a backup"))
}

/// The answer to every call after closing.
pub(super) fn closed() -> StoreError {
    StoreError::Failed("the store is closed".to_owned())
}
