//! Counts what happens. Figures are kept in memory and written in the background every few seconds, so that counting a
//! search costs no write. A crash loses at most those seconds of figures, never records.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use mnemon_core::{ConnectionId, KeyId, ProjectId, Timestamp};
use mnemon_store::{Day, StoreError, Usage};
use parking_lot::Mutex;

use crate::seen::Due;
use crate::{CallContext, Connection, Engine};

const DAY_SECONDS: i64 = 86_400;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Counted {
    Call,
    Save {
        bytes: usize,
    },
    Search,
    Rejection,
    /// A call that was refused because its connection made too many.
    RefusedByConnection,
    /// A call that was refused because its project made too many.
    RefusedByProject,
    /// An admin request: it updates the last use and no figure.
    Administration,
}

/// The figures not yet written.
#[derive(Debug, Default)]
pub(crate) struct UsageCounter {
    rows: Mutex<HashMap<(ProjectId, KeyId, Day), Usage>>,
    /// When OAuth connections were last used.
    connections: Mutex<HashMap<ConnectionId, Timestamp>>,
    /// Calls since this node started.
    calls: AtomicU64,
}

pub(crate) fn day_of(at: Timestamp) -> Day {
    Day(i32::try_from(at.as_second().div_euclid(DAY_SECONDS)).unwrap_or(i32::MAX))
}

impl UsageCounter {
    /// How many calls there were since this node started.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    pub(crate) fn count(&self, ctx: &CallContext, what: Counted) {
        if let Connection::Oauth(id) = ctx.connection {
            self.connections.lock().insert(id, ctx.now);
        }
        let (project, key, day) = (ctx.project(), ctx.credential.key, day_of(ctx.now));
        let mut rows = self.rows.lock();
        let row = rows.entry((project, key, day)).or_insert_with(|| Usage {
            project,
            day,
            key,
            calls: 0,
            saves: 0,
            searches: 0,
            rejections: 0,
            bytes: 0,
            refused_by_connection: 0,
            refused_by_project: 0,
            last_used_at: ctx.now,
        });
        row.last_used_at = row.last_used_at.max(ctx.now);
        match what {
            Counted::Call => {
                row.calls += 1;
                self.calls.fetch_add(1, Ordering::Relaxed);
            }
            Counted::Save { bytes } => {
                row.saves += 1;
                row.bytes += bytes as u64;
            }
            Counted::Search => row.searches += 1,
            Counted::Rejection => row.rejections += 1,
            Counted::RefusedByConnection => row.refused_by_connection += 1,
            Counted::RefusedByProject => row.refused_by_project += 1,
            Counted::Administration => {}
        }
    }

    fn take(&self) -> Vec<Usage> {
        self.rows.lock().drain().map(|(_, row)| row).collect()
    }

    fn take_of(&self, project: ProjectId) -> Vec<Usage> {
        self.rows.lock().extract_if(|(own, ..), _| *own == project).map(|(_, row)| row).collect()
    }

    fn put_back(&self, rows: Vec<Usage>) {
        let mut held = self.rows.lock();
        for row in rows {
            let key = (row.project, row.key, row.day);
            match held.get_mut(&key) {
                None => {
                    held.insert(key, row);
                }
                Some(newer) => newer.add(&row),
            }
        }
    }
}

impl Engine {
    /// Writes the figures counted so far. If storage is unavailable, they are kept for the next attempt.
    pub async fn flush_usage(&self) -> Result<(), StoreError> {
        // Lost if storage is unavailable: the next use records it again.
        let connections: Vec<_> = self.usage.connections.lock().drain().collect();
        if !connections.is_empty() {
            self.store.note_connections(connections).await?;
        }
        self.flush_seen(Due::All).await?;
        self.write_usage(self.usage.take()).await
    }

    /// Writes the figures of one project, before a reader asks for them. Those of other projects wait for their turn.
    pub(crate) async fn flush_usage_of(&self, project: ProjectId) -> Result<(), StoreError> {
        self.flush_seen(Due::Of(project)).await?;
        self.write_usage(self.usage.take_of(project)).await
    }

    async fn write_usage(&self, rows: Vec<Usage>) -> Result<(), StoreError> {
        if rows.is_empty() {
            return Ok(());
        }
        let kept = rows.clone();
        let written = self.store.add_usage(rows).await;
        if written.is_err() {
            self.usage.put_back(kept);
        }
        written
    }
}
