//! Time that stands still and ids that count: snapshots need no masking.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use mnemon_core::{Clock, IdSource, Timestamp, uuid_v7};
use uuid::Uuid;

/// A clock that moves only when told. It starts at 2027-01-15T08:00:00Z.
#[derive(Debug)]
pub struct TestClock(AtomicI64);

impl Default for TestClock {
    fn default() -> Self {
        Self(AtomicI64::new(1_800_000_000_000_000))
    }
}

impl TestClock {
    pub fn advance(&self, by: Duration) {
        let micros = i64::try_from(by.as_micros()).expect("tests move by less than an age");
        self.0.fetch_add(micros, Ordering::SeqCst);
    }

    pub fn set(&self, to: Timestamp) {
        self.0.store(to.as_microsecond(), Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_microsecond(self.0.load(Ordering::SeqCst)).expect("a test's clock stays in the calendar")
    }
}

/// Ids and secrets from a counter.
#[derive(Debug, Default)]
pub struct CountedIds(AtomicU64);

impl IdSource for CountedIds {
    fn uuid(&self, now: Timestamp) -> Uuid {
        let count = self.0.fetch_add(1, Ordering::SeqCst);
        let mut random = [0; 10];
        random[2..].copy_from_slice(&count.to_be_bytes());
        uuid_v7(now, random)
    }

    fn secret(&self) -> [u8; 32] {
        let count = self.0.fetch_add(1, Ordering::SeqCst);
        let mut secret = [0x5a; 32];
        secret[24..].copy_from_slice(&count.to_be_bytes());
        secret
    }
}
