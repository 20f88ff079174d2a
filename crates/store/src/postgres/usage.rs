//! What each key did on each day.

use std::collections::BTreeMap;

use mnemon_core::{KeyId, ProjectId};
use tokio_postgres::Row;

use super::PostgresStore;
use super::error::Fault;
use super::rows::{Cells, integer, micros};
use super::transaction::{Tenant, Tx};
use crate::{Day, StoreError, Usage};

impl PostgresStore {
    /// Adds to the figures of keys that belong to their project; others leave nothing. Nodes add at the same time: all go
    /// through projects, keys and days in one order, so that none waits for one that waits for it.
    pub(super) async fn insert_usage(&self, rows: &[Usage]) -> Result<(), StoreError> {
        let mut by_project: BTreeMap<ProjectId, Vec<&Usage>> = BTreeMap::new();
        for row in rows {
            by_project.entry(row.project).or_default().push(row);
        }
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::nobody()).await?;
            for (project, rows) in &by_project {
                tx.flight(vec![Tenant::project(*project).turn()]).await?;
                let mut rows = rows.clone();
                rows.sort_by_key(|row| (row.key, row.day));
                for row in rows {
                    add(&tx, row).await?;
                }
            }
            tx.commit().await
        })
        .await
    }

    pub(super) async fn load_usage(&self, project: ProjectId, from: Day, to: Day) -> Result<Vec<Usage>, StoreError> {
        const SELECT: &str = "
            SELECT day, key_id, calls, saves, searches, rejections, bytes, last_used_at
            FROM usage
            WHERE project_id = $1 AND day BETWEEN $2 AND $3
            ORDER BY day, key_id";
        let rows = self.ask(Tenant::project(project), SELECT, &[&project.uuid(), &from.0, &to.0]).await?;
        rows.iter().map(|row| read_usage(row, project)).collect()
    }
}

async fn add(tx: &Tx, row: &Usage) -> Result<(), Fault> {
    const UPSERT: &str = "
        INSERT INTO usage (project_id, day, key_id, calls, saves, searches, rejections, bytes, last_used_at)
        SELECT project_id, $2, id, $4, $5, $6, $7, $8, $9
        FROM api_key
        WHERE project_id = $1 AND id = $3
        ON CONFLICT (project_id, day, key_id) DO UPDATE
        SET calls = usage.calls + excluded.calls, saves = usage.saves + excluded.saves,
            searches = usage.searches + excluded.searches, rejections = usage.rejections + excluded.rejections,
            bytes = usage.bytes + excluded.bytes, last_used_at = GREATEST(usage.last_used_at, excluded.last_used_at)";
    // A row that comes late does not set the last use back.
    const NOTE_USE: &str = "
        UPDATE api_key
        SET last_used_at = $3
        WHERE project_id = $1 AND id = $2 AND (last_used_at IS NULL OR last_used_at < $3)";
    let (project, key, last_used_at) = (row.project.uuid(), row.key.uuid(), micros(row.last_used_at));
    let [calls, saves, searches, rejections, bytes] =
        [row.calls, row.saves, row.searches, row.rejections, row.bytes].map(integer);
    let values: [&(dyn tokio_postgres::types::ToSql + Sync); 9] =
        [&project, &row.day.0, &key, &calls, &saves, &searches, &rejections, &bytes, &last_used_at];
    tx.rows(UPSERT, &values).await?;
    tx.rows(NOTE_USE, &[&project, &key, &last_used_at]).await?;
    Ok(())
}

fn read_usage(row: &Row, project: ProjectId) -> Result<Usage, StoreError> {
    let cells = Cells::new(row, "usage", || project.to_string());
    Ok(Usage {
        project,
        day: Day(cells.small(0, "day")?),
        key: KeyId::new(cells.uuid(1, "key_id")?),
        calls: cells.count(2, "calls")?,
        saves: cells.count(3, "saves")?,
        searches: cells.count(4, "searches")?,
        rejections: cells.count(5, "rejections")?,
        bytes: cells.count(6, "bytes")?,
        last_used_at: cells.time(7, "last_used_at")?,
    })
}
