//! When snapshots are written: while changes come in, each time that enough of them have, and once more when the
//! service stops.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use mnemon_core::Seq;

use super::{Indexes, Key, Slot};
use crate::snapshots::{self, Grown};

/// How long the service may take, when it stops, to finish snapshots and to begin others. What is left over is read
/// from the log.
const LAST_WRITES_MAX: Duration = Duration::from_secs(5);

/// How many snapshots are written at a time: each is another copy of its index until it is on the disk.
pub(super) const WRITERS_MAX: usize = 2;

impl Indexes {
    /// Writes a snapshot in the background when enough has changed since the last one.
    pub(super) fn snapshot_if_due(&self, key: &Key, slot: &Arc<Slot>) {
        let now = self.clock.now().as_second();
        let grown = slot.grown(now);
        if !snapshots::is_due(&grown) {
            return;
        }
        // If all are busy, don't wait: that would keep the index in memory. It is due again at the next change.
        let Ok(turn) = Arc::clone(&self.writers).try_acquire_owned() else { return };
        if !slot.begin_writing(&grown, now) {
            return;
        }
        let (writing, key) = (self.writing(), key.clone());
        let slot = Arc::clone(slot);
        tokio::spawn(async move {
            writing.write(&key, slot).await;
            drop(turn);
        });
    }

    /// Writes the snapshots that spare the next start a noticeable part of the log, the farthest behind first. Those
    /// that are being written are waited for: the store is about to close, and a file without its row is useless.
    pub(crate) async fn write_last_snapshots(&self) {
        let began = Instant::now();
        let turns = self.writers.acquire_many(WRITERS_MAX as u32);
        let _all_turns = tokio::time::timeout(LAST_WRITES_MAX, turns).await;
        let now = self.clock.now().as_second();
        let held: Vec<(Key, Arc<Slot>)> =
            self.held.lock().slots.iter().map(|(key, slot)| (key.clone(), Arc::clone(slot))).collect();
        let mut behind: Vec<(Grown, Key, Arc<Slot>)> =
            held.into_iter().map(|(key, slot)| (slot.grown(now), key, slot)).collect();
        behind.retain(|(grown, ..)| snapshots::is_worth_a_stop(grown));
        behind.sort_by_key(|(grown, ..)| std::cmp::Reverse(grown.changes()));
        let writing = self.writing();
        for (grown, key, slot) in behind {
            if began.elapsed() > LAST_WRITES_MAX {
                tracing::info!("there was no time for all snapshots; the next start reads more of the log");
                return;
            }
            if slot.begin_writing(&grown, now) {
                writing.write(&key, slot).await;
            }
        }
    }

    fn writing(&self) -> Writing {
        Writing {
            store: Arc::clone(&self.store),
            counts: Arc::clone(&self.snapshot_counts),
            clock: Arc::clone(&self.clock),
        }
    }
}

/// What a task needs to write a snapshot.
struct Writing {
    store: Arc<dyn mnemon_store::Store>,
    counts: Arc<crate::figures::SnapshotCounts>,
    clock: Arc<dyn mnemon_core::Clock>,
}

impl Writing {
    async fn write(&self, key: &Key, slot: Arc<Slot>) {
        let Ok(snapshot) = tokio::task::spawn_blocking(move || slot.to_snapshot()).await else { return };
        let size_bytes = snapshot.image.size_bytes();
        match self.store.save_snapshot(key.0, snapshot).await {
            Ok(()) => self.counts.note_written(size_bytes, self.clock.now()),
            Err(error) => {
                self.counts.failed.add(1);
                tracing::warn!(%error, "could not write a snapshot; the next start will read the log instead");
            }
        }
    }
}

impl Slot {
    /// How far it has come since its last snapshot.
    fn grown(&self, now: i64) -> Grown {
        let (records, size_bytes) = {
            let state = self.state.read();
            (state.index.len(), state.index.size_bytes())
        };
        Grown {
            records,
            size_bytes,
            snapshot: Seq(self.snapshot.load(Ordering::Acquire)),
            applied: self.applied(),
            seconds: u64::try_from(now - self.snapshot_at.load(Ordering::Relaxed)).unwrap_or(0),
        }
    }

    /// The task that moves the number writes the snapshot; others leave it to that task.
    fn begin_writing(&self, grown: &Grown, now: i64) -> bool {
        let (before, after) = (grown.snapshot.0, grown.applied.0);
        let is_ours = self.snapshot.compare_exchange(before, after, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        if is_ours {
            self.snapshot_at.store(now, Ordering::Relaxed);
        }
        is_ours
    }
}
