//! A workspace's index (one per incarnation) and the log position it has applied.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};

use mnemon_core::{Audience, NewRecord, Record, Scope, Seq, Status, Timestamp, Viewer, WorkspaceNo};
use mnemon_recall::{
    Embedding, Explanation, Filter, Hit, Holding, Model, SearchRequest, Similar, TimePhrase, WorkspaceIndex,
};
use mnemon_store::{Change, Snapshot, SnapshotImage, Tail, Workspace};
use parking_lot::RwLock;

use super::state::{Audiences, Parked, State};
use crate::bodies::{Bodies, Body, Moment, Shelf};
use crate::snapshots;

/// From this many records on, applying them takes long enough to move it off the threads that serve requests.
pub(super) const INLINE_ROWS: usize = 64;

/// How many saved records may wait for the ones before them. Saves that commit together are reported in any order. A
/// record whose turn has not come is left for the one before it, for the next search or, if too many wait, for the log.
const PARKED_MAX: usize = 256;

/// How often other tasks may run first before the log is read for what is missing.
const YIELDS_MAX: usize = 4;

/// A workspace's index. A workspace that was deleted and made again gets another one.
pub(crate) struct Slot {
    pub(super) workspace: WorkspaceNo,
    /// The history it was built from; see [`mnemon_store::Log::epoch`].
    pub(super) epoch: u64,
    /// Everything in the log up to here is in the index. Written under the lock of `state`, read without it.
    pub(super) applied: AtomicU64,
    /// The log position of the newest snapshot.
    pub(super) snapshot: AtomicU64,
    /// When it was written, or since when this index is held, in seconds since 1970.
    pub(super) snapshot_at: AtomicI64,
    /// Whether the snapshot that it came from turned out to be damaged.
    pub(super) is_doubted: Arc<AtomicBool>,
    /// What the budget currently counts for this slot.
    pub(super) counted_bytes: AtomicUsize,
    pub(super) state: RwLock<State>,
    /// Only one task follows the log at a time; the others wait and find it done.
    pub(super) following: tokio::sync::Mutex<()>,
    /// What answers showed of its records.
    pub(super) bodies: Arc<Bodies>,
    pub(super) shelf: Shelf,
}

/// What a reader asks an index.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) query: &'a str,
    pub(crate) limit: usize,
    pub(crate) viewer: &'a Viewer,
    pub(crate) now: Timestamp,
    /// What the query says about time.
    pub(crate) time: Option<&'a TimePhrase>,
    pub(crate) scope: Option<Scope>,
    pub(crate) filter: Filter<'a>,
}

/// The word for it.
pub(crate) const fn status(holding: Holding) -> Status {
    match holding {
        Holding::Stale => Status::Stale,
        Holding::Disputed => Status::Conflict,
        Holding::Confirmed => Status::Verified,
        Holding::Unconfirmed => Status::Unverified,
    }
}

/// A saved record on its way into the index.
pub(crate) struct Saved<'a> {
    pub(crate) seq: Seq,
    pub(crate) workspace_no: WorkspaceNo,
    pub(crate) record: &'a NewRecord,
    pub(crate) embedding: &'a Embedding,
}

/// What happened to a record that was offered to an index.
pub(super) enum Offered {
    Added,
    /// It waits for its turn.
    Parked,
    /// Too many wait already.
    Refused,
}

impl Slot {
    pub(super) fn new(
        workspace: Workspace,
        model: &'static Model,
        epoch: u64,
        bodies: &Arc<Bodies>,
        now: Timestamp,
    ) -> Self {
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

    pub(super) fn applied(&self) -> Seq {
        Seq(self.applied.load(Ordering::Acquire))
    }

    /// Whether the reader may know that the workspace exists.
    pub(crate) fn is_visible_to(&self, viewer: &Viewer) -> bool {
        self.state.read().ever.iter().any(|audience| viewer.sees(audience))
    }

    pub(super) fn to_snapshot(&self) -> Snapshot<Arc<dyn SnapshotImage>> {
        let state = self.state.read();
        let image = snapshots::image(&state.audiences.by_number, &state.index);
        Snapshot { workspace: self.workspace, seq: self.applied(), image }
    }

    /// The kept bodies of ranked records, each at its position; and the moment to pass to [`Self::keep_bodies`], with
    /// how far the index was then. What is read for it has to be at least as new: something older would be kept for
    /// good.
    pub(crate) fn find_bodies(&self, account_version: u64, hits: &[Hit]) -> (Vec<Option<Arc<Body>>>, Moment, Seq) {
        // Applying the log takes this lock, so the moment and the place belong together.
        let _state = self.state.read();
        let (found, moment) = self.bodies.find(&self.shelf, account_version, hits.iter().map(|hit| Seq(hit.seq)));
        (found, moment, self.applied())
    }

    /// Makes bodies of records that were read since that moment, and keeps them for the next search.
    pub(crate) fn keep_bodies(&self, moment: Moment, account_version: u64, records: Vec<Record>) -> Vec<Arc<Body>> {
        let body = |record| Arc::new(self.bodies.body(record, account_version));
        let bodies: Vec<Arc<Body>> = records.into_iter().map(body).collect();
        self.bodies.keep(&self.shelf, moment, &bodies);
        bodies
    }

    /// Explains what [`Self::rank`] would return.
    pub(crate) fn explain(&self, asked: &Asked<'_>) -> Explanation {
        self.ask(asked, WorkspaceIndex::explain)
    }

    /// The records that say nearly what this one says, as far as the reader may see them.
    pub(crate) fn similar(&self, viewer: &Viewer, seq: Seq, limit: usize) -> Vec<Similar> {
        let state = self.state.read();
        let visible = state.visible_to(viewer, None);
        state.index.similar(seq.0, limit, &|number| visible[number.0 as usize])
    }

    /// Hands out the index, and its audiences by number, for as long as `look` takes.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&WorkspaceIndex, &[Audience]) -> T) -> T {
        let state = self.state.read();
        look(&state.index, &state.audiences.by_number)
    }

    /// Ranks the records that the reader may see and asks for.
    pub(crate) fn rank(&self, asked: &Asked<'_>) -> Vec<Hit> {
        self.ask(asked, WorkspaceIndex::search)
    }

    /// The same with their statuses, each at its place.
    pub(crate) fn rank_and_judge(&self, asked: &Asked<'_>) -> (Vec<Hit>, Vec<Status>) {
        self.ask(asked, |index, request| {
            let hits = index.search(request);
            let holding = index.holding(&hits, request.knows, request.now);
            (hits, holding.into_iter().map(status).collect())
        })
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
            time: asked.time,
            filter: asked.filter,
        };
        answer(&state.index, &request)
    }

    /// Adds the record if it comes right after what the index has, and then those that waited for it. Otherwise the
    /// record waits itself: a search first makes sure that nothing is missing.
    pub(super) fn add_or_park(&self, saved: &Saved<'_>) -> Offered {
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

    /// Where saved records wait for one before them, its own task is about to add it as a rule: letting that run first
    /// costs less than reading the log.
    pub(super) async fn wait_for_savers(&self, seq: Seq) {
        for _ in 0..YIELDS_MAX {
            if self.applied() >= seq || self.state.read().parked.is_empty() {
                return;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Adds the waiting records whose turn has come.
    pub(super) fn add_parked(&self) {
        let mut state = self.state.write();
        let applied = state.add_parked(self.applied().0);
        self.applied.store(applied, Ordering::Release);
    }

    pub(super) async fn apply(self: &Arc<Self>, tail: Tail) {
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
        // No answer has shown a record that the index did not have.
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
            state.sight(seen);
        }
        state.ever = tail.audiences;
        let applied = state.add_parked(tail.upto.0);
        self.applied.store(applied, Ordering::Release);
    }
}
