//! Integrations of a project: their sealed credentials and pinned tools. Others decide which tools may be offered.

use async_trait::async_trait;
use mnemon_core::{AccountId, ProjectId, Timestamp};

use super::AuditEntry;
use super::audit::insert_audit;
use crate::StoreError;
use crate::rows::{Cells, Row};
use crate::statement::{Change, Sql, Statement, Touches, Transaction, statement};
use crate::tenant::Tenant;

#[async_trait]
pub trait Integrations: Sql {
    /// All integrations of a live project, by name, and how their tools are named.
    async fn list_integrations(&self, project: ProjectId) -> Result<ProjectIntegrations, StoreError> {
        const SELECT: &str = "
            SELECT i.name, i.revision, i.is_enabled, i.created_at, i.updated_at, i.seen_at, i.title, i.preset,
                i.transport, i.address, i.allow, i.sealed
            FROM integration i
            JOIN project p ON p.id = i.project_id AND p.deleted_at IS NULL
            WHERE i.project_id = $1
            ORDER BY i.name";
        const TOOLS: &str = "
            SELECT integration, name, is_present, hash, accepted_hash, refused_text, definition,
                accepted_definition, accepted_at
            FROM integration_tool
            WHERE project_id = $1
            ORDER BY integration, name";
        const STYLE: &str = "SELECT style FROM tool_naming WHERE project_id = $1";
        let selects = [SELECT, TOOLS, STYLE].map(|select| statement!(select, project)).to_vec();
        let mut answers = self.select_together(Tenant::project(project), selects).await?.into_iter();
        let mut next = || answers.next().unwrap_or_default();
        let (rows, tools, style) = (next(), next(), next());
        let rows = rows.iter().map(|row| read_integration(row, project)).collect::<Result<_, StoreError>>()?;
        let tools = tools.iter().map(|row| read_tool(row, project)).collect::<Result<_, StoreError>>()?;
        let style = style.first().map(|row| read_style(row, project)).transpose()?;
        Ok(ProjectIntegrations::join(style, rows, tools))
    }

    /// Creates or changes an integration: its tools stay, its revision grows by one. `false` if there is no such live
    /// project.
    async fn save_integration(&self, saved: SavedIntegration, audit: AuditEntry) -> Result<bool, StoreError> {
        const UPSERT: &str = "
            INSERT INTO integration (project_id, name, revision, is_enabled, created_at, updated_at, title, preset,
                transport, address, allow, sealed)
            SELECT id, $2, 1, $3, $4, $4, $5, $6, $7, $8, $9, $10
            FROM project
            WHERE id = $1 AND deleted_at IS NULL
            ON CONFLICT (project_id, name) DO UPDATE SET revision = integration.revision + 1,
                is_enabled = excluded.is_enabled, updated_at = excluded.updated_at, title = excluded.title,
                preset = excluded.preset, transport = excluded.transport, address = excluded.address,
                allow = excluded.allow, sealed = excluded.sealed
            RETURNING 1";
        let (transport, address) = saved.address.to_columns();
        let upsert = statement!(
            UPSERT,
            saved.project,
            &saved.name,
            saved.is_enabled,
            saved.at,
            &saved.title,
            saved.preset.as_ref(),
            transport,
            address,
            saved.allow.join("\n"),
            saved.sealed.as_ref(),
        );
        let tenant = Tenant::project_of(saved.project, audit.account);
        Ok(self.change(Change::of(tenant, Touches::Nothing, upsert, audit)).await? > 0)
    }

    /// Deletes an integration with its credential and tools. `false` if absent.
    async fn delete_integration(&self, project: ProjectId, name: &str, audit: AuditEntry) -> Result<bool, StoreError> {
        const DELETE: &str = "DELETE FROM integration WHERE project_id = $1 AND name = $2 RETURNING 1";
        const DELETE_TOOLS: &str = "DELETE FROM integration_tool WHERE project_id = $1 AND integration = $2";
        let (tenant, delete) = (Tenant::project_of(project, audit.account), statement!(DELETE, project, name));
        let then = vec![statement!(DELETE_TOOLS, project, name)];
        Ok(self.change(Change { then, ..Change::of(tenant, Touches::Nothing, delete, audit) }).await? > 0)
    }

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
    ) -> Result<bool, StoreError> {
        // The first statement takes the integration's row: of two listings that end together, one is the first. Until
        // the last one it says when the tools were seen before.
        const LOCK: &str = "
            UPDATE integration SET seen_at = seen_at WHERE project_id = $1 AND name = $2 AND revision = $3 RETURNING 1";
        const GONE: &str = "UPDATE integration_tool SET is_present = FALSE WHERE project_id = $1 AND integration = $2";
        const UPSERT: &str = "
            INSERT INTO integration_tool (project_id, integration, name, is_present, hash, refused_text, definition)
            VALUES ($1, $2, $3, TRUE, $4, $5, $6)
            ON CONFLICT (project_id, integration, name) DO UPDATE SET is_present = TRUE, hash = excluded.hash,
                refused_text = excluded.refused_text, definition = excluded.definition";
        const PIN: &str = "
            UPDATE integration_tool
            SET accepted_hash = hash, accepted_definition = definition, accepted_at = $3
            WHERE project_id = $1 AND integration = $2
                AND (SELECT i.seen_at FROM integration i WHERE i.project_id = $1 AND i.name = $2) IS NULL";
        const TOUCH: &str = "UPDATE integration SET seen_at = $3 WHERE project_id = $1 AND name = $2";
        let mut then = vec![statement!(GONE, project, name)];
        then.extend(tools.into_iter().map(|SeenTool { name: tool, definition, hash, refused_text }| {
            statement!(UPSERT, project, name, tool, &hash, refused_text.as_ref(), definition)
        }));
        then.extend([PIN, TOUCH].map(|update| statement!(update, project, name, at)));
        let lock = Change::new(Tenant::project(project), vec![statement!(LOCK, project, name, revision)]);
        Ok(self.change(Change { then, ..lock }).await? > 0)
    }

    /// Pins tools as they were last seen, if their hash is still the given one. Returns how many.
    async fn accept_tools(
        &self,
        project: ProjectId,
        name: &str,
        tools: Vec<(String, [u8; 32])>,
        audit: AuditEntry,
    ) -> Result<u64, StoreError> {
        const UPDATE: &str = "
            UPDATE integration_tool
            SET accepted_hash = hash, accepted_definition = definition, accepted_at = $5
            WHERE project_id = $1 AND integration = $2 AND name = $3 AND hash = $4 AND is_present
            RETURNING 1";
        let tenant = Tenant::project_of(project, audit.account);
        let accept = |(tool, hash)| statement!(UPDATE, project, name, tool, &hash, audit.at);
        let first = tools.into_iter().map(accept).collect();
        self.change(Change { audit: vec![audit], ..Change::new(tenant, first) }).await
    }

    /// Sets how a project's integration tools are named. `false` if there is no such live project.
    async fn set_tool_names(&self, project: ProjectId, style: &str, audit: AuditEntry) -> Result<bool, StoreError> {
        const UPSERT: &str = "
            INSERT INTO tool_naming (project_id, style)
            SELECT id, $2
            FROM project
            WHERE id = $1 AND deleted_at IS NULL
            ON CONFLICT (project_id) DO UPDATE SET style = excluded.style
            RETURNING 1";
        let (tenant, upsert) = (Tenant::project_of(project, audit.account), statement!(UPSERT, project, style));
        Ok(self.change(Change::of(tenant, Touches::Nothing, upsert, audit)).await? > 0)
    }

    /// Every sealed credential of every account: to be resealed at startup and when the encryption keys change.
    async fn list_all_sealed(&self) -> Result<Vec<Sealed>, StoreError> {
        const SELECT: &str = "
            SELECT p.account_id, i.project_id, i.name, i.sealed
            FROM integration i
            JOIN project p ON p.id = i.project_id
            WHERE i.sealed IS NOT NULL
            ORDER BY i.project_id, i.name";
        self.select(Tenant::for_upkeep(), statement!(SELECT)).await?.iter().map(read_sealed).collect()
    }

    /// Replaces sealed credentials, all of them or none. Each names what it replaces: one that was changed since is
    /// left as it is. Returns how many.
    async fn replace_sealed(&self, rows: Vec<Resealed>, audit: Vec<AuditEntry>) -> Result<u64, StoreError>;
}

impl Resealed {
    fn replace(&self) -> Statement {
        const UPDATE: &str = "
            UPDATE integration
            SET sealed = $4, revision = revision + 1
            WHERE project_id = $1 AND name = $2 AND sealed = $3
            RETURNING 1";
        let Self { old, sealed } = self;
        statement!(UPDATE, old.project, &old.name, &old.sealed, sealed)
    }
}

/// Each row is its own project's, and each audit row its own account's.
pub(crate) async fn replace_sealed<T: Transaction>(
    tx: &mut T,
    rows: &[Resealed],
    audit: &[AuditEntry],
) -> Result<u64, T::Error> {
    let mut replaced = 0;
    for row in rows {
        tx.turn(Tenant::project_of(row.old.project, row.old.account)).await?;
        replaced += tx.run(row.replace()).await?.len() as u64;
    }
    for entry in audit {
        tx.turn(Tenant::account(entry.account)).await?;
        tx.put(insert_audit(entry, 1)).await?;
    }
    Ok(replaced)
}

/// A project's integrations are deleted with it: their credentials are not needed any more.
pub(crate) fn delete_integrations(project: ProjectId) -> [Statement; 3] {
    const DELETES: [&str; 3] = [
        "DELETE FROM integration WHERE project_id = $1",
        "DELETE FROM integration_tool WHERE project_id = $1",
        "DELETE FROM tool_naming WHERE project_id = $1",
    ];
    DELETES.map(|delete| statement!(delete, project))
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
