//! Why a call was refused or failed, in the words that the caller reads.

use mnemon_core::{InvalidText, InvalidWorkspaceName, SubscriptionState};
use mnemon_gateway::UpstreamError;
use mnemon_store::StoreError;

/// A refused or failed call of a tool. Its text is the reason; the door adds the tool's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The connection made too many calls.
    #[error("MCP rate limit exceeded")]
    ConnectionRate {
        /// When the next one may pass.
        retry_after_seconds: u64,
    },
    /// The project made too many calls.
    #[error("project call limit exceeded")]
    ProjectRate {
        /// When the next one may pass.
        retry_after_seconds: u64,
    },
    /// The subscription does not allow it. The door shows the notice instead of this text.
    #[error("{}", .0.notice().unwrap_or_default())]
    Subscription(SubscriptionState),
    /// The key reads only.
    #[error("this key may only read")]
    ReadOnlyKey,
    /// An argument is wrong; the text says which and how.
    #[error("{0}")]
    Argument(String),
    /// The guard would not have it. No rule and no score is told.
    #[error("Memory rejected by Mnemon Guard")]
    Guard,
    /// The plan's limit is reached.
    #[error("project memory limit exceeded")]
    MemoryLimit,
    /// Nothing was saved there, or it was deleted.
    #[error("workspace '{0}' is not active")]
    WorkspaceNotActive(String),
    /// There is no such record for this caller.
    #[error("memory '{0}' not found")]
    NotFound(String),
    /// The same key came with other arguments.
    #[error("idempotency key was already used with other arguments")]
    IdempotencyKeyReused,
    /// No such integration for this project.
    #[error("integration '{0}' is not enabled for this project")]
    IntegrationNotEnabled(String),
    /// The integration has no such tool for this project.
    #[error("tool '{tool}' is not offered by '{server}'")]
    ToolNotOffered {
        /// The integration.
        server: String,
        /// What was asked for.
        tool: String,
    },
    /// The integration's upstream failed.
    #[error("'{server}' {error}")]
    Upstream {
        /// The integration.
        server: String,
        /// What happened.
        error: UpstreamError,
    },
    /// Storage failed; the door decides how much of it is said.
    #[error(transparent)]
    Store(#[from] StoreError),
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
