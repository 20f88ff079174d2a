//! The search indexes of all workspaces: true up to the position in the log that each has applied, kept within one byte
//! budget, least recently used out first. An index can be dropped at any time; the next search builds it again.
//!
//! A call knows where the project's log ended when the call began; an index knows how far it
//! has followed the log. If the index is behind, the tail of the log is read and applied before anything is ranked.

mod loading;
mod slot;
mod state;
mod writing;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use loading::Refused;
use lru::LruCache;
use mnemon_core::{Clock, ProjectId, Seq, WorkspaceName};
use mnemon_recall::Model;
use mnemon_store::{Store, StoreError};
use parking_lot::Mutex;
use slot::Offered;
pub(crate) use slot::{Asked, Saved, Slot, status};
pub(crate) use state::to_stored;
use tokio::sync::Semaphore;

use crate::bodies::Bodies;
use crate::figures::{Count, IndexCounts, SnapshotCounts};

/// How many records are read from the log at a time: enough to amortise the read, few enough to stay in cache.
const TAIL_ROWS: usize = 2_000;

/// How many long pieces of the log are read and applied at a time. Each takes megabytes until it is applied; hundreds
/// of cold workspaces that are searched at once would take more memory together than their indexes have.
const BUILDERS_MAX: usize = 2;

/// Memory for the records that answers showed: some 30,000 of 250 characters. Where indexes have little, a quarter of
/// that.
const BODIES_BYTES_MAX: usize = 64 << 20;

type Key = (ProjectId, WorkspaceName);

/// All indexes of this node.
pub(crate) struct Indexes {
    store: Arc<dyn Store>,
    model: &'static Model,
    bytes_max: usize,
    bodies: Arc<Bodies>,
    held: Mutex<Held>,
    counts: IndexCounts,
    snapshot_counts: Arc<SnapshotCounts>,
    /// Turns to read a long piece of the log.
    builders: Semaphore,
    /// Turns to write snapshots.
    writers: Arc<Semaphore>,
    refused: Refused,
    clock: Arc<dyn Clock>,
    portions_built: Count,
}

struct Held {
    slots: LruCache<Key, Arc<Slot>>,
    bytes: usize,
}

impl Indexes {
    pub(crate) fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, model: &'static Model, bytes_max: usize) -> Self {
        let held = Mutex::new(Held { slots: LruCache::unbounded(), bytes: 0 });
        let bodies = Arc::new(Bodies::new(BODIES_BYTES_MAX.min(bytes_max / 4)));
        let (counts, snapshot_counts, refused) = (IndexCounts::default(), Arc::default(), Refused::default());
        let writers = Arc::new(Semaphore::new(writing::WRITERS_MAX));
        let builders = Semaphore::new(BUILDERS_MAX);
        let portions_built = Count::default();
        Self {
            store,
            model,
            bytes_max,
            bodies,
            held,
            counts,
            snapshot_counts,
            builders,
            writers,
            refused,
            clock,
            portions_built,
        }
    }

    pub(crate) const fn counts(&self) -> &IndexCounts {
        &self.counts
    }

    pub(crate) fn snapshot_counts(&self) -> &SnapshotCounts {
        &self.snapshot_counts
    }

    /// How many bytes the texts take that answers showed, and how many they may take.
    pub(crate) fn text_size(&self) -> (usize, usize) {
        self.bodies.size()
    }

    /// How many portions of the log were read to build large indexes: it grows while somebody waits for one.
    pub(crate) fn portions_built(&self) -> u64 {
        self.portions_built.get()
    }

    /// How many indexes are held, their bytes, and how many bytes they may have.
    pub(crate) fn size(&self) -> (usize, usize, usize) {
        let held = self.held.lock();
        (held.slots.len(), held.bytes, self.bytes_max)
    }

    /// The index of a workspace, with everything up to `seq` in it. `None` if there is no such active workspace.
    pub(crate) async fn current(
        &self,
        project: ProjectId,
        name: &WorkspaceName,
        seq: Seq,
    ) -> Result<Option<Arc<Slot>>, StoreError> {
        let key = (project, name.clone());
        loop {
            // Taken before anything is read, so that a later history is not mistaken for an earlier one.
            let epoch = self.store.epoch();
            let resident = self.held.lock().slots.get(&key).cloned();
            let slot = match resident {
                Some(slot) => {
                    self.counts.hits.add(1);
                    slot
                }
                None => match self.store.find_workspace(project, name).await? {
                    // Apart, because it is rare and large.
                    Some(workspace) => Box::pin(self.adopt(&key, workspace, epoch, seq)).await?,
                    None => return Ok(None),
                },
            };
            // Otherwise this life of the workspace has ended, and perhaps a new one has begun; or the index knows
            // changes that the database has lost.
            if self.can_be_trusted(project, &slot, seq).await? && self.follow(&key, &slot, seq).await? {
                return Ok(Some(slot));
            }
            self.discard(&key, &slot);
        }
    }

    /// Whether the index is not known to be damaged, and knows only changes that are in the log. An index that is ahead
    /// of the caller has usually followed another call meanwhile, and the log confirms that. If it does not, the end of
    /// the log was lost in a failover.
    async fn can_be_trusted(&self, project: ProjectId, slot: &Slot, seq: Seq) -> Result<bool, StoreError> {
        if slot.epoch != self.store.epoch() || slot.is_doubted.load(Ordering::Acquire) {
            return Ok(false);
        }
        let applied = slot.applied();
        if applied <= seq {
            return Ok(true);
        }
        Ok(self.store.last_seq(project).await?.is_some_and(|last| applied <= last))
    }

    /// Puts a record that was just saved into its index, if it is loaded. If not, there is nothing to do: the next
    /// search builds it from the log. Nor does it matter to the save if the log can't be read now: the record is
    /// durable, and a search that finds the index behind the log reads on by itself.
    pub(crate) async fn add_saved(&self, project: ProjectId, name: &WorkspaceName, saved: Saved<'_>) {
        let key = (project, name.clone());
        let resident = self.held.lock().slots.get(&key).cloned();
        let Some(slot) = resident.filter(|slot| slot.workspace == saved.workspace_no) else { return };
        match slot.add_or_park(&saved) {
            Offered::Added => {
                self.recount(&key, &slot);
                self.snapshot_if_due(&key, &slot);
            }
            Offered::Parked => {}
            Offered::Refused => {
                if let Err(error) = self.follow(&key, &slot, saved.seq).await {
                    tracing::warn!(%error, "could not update an index after a save; the next search tries again");
                }
            }
        }
    }

    /// Applies the log at least up to `seq`. `false` if this life of the workspace has ended.
    async fn follow(&self, key: &Key, slot: &Arc<Slot>, seq: Seq) -> Result<bool, StoreError> {
        if slot.applied() >= seq {
            return Ok(true);
        }
        slot.wait_for_savers(seq).await;
        let _turn = slot.following.lock().await;
        slot.add_parked();
        while slot.applied() < seq {
            let is_long = seq.0.saturating_sub(slot.applied().0) > slot::INLINE_ROWS as u64;
            let _turn = if is_long { self.builders.acquire().await.ok() } else { None };
            let tail = self.store.tail_at_least(key.0, slot.workspace, slot.applied(), TAIL_ROWS, seq).await?;
            if !tail.is_active {
                return Ok(false);
            }
            slot.apply(tail).await;
            if is_long {
                self.portions_built.add(1);
            }
        }
        self.recount(key, slot);
        self.snapshot_if_due(key, slot);
        Ok(true)
    }

    fn discard(&self, key: &Key, slot: &Arc<Slot>) {
        let mut held = self.held.lock();
        if held.slots.peek(key).is_some_and(|resident| Arc::ptr_eq(resident, slot)) {
            held.slots.pop(key);
            held.bytes -= slot.counted_bytes.swap(0, Ordering::Relaxed);
        }
    }

    /// Recounts a slot and drops the least recently used ones while the budget is exceeded.
    fn recount(&self, key: &Key, slot: &Arc<Slot>) {
        let bytes = slot.state.read().index.size_bytes();
        let mut held = self.held.lock();
        if !held.slots.peek(key).is_some_and(|resident| Arc::ptr_eq(resident, slot)) {
            return; // Dropped meanwhile: only a running search still holds it.
        }
        let before = slot.counted_bytes.swap(bytes, Ordering::Relaxed);
        held.bytes = held.bytes - before + bytes;
        while held.bytes > self.bytes_max && held.slots.len() > 1 {
            let Some((_, oldest)) = held.slots.pop_lru() else { break };
            held.bytes -= oldest.counted_bytes.swap(0, Ordering::Relaxed);
            self.counts.evictions.add(1);
        }
    }
}
