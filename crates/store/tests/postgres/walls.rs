//! Row-level security: what the service's role can and can't see.

use std::sync::Arc;

use mnemon_scratch_postgres::Database;
use mnemon_store::Store;
use mnemon_store::postgres::{PostgresConfig, PostgresStore};
use mnemon_store_conformance::House;

use crate::{database, node};

/// Every table that belongs to a tenant.
const TENANT_TABLES: &str = "
    SELECT c.relname
    FROM pg_class c
    WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND (c.relname IN ('account', 'project') OR EXISTS (
        SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname IN ('account_id', 'project_id')))
    ORDER BY 1";

async fn two_houses(database: &Database) -> (House, House) {
    let store: Arc<dyn Store> = Arc::new(node(&database.url).await);
    let (a, b) = (House::build(&store).await, House::build(&store).await);
    for house in [&a, &b] {
        house.save(house.sourced("a fact", "page", "h")).await;
    }
    (a, b)
}

fn as_app(settings: &str, statement: &str) -> String {
    format!("BEGIN; SET LOCAL ROLE mnemon_app; {settings}; {statement}; COMMIT")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_tenant_table_forces_row_level_security() {
    let database = database();
    let tables = database.sql(TENANT_TABLES).unwrap();
    assert!(tables.lines().count() >= 15, "{tables}");
    let open = "SELECT COUNT(*) FROM pg_class c WHERE c.relname = ANY(string_to_array('TABLES', ',')) AND c.relkind = 'r'
        AND NOT (c.relrowsecurity AND c.relforcerowsecurity AND EXISTS (SELECT 1 FROM pg_policy p WHERE p.polrelid = c.oid))";
    let open = open.replace("TABLES", &tables.replace('\n', ","));
    assert_eq!(database.sql(&open).unwrap(), "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_services_role_owns_nothing_and_can_not_bypass() {
    let database = database();
    let role = "SELECT rolsuper, rolbypassrls, rolcanlogin, rolcreaterole FROM pg_roles WHERE rolname = 'mnemon_app'";
    assert_eq!(database.sql(role).unwrap(), "f|f|f|f");
    let owned = "SELECT COUNT(*) FROM pg_class WHERE pg_get_userbyid(relowner) = 'mnemon_app'";
    assert_eq!(database.sql(owned).unwrap(), "0");
    for forbidden in ["DROP TABLE record", "ALTER TABLE record DISABLE ROW LEVEL SECURITY", "TRUNCATE record"] {
        assert!(database.sql(&as_app("SELECT 1", forbidden)).is_err(), "{forbidden}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_names_nobody_sees_nothing() {
    let database = database();
    let _houses = two_houses(&database).await;
    for table in database.sql(TENANT_TABLES).unwrap().lines() {
        let count = format!("SELECT COUNT(*) FROM {table}");
        assert_eq!(database.sql(&as_app("SET LOCAL statement_timeout = 0", &count)).unwrap(), "0", "{table}");
        // A connection that was used before keeps an empty setting, which opens nothing either.
        let nobody = "SET LOCAL mnemon.project = ''; SET LOCAL mnemon.account = ''; SET LOCAL mnemon.credential = ''";
        assert_eq!(database.sql(&as_app(nobody, &count)).unwrap(), "0", "{table}");
    }
    assert_ne!(database.sql("SELECT COUNT(*) FROM record").unwrap(), "0", "the superuser sees them");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_sees_its_own_rows_alone() {
    let database = database();
    let (a, b) = two_houses(&database).await;
    let settings = format!("SET LOCAL mnemon.project = '{}'; SET LOCAL mnemon.account = '{}'", a.project, a.account);
    for (table, column) in
        [("record", "project_id"), ("source", "project_id"), ("api_key", "project_id"), ("project", "id")]
    {
        let others = format!("SELECT COUNT(*) FROM {table} WHERE {column} <> '{}'", a.project);
        assert_eq!(database.sql(&as_app(&settings, &others)).unwrap(), "0", "{table}");
        let own = format!("SELECT COUNT(*) FROM {table} WHERE {column} = '{}'", a.project);
        assert_eq!(database.sql(&as_app(&settings, &own)).unwrap(), "1", "{table}");
    }
    let foreign = format!("UPDATE record SET content = 'theirs' WHERE project_id = '{}' RETURNING 1", b.project);
    assert_eq!(database.sql(&as_app(&settings, &foreign)).unwrap(), "");
    let smuggled =
        format!("INSERT INTO guard_release (project_id, hash, released_at) VALUES ('{}', 'x', 1)", b.project);
    let error = database.sql(&as_app(&settings, &smuggled)).unwrap_err().to_string();
    assert!(error.contains("row-level security"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flight_sees_the_projects_on_its_list_alone() {
    let database = database();
    let (a, b) = two_houses(&database).await;
    let hex = |id: uuid::Uuid| id.simple().to_string();
    let [a_hex, b_hex] = [&a, &b].map(|house| hex(house.project.uuid()));
    let other = hex(uuid::Uuid::from_u128(7));
    // Its digits are all there, across two others.
    let across = format!("{}{b_hex}{}", &other[..16], &other[16..]);
    let list = |ids: &str| format!("SET LOCAL mnemon.batch = '{ids}'");
    for (settings, sees_a, sees_b) in [
        (list(&a_hex), "1", "0"),
        (list(&format!("{other}{a_hex}")), "1", "0"),
        (list(&format!("{b_hex}{other}{a_hex}")), "1", "1"),
        (list(&across), "0", "0"),
        (list(&format!("{a_hex}{across}")), "1", "0"),
        (list(""), "0", "0"),
    ] {
        for (house, sees) in [(&a, sees_a), (&b, sees_b)] {
            for (table, column) in [("record", "project_id"), ("source", "project_id"), ("project", "id")] {
                let count = format!("SELECT COUNT(*) FROM {table} WHERE {column} = '{}'", house.project);
                assert_eq!(database.sql(&as_app(&settings, &count)).unwrap(), sees, "{table}: {settings}");
            }
            let update = format!("UPDATE project SET seq = seq WHERE id = '{}' RETURNING 1", house.project);
            let updated = database.sql(&as_app(&settings, &update)).unwrap();
            assert_eq!(updated.is_empty(), sees == "0", "{settings}: {updated}");
        }
        assert_eq!(database.sql(&as_app(&settings, "SELECT COUNT(*) FROM member")).unwrap(), "0", "{settings}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn upkeep_sees_who_there_is_and_no_memory() {
    let database = database();
    let _houses = two_houses(&database).await;
    let settings = "SET LOCAL mnemon.pass = 'upkeep'";
    for (table, rows) in
        [("account", "2"), ("project", "2"), ("record", "0"), ("api_key", "0"), ("member", "0"), ("audit", "0")]
    {
        let count = format!("SELECT COUNT(*) FROM {table}");
        assert_eq!(database.sql(&as_app(settings, &count)).unwrap(), rows, "{table}");
    }
    assert_eq!(database.sql(&as_app(settings, "UPDATE account SET name = 'x' RETURNING 1")).unwrap(), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_with_a_hole_in_the_wall_is_not_served() {
    let refused = async |change: &str, words: &str| {
        let database = database();
        database.sql(change).unwrap();
        let error = PostgresStore::open(PostgresConfig::new(&database.url)).await.err().expect(change).to_string();
        assert!(error.contains(words), "{error}");
    };
    refused(
        "ALTER TABLE record NO FORCE ROW LEVEL SECURITY",
        "does not hold for the database role 'mnemon_app' on: record;",
    )
    .await;
    refused("DROP POLICY tenant ON source", "on: source;").await;
    refused("ALTER TABLE usage OWNER TO mnemon_app", "on: usage;").await;
}
