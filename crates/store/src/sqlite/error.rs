//! What SQLite's codes mean to a caller.

use rusqlite::ffi::ErrorCode;

use crate::StoreError;

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let Some(code) = error.sqlite_error_code() else { return Self::Failed(error.to_string()) };
        match code {
            ErrorCode::DiskFull => Self::Full,
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

/// SQLite's words and its extended code, which tells a failed sync from a failed read.
fn describe(error: &rusqlite::Error) -> String {
    match error.sqlite_error() {
        Some(code) => format!("{error}, SQLite code {}", code.extended_code),
        None => error.to_string(),
    }
}

/// The answer when the file makes no sense as a whole.
pub(super) fn damaged(how: &str) -> StoreError {
    StoreError::Failed(format!("the database file is damaged ({how}); stop the service and restore a backup"))
}

/// The answer to every call after the end.
pub(super) fn closed() -> StoreError {
    StoreError::Failed("the store is closed".to_owned())
}

/// The answer when a call names a project that was never made.
pub(super) fn no_such_project(project: mnemon_core::ProjectId) -> StoreError {
    StoreError::Failed(format!("there is no project {project}"))
}
