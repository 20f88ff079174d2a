//! Workspaces, as far as the caller may know about them.

use mnemon_core::{ProjectId, Timestamp, Viewer, WorkspaceName};
use mnemon_store::WorkspaceRow;

use super::{AdminContext, AdminError};
use crate::Engine;

/// A workspace in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownWorkspace {
    pub name: WorkspaceName,
    /// Live records that the caller can see.
    pub records: u64,
    pub created_at: Timestamp,
}

impl Engine {
    /// The active workspaces in which the caller can see something, by name.
    pub async fn list_workspaces(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
    ) -> Result<Vec<ShownWorkspace>, AdminError> {
        let project = self.readable_project(ctx, project).await?;
        let viewer = ctx.viewer();
        let rows = self.store.list_workspaces(project.id).await?;
        Ok(rows.into_iter().filter(|row| is_visible(row, &viewer)).map(|row| show(row, &viewer)).collect())
    }

    /// Deletes a workspace: its records are soft-deleted, and a later save creates the name again, empty. Returns how many of
    /// its records the caller could see.
    pub async fn delete_workspace(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        name: &WorkspaceName,
    ) -> Result<u64, AdminError> {
        let project = self.admin_project(ctx, project).await?;
        ctx.need_write()?;
        let viewer = ctx.viewer();
        let rows = self.store.list_workspaces(project.id).await?;
        let absent = || AdminError::NotFound("workspace");
        let row = rows.into_iter().find(|row| row.name == *name && is_visible(row, &viewer)).ok_or_else(absent)?;
        let audit = self.admin_audit(ctx, project.account, Some(project.id), "workspace.delete", name);
        self.store.delete_workspace(project.id, name, audit).await?.ok_or_else(absent)?;
        Ok(show(row, &viewer).records)
    }
}

fn is_visible(row: &WorkspaceRow, viewer: &Viewer) -> bool {
    row.audiences.iter().any(|audience| viewer.sees(audience))
}

fn show(row: WorkspaceRow, viewer: &Viewer) -> ShownWorkspace {
    let seen = row.living.iter().filter(|(audience, _)| viewer.sees(audience));
    ShownWorkspace { records: seen.map(|(_, count)| count).sum(), name: row.name, created_at: row.created_at }
}
