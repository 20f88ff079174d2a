//! What PostgreSQL's codes mean to a caller, and to whoever may try again.

use deadpool_postgres::PoolError;
use tokio_postgres::error::{DbError, SqlState};

use super::tls;
use crate::StoreError;

/// A failure inside of an act, before it is told to anybody.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) error: StoreError,
    pub(super) again: Again,
}

/// Whether the act may be done again at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    /// It would fail again, or it is unknown whether it was stored.
    No,
    /// The server rolled it back for the sake of another.
    RolledBack,
    /// The connection was lost: nothing was stored, unless it was lost while committing.
    Lost,
}

impl Fault {
    pub(super) fn away(why: &str) -> Self {
        Self { error: StoreError::Away(why.to_owned()), again: Again::No }
    }

    /// The same failure where a lost connection leaves it unknown whether the act was stored: nobody may do it again but
    /// the caller, who is known by an idempotency key.
    pub(super) fn while_committing(self) -> Self {
        match (self.again, self.error) {
            (Again::RolledBack, error) => Self { error, again: Again::RolledBack },
            (_, StoreError::Away(why)) => Self::away(&format!("{why}; the last write may be stored or not")),
            (_, error) => Self { error, again: Again::No },
        }
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self { error, again: Again::No }
    }
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.as_db_error() {
            Some(refusal) => from_server(refusal),
            // What does not come from the server comes from the way to it, but for values that don't fit a statement.
            None if error.is_closed()
                || std::error::Error::source(&error).is_some_and(|cause| cause.is::<std::io::Error>()) =>
            {
                Self {
                    error: StoreError::Away(format!("the connection to PostgreSQL is lost ({error})")),
                    again: Again::Lost,
                }
            }
            None => Self { error: StoreError::Failed(describe(&error)), again: Again::No },
        }
    }
}

impl From<PoolError> for Fault {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Closed => closed().into(),
            PoolError::Backend(error) => match error.as_db_error() {
                Some(refusal) => Self { again: Again::No, ..from_server(refusal) },
                None => Self::away(&format!("can't connect to PostgreSQL ({})", describe(&error))),
            },
            error => Self { error: StoreError::Failed(error.to_string()), again: Again::No },
        }
    }
}

/// By the server's code. Its details stay behind: they may quote rows.
fn from_server(refusal: &DbError) -> Fault {
    let words = format!("{} (PostgreSQL {})", refusal.message(), refusal.code().code());
    let code = refusal.code();
    if *code == SqlState::T_R_SERIALIZATION_FAILURE || *code == SqlState::T_R_DEADLOCK_DETECTED {
        return Fault { error: StoreError::Away(words), again: Again::RolledBack };
    }
    if *code == SqlState::DISK_FULL {
        return StoreError::Full.into();
    }
    if *code == SqlState::ADMIN_SHUTDOWN || *code == SqlState::CRASH_SHUTDOWN {
        return Fault { error: StoreError::Away(words), again: Again::Lost };
    }
    if *code == SqlState::LOCK_NOT_AVAILABLE || *code == SqlState::QUERY_CANCELED {
        return Fault::away(&format!("PostgreSQL did not get to it in time: {words}"));
    }
    if *code == SqlState::READ_ONLY_SQL_TRANSACTION {
        return Fault::away(&format!("PostgreSQL takes no writes, is it a standby? {words}"));
    }
    let class = code.code().get(..2).unwrap_or_default();
    match class {
        // Connection, resources, operator, system: nothing of this is about the act itself.
        "08" | "53" | "57" | "58" => Fault::away(&words),
        "XX" if *code == SqlState::DATA_CORRUPTED || *code == SqlState::INDEX_CORRUPTED => {
            StoreError::Failed(format!("the database is damaged: {words}; stop the service and restore a backup"))
                .into()
        }
        _ => StoreError::Failed(words).into(),
    }
}

/// The error with its causes, which tell a wrong host name from a refused connection; or what to do about it, where that is
/// known.
pub(super) fn describe(error: &tokio_postgres::Error) -> String {
    if let Some(advice) = tls::explain(error) {
        return advice;
    }
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(next) = cause {
        let text = next.to_string();
        if !words.contains(&text) {
            words = format!("{words}: {text}");
        }
        cause = next.source();
    }
    words
}

/// The answer to every call after the end.
pub(super) fn closed() -> StoreError {
    StoreError::Failed("the store is closed".to_owned())
}

/// The answer when a call names a project that was never made.
pub(super) fn no_such_project(project: mnemon_core::ProjectId) -> StoreError {
    StoreError::Failed(format!("there is no project {project}"))
}
