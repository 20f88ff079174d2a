//! How many connections are held at once, and for whom. Whoever connects is a stranger until a credential of theirs was
//! accepted. Strangers get three quarters of the seats; when those are taken, the stranger who has sat longest leaves for the
//! newest. So a crowd that connects and says nothing never keeps out a caller with a key, who is known within one request.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};

/// What one connection is reckoned at when the number of seats comes from the machine's memory: the largest head and the
/// largest body of a stranger, with the buffers around them.
const SEAT_BYTES: usize = 128 << 10;
/// Connections may take this share of the machine's memory.
const MEMORY_SHARE: usize = 8;
/// Open files that are no connections of callers: the database, indexes, upstreams.
const OTHER_FILES: usize = 256;
const BY_MACHINE_MIN: usize = 256;
const BY_MACHINE_MAX: usize = 100_000;

/// The seats of one service.
#[derive(Debug, Clone)]
pub struct Seats(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    all_max: usize,
    strangers_max: usize,
    taken: Mutex<Taken>,
    /// Told whenever a known caller leaves.
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
    known: usize,
    /// By the order in which they came.
    strangers: BTreeMap<u64, oneshot::Sender<()>>,
    next: u64,
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

impl Seats {
    /// So many seats. A quarter of them, and at least one, is kept for callers who are known.
    pub fn new(all_max: usize) -> Self {
        let all_max = all_max.max(2);
        let strangers_max = all_max - all_max.div_ceil(4);
        let (taken, freed, unreadable) = (Mutex::default(), Notify::new(), Unreadable::default());
        Self(Arc::new(Shared { all_max, strangers_max, taken, freed, unreadable }))
    }

    /// As many as the machine's memory and the limit of open files allow.
    pub fn by_machine() -> Self {
        let by_memory = crate::config::machine_memory_bytes() / MEMORY_SHARE / SEAT_BYTES;
        let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let by_files = files.map_or(usize::MAX, |files| usize::try_from(files).unwrap_or(usize::MAX));
        let by_files = by_files.saturating_sub(OTHER_FILES).max(by_files / 2);
        Self::new(by_memory.clamp(BY_MACHINE_MIN, BY_MACHINE_MAX).min(by_files))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.all_max
    }

    /// How many are taken: by known callers, and by strangers.
    pub(crate) fn taken(&self) -> (usize, usize) {
        let taken = self.0.taken.lock();
        (taken.known, taken.strangers.len())
    }

    /// How many connections sent something that is no HTTP, and how many a head that is too large to be read.
    pub(crate) fn unreadable(&self) -> (u64, u64) {
        let Unreadable { no_http, too_large } = &self.0.unreadable;
        (no_http.load(Ordering::Relaxed), too_large.load(Ordering::Relaxed))
    }

    /// Waits until there is a seat, or a stranger who can be asked to leave.
    pub(super) async fn room(&self) {
        loop {
            // Made before looking: who leaves in between is not missed.
            let freed = self.0.freed.notified();
            if self.0.taken.lock().known < self.0.all_max {
                return;
            }
            freed.await;
        }
    }

    /// Takes a seat for a newcomer. The receiver is told when the seat is wanted for somebody else.
    pub(super) fn take(&self) -> (Arc<Seat>, oneshot::Receiver<()>) {
        let (leave, leaving) = oneshot::channel();
        let mut taken = self.0.taken.lock();
        let is_full = taken.known + taken.strangers.len() >= self.0.all_max;
        if (is_full || taken.strangers.len() >= self.0.strangers_max)
            && let Some((_, longest)) = taken.strangers.pop_first()
        {
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

    /// Whoever sits here has shown a credential that works.
    pub(super) fn mark_known(&self) {
        let mut state = self.state.lock();
        if *state == State::Known {
            return;
        }
        let mut taken = self.shared.taken.lock();
        // One who was asked to leave a moment ago has no seat any more.
        if taken.strangers.remove(&self.number).is_some() {
            taken.known += 1;
            *state = State::Known;
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.shared.taken.lock();
        match *self.state.get_mut() {
            State::Stranger => drop(taken.strangers.remove(&self.number)),
            State::Known => taken.known -= 1,
        }
        drop(taken);
        self.shared.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has_to_leave(leaving: &mut oneshot::Receiver<()>) -> bool {
        leaving.try_recv().is_ok()
    }

    #[tokio::test]
    async fn the_stranger_who_sat_longest_leaves_for_the_newest() {
        let seats = Seats::new(8);
        let mut sitting: Vec<_> = (0..6).map(|_| seats.take()).collect();
        assert!(!sitting.iter_mut().any(|(_, leaving)| has_to_leave(leaving)), "six of eight are for strangers");
        let _seventh = seats.take();
        assert!(has_to_leave(&mut sitting[0].1));
        assert!(!has_to_leave(&mut sitting[1].1));
    }

    #[tokio::test]
    async fn who_is_known_never_has_to_leave_and_makes_room_for_strangers() {
        let seats = Seats::new(8);
        let (known, mut leaving) = seats.take();
        known.mark_known();
        known.mark_known();
        let mut strangers: Vec<_> = (0..100).map(|_| seats.take()).collect();
        assert!(!has_to_leave(&mut leaving));
        let left = strangers.iter_mut().filter_map(|(_, leaving)| has_to_leave(leaving).then_some(())).count();
        assert_eq!(left, 94, "six strangers sit beside the known caller");
    }

    #[tokio::test]
    async fn known_callers_may_take_every_seat_and_then_newcomers_wait() {
        let seats = Seats::new(4);
        let mut known: Vec<_> = (0..4)
            .map(|_| {
                let (seat, leaving) = seats.take();
                seat.mark_known();
                (seat, leaving)
            })
            .collect();
        let waiting = tokio::spawn({
            let seats = seats.clone();
            async move { seats.room().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(known.pop());
        waiting.await.unwrap();
        let (_newcomer, mut leaving) = seats.take();
        assert!(!has_to_leave(&mut leaving));
        assert_eq!(seats.0.taken.lock().known, 3);
    }

    #[test]
    fn seats_come_back_however_a_connection_ends() {
        let seats = Seats::new(4);
        let (evicted, _leaving) = seats.take();
        let others: Vec<_> = (0..3).map(|_| seats.take()).collect();
        // Its credential was accepted just after it was asked to leave.
        evicted.mark_known();
        drop(evicted);
        for (seat, _) in &others {
            seat.mark_known();
        }
        drop(others);
        let taken = seats.0.taken.lock();
        assert_eq!((taken.known, taken.strangers.len()), (0, 0));
    }

    #[test]
    fn the_machine_decides_where_nobody_else_does() {
        let count = Seats::by_machine().count();
        assert!((2..=BY_MACHINE_MAX).contains(&count), "{count}");
    }
}
