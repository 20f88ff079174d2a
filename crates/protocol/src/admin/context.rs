//! Digests for assistants.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `POST /projects/{id}/context`.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskContext {
    /// Only records that answer this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Maximum number of tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<usize>,
    /// With a query: only records with this score or a better one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_score: Option<f64>,
}

/// A digest of a workspace.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ContextJson {
    pub workspace: String,
    /// Empty if there is nothing to show.
    pub markdown: String,
    /// An estimate of the text's tokens, never more than the budget.
    pub tokens: usize,
    pub budget: usize,
    /// The records in the text, in its order.
    pub memory_ids: Vec<String>,
    pub not_shown: NotShownJson,
}

/// How many records had no room, by status.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct NotShownJson {
    pub verified: usize,
    pub unverified: usize,
    pub conflict: usize,
    pub stale: usize,
    /// Records that may contain instructions are never shown here.
    pub cautioned: usize,
    /// Whether there are older records that were not looked at.
    pub older: bool,
}
