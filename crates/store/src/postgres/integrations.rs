//! The integrations of projects, with their sealed credentials and pinned tools.

use async_trait::async_trait;
use mnemon_core::{ProjectId, Timestamp};

use super::PostgresStore;
use super::audit::{commit_if_changed, insert_audit};
use super::error::{Again, Fault};
use super::rows::{Cells, integer, micros};
use super::transaction::{Ask, Tenant, Tx, ask};
use crate::interface::integrations::{read_integration, read_sealed, read_style, read_tool};
use crate::{AuditEntry, Integrations, ProjectIntegrations, Resealed, SavedIntegration, Sealed, SeenTool, StoreError};

#[async_trait]
impl Integrations for PostgresStore {
    async fn list_integrations(&self, project: ProjectId) -> Result<ProjectIntegrations, StoreError> {
        let found = match self.load_integrations(project).await {
            Err(Fault { again: Again::Lost, .. }) => self.load_integrations(project).await,
            found => found,
        };
        found.map_err(|fault| fault.error)
    }

    async fn save_integration(&self, integration: SavedIntegration, audit: AuditEntry) -> Result<bool, StoreError> {
        self.attempt(|| self.upsert_integration(&integration, &audit)).await
    }

    async fn delete_integration(&self, project: ProjectId, name: &str, audit: AuditEntry) -> Result<bool, StoreError> {
        const DELETE: &str = "DELETE FROM integration WHERE project_id = $1 AND name = $2 RETURNING 1";
        const DELETE_TOOLS: &str = "DELETE FROM integration_tool WHERE project_id = $1 AND integration = $2";
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::project_of(project, audit.account)).await?;
            let is_known = tx.count(DELETE, &[&project.uuid(), &name]).await? > 0;
            if is_known {
                insert_audit(&tx, &audit, 1).await?;
                tx.finish(vec![ask(DELETE_TOOLS, &[&project.uuid(), &name])]).await?;
            }
            Ok(is_known)
        })
        .await
    }

    async fn save_tools(
        &self,
        project: ProjectId,
        name: &str,
        revision: u64,
        tools: Vec<SeenTool>,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let look = Look { project, name, revision: integer(revision), at: micros(at) };
        self.attempt(|| self.note_tools(&look, &tools)).await
    }

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
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::project_of(project, audit.account)).await?;
            let mut accepted = 0;
            for (tool, hash) in &tools {
                accepted +=
                    tx.count(UPDATE, &[&project.uuid(), &name, tool, &hash.as_slice(), &micros(audit.at)]).await?;
            }
            if accepted > 0 {
                insert_audit(&tx, &audit, accepted).await?;
                tx.commit().await?;
            }
            Ok(accepted)
        })
        .await
    }

    async fn set_tool_names(&self, project: ProjectId, style: &str, audit: AuditEntry) -> Result<bool, StoreError> {
        const UPSERT: &str = "
            INSERT INTO tool_naming (project_id, style)
            SELECT id, $2
            FROM project
            WHERE id = $1 AND deleted_at IS NULL
            ON CONFLICT (project_id) DO UPDATE SET style = excluded.style
            RETURNING 1";
        self.change(Tenant::project_of(project, audit.account), UPSERT, &[&project.uuid(), &style], &audit).await
    }

    async fn list_all_sealed(&self) -> Result<Vec<Sealed>, StoreError> {
        const SELECT: &str = "
            SELECT p.account_id, i.project_id, i.name, i.sealed
            FROM integration i
            JOIN project p ON p.id = i.project_id
            WHERE i.sealed IS NOT NULL
            ORDER BY i.project_id, i.name";
        self.ask(Tenant::for_upkeep(), SELECT, &[]).await?.iter().map(read_sealed).collect()
    }

    async fn replace_sealed(&self, rows: Vec<Resealed>, audit: Vec<AuditEntry>) -> Result<u64, StoreError> {
        const UPDATE: &str = "
            UPDATE integration SET sealed = $4, revision = revision + 1
            WHERE project_id = $1 AND name = $2 AND sealed = $3
            RETURNING 1";
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::nobody()).await?;
            let mut replaced = 0;
            for Resealed { old, sealed } in &rows {
                tx.ask_all(vec![Tenant::project_of(old.project, old.account).turn()]).await?;
                replaced += tx.count(UPDATE, &[&old.project.uuid(), &old.name, &old.sealed, sealed]).await?;
            }
            for line in &audit {
                tx.ask_all(vec![Tenant::account(line.account).turn()]).await?;
                insert_audit(&tx, line, 1).await?;
            }
            tx.commit().await?;
            Ok(replaced)
        })
        .await
    }
}

/// A look at an upstream's tools.
struct Look<'a> {
    project: ProjectId,
    name: &'a str,
    revision: i64,
    at: i64,
}

impl PostgresStore {
    async fn load_integrations(&self, project: ProjectId) -> Result<ProjectIntegrations, Fault> {
        const SELECT: &str = "
            SELECT i.name, i.revision, i.is_enabled, i.created_at, i.updated_at, i.seen_at, i.title, i.preset,
                i.transport, i.address, i.allow, i.sealed
            FROM integration i
            JOIN project p ON p.id = i.project_id AND p.deleted_at IS NULL
            WHERE i.project_id = $1
            ORDER BY i.name";
        const SELECT_TOOLS: &str = "
            SELECT integration, name, is_present, hash, accepted_hash, refused_text, definition,
                accepted_definition, accepted_at
            FROM integration_tool
            WHERE project_id = $1
            ORDER BY integration, name";
        const SELECT_STYLE: &str = "SELECT style FROM tool_naming WHERE project_id = $1";
        let id = project.uuid();
        let tx = Tx::read(&self.pool, Tenant::project(project)).await?;
        let asks = vec![ask(SELECT, &[&id]), ask(SELECT_TOOLS, &[&id]), ask(SELECT_STYLE, &[&id])];
        let mut answers = tx.finish(asks).await?.into_iter();
        let mut next = || answers.next().unwrap_or_default();
        let (rows, tools, style) = (next(), next(), next());
        let rows = rows.iter().map(|row| read_integration(row, project)).collect::<Result<_, StoreError>>()?;
        let tools = tools.iter().map(|row| read_tool(row, project)).collect::<Result<_, StoreError>>()?;
        let style = style.first().map(|row| read_style(row, project)).transpose()?;
        Ok(ProjectIntegrations::join(style, rows, tools))
    }

    async fn upsert_integration(&self, saved: &SavedIntegration, audit: &AuditEntry) -> Result<bool, Fault> {
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
        let (project, at, allow) = (saved.project.uuid(), micros(saved.at), saved.allow.join("\n"));
        let tx = Tx::write(&self.pool, Tenant::project_of(saved.project, audit.account)).await?;
        let changed = tx
            .count(
                UPSERT,
                &[
                    &project,
                    &saved.name,
                    &saved.is_enabled,
                    &at,
                    &saved.title,
                    &saved.preset,
                    &transport,
                    &address,
                    &allow,
                    &saved.sealed,
                ],
            )
            .await?;
        commit_if_changed(tx, changed, audit).await
    }

    /// The integration's row is the lock: of two listings that end together, one is the first.
    async fn note_tools(&self, look: &Look<'_>, tools: &[SeenTool]) -> Result<bool, Fault> {
        const SELECT: &str = "
            SELECT seen_at FROM integration WHERE project_id = $1 AND name = $2 AND revision = $3 FOR UPDATE";
        const TOUCH: &str = "UPDATE integration SET seen_at = $3 WHERE project_id = $1 AND name = $2";
        const GONE: &str = "UPDATE integration_tool SET is_present = FALSE WHERE project_id = $1 AND integration = $2";
        const UPSERT: &str = "
            INSERT INTO integration_tool (project_id, integration, name, is_present, hash, accepted_hash, refused_text,
                definition, accepted_definition, accepted_at)
            SELECT $1, $2, t.name, TRUE, t.hash, CASE WHEN $7 THEN t.hash END, t.refused_text, t.definition,
                CASE WHEN $7 THEN t.definition END, CASE WHEN $7 THEN $8::bigint END
            FROM unnest($3::text[], $4::bytea[], $5::bytea[], $6::text[]) AS t (name, hash, refused_text, definition)
            ON CONFLICT (project_id, integration, name) DO UPDATE SET is_present = TRUE, hash = excluded.hash,
                refused_text = excluded.refused_text, definition = excluded.definition";
        let project = look.project.uuid();
        let tx = Tx::write(&self.pool, Tenant::project(look.project)).await?;
        let Some(row) = tx.row(SELECT, &[&project, &look.name, &look.revision]).await? else { return Ok(false) };
        let is_first = Cells::new(&row, "integration", || look.name.to_owned()).time_opt(0, "seen_at")?.is_none();
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        let hashes: Vec<&[u8]> = tools.iter().map(|tool| tool.hash.as_slice()).collect();
        let refused: Vec<Option<&[u8]>> =
            tools.iter().map(|tool| tool.refused_text.as_ref().map(<[u8; 32]>::as_slice)).collect();
        let definitions: Vec<&str> = tools.iter().map(|tool| tool.definition.as_str()).collect();
        let asks: Vec<Ask<'_>> = vec![
            ask(GONE, &[&project, &look.name]),
            ask(UPSERT, &[&project, &look.name, &names, &hashes, &refused, &definitions, &is_first, &look.at]),
            ask(TOUCH, &[&project, &look.name, &look.at]),
        ];
        tx.finish(asks).await?;
        Ok(true)
    }
}

/// A project's integrations are deleted with it: their credentials are not needed any more.
pub(super) async fn delete_all(tx: &Tx, project: ProjectId) -> Result<(), Fault> {
    const DELETE: &str = "DELETE FROM integration WHERE project_id = $1";
    const DELETE_TOOLS: &str = "DELETE FROM integration_tool WHERE project_id = $1";
    const DELETE_STYLE: &str = "DELETE FROM tool_naming WHERE project_id = $1";
    let id = project.uuid();
    tx.ask_all(vec![ask(DELETE, &[&id]), ask(DELETE_TOOLS, &[&id]), ask(DELETE_STYLE, &[&id])]).await?;
    Ok(())
}
