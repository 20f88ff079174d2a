//! What is known of other systems' tools: the integrations of a project, their sealed credentials and pinned tools. What
//! may be offered of them is decided elsewhere.

use async_trait::async_trait;
use mnemon_core::{AccountId, ProjectId, Timestamp};

use super::AuditEntry;
use crate::StoreError;
use crate::rows::{Cells, Row};

/// Keeping integrations.
#[async_trait]
pub trait Integrations: Send + Sync {
    /// Everything that a living project has, by name, and how its tools are named.
    async fn list_integrations(&self, project: ProjectId) -> Result<ProjectIntegrations, StoreError>;

    /// Makes an integration, or changes it: its tools stay, its revision grows by one. `false` when there is no such
    /// living project.
    async fn save_integration(&self, integration: SavedIntegration, audit: AuditEntry) -> Result<bool, StoreError>;

    /// Removes an integration with its credential and its tools. `false` when absent.
    async fn delete_integration(&self, project: ProjectId, name: &str, audit: AuditEntry) -> Result<bool, StoreError>;

    /// Notes what an upstream offered when it was looked at. The first look pins everything; later ones leave the pins
    /// alone, and a tool that is gone keeps its pin. `false`, and nothing noted, when the integration is absent or has
    /// another revision by now.
    async fn save_tools(
        &self,
        project: ProjectId,
        name: &str,
        revision: u64,
        tools: Vec<SeenTool>,
        at: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Pins tools as they were last seen, those whose hash is still the one named. Answers how many.
    async fn accept_tools(
        &self,
        project: ProjectId,
        name: &str,
        tools: Vec<(String, [u8; 32])>,
        audit: AuditEntry,
    ) -> Result<u64, StoreError>;

    /// Sets how the tools of a project's integrations are named. `false` when there is no such living project.
    async fn set_tool_names(&self, project: ProjectId, style: &str, audit: AuditEntry) -> Result<bool, StoreError>;

    /// Every sealed credential there is, of every account: for whoever holds the keys, at the start and when keys change.
    async fn list_all_sealed(&self) -> Result<Vec<Sealed>, StoreError>;

    /// Replaces sealed credentials, all of them or none. Each names what it replaces: one that was changed since is left
    /// as it is. Answers how many.
    async fn replace_sealed(&self, rows: Vec<Resealed>, audit: Vec<AuditEntry>) -> Result<u64, StoreError>;
}

/// The integrations of a project.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProjectIntegrations {
    /// How tools are named; absent means the default.
    pub tool_names: Option<String>,
    /// The integrations, by name.
    pub rows: Vec<IntegrationRow>,
}

/// Where an upstream is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpstreamAddress {
    /// A web address.
    Url(String),
    /// The name of a configured command.
    Command(String),
}

/// An integration to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedIntegration {
    /// Whose.
    pub project: ProjectId,
    /// Its name.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// What it was made from.
    pub preset: Option<String>,
    /// Where it is.
    pub address: UpstreamAddress,
    /// Its credential, sealed.
    pub sealed: Option<Vec<u8>>,
    /// The names of tools that may be offered.
    pub allow: Vec<String>,
    /// Whether it is offered at all.
    pub is_enabled: bool,
    /// When.
    pub at: Timestamp,
}

/// An integration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntegrationRow {
    /// Its name.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// What it was made from.
    pub preset: Option<String>,
    /// Where it is.
    pub address: UpstreamAddress,
    /// Its credential, sealed.
    pub sealed: Option<Vec<u8>>,
    /// The names of tools that may be offered.
    pub allow: Vec<String>,
    /// Whether it is offered at all.
    pub is_enabled: bool,
    /// Grows with every change.
    pub revision: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// When its tools were last looked at.
    pub seen_at: Option<Timestamp>,
    /// Its tools, by name.
    pub tools: Vec<ToolRow>,
}

/// A tool as an upstream described it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenTool {
    /// Its name.
    pub name: String,
    /// The description, as JSON.
    pub definition: String,
    /// The fingerprint of the description.
    pub hash: [u8; 32],
    /// The hash of a text in it that the guard would not have.
    pub refused_text: Option<[u8; 32]>,
}

/// A tool that is or was offered by an upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRow {
    /// As it was last seen.
    pub seen: SeenTool,
    /// The fingerprint that was pinned; none for one that came later.
    pub accepted_hash: Option<[u8; 32]>,
    /// Whether it was there at the last look.
    pub is_present: bool,
}

/// A sealed credential, and where it belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// The account of the project.
    pub account: AccountId,
    /// The project.
    pub project: ProjectId,
    /// The integration.
    pub name: String,
    /// The sealed bytes.
    pub sealed: Vec<u8>,
}

/// A credential sealed anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resealed {
    /// What it replaces.
    pub old: Sealed,
    /// The new bytes.
    pub sealed: Vec<u8>,
}

impl UpstreamAddress {
    /// The words that storage keeps: the transport and the address.
    pub(crate) fn to_columns(&self) -> (&'static str, &str) {
        match self {
            Self::Url(url) => ("http", url),
            Self::Command(command) => ("command", command),
        }
    }
}

/// Reads an integration, without its tools.
pub(crate) fn read_integration<R: Row>(row: &R, project: ProjectId) -> Result<IntegrationRow, StoreError> {
    let name = Cells::new(row, "integration", || project.to_string()).text(0, "name")?;
    let cells = Cells::new(row, "integration", || format!("{project}/{name}"));
    let address = cells.text(9, "address")?;
    Ok(IntegrationRow {
        title: cells.text(6, "title")?,
        preset: cells.text_opt(7, "preset")?,
        address: match cells.text(8, "transport")?.as_str() {
            "http" => UpstreamAddress::Url(address),
            "command" => UpstreamAddress::Command(address),
            _ => return Err(cells.broken("transport")),
        },
        sealed: cells.blob_opt(11, "sealed")?.map(<[u8]>::to_vec),
        allow: cells.lines(10, "allow")?,
        is_enabled: cells.flag(2, "is_enabled")?,
        revision: cells.count(1, "revision")?,
        created_at: cells.time(3, "created_at")?,
        updated_at: cells.time(4, "updated_at")?,
        seen_at: cells.time_opt(5, "seen_at")?,
        tools: Vec::new(),
        name,
    })
}

/// Reads a tool, and the name of the integration that it belongs to.
pub(crate) fn read_tool<R: Row>(row: &R, project: ProjectId) -> Result<(String, ToolRow), StoreError> {
    let cells = Cells::new(row, "integration_tool", || project.to_string());
    let seen = SeenTool {
        name: cells.text(1, "name")?,
        definition: cells.text(6, "definition")?,
        hash: cells.bytes(3, "hash")?,
        refused_text: cells.bytes_opt(5, "refused_text")?,
    };
    let accepted_hash = cells.bytes_opt(4, "accepted_hash")?;
    let tool = ToolRow { seen, accepted_hash, is_present: cells.flag(2, "is_present")? };
    Ok((cells.text(0, "integration")?, tool))
}

impl ProjectIntegrations {
    /// Puts integrations and their tools together.
    pub(crate) fn join(
        tool_names: Option<String>,
        mut rows: Vec<IntegrationRow>,
        tools: Vec<(String, ToolRow)>,
    ) -> Self {
        for (integration, tool) in tools {
            if let Some(found) = rows.iter_mut().find(|found| found.name == integration) {
                found.tools.push(tool);
            }
        }
        Self { tool_names, rows }
    }
}

/// Reads how a project's tools are named.
pub(crate) fn read_style<R: Row>(row: &R, project: ProjectId) -> Result<String, StoreError> {
    Cells::new(row, "tool_naming", || project.to_string()).text(0, "style")
}

pub(crate) fn read_sealed<R: Row>(row: &R) -> Result<Sealed, StoreError> {
    let cells = Cells::new(row, "integration", String::new);
    Ok(Sealed {
        account: cells.id(0, "account_id")?,
        project: cells.id(1, "project_id")?,
        name: cells.text(2, "name")?,
        sealed: cells.blob(3, "sealed")?.to_vec(),
    })
}
