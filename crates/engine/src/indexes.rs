//! The search indexes of all workspaces: derived from the log, kept within one byte budget, least recently used out first.
//! An index can be dropped at any time; the next search builds it again.
//!
//! Freshness is one number. A call knows where the project's log ended when the call began; an index knows how far it has
//! followed the log. If the index is behind, the tail of the log is read and applied before anything is ranked.

mod loading;
mod writing;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};

use lru::LruCache;
use mnemon_core::{
    Audience, Clock, Fact, FactKey, NewRecord, ProjectId, Record, RecordId, Scope, Seq, Timestamp, Viewer,
    WorkspaceName, WorkspaceNo,
};
use mnemon_recall::{AudienceNo, Embedding, Explanation, Filter, Hit, Model, NewDoc, SearchRequest, WorkspaceIndex};
use mnemon_store::{Change, Present, Snapshot, SnapshotImage, Store, StoreError, Tail, Workspace};
use parking_lot::{Mutex, RwLock};

use crate::bodies::{Bodies, Body, Moment, Shelf};
use crate::figures::{IndexCounts, SnapshotCounts};
use crate::snapshots;
use loading::Refused;

/// How many records are read from the log at a time: enough to amortise the read, few enough to stay in cache.
const TAIL_ROWS: usize = 2_000;
/// From this many records on, applying them takes long enough to move it off the threads that serve requests.
const INLINE_ROWS: usize = 64;

/// How many saved records may wait for the ones before them. Saves that commit together are reported in any order. A record
/// whose turn has not come is left for the one before it, for the next search or, if too many wait, for the log.
const PARKED_MAX: usize = 256;

/// Memory for the records that answers showed: some 30,000 of 250 characters.
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
    refused: Refused,
    clock: Arc<dyn Clock>,
}

struct Held {
    slots: LruCache<Key, Arc<Slot>>,
    bytes: usize,
}

/// The index of one life of a workspace.
pub(crate) struct Slot {
    workspace: WorkspaceNo,
    /// The history it was built from; see [`mnemon_store::Log::epoch`].
    epoch: u64,
    /// Everything in the log up to here is in the index. Written under the lock of `state`, read without it.
    applied: AtomicU64,
    /// The log position of the newest snapshot.
    snapshot: AtomicU64,
    /// When it was written, or since when this index is held, in seconds since 1970.
    snapshot_at: AtomicI64,
    /// Whether the snapshot that it came from turned out to be damaged.
    is_doubted: Arc<AtomicBool>,
    /// What the budget currently counts for this slot.
    counted_bytes: AtomicUsize,
    state: RwLock<State>,
    /// Only one task follows the log at a time; the others wait and find it done.
    following: tokio::sync::Mutex<()>,
    /// What answers showed of its records.
    bodies: Arc<Bodies>,
    shelf: Shelf,
}

struct State {
    index: WorkspaceIndex,
    audiences: Audiences,
    /// Every audience that something was ever saved for, including forgotten records.
    ever: Vec<Audience>,
    /// Saved records that come after something the index does not have yet, by log position.
    parked: BTreeMap<u64, Parked>,
}

/// A saved record whose turn has not come.
struct Parked {
    record: NewRecord,
    embedding: Embedding,
}

/// What an index takes of a record.
struct Entry<'a> {
    seq: Seq,
    id: RecordId,
    audience: Audience,
    fact_key: &'a FactKey,
    fact: &'a Fact,
    embedding: Option<&'a Embedding>,
    updated_at: Timestamp,
}

impl<'a> Entry<'a> {
    fn of_new(seq: Seq, new: &'a NewRecord, embedding: &'a Embedding) -> Self {
        let NewRecord { id, audience, fact_key, fact, .. } = new;
        let (id, audience, embedding) = (*id, *audience, Some(embedding));
        Self { seq, id, audience, fact_key, fact, embedding, updated_at: new.updated_at() }
    }

    fn of_present(present: &'a Present, embedding: Option<&'a Embedding>) -> Self {
        let Present { seq, id, audience, fact_key, fact, embedding: _, updated_at } = present;
        Self { seq: *seq, id: *id, audience: *audience, fact_key, fact, embedding, updated_at: *updated_at }
    }

    /// When the record was saved: its id tells, whatever happened to it since.
    fn saved_at(&self) -> i64 {
        let seconds = self.id.uuid().get_timestamp().map(|time| time.to_unix().0);
        seconds.and_then(|seconds| i64::try_from(seconds).ok()).unwrap_or(0)
    }
}

/// What a reader asks an index.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) query: &'a str,
    pub(crate) limit: usize,
    pub(crate) viewer: &'a Viewer,
    pub(crate) now: Timestamp,
    pub(crate) scope: Option<Scope>,
    pub(crate) filter: Filter<'a>,
}

/// Numbers for audiences: the ranking filters by number and never learns who people are.
#[derive(Default)]
struct Audiences {
    by_number: Vec<Audience>,
    numbers: HashMap<Audience, AudienceNo>,
}

impl Audiences {
    fn number(&mut self, audience: Audience) -> AudienceNo {
        *self.numbers.entry(audience).or_insert_with(|| {
            let number = u32::try_from(self.by_number.len()).expect("there are fewer than 2^32 audiences");
            self.by_number.push(audience);
            AudienceNo(number)
        })
    }
}

/// A vector as stored with its record: it names the model that made it.
pub(crate) fn to_stored(model: &Model, embedding: &Embedding) -> Vec<u8> {
    [embedding.to_bytes().as_slice(), &model.fingerprint().to_le_bytes()].concat()
}

/// What [`to_stored`] wrote, if it was by this model. Vectors of different models can't be compared.
fn from_stored(model: &Model, bytes: &[u8]) -> Option<Embedding> {
    let (vector, fingerprint) = bytes.split_last_chunk()?;
    (u32::from_le_bytes(*fingerprint) == model.fingerprint()).then(|| Embedding::from_bytes(vector).ok()).flatten()
}

/// A saved record on its way into the index.
pub(crate) struct Saved<'a> {
    pub(crate) seq: Seq,
    pub(crate) workspace_no: WorkspaceNo,
    pub(crate) record: &'a NewRecord,
    pub(crate) embedding: &'a Embedding,
}

/// What happened to a record that was offered to an index.
enum Offered {
    Added,
    /// It waits for its turn.
    Parked,
    /// Too many wait already.
    Refused,
}

impl Indexes {
    pub(crate) fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, model: &'static Model, bytes_max: usize) -> Self {
        let held = Mutex::new(Held { slots: LruCache::unbounded(), bytes: 0 });
        let bodies = Arc::new(Bodies::new(BODIES_BYTES_MAX));
        let (counts, snapshot_counts, refused) = (IndexCounts::default(), Arc::default(), Refused::default());
        Self { store, model, bytes_max, bodies, held, counts, snapshot_counts, refused, clock }
    }

    pub(crate) const fn counts(&self) -> &IndexCounts {
        &self.counts
    }

    pub(crate) fn snapshot_counts(&self) -> &SnapshotCounts {
        &self.snapshot_counts
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
                    Some(workspace) => self.adopt(&key, workspace, epoch, seq).await?,
                    None => return Ok(None),
                },
            };
            // Otherwise this life of the workspace has ended, and perhaps a new one has begun; or the index knows changes that the
            // database has lost.
            if self.knows_only_committed_changes(project, &slot, seq).await? && self.follow(&key, &slot, seq).await? {
                return Ok(Some(slot));
            }
            self.discard(&key, &slot);
        }
    }

    /// Whether the index knows only changes that are in the log, and nothing that is damaged. An index that is ahead of the caller has usually followed
    /// another call meanwhile, and the log confirms that. If it does not, the end of the log was lost in a failover.
    async fn knows_only_committed_changes(
        &self,
        project: ProjectId,
        slot: &Slot,
        seq: Seq,
    ) -> Result<bool, StoreError> {
        if slot.epoch != self.store.epoch() || slot.is_doubted.load(Ordering::Acquire) {
            return Ok(false);
        }
        let applied = slot.applied();
        if applied <= seq {
            return Ok(true);
        }
        Ok(self.store.last_seq(project).await?.is_some_and(|last| applied <= last))
    }

    /// Puts a record that was just saved into its index, if it is loaded. If not, there is nothing to do: the next search builds
    /// it from the log. Nor does it matter to the save if the log can't be read now: the record is durable, and a search that
    /// finds the index behind the log reads on by itself.
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
        let _turn = slot.following.lock().await;
        slot.add_parked();
        while slot.applied() < seq {
            let tail = self.store.tail_at_least(key.0, slot.workspace, slot.applied(), TAIL_ROWS, seq).await?;
            if !tail.is_active {
                return Ok(false);
            }
            slot.apply(tail).await;
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

impl Slot {
    fn new(workspace: Workspace, model: &'static Model, epoch: u64, bodies: &Arc<Bodies>, now: Timestamp) -> Self {
        let state = State {
            index: WorkspaceIndex::new(model),
            audiences: Audiences::default(),
            ever: workspace.audiences,
            parked: BTreeMap::new(),
        };
        Self {
            workspace: workspace.no,
            epoch,
            applied: AtomicU64::new(0),
            snapshot: AtomicU64::new(0),
            snapshot_at: AtomicI64::new(now.as_second()),
            is_doubted: Arc::default(),
            counted_bytes: AtomicUsize::new(0),
            state: RwLock::new(state),
            following: tokio::sync::Mutex::new(()),
            bodies: Arc::clone(bodies),
            shelf: bodies.new_shelf(),
        }
    }

    fn applied(&self) -> Seq {
        Seq(self.applied.load(Ordering::Acquire))
    }

    /// Whether the reader may know that the workspace exists.
    pub(crate) fn is_visible_to(&self, viewer: &Viewer) -> bool {
        self.state.read().ever.iter().any(|audience| viewer.sees(audience))
    }

    fn to_snapshot(&self) -> Snapshot<Arc<dyn SnapshotImage>> {
        let state = self.state.read();
        let image = snapshots::image(&state.audiences.by_number, &state.index);
        Snapshot { workspace: self.workspace, seq: self.applied(), image }
    }

    /// The kept bodies of ranked records, each at its position; and the moment to pass to [`Self::keep_bodies`], with how far
    /// the index was then. What is read for it has to be at least as new: whoever kept something older would keep it for good.
    pub(crate) fn find_bodies(&self, appearance: u64, hits: &[Hit]) -> (Vec<Option<Arc<Body>>>, Moment, Seq) {
        // Whoever applies the log holds this lock, so the moment and the place belong together.
        let _state = self.state.read();
        let (found, moment) = self.bodies.find(&self.shelf, appearance, hits.iter().map(|hit| Seq(hit.seq)));
        (found, moment, self.applied())
    }

    /// Makes bodies of records that were read since that moment, and keeps them for the next search.
    pub(crate) fn keep_bodies(&self, moment: Moment, appearance: u64, records: Vec<Record>) -> Vec<Arc<Body>> {
        let body = |record| Arc::new(self.bodies.body(record, appearance));
        let bodies: Vec<Arc<Body>> = records.into_iter().map(body).collect();
        self.bodies.keep(&self.shelf, moment, &bodies);
        bodies
    }

    /// Explains what [`Self::rank`] would return.
    pub(crate) fn explain(&self, asked: &Asked<'_>) -> Explanation {
        self.ask(asked, WorkspaceIndex::explain)
    }

    /// Ranks the records that the reader may see and asks for.
    pub(crate) fn rank(&self, asked: &Asked<'_>) -> Vec<Hit> {
        self.ask(asked, WorkspaceIndex::search)
    }

    fn ask<T>(&self, asked: &Asked<'_>, answer: impl FnOnce(&WorkspaceIndex, &SearchRequest<'_>) -> T) -> T {
        let state = self.state.read();
        let known = state.visible_to(asked.viewer, None);
        let visible = state.visible_to(asked.viewer, asked.scope);
        let request = SearchRequest {
            query: asked.query,
            limit: asked.limit,
            visible: &|number| visible[number.0 as usize],
            knows: &|number| known[number.0 as usize],
            now: asked.now.as_microsecond(),
            filter: asked.filter,
        };
        answer(&state.index, &request)
    }

    /// Adds the record if it comes right after what the index has, and then those that waited for it. Otherwise the record
    /// waits itself: a search first makes sure that nothing is missing.
    fn add_or_park(&self, saved: &Saved<'_>) -> Offered {
        let mut state = self.state.write();
        let applied = self.applied().0;
        if applied >= saved.seq.0 {
            return Offered::Added;
        }
        if applied + 1 == saved.seq.0 {
            state.add_saved(saved.seq, saved.record, saved.embedding);
            let applied = state.add_parked(saved.seq.0);
            self.applied.store(applied, Ordering::Release);
            return Offered::Added;
        }
        if state.parked.len() >= PARKED_MAX {
            return Offered::Refused;
        }
        let (record, embedding) = (saved.record.clone(), saved.embedding.clone());
        state.parked.insert(saved.seq.0, Parked { record, embedding });
        Offered::Parked
    }

    /// Adds the waiting records whose turn has come.
    fn add_parked(&self) {
        let mut state = self.state.write();
        let applied = state.add_parked(self.applied().0);
        self.applied.store(applied, Ordering::Release);
    }

    async fn apply(self: &Arc<Self>, tail: Tail) {
        if tail.changes.len() <= INLINE_ROWS {
            return self.apply_now(tail);
        }
        let slot = Arc::clone(self);
        // A panic in there leaves `applied` unchanged, so a half-applied state is never taken for current.
        tokio::task::spawn_blocking(move || slot.apply_now(tail)).await.expect("applying a tail does not panic");
    }

    fn apply_now(&self, tail: Tail) {
        let mut state = self.state.write();
        let applied = self.applied();
        if tail.upto <= applied {
            // Saves of this node came in meanwhile, and the index is further than what was read.
            return;
        }
        // Nobody has shown a record that the index did not have.
        let old: Vec<Seq> = tail.changes.iter().map(Change::seq).filter(|seq| *seq <= applied).collect();
        if !old.is_empty() {
            self.bodies.forget(&self.shelf, old.into_iter());
        }
        for change in &tail.changes {
            match change {
                Change::Present(present) => state.add_present(present),
                Change::Absent(seq) => {
                    state.index.remove(seq.0);
                }
            }
        }
        for seen in &tail.sightings {
            state.sight(&seen.source_id, seen.audience, &seen.hash, seen.seq);
        }
        state.ever = tail.audiences;
        let applied = state.add_parked(tail.upto.0);
        self.applied.store(applied, Ordering::Release);
    }
}

impl State {
    /// Which audience numbers a reader may see.
    fn visible_to(&self, viewer: &Viewer, scope: Option<Scope>) -> Vec<bool> {
        let is_visible = |audience: &Audience| viewer.sees(audience) && scope.is_none_or(|s| audience.scope() == s);
        self.audiences.by_number.iter().map(is_visible).collect()
    }

    /// Adds the waiting records that come right after `applied`, one by one, and returns how far the index is. Those it already
    /// has from the log are dropped: the log knows their later fate.
    fn add_parked(&mut self, mut applied: u64) -> u64 {
        while let Some(first) = self.parked.first_entry().filter(|first| *first.key() <= applied + 1) {
            let (seq, parked) = first.remove_entry();
            if seq == applied + 1 {
                self.add_saved(Seq(seq), &parked.record, &parked.embedding);
                applied = seq;
            }
        }
        applied
    }

    fn add_present(&mut self, present: &Present) {
        // A vector that does not read back, or that another model made, is computed again: it is derived from the text.
        let embedding = from_stored(self.index.model(), &present.embedding);
        self.add(&Entry::of_present(present, embedding.as_ref()));
    }

    /// A save is a sighting of its source too.
    fn add_saved(&mut self, seq: Seq, record: &NewRecord, embedding: &Embedding) {
        self.add(&Entry::of_new(seq, record, embedding));
        if let Some((source_id, hash)) = record.sighting() {
            self.sight(source_id, record.audience, hash, seq);
        }
    }

    fn sight(&mut self, source_id: &str, audience: Audience, hash: &str, seq: Seq) {
        let audience = (audience != Audience::Shared).then(|| self.audiences.number(audience));
        self.index.sight(source_id, audience, hash, seq.0);
    }

    fn add(&mut self, entry: &Entry<'_>) {
        let (audience, fact) = (entry.audience, entry.fact);
        // Who has a number was met before, and so is in the list already; but a sighting may have been all there was.
        if !self.ever.contains(&audience) {
            self.ever.push(audience);
        }
        self.index.add(NewDoc {
            audience: self.audiences.number(audience),
            counted: audience == Audience::Shared,
            embedding: entry.embedding,
            saved_at: entry.saved_at(),
            updated_at: entry.updated_at.as_second(),
            valid_until: fact.valid_until.map(Timestamp::as_microsecond),
            source: fact.source.as_deref(),
            source_id: fact.source_id.as_deref(),
            source_hash: fact.source_hash.as_deref(),
            fact_key: entry.fact_key.chosen(),
            ..NewDoc::new(entry.seq.0, &fact.content)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_of_another_model_is_not_taken() {
        let model = Model::shipped();
        let embedding = model.encode("the boiler code is 4711");
        let mut stored = to_stored(model, &embedding);
        assert_eq!(from_stored(model, &stored), Some(embedding.clone()));
        // As it was stored before vectors named their model.
        assert_eq!(from_stored(model, &embedding.to_bytes()), None);
        *stored.last_mut().unwrap() ^= 1;
        assert_eq!(from_stored(model, &stored), None);
        assert_eq!(from_stored(model, &[]), None);
    }
}
