//! Time and randomness as parameters. The real clock and the real randomness live outside this crate.

use uuid::Uuid;

/// A time in UTC. Implementations of [`Clock`] truncate it to whole microseconds, because that is what storage keeps.
pub type Timestamp = jiff::Timestamp;

/// Where "now" comes from.
pub trait Clock: Send + Sync {
    /// The current time, in whole microseconds.
    fn now(&self) -> Timestamp;
}

/// How many random bytes a UUIDv7 uses.
pub const UUID_RANDOM_BYTES: usize = 10;

/// Where ids and secrets come from.
pub trait IdSource: Send + Sync {
    /// A new UUIDv7 for something created at `now`.
    fn uuid(&self, now: Timestamp) -> Uuid;

    /// 256 unguessable bits for a new credential.
    fn secret(&self) -> [u8; 32];
}

/// The UUIDv7 of a time and ten random bytes. A clock before 1970 counts as 1970: the random bytes keep the id unique.
pub fn uuid_v7(now: Timestamp, random: [u8; UUID_RANDOM_BYTES]) -> Uuid {
    let millis = u64::try_from(now.as_millisecond()).unwrap_or(0);
    uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
}
