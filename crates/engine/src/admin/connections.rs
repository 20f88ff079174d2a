//! OAuth connections: listed and revoked like the keys they were granted by.

use mnemon_core::{ConnectionId, ProjectId};
use mnemon_store::ConnectionRow;

use super::keys::need_role;
use super::members::check_rank;
use super::{AdminContext, AdminError, Reach};
use crate::Engine;

impl Engine {
    /// The connections of a project that the caller may manage, oldest first. A plain member sees its own.
    pub async fn list_connections(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
    ) -> Result<Vec<ConnectionRow>, AdminError> {
        if let Some(caller) = ctx.plain_member() {
            let project = self.readable_project(ctx, project).await?;
            let mut connections = self.store.list_connections(project.id).await?;
            connections.retain(|row| row.member == caller.member);
            return Ok(connections);
        }
        let project = self.reachable_project(ctx, project).await?;
        let reach = self.reach(ctx, project.account).await?;
        let mut connections = self.store.list_connections(project.id).await?;
        if let Reach::Departments(_) = &reach {
            let members = self.store.list_members(project.account).await?;
            connections.retain(|row| members.iter().any(|m| m.id == row.member && reach.covers(m.department)));
        }
        Ok(connections)
    }

    /// Revokes a connection: its token is refused from the next request on.
    pub async fn revoke_connection(&self, ctx: &AdminContext, id: ConnectionId) -> Result<(), AdminError> {
        need_role(ctx)?;
        let absent = || AdminError::NotFound("connection");
        let row = self.store.find_connection(id).await?.ok_or_else(absent)?;
        if ctx.account_of_caller().is_some_and(|own| own != row.account) {
            return Err(absent());
        }
        let reach = self.reach(ctx, row.account).await?;
        let member = self.member_within(&reach, row.account, row.member).await.map_err(|_| absent())?;
        ctx.need_write()?;
        check_rank(&reach, &member)?;
        let audit = self
            .admin_audit(ctx, row.account, Some(row.project), "connection.revoke", id)
            .about(row.client_name.as_deref().unwrap_or_default());
        let was_alive = self.store.revoke_connection(id, ctx.now, audit).await?;
        if was_alive { Ok(()) } else { Err(absent()) }
    }
}
