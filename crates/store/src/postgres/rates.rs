//! Calls counted by this node and by the others.
//!
//! Each node keeps one row per counter with the calls of its last minute, second by second, and replaces it as a whole.
//! The rows are worthless after that minute, so the table is not logged: a database that crashes forgets a minute of
//! calls.

use async_trait::async_trait;
use mnemon_core::Timestamp;
use uuid::Uuid;

use super::PostgresStore;
use super::rows::micros;
use super::transaction::{Tenant, Tx, ask};
use crate::statement::{Sql, statement};
use crate::{CallWindow, Calls, Rates, StoreError};

/// Rows that were not written for this long mean nothing any more.
const OUTDATED_AFTER_MICROS: i64 = 120_000_000;
/// A second and a count.
const ENTRY_BYTES: usize = 12;

#[async_trait]
impl Rates for PostgresStore {
    fn is_shared(&self) -> bool {
        true
    }

    async fn publish_calls(&self, windows: Vec<CallWindow>, now: Timestamp) -> Result<(), StoreError> {
        const UPSERT: &str = "
            INSERT INTO call_window (project_id, counter_id, node_id, updated_at, calls)
            SELECT g.project_id, g.counter_id, $3, $4, g.calls
            FROM unnest($1::uuid[], $2::uuid[], $5::bytea[]) AS g (project_id, counter_id, calls)
            ON CONFLICT (project_id, counter_id, node_id) DO UPDATE
            SET updated_at = excluded.updated_at, calls = excluded.calls";
        const DELETE: &str = "DELETE FROM call_window WHERE node_id = $1 AND updated_at < $2";
        let projects: Vec<Uuid> = windows.iter().map(|window| window.project.uuid()).collect();
        let counters: Vec<Uuid> = windows.iter().map(|window| window.counter).collect();
        let calls: Vec<Vec<u8>> = windows.iter().map(|window| encode(&window.calls)).collect();
        let (now, outdated) = (micros(now), micros(now) - OUTDATED_AFTER_MICROS);
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::for_upkeep()).await?;
            let upsert = ask(UPSERT, &[&projects, &counters, &self.node, &now, &calls]);
            tx.finish(vec![upsert, ask(DELETE, &[&self.node, &outdated])]).await.map(|_| ())
        })
        .await
    }
}

impl PostgresStore {
    /// Removes the rows of nodes that are gone: an hour before the newest row is long ago, whatever the clocks say.
    pub(super) async fn drop_calls_of_the_gone(&self) -> Result<(), StoreError> {
        const DELETE: &str = "
            DELETE FROM call_window
            WHERE updated_at < (SELECT MAX(w.updated_at) - 3600000000 FROM call_window w)";
        self.write(Tenant::for_upkeep(), statement!(DELETE)).await.map(|_| ())
    }
}

/// The calls of other nodes under one counter.
pub(super) fn read_calls<'a>(windows: impl Iterator<Item = &'a [u8]>, counter: Uuid) -> Result<Vec<Calls>, StoreError> {
    let broken = || StoreError::Broken { table: "call_window", column: "calls", row: counter.to_string() };
    let mut calls = Vec::new();
    for window in windows {
        calls.extend(decode(window).ok_or_else(broken)?);
    }
    Ok(calls)
}

fn encode(calls: &[Calls]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(calls.len() * ENTRY_BYTES);
    for Calls { second, count } in calls {
        bytes.extend(second.to_le_bytes());
        bytes.extend(count.to_le_bytes());
    }
    bytes
}

fn decode(bytes: &[u8]) -> Option<Vec<Calls>> {
    let read = |entry: &[u8]| {
        let (second, count) = entry.split_at_checked(8)?;
        Some(Calls {
            second: i64::from_le_bytes(second.try_into().ok()?),
            count: u32::from_le_bytes(count.try_into().ok()?),
        })
    };
    bytes.chunks(ENTRY_BYTES).map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_come_back_and_nonsense_does_not() {
        let calls = vec![Calls { second: 1_800_000_000, count: 3 }, Calls { second: -1, count: u32::MAX }];
        assert_eq!(decode(&encode(&calls)), Some(calls));
        assert_eq!(decode(&[]), Some(Vec::new()));
        for nonsense in [&[1; 11][..], &[1; 13]] {
            assert_eq!(decode(nonsense), None);
        }
    }
}
