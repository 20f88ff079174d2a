//! The guard: its mode, what it rejected, and what was released.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `PUT /accounts/{id}/guard`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetGuard {
    /// `reject`, `report` or `off`.
    pub mode: String,
}

/// `POST /projects/{id}/guard/releases`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseText {
    /// The hash shown in the list of rejections.
    pub hash: Option<String>,
    /// The reference in the answer to the refused caller.
    pub reference: Option<String>,
}

/// A finding of the guard.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct RejectionJson {
    pub at: String,
    pub project_id: Option<String>,
    pub member_id: Option<String>,
    /// That member's name at the time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member_name: Option<String>,
    /// Used to release the text.
    pub hash: String,
    /// The reference in the answer to the refused caller; it also releases the text.
    pub reference: String,
    /// `refuse`, or `caution` where the guard was unsure.
    pub verdict: String,
    /// Whether it was stored, with a mark or because the mode was `report`.
    pub stored: bool,
}
