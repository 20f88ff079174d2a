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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_id: Option<String>,
    /// The label of that key, or its last characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_label: Option<String>,
    /// What kind of text it was, and how long. The text itself is not kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What the text does, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Where it came from, unless it was a draft or for a department.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Used to release the text.
    pub hash: String,
    /// The reference in the answer to the refused caller; it also releases the text.
    pub reference: String,
    /// `refuse`, or `caution` where the guard was unsure.
    pub verdict: String,
    /// Whether it was stored, with a mark or because the mode was `report`.
    pub stored: bool,
    /// Whether exactly this text may be stored in the project by now.
    pub released: bool,
    /// The newest record with the text, if it was stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_id: Option<String>,
}
