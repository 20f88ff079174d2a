//! How many statements this process has sent to storage. Only for tests: they compare the work of two calls by
//! counting it, because times on a busy machine prove nothing.

use std::sync::atomic::{AtomicU64, Ordering};

static SENT: AtomicU64 = AtomicU64::new(0);

/// All of them, of every engine.
pub fn statements_sent() -> u64 {
    SENT.load(Ordering::Relaxed)
}

pub(crate) fn count_statements(count: usize) {
    SENT.fetch_add(count as u64, Ordering::Relaxed);
}
