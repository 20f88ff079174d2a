//! What every result carries besides its own members.

use serde::Serialize;

/// Who answers.
#[derive(Debug, Clone, Serialize)]
pub struct ServerInfo {
    pub name: String,
    pub version: &'static str,
}

/// `_meta` of a result.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ResultMeta {
    /// The version of our interface; hidden from OAuth callers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_version: Option<&'static str>,
    /// Modern results say who answers.
    #[serde(rename = "io.modelcontextprotocol/serverInfo", skip_serializing_if = "Option::is_none")]
    pub server_info: Option<ServerInfo>,
    /// The subscription state, unless it is active.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscription: Option<SubscriptionMeta>,
    /// When a call that exceeded a limit may be retried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u64>,
    /// Where an admin finds what the guard refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guard: Option<GuardMeta>,
    /// What a search understood about time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeMeta>,
}

impl ResultMeta {
    pub const fn is_empty(&self) -> bool {
        self.api_version.is_none()
            && self.server_info.is_none()
            && self.subscription.is_none()
            && self.retry_after_seconds.is_none()
            && self.guard.is_none()
            && self.time.is_none()
    }
}

/// The days that a phrase of time in a query means.
#[derive(Debug, Clone, Serialize)]
pub struct TimeMeta {
    /// The first day; absent without a beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The last day; absent without an end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The words of the query that say it.
    pub words: String,
    /// How many of the hits lie in it.
    pub hits: usize,
}

/// A refusal by the guard.
#[derive(Debug, Clone, Serialize)]
pub struct GuardMeta {
    /// An admin of the account finds and releases the text by it.
    pub reference: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct SubscriptionMeta {
    /// `none`, `grace` or `suspended`.
    pub state: &'static str,
    /// When the state changes by itself, if it does.
    pub until: Option<String>,
}

/// What every result carries besides its own members.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Trailer {
    /// `complete` in modern results.
    #[serde(rename = "resultType", skip_serializing_if = "Option::is_none")]
    pub result_type: Option<&'static str>,
    /// See [`ResultMeta`].
    #[serde(rename = "_meta", skip_serializing_if = "ResultMeta::is_empty")]
    pub meta: ResultMeta,
}
