//! Integrations of a project: their sealed credentials and pinned tools. Others decide which tools may be offered.

use async_trait::async_trait;
use mnemon_core::{AccountId, ProjectId, Timestamp};

use super::AuditEntry;
use crate::StoreError;
use crate::rows::{Cells, Row};

#[async_trait]
pub trait Integrations: Send + Sync {
    /// All integrations of a live project, by name, and how their tools are named.
    async fn list_integrations(&self, project: ProjectId) -> Result<ProjectIntegrations, StoreError>;

    /// Creates or changes an integration: its tools stay, its revision grows by one. `false` if there is no such live
    /// project.
    async fn save_integration(&self, integration: SavedIntegration, audit: AuditEntry) -> Result<bool, StoreError>;

    /// Deletes an integration with its credential and tools. `false` if absent.
    async fn delete_integration(&self, project: ProjectId, name: &str, audit: AuditEntry) -> Result<bool, StoreError>;

    /// Records what an upstream offered. The first list pins everything; later ones leave the pins alone, and a tool
    /// that is gone keeps its pin. `false`, and nothing recorded, if the integration is absent or has another revision
    /// by now.
    async fn save_tools(
        &self,
        project: ProjectId,
        name: &str,
        revision: u64,
        tools: Vec<SeenTool>,
        at: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Pins tools as they were last seen, if their hash is still the given one. Returns how many.
    async fn accept_tools(
        &self,
        project: ProjectId,
        name: &str,
        tools: Vec<(String, [u8; 32])>,
        audit: AuditEntry,
    ) -> Result<u64, StoreError>;

    /// Sets how a project's integration tools are named. `false` if there is no such live project.
    async fn set_tool_names(&self, project: ProjectId, style: &str, audit: AuditEntry) -> Result<bool, StoreError>;

    /// Every sealed credential of every account: to be resealed at startup and when the encryption keys change.
    async fn list_all_sealed(&self) -> Result<Vec<Sealed>, StoreError>;

    /// Replaces sealed credentials, all of them or none. Each names what it replaces: one that was changed since is
    /// left as it is. Returns how many.
    async fn replace_sealed(&self, rows: Vec<Resealed>, audit: Vec<AuditEntry>) -> Result<u64, StoreError>;
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProjectIntegrations {
    /// How tools are named; absent means the default.
    pub tool_names: Option<String>,
    pub rows: Vec<IntegrationRow>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpstreamAddress {
    Url(String),
    /// The name of a configured command.
    Command(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedIntegration {
    pub project: ProjectId,
    pub name: String,
    pub title: String,
    pub preset: Option<String>,
    pub address: UpstreamAddress,
    pub sealed: Option<Vec<u8>>,
    /// The tools that may be offered.
    pub allow: Vec<String>,
    pub is_enabled: bool,
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntegrationRow {
    pub name: String,
    pub title: String,
    pub preset: Option<String>,
    pub address: UpstreamAddress,
    pub sealed: Option<Vec<u8>>,
    /// The tools that may be offered.
    pub allow: Vec<String>,
    pub is_enabled: bool,
    /// Grows with every change.
    pub revision: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// When its tools were last listed.
    pub seen_at: Option<Timestamp>,
    pub tools: Vec<ToolRow>,
}

/// A tool as an upstream described it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenTool {
    pub name: String,
    /// The description, as JSON.
    pub definition: String,
    /// The fingerprint of the description.
    pub hash: [u8; 32],
    /// The hash of a text in it that the guard rejected.
    pub refused_text: Option<[u8; 32]>,
}

/// A tool that an upstream offers or offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRow {
    /// As last seen.
    pub seen: SeenTool,
    /// The pinned fingerprint; none for a tool that appeared later.
    pub accepted_hash: Option<[u8; 32]>,
    /// Whether it was in the last list.
    pub is_present: bool,
    /// The pinned description; unknown where it was pinned before descriptions were kept and has changed since.
    pub accepted_definition: Option<String>,
    /// When it was pinned.
    pub accepted_at: Option<Timestamp>,
}

/// A sealed credential, and where it belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    pub account: AccountId,
    pub project: ProjectId,
    pub name: String,
    pub sealed: Vec<u8>,
}

/// A re-encrypted credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resealed {
    pub old: Sealed,
    pub sealed: Vec<u8>,
}

impl UpstreamAddress {
    /// The stored form: the transport and the URL.
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

/// Reads a tool, and the name of its integration.
pub(crate) fn read_tool<R: Row>(row: &R, project: ProjectId) -> Result<(String, ToolRow), StoreError> {
    let cells = Cells::new(row, "integration_tool", || project.to_string());
    let seen = SeenTool {
        name: cells.text(1, "name")?,
        definition: cells.text(6, "definition")?,
        hash: cells.bytes(3, "hash")?,
        refused_text: cells.bytes_opt(5, "refused_text")?,
    };
    let accepted_hash = cells.bytes_opt(4, "accepted_hash")?;
    let tool = ToolRow {
        seen,
        accepted_hash,
        is_present: cells.flag(2, "is_present")?,
        accepted_definition: cells.text_opt(7, "accepted_definition")?,
        accepted_at: cells.time_opt(8, "accepted_at")?,
    };
    Ok((cells.text(0, "integration")?, tool))
}

impl ProjectIntegrations {
    /// Combines integrations with their tools.
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
