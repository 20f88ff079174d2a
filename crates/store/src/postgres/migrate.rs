//! Brings a database to the schema that this program knows, one numbered step at a time, even if many nodes start
//! together; and checks the walls between tenants before anything is served.

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::connect::{PostgresConfig, connect_as_owner};
use super::error::Fault;
use crate::StoreError;

/// A step: its number, its name and its statements. An applied one never changes.
#[derive(Clone, Copy)]
struct Migration {
    no: i64,
    name: &'static str,
    sql: &'static str,
}

const MIGRATIONS: &[Migration] =
    &[Migration { no: 1, name: "schema", sql: include_str!("../../migrations/postgres/0001_schema.sql") }];

/// The role's name in the migrations.
const ROLE_IN_FILES: &str = "mnemon_app";

/// A number that changes with the schema: statements prepared for another schema are useless.
pub(super) fn fingerprint() -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    MIGRATIONS.iter().for_each(|migration| hasher.update(migration.sql.as_bytes()));
    hasher.finalize()
}

/// Applies the missing steps. Each is one transaction together with the note that it was applied. A node that applies
/// one locks the table of notes; nodes that start at the same time wait for it and find the step done.
pub(super) async fn migrate(config: &PostgresConfig) -> Result<(), StoreError> {
    let mut client = connect_as_owner(config).await?;
    migrate_with(&mut client, MIGRATIONS, &config.role).await.map_err(|fault| fault.error)
}

async fn migrate_with(client: &mut Client, migrations: &[Migration], role: &str) -> Result<(), Fault> {
    make_role(client, role).await?;
    let known = migrations.last().map_or(0, |newest| newest.no);
    let applied = newest_applied(client).await?;
    if applied > known {
        return Err(StoreError::Failed(format!(
            "the database has schema {applied}, and this program knows schemas up to {known}: it was written by a newer \
             mnemon; start that one, or restore a backup made before the upgrade"
        ))
        .into());
    }
    for migration in migrations.iter().filter(|migration| migration.no > applied) {
        if apply(client, migration, role).await? {
            // A new database has nothing to migrate.
            if applied > 0 {
                tracing::info!(migration.no, migration.name, "applied migration {} ({})", migration.no, migration.name);
            }
        }
    }
    check_walls(client, role).await
}

/// Creates the role that the service works as, if it is missing, and lets the owner become it.
async fn make_role(client: &Client, role: &str) -> Result<(), Fault> {
    const IS_MEMBER: &str = "
        SELECT pg_has_role(current_user, r.oid, 'MEMBER'), current_user::text
        FROM pg_roles r
        WHERE r.rolname = $1";
    if let Some(row) = client.query_opt(IS_MEMBER, &[&role]).await?
        && row.get(0)
    {
        return Ok(());
    }
    // `connect.rs` allows only names that need no quoting, and such statements take no values.
    let made = client.batch_execute(&format!("CREATE ROLE {role} NOLOGIN")).await;
    let is_there = |error: &tokio_postgres::Error| matches!(error.code(), Some(code) if *code == SqlState::DUPLICATE_OBJECT || *code == SqlState::UNIQUE_VIOLATION);
    let granted = match made {
        Err(error) if !is_there(&error) => Err(error),
        _ => client.batch_execute(&format!("GRANT {role} TO CURRENT_USER")).await,
    };
    match granted {
        Ok(()) => Ok(()),
        Err(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => Err(StoreError::Failed(format!(
            "the database has no role '{role}' that this user may work as, and the user may not make it; have an \
             administrator run: CREATE ROLE {role} NOLOGIN; GRANT {role} TO <the user of the address>;"
        ))
        .into()),
        // Nodes that start together grant the same thing at once, and one of them gets this error.
        Err(error) if client.query_one(IS_MEMBER, &[&role]).await?.get(0) => {
            tracing::debug!("another node made the role: {error}");
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

async fn newest_applied(client: &Client) -> Result<i64, Fault> {
    const HAS_TABLE: &str = "SELECT to_regclass('migration') IS NOT NULL";
    const NEWEST: &str = "SELECT COALESCE(MAX(no), 0) FROM migration";
    let has_table: bool = client.query_one(HAS_TABLE, &[]).await?.get(0);
    if has_table { Ok(client.query_one(NEWEST, &[]).await?.get(0)) } else { Ok(0) }
}

/// Applies one step, unless another node has done it meanwhile.
async fn apply(client: &mut Client, migration: &Migration, role: &str) -> Result<bool, Fault> {
    // Sent together, the statements are one transaction. A table that already exists is not worth a line in the log.
    const TABLE: &str = "
        SELECT set_config('client_min_messages', 'warning', true);
        CREATE TABLE IF NOT EXISTS migration (no BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL)";
    const NOTE: &str = "INSERT INTO migration (no, name) VALUES ($1, $2)";
    const IS_APPLIED: &str = "SELECT EXISTS (SELECT 1 FROM migration WHERE no = $1)";
    // Two nodes create the table at once: one gets the error that its name or type is taken.
    if let Err(error) = client.batch_execute(TABLE).await {
        let is_taken = [SqlState::UNIQUE_VIOLATION, SqlState::DUPLICATE_TABLE, SqlState::DUPLICATE_OBJECT];
        if !error.code().is_some_and(|code| is_taken.contains(code)) {
            return Err(error.into());
        }
    }
    let step = client.transaction().await?;
    step.batch_execute("LOCK TABLE migration IN ACCESS EXCLUSIVE MODE").await?;
    if step.query_one(IS_APPLIED, &[&migration.no]).await?.get(0) {
        return Ok(false);
    }
    step.batch_execute(&migration.sql.replace(ROLE_IN_FILES, role)).await?;
    step.batch_execute(&format!("GRANT SELECT ON migration TO {role}")).await?;
    step.execute(NOTE, &[&migration.no, &migration.name]).await?;
    step.commit().await?;
    Ok(true)
}

/// Refuses to serve if a wall is missing: a role that may bypass row-level security, or a tenant's table without it.
async fn check_walls(client: &Client, role: &str) -> Result<(), Fault> {
    const MAY_BYPASS: &str = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = $1";
    if client.query_one(MAY_BYPASS, &[&role]).await?.get(0) {
        return Err(StoreError::Failed(format!(
            "the database role '{role}' may bypass row-level security, which keeps tenants apart; run: \
             ALTER ROLE {role} NOSUPERUSER NOBYPASSRLS;"
        ))
        .into());
    }
    let open = list_open_tables(client, role).await?;
    if open.is_empty() {
        return Ok(());
    }
    let tables = open.join(", ");
    Err(StoreError::Failed(format!(
        "row-level security does not hold for the database role '{role}' on: {tables}; run ALTER TABLE ... FORCE ROW LEVEL \
         SECURITY, and let another role own these tables"
    ))
    .into())
}

/// Tenants' tables that the role can read past the wall: not forced, without a policy, or owned by the role.
async fn list_open_tables(client: &Client, role: &str) -> Result<Vec<String>, Fault> {
    const SELECT: &str = "
        SELECT c.relname::text
        FROM pg_class c
        WHERE c.relkind IN ('r', 'p')
            AND c.relnamespace = (SELECT m.relnamespace FROM pg_class m WHERE m.oid = 'migration'::regclass)
            AND has_table_privilege($1::name, c.oid, 'SELECT')
            AND (c.relname IN ('account', 'project') OR EXISTS (
                SELECT 1
                FROM pg_attribute a
                WHERE a.attrelid = c.oid AND a.attname IN ('account_id', 'project_id') AND NOT a.attisdropped))
            AND (NOT c.relrowsecurity OR NOT c.relforcerowsecurity OR pg_get_userbyid(c.relowner) = $1::name
                OR NOT EXISTS (
                    SELECT 1
                    FROM pg_policy p
                    WHERE p.polrelid = c.oid AND p.polname NOT IN ('looked_up', 'among_others', 'among_others_used')))
        ORDER BY c.relname";
    let rows = client.query(SELECT, &[&role]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    use mnemon_scratch_postgres::Database;

    use super::*;

    /// Not in the product: shows that a step reaches a database that is in use.
    const ADDED: Migration = Migration {
        no: 2,
        name: "added",
        sql: "-- Why: a test.\nALTER TABLE workspace ADD COLUMN colour TEXT NOT NULL DEFAULT 'grey'",
    };

    fn with(added: Migration) -> Vec<Migration> {
        MIGRATIONS.iter().copied().chain([added]).collect()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_later_step_is_applied_once_to_what_is_there_and_a_failing_one_not_at_all() {
        let database = Database::fresh().unwrap();
        let config = PostgresConfig::new(&database.url);
        migrate(&config).await.unwrap();
        let id = "'00000000-0000-0000-0000-000000000001'";
        let account = format!("INSERT INTO account (id, is_suspended, created_at, name) VALUES ({id}, FALSE, 0, 'a')");
        database.sql(&account).unwrap();
        let mut client = connect_as_owner(&config).await.unwrap();
        let bad = Migration { sql: "-- Why: a test.\nDROP TABLE account CASCADE; SELECT nonsense", ..ADDED };
        assert!(migrate_with(&mut client, &with(bad), &config.role).await.is_err());
        assert_eq!(database.sql("SELECT name FROM account").unwrap(), "a", "nothing of it was done");
        for _ in 0..2 {
            assert!(migrate_with(&mut client, &with(ADDED), &config.role).await.is_ok());
        }
        assert_eq!(newest_applied(&client).await.ok(), Some(2));
        let columns = "SELECT column_name FROM information_schema.columns WHERE column_name = 'colour'";
        assert_eq!(database.sql(columns).unwrap(), "colour");
        let refused = migrate(&config).await.unwrap_err().to_string();
        assert!(refused.contains("the database has schema 2") && refused.contains("up to 1"), "{refused}");
    }

    const RECORDS: &str = "
        INSERT INTO record (project_id, seq, id, workspace_no, audience, author_id, content_hash, checksum, is_key_given,
            created_at, updated_at, fact_key, content, embedding)
        SELECT '00000000-0000-0000-0000-000000000002', n, gen_random_uuid(), 1, '\\x00',
            '00000000-0000-0000-0000-000000000003', sha256(n::text::bytea), n, FALSE, 0, 0, n::text, repeat('text ', 60), '\\x00'
        FROM generate_series(1, 50000) AS n";

    /// A step of a later version, on the table that grows most.
    const GROWN: Migration = Migration {
        no: 2,
        name: "grown",
        sql: "-- Why: a test.\nALTER TABLE record ADD COLUMN colour TEXT NOT NULL DEFAULT 'grey'",
    };

    /// Runs a statement again and again until told to stop. Returns how often, and the longest wait.
    async fn go_on(config: PostgresConfig, statement: &'static str, stop: Arc<AtomicBool>) -> (usize, Duration) {
        let client = connect_as_owner(&config).await.unwrap();
        let (mut count, mut longest) = (0, Duration::ZERO);
        while !stop.load(Ordering::Acquire) {
            let began = Instant::now();
            client.batch_execute(statement).await.unwrap();
            longest = longest.max(began.elapsed());
            count += 1;
        }
        (count, longest)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_later_step_holds_up_running_nodes_no_longer_than_they_wait_for_a_lock() {
        let database = Database::fresh().unwrap();
        let config = PostgresConfig::new(&database.url);
        migrate(&config).await.unwrap();
        database.sql(RECORDS).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let read = "SELECT content FROM record WHERE seq = 7";
        let write = "UPDATE record SET updated_at = updated_at + 1 WHERE seq = 7";
        let nodes = [read, write].map(|statement| tokio::spawn(go_on(config.clone(), statement, Arc::clone(&stop))));
        let mut client = connect_as_owner(&config).await.unwrap();
        assert!(migrate_with(&mut client, &with(GROWN), &config.role).await.is_ok());
        stop.store(true, Ordering::Release);
        for node in nodes {
            let (count, longest) = node.await.unwrap();
            // Past this, calls on nodes of the previous version would fail.
            assert!(count > 0 && longest < config.patience, "{count} statements, the longest took {longest:?}");
        }
    }
}
