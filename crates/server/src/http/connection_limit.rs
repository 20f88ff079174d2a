//! Limits how many connections are open at once. A connection is unauthenticated until one of its credentials is
//! accepted. Unauthenticated connections get three quarters of all; when those are taken, the oldest is closed
//! for the newest. So a crowd of silent connections never keeps out a caller with a key. Nor does one account: when
//! all are taken, an account with more than half of them loses its oldest connection, until unauthenticated ones
//! have a quarter.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};

use super::room::{SMALL_BYTES, Whose};

/// What one connection is reckoned at when their number comes from the memory: a head or a body of 64 KiB, an
/// answer of as many, and the buffers around them. What is larger needs [`super::Room`].
const SEAT_BYTES: usize = 2 * SMALL_BYTES + (64 << 10);
/// Connections may take this share of the memory.
const MEMORY_SHARE: usize = 8;
/// Open files that are no connections of callers: the database, indexes, upstreams.
const OTHER_FILES: usize = 256;
const BY_MEMORY_MIN: usize = 256;
const BY_MEMORY_MAX: usize = 100_000;

/// The connections of one service.
#[derive(Debug, Clone)]
pub struct ConnectionLimit(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    all_max: usize,
    strangers_max: usize,
    taken: Mutex<Taken>,
    /// Flash whenever a known caller leaves.
    freed: Notify,
    unreadable: Unreadable,
}

/// Connections that ended because what they sent could not be read as HTTP. No route ever hears of them.
#[derive(Debug, Default)]
struct Unreadable {
    no_http: AtomicU64,
    too_large: AtomicU64,
}

#[derive(Debug, Default)]
struct Taken {
    /// By the order in which they came. A proxy may send requests of several accounts over one connection: it counts
    /// for the first of them.
    known: BTreeMap<u64, (Whose, oneshot::Sender<()>)>,
    by_account: HashMap<Whose, usize>,
    /// By the order in which they came.
    strangers: BTreeMap<u64, oneshot::Sender<()>>,
    next: u64,
}

impl Taken {
    fn has_room(&self, all_max: usize) -> bool {
        self.known.len() < all_max || self.largest(all_max).is_some()
    }

    /// The account that has more than half of the connections, if one does.
    fn largest(&self, all_max: usize) -> Option<Whose> {
        self.by_account.iter().find(|(_, count)| **count > all_max / 2).map(|(whose, _)| *whose)
    }

    /// Frees the seat of a known caller; `None` if it has none any more.
    fn remove_known(&mut self, number: u64) -> Option<oneshot::Sender<()>> {
        let (whose, leave) = self.known.remove(&number)?;
        if let Some(count) = self.by_account.get_mut(&whose) {
            *count -= 1;
            if *count == 0 {
                self.by_account.remove(&whose);
            }
        }
        Some(leave)
    }

    /// The connection that leaves for a newcomer, if one has to.
    fn next_to_leave(&mut self, all_max: usize, strangers_max: usize) -> Option<oneshot::Sender<()>> {
        let is_full = self.known.len() + self.strangers.len() >= all_max;
        // Among few strangers a newcomer would have to leave before it could say who it is.
        let has_few_strangers = self.strangers.len() < all_max.div_ceil(4);
        if is_full
            && has_few_strangers
            && let Some(largest) = self.largest(all_max)
        {
            let (number, _) = self.known.iter().find(|(_, (whose, _))| *whose == largest)?;
            return self.remove_known(*number);
        }
        let has_to_leave = is_full || self.strangers.len() >= strangers_max;
        if has_to_leave { self.strangers.pop_first().map(|(_, longest)| longest) } else { None }
    }
}

/// One connection's seat, given up when it is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    number: u64,
    state: Mutex<State>,
    shared: Arc<Shared>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Stranger,
    Known,
}

impl ConnectionLimit {
    /// `all_max` connections. A quarter of them, and at least one, is kept for authenticated callers.
    pub fn new(all_max: usize) -> Self {
        let all_max = all_max.max(2);
        let strangers_max = all_max - all_max.div_ceil(4);
        let (taken, freed, unreadable) = (Mutex::default(), Notify::new(), Unreadable::default());
        Self(Arc::new(Shared { all_max, strangers_max, taken, freed, unreadable }))
    }

    /// As many connections as `memory_bytes` and the limit of open files allow.
    pub fn by_memory(memory_bytes: usize) -> Self {
        let by_memory = memory_bytes / MEMORY_SHARE / SEAT_BYTES;
        let files = mnemon_platform::process::open_files_max();
        let by_files = files.map_or(usize::MAX, |files| usize::try_from(files).unwrap_or(usize::MAX));
        let by_files = by_files.saturating_sub(OTHER_FILES).max(by_files / 2);
        Self::new(by_memory.clamp(BY_MEMORY_MIN, BY_MEMORY_MAX).min(by_files))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.all_max
    }

    /// How many are taken: by known callers, and by strangers.
    pub(crate) fn taken(&self) -> (usize, usize) {
        let taken = self.0.taken.lock();
        (taken.known.len(), taken.strangers.len())
    }

    /// How many connections sent something that is no HTTP, and how many a head that is too large to be read.
    pub(crate) fn unreadable(&self) -> (u64, u64) {
        let Unreadable { no_http, too_large } = &self.0.unreadable;
        (no_http.load(Ordering::Relaxed), too_large.load(Ordering::Relaxed))
    }

    /// Waits until a seat is free, or a connection can be closed for a new one.
    pub(super) async fn room(&self) {
        loop {
            // Made before looking: who leaves in between is not missed.
            let freed = self.0.freed.notified();
            if self.0.taken.lock().has_room(self.0.all_max) {
                return;
            }
            freed.await;
        }
    }

    /// Takes a seat for a new connection. The receiver gets a message when the seat is needed for another one.
    pub(super) fn take(&self) -> (Arc<Seat>, oneshot::Receiver<()>) {
        let (leave, leaving) = oneshot::channel();
        let mut taken = self.0.taken.lock();
        if let Some(longest) = taken.next_to_leave(self.0.all_max, self.0.strangers_max) {
            // A connection that has just ended by itself no longer listens, and its seat is free all the same.
            let _ = longest.send(());
        }
        let number = taken.next;
        taken.next += 1;
        taken.strangers.insert(number, leave);
        (Arc::new(Seat { number, state: Mutex::new(State::Stranger), shared: Arc::clone(&self.0) }), leaving)
    }
}

impl Seat {
    /// What was sent here could not be read.
    pub(super) fn note_unreadable(&self, is_too_large: bool) {
        let Unreadable { no_http, too_large } = &self.shared.unreadable;
        if is_too_large { too_large } else { no_http }.fetch_add(1, Ordering::Relaxed);
    }

    /// The connection has presented a working credential of this account.
    pub(super) fn mark_known(&self, whose: Whose) {
        let mut state = self.state.lock();
        if *state == State::Known {
            return;
        }
        let mut taken = self.shared.taken.lock();
        // Its seat may already be gone, if it was asked to leave a moment ago.
        if let Some(leave) = taken.strangers.remove(&self.number) {
            taken.known.insert(self.number, (whose, leave));
            *taken.by_account.entry(whose).or_default() += 1;
            *state = State::Known;
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.shared.taken.lock();
        match *self.state.get_mut() {
            State::Stranger => drop(taken.strangers.remove(&self.number)),
            State::Known => drop(taken.remove_known(self.number)),
        }
        drop(taken);
        self.shared.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(n: u8) -> Whose {
        Some(mnemon_core::AccountId::from_bytes([n; 16]))
    }

    fn has_to_leave(leaving: &mut oneshot::Receiver<()>) -> bool {
        leaving.try_recv().is_ok()
    }

    #[tokio::test]
    async fn the_stranger_who_sat_longest_leaves_for_the_newest() {
        let connection_limit = ConnectionLimit::new(8);
        let mut sitting: Vec<_> = (0..6).map(|_| connection_limit.take()).collect();
        assert!(!sitting.iter_mut().any(|(_, leaving)| has_to_leave(leaving)), "six of eight are for strangers");
        let _seventh = connection_limit.take();
        assert!(has_to_leave(&mut sitting[0].1));
        assert!(!has_to_leave(&mut sitting[1].1));
    }

    #[tokio::test]
    async fn who_is_known_never_has_to_leave_and_makes_room_for_strangers() {
        let connection_limit = ConnectionLimit::new(8);
        let (known, mut leaving) = connection_limit.take();
        known.mark_known(account(1));
        known.mark_known(account(1));
        let mut strangers: Vec<_> = (0..100).map(|_| connection_limit.take()).collect();
        assert!(!has_to_leave(&mut leaving));
        let left = strangers.iter_mut().filter_map(|(_, leaving)| has_to_leave(leaving).then_some(())).count();
        assert_eq!(left, 94, "six strangers sit beside the known caller");
    }

    #[tokio::test]
    async fn known_callers_may_take_every_seat_and_then_newcomers_wait() {
        let connection_limit = ConnectionLimit::new(4);
        let mut known: Vec<_> = (0..4)
            .map(|n| {
                let (seat, leaving) = connection_limit.take();
                seat.mark_known(account(n));
                (seat, leaving)
            })
            .collect();
        let waiting = tokio::spawn({
            let connection_limit = connection_limit.clone();
            async move { connection_limit.room().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(known.pop());
        waiting.await.unwrap();
        let (_newcomer, mut leaving) = connection_limit.take();
        assert!(!has_to_leave(&mut leaving));
        assert_eq!(connection_limit.0.taken.lock().known.len(), 3);
    }

    #[tokio::test]
    async fn an_account_with_more_than_half_of_the_seats_gives_up_its_oldest_when_all_are_taken() {
        let connection_limit = ConnectionLimit::new(8);
        let take = |whose| {
            let (seat, leaving) = connection_limit.take();
            seat.mark_known(whose);
            (seat, leaving)
        };
        let mut other = take(account(2));
        let mut greedy: Vec<_> = (0..7).map(|_| take(account(1))).collect();
        assert!(!greedy.iter_mut().any(|(_, leaving)| has_to_leave(leaving)), "there was a seat for each");
        tokio::time::timeout(std::time::Duration::from_secs(1), connection_limit.room())
            .await
            .expect("somebody can leave");
        let _newcomers: Vec<_> = (3..6).map(|n| take(account(n))).collect();
        let left: Vec<bool> = greedy.iter_mut().map(|(_, leaving)| has_to_leave(leaving)).collect();
        assert_eq!(left, [true, true, true, false, false, false, false], "until it has no more than half");
        assert!(!has_to_leave(&mut other.1));
        // Every seat is taken, and no account has more than half of them.
        assert!(tokio::time::timeout(std::time::Duration::from_millis(50), connection_limit.room()).await.is_err());
        drop(greedy);
        assert_eq!(connection_limit.taken(), (4, 0));
    }

    #[test]
    fn a_crowd_of_silent_strangers_leaves_an_account_three_quarters_of_the_seats() {
        let connection_limit = ConnectionLimit::new(16);
        let mut known: Vec<_> = (0..16)
            .map(|_| {
                let (seat, leaving) = connection_limit.take();
                seat.mark_known(account(1));
                (seat, leaving)
            })
            .collect();
        let _crowd: Vec<_> = (0..100).map(|_| connection_limit.take()).collect();
        let left = known.iter_mut().filter_map(|(_, leaving)| has_to_leave(leaving).then_some(())).count();
        assert_eq!((left, connection_limit.taken()), (4, (12, 4)));
    }

    #[test]
    fn seats_come_back_however_a_connection_ends() {
        let connection_limit = ConnectionLimit::new(4);
        let (evicted, _leaving) = connection_limit.take();
        let others: Vec<_> = (0..3).map(|_| connection_limit.take()).collect();
        // Its credential was accepted just after it was asked to leave.
        evicted.mark_known(account(1));
        drop(evicted);
        for (seat, _) in &others {
            seat.mark_known(account(2));
        }
        drop(others);
        let taken = connection_limit.0.taken.lock();
        assert_eq!((taken.known.len(), taken.strangers.len(), taken.by_account.len()), (0, 0, 0));
    }

    #[test]
    fn memory_decides_where_nobody_else_does() {
        let of = |memory_bytes| ConnectionLimit::by_memory(memory_bytes).count();
        assert_eq!((of(0), of(512 << 20)), (BY_MEMORY_MIN, 341));
        assert!((BY_MEMORY_MIN..=BY_MEMORY_MAX).contains(&of(usize::MAX)));
    }
}
