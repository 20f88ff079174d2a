//! Why a call was refused or failed, in the words the caller sees.

use mnemon_core::{InvalidText, InvalidWorkspaceName, SubscriptionState};
use mnemon_gateway::UpstreamError;
use mnemon_store::StoreError;

/// A refused or failed tool call. Its text is the reason; the endpoint adds the tool's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    #[error("MCP rate limit exceeded")]
    ConnectionRate { retry_after_seconds: u64 },
    #[error("project call limit exceeded")]
    ProjectRate { retry_after_seconds: u64 },
    /// The subscription does not allow it. The endpoint shows the notice instead of this text.
    #[error("{}", .0.notice().unwrap_or_default())]
    Subscription(SubscriptionState),
    #[error("this key is read-only")]
    ReadOnlyKey,
    /// An argument is wrong; the text says which and how.
    #[error("{0}")]
    Argument(String),
    /// The guard rejected it. The answer names no rule and no score, only a reference by which an admin finds the
    /// refusal.
    #[error("Memory rejected by Mnemon Guard")]
    Guard { reference: String },
    #[error("project memory limit exceeded")]
    MemoryLimit,
    #[error("project workspace limit exceeded")]
    WorkspaceLimit,
    /// Nothing was saved there, or it was deleted.
    #[error("workspace '{0}' is not active")]
    WorkspaceNotActive(String),
    /// The caller sees no such record.
    #[error("memory '{0}' not found")]
    NotFound(String),
    #[error("idempotency key was already used with different arguments")]
    IdempotencyKeyReused,
    #[error("integration '{0}' is not enabled for this project")]
    IntegrationNotEnabled(String),
    #[error("tool '{tool}' is not offered by '{server}'")]
    ToolNotOffered { server: String, tool: String },
    /// Its list of tools was never fetched.
    #[error("'{0}' has not answered yet, so its tools are not known; try again in a minute")]
    IntegrationSilent(String),
    #[error("'{server}' {error}")]
    Upstream { server: String, error: UpstreamError },
    /// Storage failed; the endpoint decides how much of the cause it shows.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl CallError {
    /// When to try again, if that is known.
    pub const fn retry_after_seconds(&self) -> Option<u64> {
        match self {
            Self::ConnectionRate { retry_after_seconds } | Self::ProjectRate { retry_after_seconds } => {
                Some(*retry_after_seconds)
            }
            Self::Upstream { error: UpstreamError::Resting { seconds, .. }, .. } => Some(*seconds),
            _ => None,
        }
    }
}

impl From<InvalidText> for CallError {
    fn from(error: InvalidText) -> Self {
        Self::Argument(error.to_string())
    }
}

impl From<InvalidWorkspaceName> for CallError {
    fn from(error: InvalidWorkspaceName) -> Self {
        Self::Argument(error.to_string())
    }
}
