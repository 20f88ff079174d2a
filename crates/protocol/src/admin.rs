//! The JSON of the admin API: requests and answers.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use crate::memory::RecordJson;

/// Distinguishes an absent member (keep) from `null` (remove).
fn changed<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}

/// `POST /accounts`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateAccount {
    pub name: String,
    /// The plan to activate; without one the account has none.
    pub plan: Option<String>,
    /// The end of the paid period; none means no end.
    pub paid_until: Option<String>,
}

/// `PUT /accounts/{id}/subscription`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetSubscription {
    /// The plan. It can be changed but not removed: an empty request must not end a subscription.
    pub plan: String,
    /// The end of the paid period; none means no end.
    pub paid_until: Option<String>,
}

/// `PUT /accounts/{id}/suspension`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetSuspension {
    pub suspended: bool,
}

/// `PUT /accounts/{id}/guard`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetGuard {
    /// `reject`, `report` or `off`.
    pub mode: String,
}

/// `POST /projects/{id}/guard/releases`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReleaseText {
    /// The hash shown in the list of rejections.
    pub hash: Option<String>,
    /// The reference that the refused caller was told.
    pub reference: Option<String>,
}

/// `POST /accounts/{id}/departments`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateDepartment {
    pub name: String,
    /// The parent department.
    pub parent_id: Option<String>,
}

/// `PATCH /accounts/{id}/departments/{id}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeDepartment {
    pub name: Option<String>,
    /// The new parent; null moves it to the top level.
    #[serde(default, deserialize_with = "changed")]
    pub parent_id: Option<Option<String>>,
}

/// `POST /accounts/{id}/members`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateMember {
    pub name: String,
    /// `admin`, `head` or `member`.
    pub role: String,
    pub department_id: Option<String>,
    pub access_until: Option<String>,
}

/// `PATCH /accounts/{id}/members/{id}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeMember {
    pub name: Option<String>,
    pub role: Option<String>,
    /// The new department; null removes it.
    #[serde(default, deserialize_with = "changed")]
    pub department_id: Option<Option<String>>,
    /// The new end of access; null removes it.
    #[serde(default, deserialize_with = "changed")]
    pub access_until: Option<Option<String>>,
}

/// `DELETE /accounts/{id}/members/{id}`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeleteMember {
    /// Who takes over the member's records.
    pub hand_over_to: Option<String>,
}

/// `POST /accounts/{id}/projects`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateProject {
    pub name: String,
}

/// `POST /projects/{id}/keys`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateKey {
    pub member_id: String,
    /// `read` or `write`.
    pub access: String,
    pub label: Option<String>,
    pub expires_at: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct AccountJson {
    pub id: String,
    pub name: String,
    pub plan: Option<&'static str>,
    /// The end of the paid period.
    pub paid_until: Option<String>,
    /// Whether the operator suspended it.
    pub suspended: bool,
    /// The current state: `active`, `none`, `grace` or `suspended`.
    pub state: &'static str,
    pub created_at: String,
}

#[derive(Debug, Serialize)]
pub struct DepartmentJson {
    pub id: String,
    pub name: String,
    /// The parent department.
    pub parent_id: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct MemberJson {
    pub id: String,
    pub name: String,
    pub role: &'static str,
    pub department_id: Option<String>,
    pub access_until: Option<String>,
    pub created_at: String,
}

#[derive(Debug, Serialize)]
pub struct ProjectJson {
    pub id: String,
    pub account_id: String,
    pub name: String,
    pub created_at: String,
}

/// A new key.
#[derive(Debug, Serialize)]
pub struct MadeKeyJson<'a> {
    pub key_id: String,
    /// The secret, shown only now.
    pub key: &'a str,
}

/// A key without its secret.
#[derive(Debug, Serialize)]
pub struct KeyJson {
    pub key_id: String,
    pub project_id: String,
    pub member_id: String,
    pub access: &'static str,
    pub label: Option<String>,
    pub expires_at: Option<String>,
    pub revoked_at: Option<String>,
    pub last_used_at: Option<String>,
    pub created_at: String,
}

/// An OAuth connection, without its secret.
#[derive(Debug, Serialize)]
pub struct ConnectionJson {
    pub connection_id: String,
    pub project_id: String,
    pub member_id: String,
    /// The key it stands for.
    pub key_id: String,
    pub client_id: String,
    /// The client's name for itself.
    pub client_name: Option<String>,
    pub created_at: String,
    pub expires_at: String,
    pub revoked_at: Option<String>,
    pub last_used_at: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct WorkspaceJson {
    pub name: String,
    /// Live records that the caller can see.
    pub records: u64,
    pub created_at: String,
}

#[derive(Debug, Serialize)]
pub struct ListedRecordJson<'a> {
    #[serde(flatten)]
    pub record: RecordJson<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forgotten_at: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct AuditJson {
    pub id: String,
    pub at: String,
    /// `member`, `operator` or `service`.
    pub actor: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member_id: Option<String>,
    pub action: String,
    pub subject: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// How many things were affected.
    pub affected: u64,
}

/// A finding of the guard.
#[derive(Debug, Serialize)]
pub struct RejectionJson {
    pub at: String,
    pub project_id: Option<String>,
    pub member_id: Option<String>,
    /// Used to release the text.
    pub hash: String,
    /// What the refused caller was told; it also releases the text.
    pub reference: String,
    /// Whether it was stored anyway.
    pub stored: bool,
}

/// An uploaded session history, without its text.
#[derive(Debug, Serialize)]
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
#[derive(Debug, Serialize)]
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
}

/// `GET /projects/{id}/usage`.
#[derive(Debug, Serialize)]
pub struct UsageJson {
    /// Live records that the caller can see.
    pub records: u64,
    pub bytes: u64,
    pub days: Vec<FiguresJson>,
    pub keys: Vec<FiguresJson>,
}

/// `PUT /projects/{id}/integrations/{name}`. Absent members stay as they are; a new one needs a preset, a URL or a command.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PutIntegration {
    pub preset: Option<String>,
    pub url: Option<String>,
    /// A command that the operator configured.
    pub command: Option<String>,
    pub title: Option<String>,
    /// A token, sent as `Authorization: Bearer`; `null` removes the credential.
    #[serde(default, deserialize_with = "changed")]
    pub bearer: Option<Option<String>>,
    /// Headers to send; `null` removes the credential.
    #[serde(default, deserialize_with = "changed")]
    pub headers: Option<Option<BTreeMap<String, String>>>,
    /// The tools that may be offered.
    pub allow: Option<Vec<String>>,
    pub enabled: Option<bool>,
}

/// `POST /projects/{id}/integrations/{name}/accept`. Without tools, all that are held back are accepted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceptTools {
    pub tools: Option<Vec<AcceptTool>>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum AcceptTool {
    /// As it is now.
    Name(String),
    /// As it was reviewed.
    Seen {
        name: String,
        /// The hash that was shown.
        hash: String,
    },
}

/// `PUT /projects/{id}/tool-names`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NameTools {
    /// `dots` or `underscores`.
    pub tool_names: String,
}

/// An integration. Its credential is never shown.
#[derive(Debug, Serialize)]
pub struct IntegrationJson {
    pub name: String,
    pub title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    pub has_credential: bool,
    /// The tools that may be offered.
    pub allow: Vec<String>,
    pub enabled: bool,
    pub offered: usize,
    /// How many tools wait for an admin.
    pub waiting: usize,
    pub created_at: String,
    pub updated_at: String,
    /// When its tools were last listed.
    pub seen_at: Option<String>,
    /// Its tools; absent in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<IntegrationToolJson>>,
}

#[derive(Debug, Serialize)]
pub struct IntegrationToolJson {
    pub name: String,
    /// `offered`, or why it is not: `gone`, `not_read_only`, `not_allowed`, `unusable`, `new`, `changed`, `rejected`.
    pub state: &'static str,
    pub title: String,
    pub description: String,
    /// The fingerprint of its description.
    pub hash: String,
    /// The hash of a text that the guard rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused_text: Option<String>,
}

/// The result of a test.
#[derive(Debug, Serialize)]
pub struct TestedJson {
    pub works: bool,
    /// The negotiated protocol revision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<&'static str>,
    /// The upstream's name for itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Why it did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The integration after the test.
    pub integration: IntegrationJson,
}
