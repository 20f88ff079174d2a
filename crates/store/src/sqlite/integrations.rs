//! The integrations of projects, with their sealed credentials and pinned tools.

use async_trait::async_trait;
use mnemon_core::{ProjectId, Timestamp};
use rusqlite::{Connection, OptionalExtension, params};

use super::SqliteStore;
use super::audit::insert_audit;
use super::batch::{Tx, is_living};
use super::rows::{integer, micros};
use crate::interface::integrations::{read_integration, read_sealed, read_style, read_tool};
use crate::{
    AuditEntry, Integrations, ProjectIntegrations, Resealed, SavedIntegration, Sealed, SeenTool, StoreError, ToolRow,
};

#[async_trait]
impl Integrations for SqliteStore {
    async fn list_integrations(&self, project: ProjectId) -> Result<ProjectIntegrations, StoreError> {
        self.readers.read_at_once(|conn| list_integrations(conn, project))
    }

    async fn save_integration(&self, integration: SavedIntegration, audit: AuditEntry) -> Result<bool, StoreError> {
        self.writer.write(move |tx| save_integration(tx, &integration, &audit)).await
    }

    async fn delete_integration(&self, project: ProjectId, name: &str, audit: AuditEntry) -> Result<bool, StoreError> {
        let name = name.to_owned();
        self.writer.write(move |tx| delete_integration(tx, project, &name, &audit)).await
    }

    async fn save_tools(
        &self,
        project: ProjectId,
        name: &str,
        revision: u64,
        tools: Vec<SeenTool>,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let name = name.to_owned();
        self.writer.write(move |tx| save_tools(tx, project, &name, revision, &tools, at)).await
    }

    async fn accept_tools(
        &self,
        project: ProjectId,
        name: &str,
        tools: Vec<(String, [u8; 32])>,
        audit: AuditEntry,
    ) -> Result<u64, StoreError> {
        let name = name.to_owned();
        self.writer.write(move |tx| accept_tools(tx, project, &name, &tools, &audit)).await
    }

    async fn set_tool_names(&self, project: ProjectId, style: &str, audit: AuditEntry) -> Result<bool, StoreError> {
        let style = style.to_owned();
        self.writer.write(move |tx| set_tool_names(tx, project, &style, &audit)).await
    }

    async fn list_all_sealed(&self) -> Result<Vec<Sealed>, StoreError> {
        self.readers.read_long(list_all_sealed).await
    }

    async fn replace_sealed(&self, rows: Vec<Resealed>, audit: Vec<AuditEntry>) -> Result<u64, StoreError> {
        self.writer.write(move |tx| replace_sealed(tx, &rows, &audit)).await
    }
}

fn list_integrations(conn: &Connection, project: ProjectId) -> Result<ProjectIntegrations, StoreError> {
    const SELECT: &str = "
        SELECT name, revision, is_enabled, created_at, updated_at, seen_at, title, preset, transport, address, allow, sealed
        FROM integration
        WHERE project_id = ?1
        ORDER BY name";
    const SELECT_STYLE: &str = "SELECT style FROM tool_naming WHERE project_id = ?1";
    if !is_living(conn, project)? {
        return Ok(ProjectIntegrations::default());
    }
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([project.to_bytes()])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read_integration(row, project)?);
    }
    let mut statement = conn.prepare_cached(SELECT_STYLE)?;
    let mut rows = statement.query([project.to_bytes()])?;
    let style = rows.next()?.map(|row| read_style(row, project)).transpose()?;
    Ok(ProjectIntegrations::join(style, found, list_tools(conn, project)?))
}

fn list_tools(conn: &Connection, project: ProjectId) -> Result<Vec<(String, ToolRow)>, StoreError> {
    const SELECT: &str = "
        SELECT integration, name, is_present, hash, accepted_hash, refused_text, definition,
            accepted_definition, accepted_at
        FROM integration_tool
        WHERE project_id = ?1
        ORDER BY integration, name";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([project.to_bytes()])?;
    let mut tools = Vec::new();
    while let Some(row) = rows.next()? {
        tools.push(read_tool(row, project)?);
    }
    Ok(tools)
}

fn save_integration(tx: &Tx<'_>, saved: &SavedIntegration, audit: &AuditEntry) -> Result<bool, StoreError> {
    const UPSERT: &str = "
        INSERT INTO integration (project_id, name, revision, is_enabled, created_at, updated_at, title, preset, transport,
            address, allow, sealed)
        VALUES (?1, ?2, 1, ?3, ?4, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
        ON CONFLICT (project_id, name) DO UPDATE SET revision = revision + 1, is_enabled = excluded.is_enabled,
            updated_at = excluded.updated_at, title = excluded.title, preset = excluded.preset,
            transport = excluded.transport, address = excluded.address, allow = excluded.allow, sealed = excluded.sealed";
    if !is_living(tx.conn, saved.project)? {
        return Ok(false);
    }
    let (transport, address) = saved.address.to_columns();
    tx.conn.prepare_cached(UPSERT)?.execute(params![
        saved.project.to_bytes(),
        saved.name,
        saved.is_enabled,
        micros(saved.at),
        saved.title,
        saved.preset,
        transport,
        address,
        saved.allow.join("\n"),
        saved.sealed,
    ])?;
    insert_audit(tx.conn, audit, 1)?;
    Ok(true)
}

fn delete_integration(tx: &Tx<'_>, project: ProjectId, name: &str, audit: &AuditEntry) -> Result<bool, StoreError> {
    const DELETE: &str = "DELETE FROM integration WHERE project_id = ?1 AND name = ?2";
    const DELETE_TOOLS: &str = "DELETE FROM integration_tool WHERE project_id = ?1 AND integration = ?2";
    let is_known = tx.conn.prepare_cached(DELETE)?.execute((project.to_bytes(), name))? > 0;
    if is_known {
        tx.conn.prepare_cached(DELETE_TOOLS)?.execute((project.to_bytes(), name))?;
        insert_audit(tx.conn, audit, 1)?;
    }
    Ok(is_known)
}

/// A project's integrations are deleted with it: their credentials are not needed any more.
pub(super) fn delete_all(conn: &Connection, project: ProjectId) -> Result<(), StoreError> {
    const DELETE: &str = "DELETE FROM integration WHERE project_id = ?1";
    const DELETE_TOOLS: &str = "DELETE FROM integration_tool WHERE project_id = ?1";
    const DELETE_STYLE: &str = "DELETE FROM tool_naming WHERE project_id = ?1";
    for delete in [DELETE, DELETE_TOOLS, DELETE_STYLE] {
        conn.prepare_cached(delete)?.execute([project.to_bytes()])?;
    }
    Ok(())
}

fn save_tools(
    tx: &Tx<'_>,
    project: ProjectId,
    name: &str,
    revision: u64,
    tools: &[SeenTool],
    at: Timestamp,
) -> Result<bool, StoreError> {
    const SELECT: &str = "SELECT seen_at FROM integration WHERE project_id = ?1 AND name = ?2 AND revision = ?3";
    const TOUCH: &str = "UPDATE integration SET seen_at = ?3 WHERE project_id = ?1 AND name = ?2";
    const GONE: &str = "UPDATE integration_tool SET is_present = 0 WHERE project_id = ?1 AND integration = ?2";
    const UPSERT: &str = "
        INSERT INTO integration_tool (project_id, integration, name, is_present, hash, accepted_hash, refused_text,
            definition, accepted_definition, accepted_at)
        VALUES (?1, ?2, ?3, 1, ?4, ?5, ?6, ?7, IIF(?5 IS NULL, NULL, ?7), IIF(?5 IS NULL, NULL, ?8))
        ON CONFLICT (project_id, integration, name) DO UPDATE SET is_present = 1, hash = excluded.hash,
            refused_text = excluded.refused_text, definition = excluded.definition";
    let values = (project.to_bytes(), name, integer(revision));
    let seen = tx.conn.prepare_cached(SELECT)?.query_row(values, |row| row.get::<_, Option<i64>>(0)).optional()?;
    let Some(seen_before) = seen else { return Ok(false) };
    tx.conn.prepare_cached(GONE)?.execute((project.to_bytes(), name))?;
    for tool in tools {
        let accepted = seen_before.is_none().then_some(tool.hash);
        tx.conn.prepare_cached(UPSERT)?.execute(params![
            project.to_bytes(),
            name,
            tool.name,
            tool.hash,
            accepted,
            tool.refused_text,
            tool.definition,
            micros(at),
        ])?;
    }
    tx.conn.prepare_cached(TOUCH)?.execute((project.to_bytes(), name, micros(at)))?;
    Ok(true)
}

fn accept_tools(
    tx: &Tx<'_>,
    project: ProjectId,
    name: &str,
    tools: &[(String, [u8; 32])],
    audit: &AuditEntry,
) -> Result<u64, StoreError> {
    const UPDATE: &str = "
        UPDATE integration_tool
        SET accepted_hash = hash, accepted_definition = definition, accepted_at = ?5
        WHERE project_id = ?1 AND integration = ?2 AND name = ?3 AND hash = ?4 AND is_present = 1";
    let mut accepted = 0;
    for (tool, hash) in tools {
        accepted +=
            tx.conn.prepare_cached(UPDATE)?.execute((project.to_bytes(), name, tool, hash, micros(audit.at)))? as u64;
    }
    if accepted > 0 {
        insert_audit(tx.conn, audit, accepted)?;
    }
    Ok(accepted)
}

fn set_tool_names(tx: &Tx<'_>, project: ProjectId, style: &str, audit: &AuditEntry) -> Result<bool, StoreError> {
    const UPSERT: &str = "
        INSERT INTO tool_naming (project_id, style) VALUES (?1, ?2)
        ON CONFLICT (project_id) DO UPDATE SET style = excluded.style";
    if !is_living(tx.conn, project)? {
        return Ok(false);
    }
    tx.conn.prepare_cached(UPSERT)?.execute((project.to_bytes(), style))?;
    insert_audit(tx.conn, audit, 1)?;
    Ok(true)
}

fn list_all_sealed(conn: &Connection) -> Result<Vec<Sealed>, StoreError> {
    const SELECT: &str = "
        SELECT project.account_id, integration.project_id, integration.name, integration.sealed
        FROM integration CROSS JOIN project ON project.id = integration.project_id
        WHERE integration.sealed IS NOT NULL
        ORDER BY integration.project_id, integration.name";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(read_sealed(row)?);
    }
    Ok(all)
}

fn replace_sealed(tx: &Tx<'_>, rows: &[Resealed], audit: &[AuditEntry]) -> Result<u64, StoreError> {
    const UPDATE: &str = "
        UPDATE integration SET sealed = ?4, revision = revision + 1
        WHERE project_id = ?1 AND name = ?2 AND sealed = ?3";
    let mut replaced = 0;
    for Resealed { old, sealed } in rows {
        let values = (old.project.to_bytes(), &old.name, &old.sealed, sealed);
        replaced += tx.conn.prepare_cached(UPDATE)?.execute(values)? as u64;
    }
    for line in audit {
        insert_audit(tx.conn, line, 1)?;
    }
    Ok(replaced)
}
