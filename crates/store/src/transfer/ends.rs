//! The two ends of a transfer, as a person names them.

use std::path::PathBuf;

use super::{Moved, Progress, Side, transfer};
use crate::StoreError;
use crate::postgres::{PostgresConfig, PostgresSide};
use crate::sqlite::SqliteSide;

/// A storage that data can be moved out of or into.
#[derive(Debug, Clone)]
pub enum StorageEnd {
    /// A data directory.
    Sqlite(PathBuf),
    /// A PostgreSQL database.
    Postgres(Box<PostgresConfig>),
}

impl StorageEnd {
    /// Reads `sqlite:DIRECTORY` or `postgres://…`.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(directory) = text.strip_prefix("sqlite:").filter(|directory| !directory.is_empty()) {
            return Ok(Self::Sqlite(PathBuf::from(directory)));
        }
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(Box::new(PostgresConfig::new(text))));
        }
        Err("a storage is given as sqlite:DIRECTORY (its data directory) or as postgres://user@host/database"
            .to_owned())
    }
}

/// Moves everything from one storage to another kind of storage, and compares both in the end. `tell` hears of the
/// progress. What was interrupted goes on where it was when it is asked for again.
pub async fn move_everything(
    from: &StorageEnd,
    to: &StorageEnd,
    tell: &mut (dyn FnMut(&Progress) + Send),
) -> Result<Moved, StoreError> {
    let (mut from, mut to): (Box<dyn Side>, Box<dyn Side>) = match (from, to) {
        (StorageEnd::Sqlite(dir), StorageEnd::Postgres(config)) => {
            (Box::new(SqliteSide::open_source(dir)?), Box::new(PostgresSide::open(config).await?))
        }
        (StorageEnd::Postgres(config), StorageEnd::Sqlite(dir)) => {
            (Box::new(PostgresSide::open(config).await?), Box::new(SqliteSide::open_target(dir)?))
        }
        _ => {
            let text = "everything is moved between a sqlite: and a postgres: storage; to copy one to its own kind, use \
                        its own backup";
            return Err(StoreError::Failed(text.to_owned()));
        }
    };
    transfer(&mut *from, &mut *to, tell).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storage_is_named_by_its_kind() {
        assert!(matches!(StorageEnd::parse("sqlite:data"), Ok(StorageEnd::Sqlite(dir)) if dir.as_os_str() == "data"));
        assert!(matches!(StorageEnd::parse("postgres://me@host/db"), Ok(StorageEnd::Postgres(_))));
        assert!(matches!(StorageEnd::parse("postgresql://me@host/db"), Ok(StorageEnd::Postgres(_))));
        for wrong in ["", "data", "sqlite:", "mysql://host"] {
            assert!(StorageEnd::parse(wrong).unwrap_err().contains("sqlite:DIRECTORY"), "{wrong}");
        }
    }
}
