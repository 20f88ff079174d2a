//! Why an upstream gave no result, in words that follow its name: "'github' did not answer within 30 s".

use crate::OutgoingError;

/// The longest piece of an upstream's own words that is passed on.
const WORDS_CHARS_MAX: usize = 500;

/// A failed call. No variant holds a credential or an argument.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UpstreamError {
    /// It was too slow.
    #[error("did not answer within {seconds} s")]
    TimedOut {
        /// The deadline.
        seconds: u64,
    },
    /// It sent too much.
    #[error("answered with more than {bytes_max} bytes, which is the most that is passed on; ask it for less")]
    TooLarge {
        /// The bound.
        bytes_max: usize,
    },
    /// Nobody is there.
    #[error("can't be reached; try again later, or let an admin check its address")]
    Unreachable,
    /// Its address is closed to us.
    #[error("may not be reached: {0}")]
    Closed(String),
    /// It does not take the credential.
    #[error("did not accept its credential (HTTP {status}); an admin has to give the integration a new one")]
    Unauthorized {
        /// What it answered.
        status: u16,
    },
    /// It answered with an error of HTTP.
    #[error("failed with HTTP {status}; try again later")]
    Status {
        /// What it answered.
        status: u16,
    },
    /// It points elsewhere.
    #[error("answered with a redirect, and none is followed; an admin has to give the address it leads to")]
    Redirected,
    /// The connection ended before the answer did.
    #[error("broke off its answer; try again")]
    BrokenOff,
    /// What it sent makes no sense.
    #[error("answered with something that is not MCP ({0}); an admin has to check its address")]
    Garbled(&'static str),
    /// It asks for something that we do not give.
    #[error("asked for more input, which can't be given through the gateway")]
    AsksBack,
    /// It refused the request in its own words.
    #[error("refused the call: {message} (code {code})")]
    Refused {
        /// Its code.
        code: i64,
        /// Its words.
        message: String,
    },
    /// It failed too often and is left alone for a while.
    #[error("failed {failures} times in a row and is left alone; try again in {seconds} s")]
    Resting {
        /// How often.
        failures: u32,
        /// For how long from now.
        seconds: u64,
    },
    /// Too many calls at once.
    #[error(
        "can't be called: {calls_max} calls of this project are running, the most at once; try again when one has ended"
    )]
    Busy {
        /// The bound.
        calls_max: usize,
    },
    /// The operator has not configured this command, or it does not start.
    #[error("can't be started: {0}; the operator has to check gateway.commands")]
    NotStarted(String),
    /// The command ended.
    #[error("ended before it answered; the operator has to check its command")]
    Ended,
    /// It offers more than is taken in.
    #[error("offers more than {tools_max} tools, the most that are taken in")]
    TooManyTools {
        /// The bound.
        tools_max: usize,
    },
    /// Its list does not end.
    #[error("lists its tools on more than {pages_max} pages, the most that are read")]
    TooManyPages {
        /// The bound.
        pages_max: usize,
    },
}

impl UpstreamError {
    /// A refusal in the upstream's own words, cut to a length that a reader can bear.
    pub(crate) fn refused(code: i64, message: &str) -> Self {
        let visible = message.chars().map(|c| if c.is_control() { ' ' } else { c });
        Self::Refused { code, message: visible.take(WORDS_CHARS_MAX).collect() }
    }

    /// Whether this is the upstream's failure, to be counted against it. What it refuses in good order, and what we
    /// never asked it, is not.
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
