//! The results of the memory tools, member by member in the order in which they are shown.

use serde::Serialize;

/// A record as results show it: the seven members that are always there, then those that have a value.
#[derive(Debug, Clone, Serialize)]
pub struct RecordJson<'a> {
    /// UUIDv7.
    pub id: String,
    /// The workspace's name.
    pub workspace: &'a str,
    /// `draft`, `department` or `shared`.
    pub scope: &'static str,
    /// The text.
    pub content: &'a str,
    /// The key that names the fact.
    pub fact_key: &'a str,
    /// `stale`, `conflict`, `verified` or `unverified`.
    pub status: &'static str,
    /// Relevance, in search results only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// A human-readable source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<&'a str>,
    /// The source's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_id: Option<&'a str>,
    /// The source's hash when the fact was taken from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_hash: Option<&'a str>,
    /// The source's revision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_revision: Option<&'a str>,
    /// From 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Who saved it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<&'a str>,
    /// The author's department.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub department: Option<&'a str>,
    /// RFC 3339, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<String>,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// RFC 3339, UTC.
    pub updated_at: String,
}

/// What `remember` answers.
#[derive(Debug, Serialize)]
pub struct RememberJson<'a> {
    /// The record.
    #[serde(flatten)]
    pub record: RecordJson<'a>,
    /// The next search will see it.
    pub searchable: bool,
    /// Whether nothing new was stored.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
    /// How many secrets were replaced.
    #[serde(skip_serializing_if = "is_zero")]
    pub redacted: usize,
    /// Records that claim something else under the same key.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts_with: Vec<String>,
}

/// What `search` answers.
#[derive(Debug, Serialize)]
pub struct SearchJson<'a> {
    /// Best first.
    pub result: Vec<RecordJson<'a>>,
}

/// What `forget` answers.
#[derive(Debug, Serialize)]
pub struct ForgetJson {
    /// How many records.
    pub forgotten: usize,
    /// Which, oldest first.
    pub memory_ids: Vec<String>,
}

/// What `validate_memory` answers.
#[derive(Debug, Serialize)]
pub struct ValidateJson<'a> {
    /// The source.
    pub source_id: &'a str,
    /// The hash that the records were held against; null when none is known.
    pub current_source_hash: Option<&'a str>,
    /// How many records the caller sees of it.
    pub checked: usize,
    /// How many are verified.
    pub verified_count: usize,
    /// How many nobody has confirmed.
    pub unverified_count: usize,
    /// How many are out of date.
    pub stale_count: usize,
    /// Which, oldest first.
    pub stale_ids: Vec<String>,
    /// How many are disputed.
    pub conflict_count: usize,
    /// Which, oldest first.
    pub conflict_ids: Vec<String>,
}

/// A result of a memory tool with what every one carries.
#[derive(Debug, Serialize)]
pub struct MemoryResult<'a, T> {
    /// The tool's own members.
    #[serde(flatten)]
    pub body: T,
    /// Arguments that the tool does not know.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub ignored_arguments: &'a [String],
    /// Hidden from OAuth callers, as are the next two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_version: Option<&'static str>,
    /// The account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// The project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde calls")]
const fn is_zero(count: &usize) -> bool {
    *count == 0
}
