//! Picking the store: the one place that knows both engines.

use std::sync::Arc;

use anyhow::anyhow;
use mnemon_server::config::{DatabaseConfig, StorageConfig};
use mnemon_store::postgres::{PostgresConfig, PostgresStore};
use mnemon_store::sqlite::SqliteStore;
use mnemon_store::{Store, StoreError};

/// Opens the configured storage.
pub async fn open(config: &StorageConfig) -> Result<Arc<dyn Store>, StoreError> {
    let Some(database) = &config.database else { return Ok(Arc::new(SqliteStore::open(&config.data_dir)?)) };
    Ok(Arc::new(PostgresStore::open(to_postgres(database)).await?))
}

/// Why storage can't be used, for the person who starts something: the cause, once, and the place.
pub fn explain(config: &StorageConfig, error: &StoreError) -> anyhow::Error {
    let (cause, place) = (cause(error), name(config));
    if cause.contains(&place) { anyhow!("{cause}") } else { anyhow!("{cause}; the data is in {place}") }
}

/// The error without what every error of its kind begins with.
pub fn cause(error: &StoreError) -> String {
    match error {
        StoreError::Away(cause) | StoreError::Failed(cause) => cause.clone(),
        error => error.to_string(),
    }
}

pub fn to_postgres(database: &DatabaseConfig) -> PostgresConfig {
    PostgresConfig {
        replicas: database.replicas.iter().map(|url| url.expose().clone()).collect(),
        role: database.role.clone(),
        connections_max: database.connections_max,
        batch_max: database.batch_max,
        ..PostgresConfig::new(database.url.expose())
    }
}

/// The storage's name for people, never with a password.
pub fn name(config: &StorageConfig) -> String {
    match &config.database {
        None => config.data_dir.display().to_string(),
        Some(database) => without_password(database.url.expose()),
    }
}

/// The URL without its password.
pub fn without_password(url: &str) -> String {
    let (before, rest) = url.split_once("://").unwrap_or(("postgres", url));
    let rest = rest.split('?').next().unwrap_or_default();
    let (user, place) = rest.rsplit_once('@').unwrap_or(("", rest));
    let user = user.split(':').next().unwrap_or_default();
    if user.is_empty() { format!("{before}://{place}") } else { format!("{before}://{user}@{place}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        let check = |url: &str, shown: &str| assert_eq!(without_password(url), shown);
        check(
            "postgres://me:secret@db.example.com:5432/mnemon?sslmode=require",
            "postgres://me@db.example.com:5432/mnemon",
        );
        check(concat!("postgres://me:", "se@cret@host/db"), "postgres://me@host/db");
        check("postgres://host/db?password=secret", "postgres://host/db");
        check("postgresql://me@%2Frun%2Fpg/db", "postgresql://me@%2Frun%2Fpg/db");
    }
}
