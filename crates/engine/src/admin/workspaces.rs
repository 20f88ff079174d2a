//! Workspaces, as far as the caller may know about them.

use mnemon_core::{ProjectId, Timestamp, Viewer, WorkspaceName};
use mnemon_store::{DeletedWorkspace, RestoredWorkspace, WorkspaceRow};

use super::records::moment_before;
use super::standing::Standing;
use super::{AdminContext, AdminError};
use crate::Engine;
use crate::standings::Stood;

/// A workspace in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownWorkspace {
    pub name: WorkspaceName,
    /// Records that the caller can see: those that live, or that lived when it was deleted.
    pub records: u64,
    pub created_at: Timestamp,
    /// When it was deleted, if it was.
    pub deleted_at: Option<Timestamp>,
    /// Its records by status; nothing for a deleted one.
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
        let (mut rows, mut standing) = self.stand(ctx, project.id).await?;
        rows.retain(|row| is_visible(row, &ctx.viewer()));
        let shown = |row: WorkspaceRow| {
            let standing = standing.workspaces.remove(row.name.as_str()).unwrap_or_default();
            let (WorkspaceRow { name, created_at, .. }, records) = (row, standing.counts.total());
            ShownWorkspace { name, records, created_at, deleted_at: None, standing }
        };
        Ok(rows.into_iter().map(shown).collect())
    }

    /// The names of the active workspaces in which the caller can see something.
    pub async fn list_workspace_names(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
    ) -> Result<Vec<WorkspaceName>, AdminError> {
        let project = self.readable_project(ctx, project).await?;
        let (rows, viewer) = (self.store.list_workspaces(project.id).await?, ctx.viewer());
        Ok(rows.into_iter().filter(|row| is_visible(row, &viewer)).map(|row| row.name).collect())
    }

    /// The workspaces deleted in the last 30 days in which the caller could see something, the latest first.
    pub async fn list_deleted_workspaces(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
    ) -> Result<Vec<ShownWorkspace>, AdminError> {
        let project = self.admin_project(ctx, project).await?;
        let (viewer, since) = (ctx.viewer(), moment_before(ctx.now));
        let mut deleted = self.store.list_deleted_workspaces(project.id, since).await?;
        deleted.retain(|deleted| is_visible(&deleted.workspace, &viewer));
        let shown = |deleted: DeletedWorkspace| ShownWorkspace {
            records: count_seen(&deleted, &viewer),
            name: deleted.workspace.name,
            created_at: deleted.workspace.created_at,
            deleted_at: Some(deleted.deleted_at),
            standing: Standing::default(),
        };
        Ok(deleted.into_iter().map(shown).collect())
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
        let is_meant = |row: &WorkspaceRow| row.name == *name && is_visible(row, &viewer);
        let deleted = rows.into_iter().find(|deleted| is_meant(&deleted.workspace)).ok_or_else(absent)?;
        let records_max = self.records_max(&project).await?;
        let audit = self.admin_audit(ctx, project.account, Some(project.id), "workspace.restore", name);
        match self.store.restore_workspace(project.id, deleted.workspace.no, since, records_max, audit).await? {
            RestoredWorkspace::Done(_) => Ok(count_seen(&deleted, &viewer)),
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
        let absent = || AdminError::NotFound("workspace");
        let mut seen = 0;
        let count = |row: &WorkspaceRow, records: &mut dyn Iterator<Item = Stood<'_>>| {
            seen += if row.name == *name { records.count() as u64 } else { 0 };
        };
        let rows = self.each_workspace(project.id, &viewer, ctx.now, count).await?;
        if !rows.iter().any(|row| row.name == *name && is_visible(row, &viewer)) {
            return Err(absent());
        }
        let audit = self.admin_audit(ctx, project.account, Some(project.id), "workspace.delete", name);
        // What this admin saw of it: the store counts drafts, too, which are nobody else's affair.
        let audit = audit.about(&if seen == 1 { "1 record".to_owned() } else { format!("{seen} records") });
        let count = self.store.delete_workspace(project.id, name, audit).await?.ok_or_else(absent)?;
        let purged = self.purge_beyond_plan(ctx, &project, usize::try_from(count).unwrap_or(usize::MAX)).await;
        Ok((seen, purged))
    }
}

fn is_visible(row: &WorkspaceRow, viewer: &Viewer) -> bool {
    row.audiences.iter().any(|audience| viewer.sees(audience))
}

fn count_seen(deleted: &DeletedWorkspace, viewer: &Viewer) -> u64 {
    deleted.living.iter().filter(|(audience, _)| viewer.sees(audience)).map(|(_, count)| count).sum()
}
