//! Workspaces and records.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::memory::RecordJson;

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceJson {
    pub name: String,
    /// Records that the caller can see: those that live, or that lived when it was deleted.
    pub records: u64,
    /// Their number by status; absent for a deleted one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_status: Option<StatusCountsJson>,
    /// When something was last saved that still lives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_saved_at: Option<String>,
    pub created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<String>,
}

/// Live records that the caller can see, by status.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct StatusCountsJson {
    pub verified: u64,
    pub unverified: u64,
    pub stale: u64,
    pub conflict: u64,
}

/// `GET /projects/{id}/standing`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct StandingJson {
    /// Live records that the caller can see.
    pub records: u64,
    pub by_status: StatusCountsJson,
    /// How many of them name no source.
    pub without_source: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_saved_at: Option<String>,
    /// The workspaces with such a record, by name.
    pub workspaces: Vec<WorkspaceStandingJson>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceStandingJson {
    pub name: String,
    pub records: u64,
    pub by_status: StatusCountsJson,
    pub without_source: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_saved_at: Option<String>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ListedRecordJson<'a> {
    #[serde(flatten)]
    pub record: RecordJson<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forgotten_at: Option<String>,
    /// The record that took its place, if it was forgotten for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
}

/// `GET /records/{id}`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct RecordDetailJson<'a> {
    #[serde(flatten)]
    pub record: ListedRecordJson<'a>,
    pub project_id: String,
    pub reason: ReasonJson,
    /// The records that contradict it.
    pub rivals: Vec<ListedRecordJson<'a>>,
    /// What happened to it, oldest first.
    pub history: Vec<EventJson>,
}

/// Why a record has its status.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReasonJson {
    /// `valid_until_passed`, `source_gone`, `source_changed`, `disputed`, `confirmed`, `never_checked` or `no_source`.
    pub code: String,
    /// The same for people.
    pub text: String,
    /// The newest hash that the caller knows of its source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known_hash: Option<String>,
    /// Where its source moved to, if it is gone and that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<String>,
    /// When that was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known_at: Option<String>,
    /// The hash last confirmed by a validation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmed_hash: Option<String>,
    /// When it was last confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmed_at: Option<String>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct EventJson {
    pub at: String,
    /// `saved`, `updated` (with the same text), `tagged`, `took_place` (of others), `kept` (against others),
    /// `forgotten`, `replaced`, `restored`, `verified`, `source_changed`, `source_gone`, `expired` or `disputed`.
    pub event: String,
    /// Who did it, as far as that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The label of the key that it was done with. Other people's keys are shown to admins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The other record: the one that took its place, brought another hash, or disputes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record_id: Option<String>,
}

/// `POST /projects/{id}/records/several`.
#[derive(Debug, Default, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeSeveral {
    /// The records, at most 200.
    pub memory_ids: Vec<String>,
    /// `forget`, `restore`, `tag` or `move`.
    pub act: String,
    /// For `tag`: the tags that each record gets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add_tags: Vec<String>,
    /// For `tag`: the tags that each record loses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove_tags: Vec<String>,
    /// For `move`: the workspace to move to. It may be new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// For `move`: who sees them from now on: `shared`, `department` or `draft`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

/// What became of several records.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct SeveralJson {
    /// How many were changed.
    pub changed: usize,
    /// The changed records; a moved one has a new id.
    pub memory_ids: Vec<String>,
    /// The records that were left as they are.
    pub left: Vec<LeftJson>,
    /// The requests to the same address that take it back, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undo: Vec<ChangeSeveral>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct LeftJson {
    pub memory_id: String,
    pub why: String,
}

/// `POST /records/{id}/keep`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct KeptJson {
    /// How many records contradicted it.
    pub forgotten: usize,
    pub memory_ids: Vec<String>,
    /// How many of the oldest forgotten records were purged, because the project keeps no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purged: Option<u64>,
}
