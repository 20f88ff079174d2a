//! PostgreSQL: the conformance tests, tenant separation, the schema, many nodes, read replicas, what a purge leaves, a
//! server that goes away, saves that are stored together, lost connections, snapshots, TLS, and the number of round
//! trips.

mod away;
mod batches;
mod known_keys;
mod lines;
mod lost;
mod nodes;
mod replicas;
mod schema;
mod snapshots;
mod spreading;
mod standing;
mod stories;
mod tls;
mod traces;
mod trips;
mod walls;

use mnemon_scratch_postgres::Database;
use mnemon_store::postgres::{PostgresConfig, PostgresStore};

/// A copy of a database that already has the schema.
fn database() -> Database {
    let name = format!("schema_{:08x}", PostgresStore::schema_fingerprint());
    let migrate = |url: &str| {
        let open = PostgresStore::open(PostgresConfig::new(url));
        let runtime = tokio::runtime::Handle::current();
        tokio::task::block_in_place(|| runtime.block_on(open)).expect("an empty database opens");
    };
    Database::prepared(&name, migrate).expect("PostgreSQL is installed")
}

/// One more node on a database. A machine that runs many tests at once may keep it waiting longer than a real service
/// would.
async fn node(url: &str) -> PostgresStore {
    let patience = std::time::Duration::from_secs(20);
    PostgresStore::open(PostgresConfig { patience, ..PostgresConfig::new(url) }).await.expect("the database opens")
}
