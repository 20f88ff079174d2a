//! Workspaces, as far as the caller may know about them.

use mnemon_core::{ProjectId, Timestamp, Viewer, WorkspaceName};
use mnemon_store::{RestoredWorkspace, WorkspaceRow};

use super::records::moment_before;
use super::standing::{Standing, stand};
use super::{AdminContext, AdminError};
use crate::Engine;

/// A workspace in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownWorkspace {
    pub name: WorkspaceName,
    /// Records that the caller can see: those that live, or that lived when it was deleted.
    pub records: u64,
    pub created_at: Timestamp,
    /// When it was deleted, if it was.
    pub deleted_at: Option<Timestamp>,
    /// How its records stand; nothing for a deleted one.
    pub standing: Standing,
}

impl Engine {
    /// The active workspaces in which the caller can see something, by name.
    pub async fn list_workspaces(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
    ) -> Result<Vec<ShownWorkspace>, AdminError> {
        let project = self.readable_project(ctx, project).await?;
        let ledger = self.survey(project.id, ctx.now).await?;
        let mut workspaces = visible(ledger.workspaces.clone(), &ctx.viewer());
        let mut standing = stand(&ledger, &ctx.viewer(), ctx.now);
        for workspace in &mut workspaces {
            workspace.standing = standing.workspaces.remove(workspace.name.as_str()).unwrap_or_default();
            workspace.records = workspace.standing.counts.total();
        }
        Ok(workspaces)
    }

    /// The workspaces deleted in the last 30 days in which the caller could see something, the latest first.
    pub async fn list_deleted_workspaces(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
    ) -> Result<Vec<ShownWorkspace>, AdminError> {
        let project = self.admin_project(ctx, project).await?;
        let rows = self.store.list_deleted_workspaces(project.id, moment_before(ctx.now)).await?;
        Ok(visible(rows, &ctx.viewer()))
    }

    /// Restores the records that the latest deletion of a workspace took, all of them: the act that took them was one,
    /// too. They join those that were saved under the name since. Returns how many of them the caller can see.
    pub async fn restore_workspace(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        name: &WorkspaceName,
    ) -> Result<u64, AdminError> {
        let project = self.admin_project(ctx, project).await?;
        ctx.need_write()?;
        let (viewer, since) = (ctx.viewer(), moment_before(ctx.now));
        let rows = self.store.list_deleted_workspaces(project.id, since).await?;
        let absent = || AdminError::NotFound("deleted workspace");
        let row = rows.into_iter().find(|row| row.name == *name && is_visible(row, &viewer)).ok_or_else(absent)?;
        let records_max = self.records_max(&project).await?;
        let audit = self.admin_audit(ctx, project.account, Some(project.id), "workspace.restore", name);
        match self.store.restore_workspace(project.id, row.no, since, records_max, audit).await? {
            RestoredWorkspace::Done(_) => Ok(show(row, &viewer).records),
            RestoredWorkspace::Absent => Err(absent()),
            RestoredWorkspace::Full => {
                let text = "can't restore the workspace: the project has no room for all its records";
                Err(AdminError::Conflict(text.to_owned()))
            }
        }
    }

    /// Deletes a workspace: its records are soft-deleted, and a later save creates the name again, empty. Returns how
    /// many of its records the caller could see, and how many older forgotten ones had to be purged to make room for
    /// them.
    pub async fn delete_workspace(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        name: &WorkspaceName,
    ) -> Result<(u64, u64), AdminError> {
        let project = self.admin_project(ctx, project).await?;
        ctx.need_write()?;
        let viewer = ctx.viewer();
        let rows = self.store.list_workspaces(project.id).await?;
        let absent = || AdminError::NotFound("workspace");
        let row = rows.into_iter().find(|row| row.name == *name && is_visible(row, &viewer)).ok_or_else(absent)?;
        let audit = self.admin_audit(ctx, project.account, Some(project.id), "workspace.delete", name);
        let count = self.store.delete_workspace(project.id, name, audit).await?.ok_or_else(absent)?;
        let purged = self.purge_beyond_plan(ctx, &project, usize::try_from(count).unwrap_or(usize::MAX)).await;
        Ok((show(row, &viewer).records, purged))
    }
}

/// Those in which the viewer can see something.
fn visible(rows: Vec<WorkspaceRow>, viewer: &Viewer) -> Vec<ShownWorkspace> {
    rows.into_iter().filter(|row| is_visible(row, viewer)).map(|row| show(row, viewer)).collect()
}

fn is_visible(row: &WorkspaceRow, viewer: &Viewer) -> bool {
    row.audiences.iter().any(|audience| viewer.sees(audience))
}

fn show(row: WorkspaceRow, viewer: &Viewer) -> ShownWorkspace {
    let seen = row.living.iter().filter(|(audience, _)| viewer.sees(audience));
    ShownWorkspace {
        records: seen.map(|(_, count)| count).sum(),
        name: row.name,
        created_at: row.created_at,
        deleted_at: row.deleted_at,
        standing: Standing::default(),
    }
}
