//! Keys, and what stands for them: OAuth connections and sessions of the console.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::changed;

/// `POST /projects/{id}/keys`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
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

/// `POST /projects/{id}/links`: a key that a link shows once to its owner.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateLink {
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
    /// For how many hours the link can be opened; three days if it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_hours: Option<u16>,
}

/// A link that shows a key once. The key gets its secret when the link is opened.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct MadeLinkJson {
    pub key_id: String,
    /// The address to hand over, shown only now.
    pub link: String,
    pub link_ends_at: String,
}

/// `PATCH /keys/{id}`. What is absent stays as it is.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeKey {
    /// The new label; null removes it.
    #[serde(default, deserialize_with = "changed", skip_serializing_if = "Option::is_none")]
    pub label: Option<Option<String>>,
    /// `read` or `write`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<String>,
    /// The new end; null removes it.
    #[serde(default, deserialize_with = "changed", skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Option<String>>,
    /// The new default workspace; null removes it.
    #[serde(default, deserialize_with = "changed", skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Option<String>>,
}

/// A new key.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct MadeKeyJson {
    pub key_id: String,
    /// The secret, shown only now.
    pub key: String,
}

/// A key without its secret.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
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
    /// Its last four characters; `null` for keys of before they were noted.
    pub hint: Option<String>,
    /// Its last request to `/mcp`, of any method.
    pub seen_at: Option<String>,
    /// The name and version of the last program that sent them.
    pub seen_client: Option<String>,
    /// How many living OAuth connections stand for it.
    pub connections: u64,
    /// Until when the link that shows it can be opened; only while it waits to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_ends_at: Option<String>,
}

/// An OAuth connection, without its secret.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionJson {
    pub connection_id: String,
    pub project_id: String,
    pub member_id: String,
    /// The key it stands for.
    pub key_id: String,
    pub client_id: String,
    /// The client's name for itself.
    pub client_name: Option<String>,
    /// The host that the person was sent back to; `null` for connections of before it was noted.
    pub return_host: Option<String>,
    /// Whether that is the person's own computer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub returns_home: Option<bool>,
    pub created_at: String,
    pub expires_at: String,
    pub revoked_at: Option<String>,
    pub last_used_at: Option<String>,
}

/// A person in the console, without what the browser keeps.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ConsoleSessionJson {
    pub console_session_id: String,
    pub project_id: String,
    pub member_id: String,
    /// The key that the person signed in with.
    pub key_id: String,
    /// Which browser, on which system.
    pub browser: String,
    pub created_at: String,
    pub expires_at: String,
}
