//! How values without an SQL type are stored; the same in every engine, so that data can move between them.

use mnemon_core::Timestamp;

pub(crate) use mnemon_core::AudienceBytes;

/// A count as stored. No log grows past 2^63.
pub(crate) fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A time as stored.
pub(crate) fn micros(at: Timestamp) -> i64 {
    at.as_microsecond()
}

pub(crate) fn micros_opt(at: Option<Timestamp>) -> Option<i64> {
    at.map(micros)
}
