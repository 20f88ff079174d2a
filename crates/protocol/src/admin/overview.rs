//! A project at a glance.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::StandingJson;

/// `GET /projects/{id}/overview`, as far as the caller sees the project.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct OverviewJson {
    /// Living records by status.
    pub standing: StandingJson,
    /// The last 14 days, oldest first.
    pub days: Vec<OverviewDayJson>,
    pub week: WeekJson,
    pub waiting: WaitsJson,
    /// Who made the most calls in the last seven days, five at most.
    pub users: Vec<UserJson>,
    /// How many people made calls in the last seven days.
    pub users_count: u64,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct OverviewDayJson {
    pub day: String,
    /// Living records that were saved or brought up to date on this day.
    pub saved: u64,
    pub calls: u64,
}

/// The last seven days. What others did is shown to admins.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct WeekJson {
    pub saved: u64,
    pub saved_before: u64,
    pub calls: u64,
    pub calls_before: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forgotten: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored: Option<u64>,
}

/// What waits for somebody. Of each kind the five that concern the most records are named.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct WaitsJson {
    /// Records in conflict.
    pub conflicts: u64,
    pub disputed_keys: Vec<ConcernedJson>,
    pub disputed_count: u64,
    pub changed_sources: Vec<ConcernedJson>,
    pub changed_count: u64,
    /// Texts that the guard refused or marked in the last seven days, for admins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<u64>,
    /// Tools that are held back, for admins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<u64>,
}

/// A key or a source, and how many records it concerns.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ConcernedJson {
    pub workspace: String,
    pub name: String,
    pub records: u64,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct UserJson {
    pub name: String,
    pub calls: u64,
    pub saves: u64,
}
