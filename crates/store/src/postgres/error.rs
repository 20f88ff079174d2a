//! What PostgreSQL's error codes mean to a caller, and whether an act may be retried.

use deadpool_postgres::PoolError;
use tokio_postgres::error::{DbError, SqlState};

use super::tls;
use crate::StoreError;

/// A failure inside an act, before it is reported.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) error: StoreError,
    pub(super) again: Again,
}

/// Whether the act may be retried at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    /// It would fail again, or it is unknown whether it was stored.
    No,
    /// The server rolled it back in favour of another.
    RolledBack,
    /// The connection was lost: nothing was stored, unless it was lost while committing.
    Lost,
    /// Somebody keeps a lock: nothing was stored, and another act may succeed.
    Locked,
}

impl Fault {
    pub(super) fn away(why: &str) -> Self {
        Self { error: StoreError::Away(why.to_owned()), again: Again::No }
    }

    /// The same failure if a lost connection leaves it unknown whether the act was stored: only the caller may repeat
    /// it, with an idempotency key.
    pub(super) fn while_committing(self) -> Self {
        match (self.again, self.error) {
            (again @ (Again::RolledBack | Again::Locked), error) => Self { error, again },
            (_, StoreError::Away(why)) => Self::away(&format!("{why}; the last write may or may not be stored")),
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
            // Errors that don't come from the server come from the connection, except for values that don't fit a
            // statement.
            None if error.is_closed()
                || std::error::Error::source(&error).is_some_and(|cause| cause.is::<std::io::Error>()) =>
            {
                Self {
                    error: StoreError::Away(format!("the connection to PostgreSQL was lost ({error})")),
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

/// By the server's code. Its details are dropped: they may quote rows.
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
        let again = if *code == SqlState::LOCK_NOT_AVAILABLE { Again::Locked } else { Again::No };
        return Fault { again, ..Fault::away(&format!("PostgreSQL timed out: {words}")) };
    }
    if *code == SqlState::READ_ONLY_SQL_TRANSACTION {
        return Fault::away(&format!("PostgreSQL accepts no writes; is it a standby? {words}"));
    }
    let class = code.code().get(..2).unwrap_or_default();
    match class {
        // Connection, resources, operator, system: none of these concern the act itself.
        "08" | "53" | "57" | "58" => Fault::away(&words),
        "XX" if *code == SqlState::DATA_CORRUPTED || *code == SqlState::INDEX_CORRUPTED => {
            StoreError::Failed(format!("the database is damaged: {words}; stop the service and restore a backup"))
                .into()
        }
        _ => StoreError::Failed(words).into(),
    }
}

/// The error with its causes, which distinguish a wrong host name from a refused connection; or advice, if there is
/// any.
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

/// The answer to every call after closing.
pub(super) fn closed() -> StoreError {
    StoreError::Failed("the store is closed".to_owned())
}
