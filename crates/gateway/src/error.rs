//! Why an upstream gave no result, worded to follow its name: "'github' did not answer within 30 s".

use crate::OutgoingError;

/// The longest part of an upstream's own message that is passed on.
const WORDS_CHARS_MAX: usize = 500;

/// A failed call. No variant contains a credential or an argument.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UpstreamError {
    #[error("did not answer within {seconds} s")]
    TimedOut { seconds: u64 },
    #[error("answered with more than {bytes_max} bytes, the limit; ask for less")]
    TooLarge { bytes_max: usize },
    #[error("answered with JSON nested more than {depth_max} levels deep, the limit")]
    TooDeep { depth_max: usize },
    #[error("is unreachable; try again later, or ask an admin to check its address")]
    Unreachable,
    /// We may not call its address.
    #[error("may not be called: {0}")]
    Closed(String),
    #[error("rejected its credential (HTTP {status}); an admin must give the integration a new one")]
    Unauthorized { status: u16 },
    #[error("failed with HTTP {status}; try again later")]
    Status { status: u16 },
    #[error("answered with a redirect, which is not followed; an admin must set the final address")]
    Redirected,
    /// The connection ended before the answer did.
    #[error("closed the connection before its answer was complete; try again")]
    BrokenOff,
    #[error("sent an answer that is not valid MCP ({0}); an admin must check its address")]
    Garbled(&'static str),
    #[error("asked for more input, which the gateway can't provide")]
    AsksBack,
    /// It refused the request with its own message.
    #[error("refused the call: {message} (code {code})")]
    Refused { code: i64, message: String },
    /// It failed too often and is paused.
    #[error("failed {failures} times in a row and is paused; try again in {seconds} s")]
    Resting { failures: u32, seconds: u64 },
    #[error(
        "can't be called: this project already has {calls_max} calls running, the limit; try again when one has finished"
    )]
    Busy { calls_max: usize },
    /// The operator has not configured this command, or it does not start.
    #[error("can't be started: {0}; the operator must check gateway.commands")]
    NotStarted(String),
    #[error("exited before it answered; the operator must check its command")]
    Ended,
    #[error("offers more than {tools_max} tools, the limit")]
    TooManyTools { tools_max: usize },
    #[error("lists its tools on more than {pages_max} pages, the limit")]
    TooManyPages { pages_max: usize },
}

impl UpstreamError {
    /// A refusal with the upstream's own message, cut to a readable length.
    pub(crate) fn refused(code: i64, message: &str) -> Self {
        let visible = message.chars().map(|c| if c.is_control() { ' ' } else { c });
        Self::Refused { code, message: visible.take(WORDS_CHARS_MAX).collect() }
    }

    /// Whether this failure counts against the upstream. A proper refusal, or a call we never made, does not.
    pub(crate) const fn is_fault(&self) -> bool {
        !matches!(self, Self::Refused { .. } | Self::Resting { .. } | Self::Busy { .. } | Self::AsksBack)
    }
}

impl From<OutgoingError> for UpstreamError {
    fn from(error: OutgoingError) -> Self {
        match error {
            OutgoingError::Url(_) | OutgoingError::Closed(_) => Self::Closed(error.to_string()),
            OutgoingError::Unreachable { .. } => Self::Unreachable,
            OutgoingError::Redirect(_) => Self::Redirected,
            OutgoingError::TooLarge { bytes_max } => Self::TooLarge { bytes_max },
            OutgoingError::TooSlow { seconds } => Self::TimedOut { seconds },
        }
    }
}
