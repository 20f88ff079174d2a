//! The schema: the same as SQLite's, and made once.

use std::collections::BTreeSet;

use mnemon_scratch_postgres::Database;
use mnemon_store::sqlite::SqliteStore;

use crate::{database, node};

#[tokio::test(flavor = "multi_thread")]
async fn both_engines_have_the_same_tables_and_columns() {
    let folder = std::env::temp_dir().join(format!("mnemon-twins-{}", std::process::id()));
    drop(SqliteStore::open(&folder).unwrap());
    let sqlite = rusqlite::Connection::open(folder.join("mnemon.db")).unwrap();
    let select =
        "SELECT m.name || '.' || c.name FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table'";
    let mut statement = sqlite.prepare(select).unwrap();
    let of_sqlite: BTreeSet<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    // Only nodes that share a database report calls to each other, and that they are up.
    let select = "SELECT table_name || '.' || column_name FROM information_schema.columns
        WHERE table_schema = 'public' AND table_name NOT IN ('call_window', 'node')";
    let of_postgres: BTreeSet<String> = database().sql(select).unwrap().lines().map(str::to_owned).collect();
    // A snapshot is in a file where one process has the directory, and in its row where every node must find it.
    let one_sided = ["snapshot.file", "snapshot.bytes", "snapshot.id"].map(str::to_owned);
    let differing: BTreeSet<&String> = of_sqlite.symmetric_difference(&of_postgres).collect();
    assert_eq!(differing, one_sided.iter().collect());
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn migrations_have_the_numbers_and_names_of_sqlite() {
    let list = |engine: &str| {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(engine);
        let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
        files.collect::<BTreeSet<String>>()
    };
    assert_eq!(list("sqlite"), list("postgres"));
    let applied = database().sql("SELECT lpad(no::text, 4, '0') || '_' || name || '.sql' FROM migration").unwrap();
    assert_eq!(applied.lines().map(str::to_owned).collect::<BTreeSet<_>>(), list("postgres"));
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_start_together_migrate_once() {
    let database = Database::fresh().unwrap();
    let start = || {
        let url = database.url.clone();
        tokio::spawn(async move { drop(node(&url).await) })
    };
    let nodes: Vec<_> = (0..6).map(|_| start()).collect();
    for node in nodes {
        node.await.unwrap();
    }
    assert_eq!(database.sql("SELECT COUNT(*) FROM migration WHERE no = 1").unwrap(), "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_a_newer_program_is_refused() {
    let database = database();
    database.sql("INSERT INTO migration (no, name) VALUES (99, 'later')").unwrap();
    let config = mnemon_store::postgres::PostgresConfig::new(&database.url);
    let error = mnemon_store::postgres::PostgresStore::open(config).await.err().unwrap().to_string();
    assert!(
        error.starts_with("storage failed: the database has schema 99, and this program knows schemas up to"),
        "{error}"
    );
}
