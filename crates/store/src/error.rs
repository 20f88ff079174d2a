//! What can go wrong with storage, by what a caller would do about it.

/// A failure of the storage itself. Absent is never an error: it is `Ok(None)` or an empty list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The storage can't be reached or was just lost; trying again later may work.
    #[error("storage is unavailable: {0}")]
    Away(String),
    /// There is no room left; reading still works.
    #[error("storage is full")]
    Full,
    /// What is stored makes no sense.
    #[error("stored data is broken: table {table}, column {column}, row {row}; stop the service and restore a backup")]
    Broken {
        /// The table.
        table: &'static str,
        /// The column.
        column: &'static str,
        /// The row, as its key prints.
        row: String,
    },
    /// The file or server refuses in a way that trying again does not mend.
    #[error("storage failed: {0}")]
    Failed(String),
}
