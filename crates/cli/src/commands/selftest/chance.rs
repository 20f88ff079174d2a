//! Repeatable randomness, and a clock that the test moves.

use std::sync::atomic::{AtomicI64, Ordering};

use mnemon_core::{Clock, Timestamp};

/// The same seed gives the same run.
#[derive(Debug)]
pub struct Chance(fastrand::Rng);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// A number below a bound.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0.usize(..bound.max(1))
    }

    /// True this many times out of a hundred.
    pub fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// A clock that is set by hand.
#[derive(Debug)]
pub struct MovedClock(AtomicI64);

impl Default for MovedClock {
    fn default() -> Self {
        Self(AtomicI64::new(1_800_000_000_000_000))
    }
}

impl MovedClock {
    pub fn advance_seconds(&self, seconds: i64) {
        self.0.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }
}

impl Clock for MovedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_microsecond(self.0.load(Ordering::SeqCst)).expect("a test's clock stays in the calendar")
    }
}
