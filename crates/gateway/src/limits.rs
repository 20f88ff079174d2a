//! What calls to other systems may take.

use std::time::Duration;

/// Limits of a call, and of what is kept after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The deadline of a call.
    pub call_timeout: Duration,
    /// The timeout for initializing an upstream and listing its tools.
    pub list_timeout: Duration,
    /// The largest answer.
    pub answer_bytes_max: usize,
    /// Maximum number of running calls per owner.
    pub calls_max: usize,
    /// How long an unused session is kept. A local command ends with it.
    pub idle_max: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            call_timeout: Duration::from_secs(30),
            list_timeout: Duration::from_secs(10),
            answer_bytes_max: 1 << 20,
            calls_max: 8,
            idle_max: Duration::from_secs(600),
        }
    }
}
