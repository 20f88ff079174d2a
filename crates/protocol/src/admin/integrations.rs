//! Integrations and their tools.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::changed;

/// `PUT /projects/{id}/integrations/{name}`. Absent members stay as they are; a new one needs a preset, a URL or a
/// command.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AcceptTools {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<AcceptTool>>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NameTools {
    /// `dots` or `underscores`.
    pub tool_names: String,
}

/// An integration. Its credential is never shown.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
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
    pub health: HealthJson,
    /// Its tools; absent in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<IntegrationToolJson>>,
}

/// `GET /projects/{id}/integrations`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct IntegrationsJson {
    /// `dots` or `underscores`.
    pub tool_names: String,
    pub integrations: Vec<IntegrationJson>,
}

/// The answer to `POST /projects/{id}/integrations/{name}/accept`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct AcceptedJson {
    /// How many tools were accepted.
    pub accepted: u64,
    pub integration: IntegrationJson,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
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
    /// Its whole description, where it differs from the accepted one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<Value>,
    /// The description that was accepted, where it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_definition: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_at: Option<String>,
}

/// How calls to an upstream went on the node that answers.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct HealthJson {
    /// `working`, or `paused` after too many failures in a row.
    pub state: String,
    /// Failures in a row.
    pub failures: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_until: Option<String>,
    /// When it last answered a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered_at: Option<String>,
    /// Why it did not tell its tools when it was asked the last time, if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

/// The result of a test.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct TestedJson {
    pub works: bool,
    /// The negotiated protocol revision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<String>,
    /// The upstream's name for itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// How long the answer took, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub milliseconds: Option<u64>,
    /// Why it did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The integration after the test.
    pub integration: IntegrationJson,
}
