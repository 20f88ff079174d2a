//! Moving everything to PostgreSQL and back, whole, interrupted, and into the wrong place.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use mnemon_core::{Audience, CredentialHash, NewRecord, Role, Seq};
use mnemon_scratch_postgres::Database;
use rusqlite::Connection;
use rusqlite::types::Value;

use super::{LEFT_BEHIND, Note, Row, Side, StorageEnd, Table, Tenant, transfer, transfer_everything};
use crate::fixtures::{House, at, audit, new_key, with_fact, workspace};
use crate::postgres::{PostgresConfig, PostgresSide, PostgresStore};
use crate::sqlite::{SqliteSide, SqliteStore};
use crate::{
    ClientKind, Day, Idempotency, OauthClient, Portion, RecordFilter, Records, Seen, Store, StoreError, Usage,
};

/// How many records the larger project has: more than one piece.
const MANY: usize = 1_234;

struct Ends {
    first: tempfile::TempDir,
    second: tempfile::TempDir,
    database: Database,
}

impl Ends {
    fn new() -> Self {
        let dir = || tempfile::tempdir().expect("a directory");
        Self { first: dir(), second: dir(), database: Database::fresh().expect("a PostgreSQL") }
    }

    fn config(&self) -> PostgresConfig {
        PostgresConfig::new(&self.database.url)
    }

    fn postgres(&self) -> StorageEnd {
        StorageEnd::Postgres(Box::new(self.config()))
    }
}

fn sqlite(dir: &tempfile::TempDir) -> StorageEnd {
    StorageEnd::Sqlite(dir.path().to_owned())
}

/// Two accounts with everything in them that tables have room for.
async fn fill(dir: &Path) -> Vec<House> {
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(dir).expect("the directory is free"));
    store.insert_operator_token(CredentialHash::of("operator"), at(0)).await.expect("storage works");
    let houses = vec![House::build(&store).await, House::build(&store).await];
    for (house, count) in houses.iter().zip([MANY, 3]) {
        fill_house(house, count).await;
    }
    let redirect_uris = vec!["https://client.example/back".to_owned(), "http://localhost/back".to_owned()];
    let client = OauthClient {
        id: "client".to_owned(),
        kind: ClientKind::Registered,
        name: Some("A client".to_owned()),
        redirect_uris,
        known_at: at(3),
    };
    store.save_client(client).await.expect("storage works");
    store.close().await;
    houses
}

async fn fill_house(house: &House, count: usize) {
    // Made in an order in which ids do not reveal who is above whom.
    let top = house.add_department("Top", None).await;
    let middle = house.add_department("Middle", Some(top)).await;
    house.add_department("Below", Some(middle)).await;
    let ben = house.add_member("Ben \u{1f600}", Role::Head, Some(middle)).await;
    house.add_key(ben).await;
    let own = crate::NewKey { workspace: Some(workspace("team")), ..new_key(house.project, ben) };
    house.store.insert_key(own, audit(house.account, 0, "key.create")).await.expect("a key");
    // Side by side, so that many share one commit.
    let mut saves = tokio::task::JoinSet::new();
    for n in 0..count {
        let audience = [Audience::Shared, Audience::Author(ben), Audience::Department(middle)][n % 3];
        let confidence = (n % 2 == 0).then_some(n as f64 / 7.0 / count as f64);
        let sourced = house.sourced(&format!("text {n} \u{10ffff} 'quoted'"), &format!("file{}", n % 50), "h");
        let record = NewRecord {
            audience,
            author: ben,
            department: Some(middle),
            embedding: vec![n as u8; 9],
            workspace: workspace(["default", "team"][n % 2]),
            ..with_fact(sourced, |fact| fact.confidence = confidence)
        };
        let house = house.clone();
        saves.spawn(async move { house.insert(record).await });
    }
    saves.join_all().await;
    house.forget(&[Seq(2), Seq(3)], 50).await;
    house.delete_workspace("team", 60).await;
    let key = Idempotency { member: ben, key: "k".into(), arguments_hash: [3; 32], valid_since: at(0) };
    house.insert_with_key(house.record("by key"), key).await;
    house.store.save_answer(house.project, ben, "k", "{}".to_owned()).await.expect("storage works");
    house.observe_hash("file1", "h2", 70).await;
    house.observe(None, "file2", Seen::Gone { moved_to: Some("file3".to_owned()) }, 71).await;
    let line = audit(house.account, 80, "guard.release");
    house.store.release_text(house.project, [7; 32], line).await.expect("storage works");
    let usage = Usage {
        project: house.project,
        day: Day(20_000),
        key: house.key,
        calls: 5,
        saves: 2,
        searches: 3,
        rejections: 1,
        bytes: 77,
        refused_by_connection: 8,
        refused_by_project: 9,
        last_used_at: at(90),
    };
    house.store.add_usage(vec![usage]).await.expect("storage works");
    house.add_project().await;
}

/// Every row of every table that is moved, as SQLite returns them.
fn dump(dir: &Path) -> Vec<(String, Vec<Vec<Value>>)> {
    let conn = Connection::open(dir.join("mnemon.db")).expect("the file is free");
    let mut tables =
        conn.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").expect("a schema");
    let names: Vec<String> =
        tables.query_map([], |row| row.get(0)).expect("names").map(|name| name.expect("a name")).collect();
    let moved = names.into_iter().filter(|name| !LEFT_BEHIND.contains(&name.as_str()));
    let rows = |name: &str| {
        let mut statement = conn.prepare(&format!("SELECT * FROM \"{name}\"")).expect("a table");
        let width = statement.column_count();
        let read = statement.query_map([], |row| (0..width).map(|at| row.get(at)).collect()).expect("rows");
        read.map(Result::unwrap).collect::<Vec<Vec<Value>>>()
    };
    moved.map(|name| (name.clone(), rows(&name))).collect()
}

#[tokio::test]
async fn everything_moves_to_postgresql_and_back() {
    let ends = Ends::new();
    let houses = fill(ends.first.path()).await;
    let mut told = Vec::new();
    let tell = &mut |progress: &super::Progress| told.push((progress.step, progress.rows));
    let there = transfer_everything(&sqlite(&ends.first), &ends.postgres(), tell).await.expect("it moves");
    assert_eq!((there.accounts, there.projects, there.rows_before), (2, 4, 0));
    assert!(told.iter().any(|(step, _)| *step == super::Step::Verify) && told.len() > 20);

    let mut all = 0;
    for (table, rows) in dump(ends.first.path()) {
        let moved = there.tables.iter().find(|(name, _)| *name == table).map(|(_, rows)| *rows);
        let stored = ends.database.sql(&format!("SELECT COUNT(*) FROM \"{table}\"")).expect("a superuser sees all");
        assert_eq!((moved, stored), (Some(rows.len() as u64), rows.len().to_string()), "{table}");
        all += rows.len();
    }
    assert!(all > MANY + 100, "{all} rows");
    let store = PostgresStore::open(ends.config()).await.expect("a finished target can be served from");
    let living = store
        .list_records(houses[0].project, RecordFilter::default(), None, Portion::of_rows(10))
        .await
        .expect("storage works");
    assert!(living.iter().any(|listed| listed.record.fact.content.ends_with("\u{10ffff} 'quoted'")));
    store.close().await;

    let back = transfer_everything(&ends.postgres(), &sqlite(&ends.second), &mut |_| {}).await.expect("it moves back");
    assert_eq!(back.tables, there.tables);
    assert_eq!(dump(ends.second.path()), dump(ends.first.path()), "what came back is what was there, to the byte");
}

/// A target whose writes fail from a certain one on, before or after they were stored.
struct Failing {
    inner: PostgresSide,
    writes_left: usize,
    is_stored: bool,
}

#[async_trait]
impl Side for Failing {
    async fn tables(&mut self) -> Result<Vec<Table>, StoreError> {
        self.inner.tables().await
    }
    async fn accounts(&mut self) -> Result<Vec<[u8; 16]>, StoreError> {
        self.inner.accounts().await
    }
    async fn projects(&mut self, account: [u8; 16]) -> Result<Vec<[u8; 16]>, StoreError> {
        self.inner.projects(account).await
    }
    async fn read(
        &mut self,
        table: &Table,
        tenant: Tenant,
        after: Option<&Row>,
        rows_max: usize,
    ) -> Result<Vec<Row>, StoreError> {
        self.inner.read(table, tenant, after, rows_max).await
    }
    async fn count(&mut self, table: &Table) -> Result<Option<u64>, StoreError> {
        self.inner.count(table).await
    }
    async fn begun(&mut self) -> Result<Option<String>, StoreError> {
        self.inner.begun().await
    }
    async fn begin(&mut self, source: &str) -> Result<(), StoreError> {
        self.inner.begin(source).await
    }
    async fn note(&mut self, table: &Table, tenant: Tenant) -> Result<Note, StoreError> {
        self.inner.note(table, tenant).await
    }
    async fn write(&mut self, table: &Table, tenant: Tenant, rows: &[Row], note: Note) -> Result<(), StoreError> {
        if self.writes_left == 0 {
            if self.is_stored {
                self.inner.write(table, tenant, rows, note).await?;
            }
            return Err(StoreError::Away("the cable was pulled".to_owned()));
        }
        self.writes_left -= 1;
        self.inner.write(table, tenant, rows, note).await
    }
    async fn last(&mut self, table: &Table, tenant: Tenant) -> Result<Option<Row>, StoreError> {
        self.inner.last(table, tenant).await
    }
    async fn finish(&mut self) -> Result<(), StoreError> {
        self.inner.finish().await
    }
}

#[tokio::test]
async fn an_interrupted_move_goes_on_where_it_was() {
    let ends = Ends::new();
    fill(ends.first.path()).await;
    let mut failures = 0;
    // Each run gets a little further; every other one loses the answer and not the rows.
    for run in 0.. {
        let mut from = SqliteSide::open_source(ends.first.path()).expect("the directory is free");
        let inner = PostgresSide::open(&ends.config()).await.expect("a database");
        let mut to = Failing { inner, writes_left: 7, is_stored: run % 2 == 0 };
        match transfer(&mut from, &mut to, &mut |_| {}).await {
            Ok(moved) => {
                assert!(moved.rows_before > 0);
                break;
            }
            Err(error) => assert_eq!(error, StoreError::Away("the cable was pulled".to_owned())),
        }
        failures += 1;
        let refused = PostgresStore::open(ends.config()).await.err().expect("it is not finished").to_string();
        assert!(refused.contains("is not finished: run the same `mnemon transfer` again"), "{refused}");
    }
    assert!(failures > 3, "{failures} interruptions");
    transfer_everything(&ends.postgres(), &sqlite(&ends.second), &mut |_| {}).await.expect("it moves back");
    assert_eq!(dump(ends.second.path()), dump(ends.first.path()));
}

#[tokio::test]
async fn nothing_is_moved_into_the_wrong_place() {
    let ends = Ends::new();
    fill(ends.first.path()).await;
    let refused = async |from: &StorageEnd, to: &StorageEnd| {
        transfer_everything(from, to, &mut |_| {}).await.expect_err("it is refused").to_string()
    };
    let nowhere = StorageEnd::Sqlite(ends.first.path().join("nowhere"));
    assert!(refused(&nowhere, &ends.postgres()).await.contains("there is no mnemon.db in"));
    assert!(refused(&sqlite(&ends.first), &sqlite(&ends.second)).await.contains("between a sqlite: and a postgres:"));
    let running = SqliteStore::open(ends.first.path()).expect("the directory is free");
    assert!(refused(&sqlite(&ends.first), &ends.postgres()).await.contains("another mnemon is using"));
    running.close().await;
    drop(running);
    transfer_everything(&sqlite(&ends.first), &ends.postgres(), &mut |_| {}).await.expect("it moves");
    assert!(refused(&sqlite(&ends.first), &ends.postgres()).await.contains("the target already contains accounts"));
}

#[tokio::test]
async fn a_source_that_changes_meanwhile_is_noticed() {
    let ends = Ends::new();
    fill(ends.first.path()).await;
    transfer_everything(&sqlite(&ends.first), &ends.postgres(), &mut |_| {}).await.expect("it moves");
    // On the way back somebody writes after the copy: comparing is first reported after the last row is copied.
    let url = &ends.database;
    let mut is_changed = false;
    let mut tell = |progress: &super::Progress| {
        if progress.step == super::Step::Verify && !is_changed {
            is_changed = true;
            url.sql("UPDATE record SET content = content || '!' WHERE seq = 1").expect("a superuser may");
        }
    };
    let error = transfer_everything(&ends.postgres(), &sqlite(&ends.second), &mut tell).await.expect_err("it differs");
    assert!(error.to_string().contains("table record of project"), "{error}");
    assert!(error.to_string().contains("differs after the copy"), "{error}");
    let opened = SqliteStore::open(ends.second.path()).err().expect("it is not finished").to_string();
    assert!(opened.contains("is not finished"), "{opened}");
}
