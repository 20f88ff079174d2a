//! The present moment, read here and nowhere else in the agent.

use jiff::Timestamp;

/// Now.
pub(crate) fn now() -> Timestamp {
    #[expect(
        clippy::disallowed_methods,
        reason = "the agent has no engine that would hand time in; this is its one clock"
    )]
    Timestamp::now()
}
