//! What can go wrong with storage, by what a caller would do about it.

/// A failure of the storage itself. Absence is never an error: it is `Ok(None)` or an empty list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The storage is unreachable or was just lost; trying again later may work.
    #[error("storage is unavailable: {0}")]
    Away(String),
    /// There is no space left; reading still works.
    #[error("storage is full")]
    Full,
    #[error("stored data is broken: table {table}, column {column}, row {row}; stop the service and restore a backup")]
    Broken {
        table: &'static str,
        column: &'static str,
        /// The row, as its key prints.
        row: String,
    },
    /// The file or server refuses in a way that a retry does not fix.
    #[error("storage failed: {0}")]
    Failed(String),
}

impl StoreError {
    /// A call named a project that does not exist.
    pub(crate) fn no_project(id: mnemon_core::ProjectId) -> Self {
        Self::Failed(format!("no project {id}"))
    }
}
