//! The JSON of the admin API: requests and answers. The server and the command line share these types, so each is both
//! written and read.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use crate::memory::RecordJson;

/// Distinguishes an absent member (keep) from `null` (remove).
fn changed<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}

/// `POST /accounts`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateAccount {
    pub name: String,
    /// The plan to activate; without one the account has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// The end of the paid period; none means no end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paid_until: Option<String>,
}

/// `PUT /accounts/{id}/subscription`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetSubscription {
    /// The plan. It can be changed but not removed: an empty request must not end a subscription.
    pub plan: String,
    /// The end of the paid period; none means no end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paid_until: Option<String>,
}

/// `PUT /accounts/{id}/suspension`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetSuspension {
    pub suspended: bool,
}

/// `PUT /accounts/{id}/guard`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetGuard {
    /// `reject`, `report` or `off`.
    pub mode: String,
}

/// `POST /projects/{id}/guard/releases`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReleaseText {
    /// The hash shown in the list of rejections.
    pub hash: Option<String>,
    /// The reference that the refused caller was told.
    pub reference: Option<String>,
}

/// `POST /accounts/{id}/departments`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateDepartment {
    pub name: String,
    /// The parent department.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
}

/// `PATCH /accounts/{id}/departments/{id}`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeDepartment {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The new parent; null moves it to the top level.
    #[serde(default, deserialize_with = "changed", skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<Option<String>>,
}

/// `POST /accounts/{id}/members`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateMember {
    pub name: String,
    /// `admin`, `head` or `member`.
    pub role: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub department_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_until: Option<String>,
}

/// `PATCH /accounts/{id}/members/{id}`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeMember {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The new department; null removes it.
    #[serde(default, deserialize_with = "changed", skip_serializing_if = "Option::is_none")]
    pub department_id: Option<Option<String>>,
    /// The new end of access; null removes it.
    #[serde(default, deserialize_with = "changed", skip_serializing_if = "Option::is_none")]
    pub access_until: Option<Option<String>>,
}

/// `DELETE /accounts/{id}/members/{id}`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeleteMember {
    /// Who takes over the member's records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hand_over_to: Option<String>,
}

/// `POST /accounts/{id}/projects`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateProject {
    pub name: String,
}

/// `POST /projects/{id}/keys`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateKey {
    pub member_id: String,
    /// `read` or `write`.
    pub access: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// The workspace of calls that name none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
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
}

#[derive(Debug, Serialize, Deserialize)]
pub struct DepartmentJson {
    pub id: String,
    pub name: String,
    /// The parent department.
    pub parent_id: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct MemberJson {
    pub id: String,
    pub name: String,
    pub role: String,
    pub department_id: Option<String>,
    pub access_until: Option<String>,
    pub created_at: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct ProjectJson {
    pub id: String,
    pub account_id: String,
    pub name: String,
    pub created_at: String,
}

/// A new key.
#[derive(Debug, Serialize, Deserialize)]
pub struct MadeKeyJson {
    pub key_id: String,
    /// The secret, shown only now.
    pub key: String,
}

/// A key without its secret.
#[derive(Debug, Serialize, Deserialize)]
pub struct KeyJson {
    pub key_id: String,
    pub project_id: String,
    pub member_id: String,
    pub access: String,
    pub label: Option<String>,
    /// The workspace of calls that name none.
    pub workspace: Option<String>,
    pub expires_at: Option<String>,
    pub revoked_at: Option<String>,
    pub last_used_at: Option<String>,
    pub created_at: String,
    /// The member who made it; `null` where it was the operator.
    pub created_by: Option<String>,
    /// That member's name, where the caller may know it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_by_name: Option<String>,
}

/// An OAuth connection, without its secret.
#[derive(Debug, Serialize, Deserialize)]
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

#[derive(Debug, Serialize, Deserialize)]
pub struct WorkspaceJson {
    pub name: String,
    /// Records that the caller can see: those that live, or that lived when it was deleted.
    pub records: u64,
    pub created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct ListedRecordJson<'a> {
    #[serde(flatten)]
    pub record: RecordJson<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forgotten_at: Option<String>,
    /// The record that took its place, if it was forgotten for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
}

/// `GET /me`. The operator has a role and nothing else.
#[derive(Debug, Serialize, Deserialize)]
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

#[derive(Debug, Serialize, Deserialize)]
pub struct NamedJson {
    pub id: String,
    pub name: String,
}

/// A plan with its limits; `null` means no limit.
#[derive(Debug, Serialize, Deserialize)]
pub struct PlanJson {
    pub name: String,
    /// Live records per project.
    pub records_max: Option<u64>,
    /// Calls per connection and minute.
    pub connection_calls_max: Option<u32>,
    /// Calls per project and minute.
    pub project_calls_max: Option<u32>,
    /// Bytes of session histories per project.
    pub history_bytes_max: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct SubscriptionJson {
    /// `active`, `none`, `grace` or `suspended`.
    pub state: String,
    /// The end of the paid period; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paid_until: Option<String>,
}

/// `GET /records/{id}`.
#[derive(Debug, Serialize, Deserialize)]
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
#[derive(Debug, Serialize, Deserialize)]
pub struct ReasonJson {
    /// `valid_until_passed`, `source_changed`, `disputed`, `confirmed`, `never_checked` or `no_source`.
    pub code: String,
    /// The same for people.
    pub text: String,
    /// The newest hash that the caller knows of its source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known_hash: Option<String>,
    /// The hash last confirmed by a validation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmed_hash: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct EventJson {
    pub at: String,
    /// `saved`, `updated`, `forgotten` or `replaced`.
    pub event: String,
    /// Who saved it, or the id of the record that took its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// `POST /records/{id}/keep`.
#[derive(Debug, Serialize, Deserialize)]
pub struct KeptJson {
    /// How many records contradicted it.
    pub forgotten: usize,
    pub memory_ids: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct AuditJson {
    pub id: String,
    pub at: String,
    /// `member`, `operator` or `service`.
    pub actor: String,
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
#[derive(Debug, Serialize, Deserialize)]
pub struct RejectionJson {
    pub at: String,
    pub project_id: Option<String>,
    pub member_id: Option<String>,
    /// Used to release the text.
    pub hash: String,
    /// What the refused caller was told; it also releases the text.
    pub reference: String,
    /// `refuse`, or `caution` where the guard was unsure.
    pub verdict: String,
    /// Whether it was stored, with a mark or because the mode was `report`.
    pub stored: bool,
}

/// An uploaded session history, without its text.
#[derive(Debug, Serialize, Deserialize)]
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
#[derive(Debug, Serialize, Deserialize)]
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
#[derive(Debug, Serialize, Deserialize)]
pub struct UsageJson {
    /// Live records that the caller can see.
    pub records: u64,
    pub bytes: u64,
    pub days: Vec<FiguresJson>,
    pub keys: Vec<FiguresJson>,
}

/// `PUT /projects/{id}/integrations/{name}`. Absent members stay as they are; a new one needs a preset, a URL or a command.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PutIntegration {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// A command that the operator configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A token, sent as `Authorization: Bearer`; `null` removes the credential.
    #[serde(default, deserialize_with = "changed", skip_serializing_if = "Option::is_none")]
    pub bearer: Option<Option<String>>,
    /// Headers to send; `null` removes the credential.
    #[serde(default, deserialize_with = "changed", skip_serializing_if = "Option::is_none")]
    pub headers: Option<Option<BTreeMap<String, String>>>,
    /// The tools that may be offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// `POST /projects/{id}/integrations/{name}/accept`. Without tools, all that are held back are accepted.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceptTools {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<AcceptTool>>,
}

#[derive(Debug, Serialize, Deserialize)]
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

/// A source of which the caller can see a live record.
#[derive(Debug, Serialize, Deserialize)]
pub struct SourceJson {
    pub source_id: String,
    /// Live records that the caller can see.
    pub records: usize,
    pub verified: usize,
    pub stale: usize,
    /// The different hashes that these records were saved with, newest first, at most eight.
    pub source_hashes: Vec<String>,
    /// The newest known hash.
    pub current_source_hash: Option<String>,
}

/// `GET /projects/{id}/sources`.
#[derive(Debug, Serialize, Deserialize)]
pub struct SourcesJson {
    pub sources: Vec<SourceJson>,
    /// What to pass as `after` for the next page.
    pub next: Option<String>,
}

/// `POST /projects/{id}/sources/validate`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValidateSources {
    /// At most 500.
    pub sources: Vec<SeenSourceJson>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeenSourceJson {
    pub source_id: String,
    pub current_source_hash: String,
}

/// What holds of a source's records, ids oldest first.
#[derive(Debug, Serialize, Deserialize)]
pub struct CheckedSourceJson {
    pub source_id: String,
    pub checked: usize,
    pub verified_count: usize,
    pub unverified_count: usize,
    pub stale_ids: Vec<String>,
    pub conflict_ids: Vec<String>,
}

/// The answer to `POST /projects/{id}/sources/validate`, in the order asked.
#[derive(Debug, Serialize, Deserialize)]
pub struct CheckedSourcesJson {
    pub sources: Vec<CheckedSourceJson>,
}

/// `PUT /projects/{id}/tool-names`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NameTools {
    /// `dots` or `underscores`.
    pub tool_names: String,
}

/// An integration. Its credential is never shown.
#[derive(Debug, Serialize, Deserialize)]
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

/// `GET /projects/{id}/integrations`.
#[derive(Debug, Serialize, Deserialize)]
pub struct IntegrationsJson {
    /// `dots` or `underscores`.
    pub tool_names: String,
    pub integrations: Vec<IntegrationJson>,
}

/// The answer to `POST /projects/{id}/integrations/{name}/accept`.
#[derive(Debug, Serialize, Deserialize)]
pub struct AcceptedJson {
    /// How many tools were accepted.
    pub accepted: u64,
    pub integration: IntegrationJson,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct IntegrationToolJson {
    pub name: String,
    /// `offered`, or why it is not: `gone`, `not_read_only`, `not_allowed`, `unusable`, `new`, `changed`, `rejected`.
    pub state: String,
    pub title: String,
    pub description: String,
    /// The fingerprint of its description.
    pub hash: String,
    /// The hash of a text that the guard rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused_text: Option<String>,
}

/// The result of a test.
#[derive(Debug, Serialize, Deserialize)]
pub struct TestedJson {
    pub works: bool,
    /// The negotiated protocol revision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<String>,
    /// The upstream's name for itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Why it did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The integration after the test.
    pub integration: IntegrationJson,
}

/// `POST /projects/{id}/explain`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExplainSearch {
    pub query: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// Why a search ranked the records as it did.
#[derive(Debug, Serialize, Deserialize)]
pub struct ExplainedJson {
    /// The query's words.
    pub words: Vec<ExplainedWordJson>,
    /// Words added from the best hits.
    pub lent: Vec<ExplainedWordJson>,
    /// Best first.
    pub hits: Vec<ExplainedHitJson>,
    /// Near in meaning, but not near enough.
    pub held_back: Vec<HeldBackJson>,
    /// The cosine that a record without any of the query's words must exceed.
    pub cosine_bar: f64,
    /// How much neighbours counted, from 0 to 1.
    pub locality: f64,
}

/// A word that took part.
#[derive(Debug, Serialize, Deserialize)]
pub struct ExplainedWordJson {
    pub stem: String,
    pub weight: f64,
    /// How many records contain it.
    pub records: u32,
}

/// A hit, with every part of its score.
#[derive(Debug, Serialize, Deserialize)]
pub struct ExplainedHitJson {
    pub id: String,
    pub content: String,
    pub score: f64,
    /// How likely it is an answer by itself. The score is the lowest chance down to this hit.
    pub chance: f64,
    /// What hits are ordered by.
    pub strength: f64,
    /// The query's words that it contains.
    pub matched: Vec<String>,
    pub words: f64,
    pub words_with_lent: f64,
    pub pairs: f64,
    pub cosine: Option<f64>,
    pub words_share: f64,
    pub cosine_share: f64,
    pub count_share: f64,
    pub cover_share: f64,
    pub around_share: f64,
    pub ring_share: f64,
    pub pairs_share: f64,
    pub all_words_bonus: f64,
    pub as_typed_bonus: f64,
    pub is_stale: bool,
    /// What staleness took away.
    pub truth_share: f64,
}

/// A record that contains none of the query's words and was not near enough in meaning.
#[derive(Debug, Serialize, Deserialize)]
pub struct HeldBackJson {
    pub id: String,
    pub content: String,
    pub cosine: f64,
    pub why: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_that_keeps_removes_or_sets_is_read_as_it_was_written() {
        let check = |department_id: Option<Option<String>>, written: serde_json::Value| {
            let change =
                ChangeMember { name: None, role: None, department_id: department_id.clone(), access_until: None };
            let json = serde_json::to_value(&change).expect("it is written");
            assert_eq!(json, written);
            let read: ChangeMember = serde_json::from_value(json).expect("it is read");
            assert_eq!(read.department_id, department_id);
        };
        check(None, json!({}));
        check(Some(None), json!({"department_id": null}));
        check(Some(Some("sales".to_owned())), json!({"department_id": "sales"}));
    }
}
