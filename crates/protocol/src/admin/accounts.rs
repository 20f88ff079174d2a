//! Accounts, their subscription and projects, and who a caller is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::MadeLinkJson;

/// `POST /accounts`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateAccount {
    pub name: String,
    /// The plan to activate; without one the account has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// The end of the paid period; none means no end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paid_until: Option<String>,
    /// With `project` and `admin` the account begins with a project, an admin and a link that shows the admin's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The first admin's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admin: Option<String>,
    /// With them: what the guard does, as in `PUT /accounts/{id}/guard`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guard_mode: Option<String>,
    /// With them: for how many hours the link can be opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_hours: Option<u16>,
}

/// What an account begins with.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct FirstJson {
    pub project_id: String,
    pub member_id: String,
    #[serde(flatten)]
    pub link: MadeLinkJson,
}

/// `PUT /accounts/{id}/subscription`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetSubscription {
    /// The plan. It can be changed but not removed: an empty request must not end a subscription.
    pub plan: String,
    /// The end of the paid period; none means no end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paid_until: Option<String>,
}

/// `PUT /accounts/{id}/suspension`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetSuspension {
    pub suspended: bool,
}

/// `POST /accounts/{id}/projects`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateProject {
    pub name: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct AccountJson {
    pub id: String,
    pub name: String,
    pub plan: Option<String>,
    /// The end of the paid period.
    pub paid_until: Option<String>,
    /// Whether the operator suspended it.
    pub suspended: bool,
    /// The current state: `active`, `none`, `grace` or `suspended`.
    pub state: String,
    pub created_at: String,
    /// What it begins with, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<FirstJson>,
    /// How many projects it has. Only in the operator's list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub projects: Option<u64>,
    /// How many records live in them. Only in the operator's list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ProjectJson {
    pub id: String,
    pub account_id: String,
    pub name: String,
    pub created_at: String,
}

/// `GET /me`. The operator has a role and nothing else.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct MeJson {
    /// `operator`, `admin`, `head` or `member`.
    pub role: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<NamedJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub department: Option<NamedJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<NamedJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<NamedJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_id: Option<String>,
    /// `read` or `write`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// The workspace of calls that name none, if the key has one of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The account's plan; absent if it never had one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscription: Option<SubscriptionJson>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct NamedJson {
    pub id: String,
    pub name: String,
}

/// A plan with its limits; `null` means no limit.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct PlanJson {
    pub name: String,
    /// Live records per project.
    pub records_max: Option<u64>,
    /// Active workspaces per project.
    pub workspaces_max: Option<u64>,
    /// Calls per connection and minute.
    pub connection_calls_max: Option<u32>,
    /// Calls per project and minute.
    pub project_calls_max: Option<u32>,
    /// Bytes of session histories per project.
    pub history_bytes_max: Option<u64>,
    /// Bytes of imported texts per project and hour.
    pub import_bytes_max: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct SubscriptionJson {
    /// `active`, `none`, `grace` or `suspended`.
    pub state: String,
    /// The end of the paid period; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paid_until: Option<String>,
}
