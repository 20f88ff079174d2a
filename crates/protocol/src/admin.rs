//! The JSON of the admin API: what is sent and what is answered.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use crate::memory::RecordJson;

/// Tells an absent member (keep) apart from `null` (take away).
fn changed<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}

/// `POST /accounts`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateAccount {
    /// Its name.
    pub name: String,
    /// The plan to activate; none leaves the account without one.
    pub plan: Option<String>,
    /// The end of the paid time; none is no end.
    pub paid_until: Option<String>,
}

/// `PUT /accounts/{id}/subscription`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetSubscription {
    /// The plan. It can be changed, and not taken away: an empty request must not end a subscription.
    pub plan: String,
    /// The end of the paid time; none is no end.
    pub paid_until: Option<String>,
}

/// `PUT /accounts/{id}/suspension`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetSuspension {
    /// Whether the account is suspended.
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
    /// The hash that a rejection shows.
    pub hash: String,
}

/// `POST /accounts/{id}/departments`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateDepartment {
    /// Its name.
    pub name: String,
    /// The department above it.
    pub parent_id: Option<String>,
}

/// `PATCH /accounts/{id}/departments/{id}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeDepartment {
    /// The new name.
    pub name: Option<String>,
    /// The new parent; null moves it to the top.
    #[serde(default, deserialize_with = "changed")]
    pub parent_id: Option<Option<String>>,
}

/// `POST /accounts/{id}/members`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateMember {
    /// Its name.
    pub name: String,
    /// `admin`, `head` or `member`.
    pub role: String,
    /// Where it works.
    pub department_id: Option<String>,
    /// When its access ends.
    pub access_until: Option<String>,
}

/// `PATCH /accounts/{id}/members/{id}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeMember {
    /// The new name.
    pub name: Option<String>,
    /// The new role.
    pub role: Option<String>,
    /// The new department; null takes it out of any.
    #[serde(default, deserialize_with = "changed")]
    pub department_id: Option<Option<String>>,
    /// The new end of access; null lifts it.
    #[serde(default, deserialize_with = "changed")]
    pub access_until: Option<Option<String>>,
}

/// `DELETE /accounts/{id}/members/{id}`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeleteMember {
    /// Who gets the member's records.
    pub hand_over_to: Option<String>,
}

/// `POST /accounts/{id}/projects`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateProject {
    /// Its name.
    pub name: String,
}

/// `POST /projects/{id}/keys`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateKey {
    /// The member it acts for.
    pub member_id: String,
    /// `read` or `write`.
    pub access: String,
    /// What people call it.
    pub label: Option<String>,
    /// When it ends.
    pub expires_at: Option<String>,
}

/// An account.
#[derive(Debug, Serialize)]
pub struct AccountJson {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The plan that was activated.
    pub plan: Option<&'static str>,
    /// The end of the paid time.
    pub paid_until: Option<String>,
    /// Whether the operator suspended it.
    pub suspended: bool,
    /// `active`, `none`, `grace` or `suspended`, now.
    pub state: &'static str,
    /// When it was made.
    pub created_at: String,
}

/// A department.
#[derive(Debug, Serialize)]
pub struct DepartmentJson {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The department above it.
    pub parent_id: Option<String>,
}

/// A member.
#[derive(Debug, Serialize)]
pub struct MemberJson {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its role.
    pub role: &'static str,
    /// Where it works.
    pub department_id: Option<String>,
    /// When its access ends.
    pub access_until: Option<String>,
    /// When it was made.
    pub created_at: String,
}

/// A project.
#[derive(Debug, Serialize)]
pub struct ProjectJson {
    /// Its id.
    pub id: String,
    /// Its account.
    pub account_id: String,
    /// Its name.
    pub name: String,
    /// When it was made.
    pub created_at: String,
}

/// A key just made.
#[derive(Debug, Serialize)]
pub struct MadeKeyJson<'a> {
    /// Its id.
    pub key_id: String,
    /// The secret, shown this once.
    pub key: &'a str,
}

/// A key without its secret.
#[derive(Debug, Serialize)]
pub struct KeyJson {
    /// Its id.
    pub key_id: String,
    /// The project it opens.
    pub project_id: String,
    /// The member it acts for.
    pub member_id: String,
    /// What it may do.
    pub access: &'static str,
    /// What people call it.
    pub label: Option<String>,
    /// When it ends.
    pub expires_at: Option<String>,
    /// When it was revoked.
    pub revoked_at: Option<String>,
    /// When it was last used.
    pub last_used_at: Option<String>,
    /// When it was made.
    pub created_at: String,
}

/// A connection by OAuth, without its secret.
#[derive(Debug, Serialize)]
pub struct ConnectionJson {
    /// Its id.
    pub connection_id: String,
    /// The project it opens.
    pub project_id: String,
    /// The member it acts for.
    pub member_id: String,
    /// The key it stands for.
    pub key_id: String,
    /// The client it was given to.
    pub client_id: String,
    /// What that client calls itself.
    pub client_name: Option<String>,
    /// When it was made.
    pub created_at: String,
    /// When it ends.
    pub expires_at: String,
    /// When it was ended.
    pub revoked_at: Option<String>,
    /// When it was last used.
    pub last_used_at: Option<String>,
}

/// A workspace.
#[derive(Debug, Serialize)]
pub struct WorkspaceJson {
    /// Its name.
    pub name: String,
    /// Living records that the caller can see.
    pub records: u64,
    /// When it came into being.
    pub created_at: String,
}

/// A record in a list.
#[derive(Debug, Serialize)]
pub struct ListedRecordJson<'a> {
    /// The record.
    #[serde(flatten)]
    pub record: RecordJson<'a>,
    /// When it was forgotten.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forgotten_at: Option<String>,
}

/// A line of the audit log.
#[derive(Debug, Serialize)]
pub struct AuditJson {
    /// Its id.
    pub id: String,
    /// When.
    pub at: String,
    /// `member`, `operator` or `service`.
    pub actor: &'static str,
    /// Which member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member_id: Option<String>,
    /// What.
    pub action: String,
    /// To what.
    pub subject: String,
    /// In which project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// How many things it touched.
    pub affected: u64,
}

/// A text that the guard found.
#[derive(Debug, Serialize)]
pub struct RejectionJson {
    /// When.
    pub at: String,
    /// In which project.
    pub project_id: Option<String>,
    /// Sent by whom.
    pub member_id: Option<String>,
    /// What a release is made for.
    pub hash: String,
    /// Whether it was stored all the same.
    pub stored: bool,
}

/// An uploaded session history, without its text.
#[derive(Debug, Serialize)]
pub struct SessionJson {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub member_id: String,
    /// The program that it comes from.
    pub client: String,
    /// Its name.
    pub name: String,
    /// Bytes received.
    pub bytes: u64,
    /// Bytes of text still kept.
    pub kept_bytes: u64,
    /// Secrets that were replaced on arrival.
    pub redacted: u64,
    /// When it was last worked on.
    pub modified_at: String,
    /// When its first part arrived.
    pub created_at: String,
    /// When its last part arrived.
    pub updated_at: String,
}

/// Figures of a day or a key.
#[derive(Debug, Serialize)]
pub struct FiguresJson {
    /// The day, in a list of days.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
    /// The key, in a list of keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_id: Option<String>,
    /// Calls let through.
    pub calls: u64,
    /// Records saved.
    pub saves: u64,
    /// Searches answered.
    pub searches: u64,
    /// Texts that the guard rejected.
    pub rejections: u64,
    /// Bytes of text saved.
    pub bytes: u64,
}

/// `GET /projects/{id}/usage`.
#[derive(Debug, Serialize)]
pub struct UsageJson {
    /// Living records that the caller can see.
    pub records: u64,
    /// Bytes of their text.
    pub bytes: u64,
    /// Day by day.
    pub days: Vec<FiguresJson>,
    /// Key by key.
    pub keys: Vec<FiguresJson>,
}

/// `PUT /projects/{id}/integrations/{name}`. What is left out stays as it is; a new one needs a preset, a URL or a command.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PutIntegration {
    /// A system known by name.
    pub preset: Option<String>,
    /// A web address.
    pub url: Option<String>,
    /// A command that the operator configured.
    pub command: Option<String>,
    /// What people call it.
    pub title: Option<String>,
    /// A token, sent as `Authorization: Bearer`; `null` takes the credential away.
    #[serde(default, deserialize_with = "changed")]
    pub bearer: Option<Option<String>>,
    /// Headers to be sent; `null` takes the credential away.
    #[serde(default, deserialize_with = "changed")]
    pub headers: Option<Option<BTreeMap<String, String>>>,
    /// The tools that may be offered.
    pub allow: Option<Vec<String>>,
    /// Whether it is offered.
    pub enabled: Option<bool>,
}

/// `POST /projects/{id}/integrations/{name}/accept`. Without tools, all that wait are accepted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceptTools {
    /// The tools.
    pub tools: Option<Vec<AcceptTool>>,
}

/// A tool to be accepted.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum AcceptTool {
    /// As it is now.
    Name(String),
    /// As it was looked at.
    Seen {
        /// Its name.
        name: String,
        /// The hash that was shown.
        hash: String,
    },
}

/// `PUT /projects/{id}/tool-names`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NameTools {
    /// How tools of integrations are named: `dots` or `underscores`.
    pub tool_names: String,
}

/// An integration. Its credential is never shown.
#[derive(Debug, Serialize)]
pub struct IntegrationJson {
    /// Its name.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// What it was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Its web address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Its command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Whether it has a credential.
    pub has_credential: bool,
    /// The tools that may be offered.
    pub allow: Vec<String>,
    /// Whether it is offered.
    pub enabled: bool,
    /// How many tools are offered.
    pub offered: usize,
    /// How many wait for an admin.
    pub waiting: usize,
    /// When it was made.
    pub created_at: String,
    /// When it was last changed.
    pub updated_at: String,
    /// When its tools were last looked at.
    pub seen_at: Option<String>,
    /// Its tools; left out in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<IntegrationToolJson>>,
}

/// A tool of an integration.
#[derive(Debug, Serialize)]
pub struct IntegrationToolJson {
    /// Its name.
    pub name: String,
    /// `offered`, or why it is not: `gone`, `not_read_only`, `not_allowed`, `unusable`, `new`, `changed`, `rejected`.
    pub state: &'static str,
    /// What it says it is.
    pub title: String,
    /// What it says it does.
    pub description: String,
    /// The fingerprint of its description.
    pub hash: String,
    /// The hash of a text that the guard would not have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused_text: Option<String>,
}

/// What a look at an upstream showed.
#[derive(Debug, Serialize)]
pub struct TestedJson {
    /// Whether it answered.
    pub works: bool,
    /// The protocol revision agreed on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<&'static str>,
    /// What the upstream calls itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Why it did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The integration after the look.
    pub integration: IntegrationJson,
}
