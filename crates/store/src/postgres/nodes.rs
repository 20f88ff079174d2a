//! The nodes that share this database.

use async_trait::async_trait;
use mnemon_core::{NodeId, Timestamp};
use tokio_postgres::Row;

use super::PostgresStore;
use super::rows::{Cells, integer, micros};
use super::transaction::{Tenant, Tx, ask};
use crate::statement::{Sql, statement};
use crate::{NodeRow, Nodes, StoreError};

#[async_trait]
impl Nodes for PostgresStore {
    async fn note_node(&self, node: NodeRow, silent_since: Timestamp) -> Result<(), StoreError> {
        const UPSERT: &str = "
            INSERT INTO node (id, started_at, seen_at, index_bytes, index_bytes_max, calls_per_minute, storage_micros, name,
                version)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
            ON CONFLICT (id) DO UPDATE SET seen_at = $3, index_bytes = $4, index_bytes_max = $5, calls_per_minute = $6,
                storage_micros = $7";
        const DROP: &str = "DELETE FROM node WHERE seen_at < $1 AND id <> $2";
        let id = node.id.uuid();
        let (started_at, seen_at, silent_since) = (micros(node.started_at), micros(node.seen_at), micros(silent_since));
        let (bytes, bytes_max) = (integer(node.index_bytes), integer(node.index_bytes_max));
        let (calls, storage) = (integer(node.calls_per_minute), node.storage_micros.map(integer));
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::nobody()).await?;
            let values: [&(dyn tokio_postgres::types::ToSql + Sync); 9] =
                [&id, &started_at, &seen_at, &bytes, &bytes_max, &calls, &storage, &node.name, &node.version];
            tx.finish(vec![ask(UPSERT, &values), ask(DROP, &[&silent_since, &id])]).await.map(|_| ())
        })
        .await
    }

    async fn remove_node(&self, id: NodeId) -> Result<(), StoreError> {
        const DELETE: &str = "DELETE FROM node WHERE id = $1";
        self.write(Tenant::nobody(), statement!(DELETE, id.uuid())).await.map(|_| ())
    }

    async fn list_nodes(&self) -> Result<Vec<NodeRow>, StoreError> {
        const SELECT: &str = "
            SELECT id, name, version, started_at, seen_at, index_bytes, index_bytes_max, calls_per_minute, storage_micros
            FROM node
            ORDER BY started_at, id";
        self.ask(Tenant::nobody(), SELECT, &[]).await?.iter().map(read_node).collect()
    }
}

fn read_node(row: &Row) -> Result<NodeRow, StoreError> {
    let id: NodeId = Cells::new(row, "node", String::new).id(0, "id")?;
    let cells = Cells::new(row, "node", || id.to_string());
    Ok(NodeRow {
        id,
        name: cells.text(1, "name")?,
        version: cells.text(2, "version")?,
        started_at: cells.time(3, "started_at")?,
        seen_at: cells.time(4, "seen_at")?,
        index_bytes: cells.count(5, "index_bytes")?,
        index_bytes_max: cells.count(6, "index_bytes_max")?,
        calls_per_minute: cells.count(7, "calls_per_minute")?,
        storage_micros: cells.count_opt(8, "storage_micros")?,
    })
}
