//! The two ends of a transfer, as a person names them.

use std::path::PathBuf;

use super::{Progress, Side, Transferred, transfer};
use crate::StoreError;
use crate::postgres::{PostgresConfig, PostgresSide};
use crate::sqlite::SqliteSide;

/// A storage to move data out of or into.
#[derive(Debug, Clone)]
pub enum StorageEnd {
    Sqlite(PathBuf),
    Postgres(Box<PostgresConfig>),
}

impl StorageEnd {
    /// Parses `sqlite:DIRECTORY` or `postgres://…`.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(directory) = text.strip_prefix("sqlite:").filter(|directory| !directory.is_empty()) {
            return Ok(Self::Sqlite(PathBuf::from(directory)));
        }
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(Box::new(PostgresConfig::new(text))));
        }
        Err("a storage must be sqlite:DIRECTORY (its data directory) or postgres://user@host/database".to_owned())
    }
}

/// Moves all data from one storage to another kind of storage, and compares both at the end. `tell` receives progress.
/// An interrupted run continues where it stopped.
pub async fn transfer_everything(
    from: &StorageEnd,
    to: &StorageEnd,
    tell: &mut (dyn FnMut(&Progress) + Send),
) -> Result<Transferred, StoreError> {
    let (mut from, mut to): (Box<dyn Side>, Box<dyn Side>) = match (from, to) {
        (StorageEnd::Sqlite(dir), StorageEnd::Postgres(config)) => {
            (Box::new(SqliteSide::open_source(dir)?), Box::new(PostgresSide::open(config).await?))
        }
        (StorageEnd::Postgres(config), StorageEnd::Sqlite(dir)) => {
            (Box::new(PostgresSide::open(config).await?), Box::new(SqliteSide::open_target(dir)?))
        }
        _ => {
            let text = "data can be moved only between a sqlite: and a postgres: storage; to copy to the same kind, use \
                        its backup";
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
