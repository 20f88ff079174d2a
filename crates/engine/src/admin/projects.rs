//! Projects.

use mnemon_core::{AccountId, Project, ProjectId};

use super::{AdminContext, AdminError};
use crate::Engine;

impl Engine {
    pub async fn create_project(
        &self,
        ctx: &AdminContext,
        account: AccountId,
        name: &str,
    ) -> Result<Project, AdminError> {
        self.admin_account(ctx, account).await?;
        ctx.need_write()?;
        let project = Project {
            id: ProjectId::new(self.ids.uuid(ctx.now)),
            account,
            name: self.check_name(ctx, "name", name).await?,
            created_at: ctx.now,
        };
        let audit = self.admin_audit(ctx, account, Some(project.id), "project.create", project.id).about(&project.name);
        self.store.insert_project(project.clone(), audit).await?;
        Ok(project)
    }

    /// The projects of an account, oldest first.
    pub async fn list_projects(&self, ctx: &AdminContext, account: AccountId) -> Result<Vec<Project>, AdminError> {
        self.admin_account(ctx, account).await?;
        Ok(self.store.list_projects(account).await?)
    }

    pub async fn show_project(&self, ctx: &AdminContext, id: ProjectId) -> Result<Project, AdminError> {
        self.admin_project(ctx, id).await
    }

    /// Deletes a project: its keys are refused from the next request on.
    pub async fn delete_project(&self, ctx: &AdminContext, id: ProjectId) -> Result<(), AdminError> {
        let project = self.admin_project(ctx, id).await?;
        ctx.need_write()?;
        let audit = self.admin_audit(ctx, project.account, Some(id), "project.delete", id).about(&project.name);
        let is_known = self.store.delete_project(project.account, id, audit).await?;
        if is_known { Ok(()) } else { Err(AdminError::NotFound("project")) }
    }
}
