//! A throw-away PostgreSQL with the schema in it.

pub use mnemon_scratch_postgres::{Cluster, ClusterOptions, Database, find_program};
use mnemon_store::postgres::{PostgresConfig, PostgresStore};

/// A separate database, copied from one that already has the schema.
pub async fn fresh_database() -> Database {
    let runtime = tokio::runtime::Handle::current();
    let take = move || {
        let name = format!("schema_{:08x}", PostgresStore::schema_fingerprint());
        let migrate = |url: &str| {
            let open = PostgresStore::open(PostgresConfig::new(url));
            runtime.block_on(open).expect("an empty database opens");
        };
        Database::prepared(&name, migrate).expect("PostgreSQL is installed: apt-get install postgresql")
    };
    tokio::task::spawn_blocking(take).await.expect("a database")
}
