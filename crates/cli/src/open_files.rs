//! How many connections the service may hold: each is an open file to the system.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Where the system has no limit of its own, so many are asked for.
const WANTED: u64 = 1 << 20;

/// Takes all that the system allows. Shells and service managers start programs with 1,024, for the sake of old ones that can't
/// count further, and leave it to the others to ask for more.
pub fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.or(Some(WANTED));
    if limit.current.is_none() || limit.current >= wanted {
        return;
    }
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: wanted, ..limit }) {
        tracing::warn!(%error, "the limit of open files can't be raised, so fewer connections can be held at a time");
    }
}
