//! How many connections the service may hold: each is an open file.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Requested where the system itself sets no limit.
const WANTED: u64 = 1 << 20;

/// Raises the open-file limit as far as the system allows. Shells and service managers start programs with 1,024, for
/// the sake of old programs that can't handle more, and expect the others to raise it themselves.
pub fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.or(Some(WANTED));
    if limit.current.is_none() || limit.current >= wanted {
        return;
    }
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: wanted, ..limit }) {
        tracing::warn!(%error, "can't raise the open-file limit; the service can hold fewer connections at a time");
    }
}
