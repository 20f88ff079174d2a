//! Sources, and checking them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A source of a workspace, of which the caller can see a live record.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct SourceJson {
    pub source_id: String,
    pub workspace: String,
    /// Live records that the caller can see.
    pub records: u64,
    pub verified: u64,
    pub unverified: u64,
    pub stale: u64,
    pub conflict: u64,
    /// The different hashes that these records were saved with, newest first, at most eight.
    pub source_hashes: Vec<String>,
    /// The newest known hash.
    pub current_source_hash: Option<String>,
    /// Whether the source is known to be gone.
    #[serde(default)]
    pub source_gone: bool,
    /// Where it moved to, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<String>,
    /// When that was seen.
    pub known_at: Option<String>,
    /// When the source was last checked.
    pub confirmed_at: Option<String>,
}

/// `GET /projects/{id}/sources`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct SourcesJson {
    pub sources: Vec<SourceJson>,
    /// What to pass as `after` for the next page.
    pub next: Option<String>,
}

/// `POST /projects/{id}/sources/validate`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ValidateSources {
    /// The workspace whose sources these are; without it, they are those of every workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// At most 500.
    pub sources: Vec<SeenSourceJson>,
}

/// `POST /projects/{id}/sources/restore`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RestoreSource {
    pub source_id: String,
    pub workspace: String,
}

/// A source as it was just seen: with a hash, or gone.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeenSourceJson {
    pub source_id: String,
    /// Required unless `source_gone` is true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_source_hash: Option<String>,
    /// The source does not exist any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub source_gone: bool,
    /// With `source_gone`: where it moved to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<String>,
    /// The same content in other kinds of hashes; at most 8.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub equal_hashes: Vec<String>,
    /// Hashes of records that could not be compared, because their kind is unknown; at most 8. Their records do not
    /// become stale.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_hashes: Vec<String>,
}

/// What holds of a source's records, ids oldest first.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct CheckedSourceJson {
    pub source_id: String,
    pub checked: usize,
    pub verified_count: usize,
    pub unverified_count: usize,
    pub stale_ids: Vec<String>,
    pub conflict_ids: Vec<String>,
}

/// The answer to `POST /projects/{id}/sources/validate`, in the order asked.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct CheckedSourcesJson {
    pub sources: Vec<CheckedSourceJson>,
}
