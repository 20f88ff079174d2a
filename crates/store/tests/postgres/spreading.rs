//! Every key and reference of the schema stays within its tenant, as if tables were spread over servers by tenant. It
//! is a property of the schema; the service itself needs one PostgreSQL.
//!
//! Tables that hold memory would be spread by their project, and the audit log by its account. Who calls is looked up
//! by hashes and ids that name no project: those tables are small and would be copied to every server.

use crate::database;

/// Copied to every server.
const REFERENCE_TABLES: &str = "account, department, member, api_key, oauth_client, oauth_code, console_session, connection, \
                                operator_token, heartbeat, node, migration";

/// Every table with the column it would be spread by; nothing for a copied one.
const TABLES: &str = "
    WITH tables AS (
        SELECT c.oid, c.relname::text AS name, CASE
            WHEN c.relname::text = ANY (string_to_array('REFERENCE', ', ')) THEN NULL
            WHEN c.relname = 'project' THEN 'id'
            WHEN c.relname = 'audit' THEN 'account_id'
            ELSE 'project_id' END AS by
        FROM pg_class c
        WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace),
    keys AS (
        SELECT t.oid, t.name, t.by, a.attnum
        FROM tables t
        LEFT JOIN pg_attribute a ON a.attrelid = t.oid AND a.attname = t.by)";

fn ask(select: &str) -> Vec<String> {
    let tables = TABLES.replace("REFERENCE", REFERENCE_TABLES);
    let answer = database().sql(&format!("{tables} {select}")).expect("the catalog answers");
    answer.lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_table_is_spread_by_its_tenant_or_copied() {
    assert_eq!(ask("SELECT name FROM keys WHERE by IS NOT NULL AND attnum IS NULL"), Vec::<String>::new());
    let spread = ask("SELECT name FROM keys WHERE by IS NOT NULL ORDER BY 1");
    assert!(spread.contains(&"record".to_owned()) && spread.len() >= 14, "{spread:?}");
    let copied = ask("SELECT name FROM keys WHERE by IS NULL");
    assert_eq!(copied.len(), REFERENCE_TABLES.split(", ").count(), "{copied:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_unique_in_a_spread_table_is_unique_within_its_tenant() {
    let without = ask("
        SELECT i.indexrelid::regclass
        FROM keys k
        JOIN pg_index i ON i.indrelid = k.oid AND i.indisunique
        WHERE k.by IS NOT NULL AND NOT k.attnum = ANY (i.indkey::int2[])");
    assert_eq!(without, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn references_stay_within_a_tenant_or_lead_to_a_copied_table() {
    let astray = ask("
        SELECT f.conname
        FROM pg_constraint f
        JOIN keys one ON one.oid = f.conrelid
        JOIN keys other ON other.oid = f.confrelid
        WHERE f.contype = 'f' AND other.by IS NOT NULL AND NOT COALESCE(
            array_position(f.conkey, one.attnum) = array_position(f.confkey, other.attnum), FALSE)");
    assert_eq!(astray, Vec::<String>::new());
}
