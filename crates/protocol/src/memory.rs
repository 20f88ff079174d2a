//! The results of the memory tools, with their members in the order shown. A record is both written and read: written,
//! it borrows its texts.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A record as results show it: the seven members that are always present, then those that have a value.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RecordJson<'a> {
    #[serde(flatten)]
    pub head: RecordHead<'a>,
    /// `stale`, `conflict`, `verified` or `unverified`.
    pub status: Cow<'a, str>,
    /// Relevance with two decimals, only in search results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    #[serde(flatten)]
    pub rest: RecordRest<'a>,
}

/// The members before the status.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RecordHead<'a> {
    /// A UUIDv7.
    pub id: String,
    pub workspace: Cow<'a, str>,
    /// `draft`, `department` or `shared`.
    pub scope: Cow<'a, str>,
    pub content: Cow<'a, str>,
    pub fact_key: Cow<'a, str>,
}

/// The members after the score.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RecordRest<'a> {
    /// A human-readable source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_id: Option<Cow<'a, str>>,
    /// The source's hash when the fact was taken from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_hash: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_revision: Option<Cow<'a, str>>,
    /// From 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub department: Option<Cow<'a, str>>,
    /// When it happened, as it was given: a date, a time, or a range of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occurred_at: Option<Cow<'a, str>>,
    /// RFC 3339, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<String>,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// RFC 3339, UTC; only if it differs from `created_at`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
    /// A warning where the guard was unsure about the record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caution: Option<Cow<'a, str>>,
}

/// The result of `remember`.
#[derive(Debug, Serialize)]
pub struct RememberJson<'a> {
    #[serde(flatten)]
    pub record: RecordJson<'a>,
    /// Always true: the next search finds it.
    pub searchable: bool,
    /// Whether nothing new was stored.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
    /// How many secrets were redacted.
    #[serde(skip_serializing_if = "is_zero")]
    pub redacted: usize,
    /// Records with different content under the same key.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts_with: Vec<String>,
    /// What to do about them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The records that this one took the place of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub superseded: Vec<String>,
    /// How many of the oldest forgotten records were purged, because the project keeps no more.
    #[serde(skip_serializing_if = "is_zero")]
    pub purged: usize,
    /// Records that say nearly the same, best first, at most three.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub similar: Vec<SimilarJson>,
}

/// A record that says nearly the same as a saved one.
#[derive(Debug, Serialize)]
pub struct SimilarJson {
    pub id: String,
    /// How likely it is the same fact, with two decimals.
    pub score: f64,
    /// The first 120 characters of its text.
    pub content: String,
}

/// What is read of the result of `search`; it is written by `twice.rs`.
#[derive(Debug, Deserialize)]
pub struct SearchJson<'a> {
    /// Best first.
    pub result: Vec<RecordJson<'a>>,
    pub project_id: Option<String>,
}

/// The result of `forget`.
#[derive(Debug, Serialize)]
pub struct ForgetJson {
    pub forgotten: usize,
    /// Oldest first.
    pub memory_ids: Vec<String>,
    /// How many of the oldest forgotten records were purged, because the project keeps no more.
    #[serde(skip_serializing_if = "is_zero")]
    pub purged: usize,
}

/// The result of `validate_memory`.
#[derive(Debug, Serialize)]
pub struct ValidateJson<'a> {
    pub source_id: &'a str,
    /// The hash the records were compared with; null if none is known.
    pub current_source_hash: Option<&'a str>,
    /// How many records from the source the caller sees.
    pub checked: usize,
    pub verified_count: usize,
    pub unverified_count: usize,
    pub stale_count: usize,
    /// Oldest first.
    pub stale_ids: Vec<String>,
    pub conflict_count: usize,
    /// Oldest first.
    pub conflict_ids: Vec<String>,
}

/// A memory tool's result with the members that all of them have.
#[derive(Debug, Serialize)]
pub struct MemoryResult<'a, T> {
    /// The tool's own members.
    #[serde(flatten)]
    pub body: T,
    #[serde(flatten)]
    pub common: CommonMembers<'a>,
}

/// What the result of every memory tool ends with.
#[derive(Debug, Serialize)]
pub struct CommonMembers<'a> {
    /// Arguments that the tool does not know.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub ignored_arguments: &'a [String],
    /// Hidden from OAuth callers, as are the next two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_version: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde calls")]
const fn is_zero(count: &usize) -> bool {
    *count == 0
}
