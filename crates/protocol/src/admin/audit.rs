//! Audit rows, usage figures and session histories.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PlanJson;

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct AuditJson {
    pub id: String,
    pub at: String,
    /// `member`, `operator` or `service`.
    pub actor: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member_id: Option<String>,
    /// That member's name at the time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_name: Option<String>,
    pub action: String,
    pub subject: String,
    /// The subject's name at the time, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// How many things were affected.
    pub affected: u64,
}

/// An uploaded session history, without its text.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct SessionJson {
    pub id: String,
    pub member_id: String,
    pub client: String,
    pub name: String,
    /// Bytes received.
    pub bytes: u64,
    /// Bytes of text still kept.
    pub kept_bytes: u64,
    /// Secrets redacted on arrival.
    pub redacted: u64,
    /// When it was last written.
    pub modified_at: String,
    /// When its first part arrived.
    pub created_at: String,
    /// When its last part arrived.
    pub updated_at: String,
}

/// The figures of a day or a key.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct FiguresJson {
    /// Only in a list of days.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
    /// Only in a list of keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_id: Option<String>,
    /// Calls admitted.
    pub calls: u64,
    pub saves: u64,
    pub searches: u64,
    /// Texts that the guard rejected.
    pub rejections: u64,
    /// Bytes of text saved.
    pub bytes: u64,
    /// Calls that were refused because one connection made too many.
    pub refused_by_connection: u64,
    /// Calls that were refused because the project made too many.
    pub refused_by_project: u64,
    /// Records of the project at the end of the day, as the plan counts them. Only in a list of days, and for admins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,
}

/// `GET /projects/{id}/usage`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct UsageJson {
    /// Live records that the caller can see.
    pub records: u64,
    pub bytes: u64,
    /// The account's plan with its limits; absent if it never had one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanJson>,
    /// Every day, oldest first.
    pub days: Vec<FiguresJson>,
    pub keys: Vec<FiguresJson>,
    pub total: FiguresJson,
    /// The sum of as many days before.
    pub before: FiguresJson,
}

/// One process of the service, by its last report.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct NodeJson {
    pub id: String,
    /// The name of its machine.
    pub name: String,
    pub version: String,
    /// Whether it was heard of within the last minute.
    pub ready: bool,
    pub started_at: String,
    pub seen_at: String,
    /// What its search indexes take.
    pub index_bytes: u64,
    /// What they may take.
    pub index_bytes_max: u64,
    pub calls_per_minute: u64,
    /// How long storage took to answer it.
    pub storage_ms: Option<f64>,
}
