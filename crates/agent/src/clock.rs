//! The current time, read here and nowhere else in the agent.

use jiff::Timestamp;

pub(crate) fn now() -> Timestamp {
    #[expect(clippy::disallowed_methods, reason = "the agent has no engine that hands time in; this is its only clock")]
    Timestamp::now()
}
