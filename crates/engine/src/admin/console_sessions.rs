//! Sessions of the console: listed, and ended from elsewhere, by the person they belong to and by those who manage that
//! person.

use mnemon_core::{ConsoleSessionId, Member, Project, ProjectId};
use mnemon_store::OpenSession;

use super::members::outranks;
use super::{AdminContext, AdminError, Reach};
use crate::Engine;

const ABSENT: AdminError = AdminError::NotFound("console session");

impl Engine {
    /// The open sessions of a project that the caller may end, oldest first: its own, and those of whom it manages.
    pub async fn list_console_sessions(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
    ) -> Result<Vec<OpenSession>, AdminError> {
        let project = self.readable_project(ctx, project).await?;
        self.sessions_within(ctx, &project).await
    }

    /// Ends a session at its next click. The key stays.
    pub async fn end_console_session(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        id: ConsoleSessionId,
    ) -> Result<(), AdminError> {
        let project = self.readable_project(ctx, project).await?;
        let open = self.sessions_within(ctx, &project).await?;
        let session = open.into_iter().find(|session| session.holder.id == id).ok_or(ABSENT)?;
        // A read-only key may still sign itself out.
        if ctx.credential().is_none_or(|own| own.key != session.holder.key) {
            ctx.need_write()?;
        }
        let members = self.store.list_members(project.account).await?;
        let holder = members.iter().find(|member| member.id == session.holder.member);
        let name = holder.map(|member| member.name.as_str()).unwrap_or_default();
        let audit = self.admin_audit(ctx, project.account, Some(project.id), "console.end", id).about(name);
        let was_open = self.store.end_console_session(project.id, id, audit).await?;
        if was_open { Ok(()) } else { Err(ABSENT) }
    }

    async fn sessions_within(&self, ctx: &AdminContext, project: &Project) -> Result<Vec<OpenSession>, AdminError> {
        let mut open = self.store.list_console_sessions(project.id, ctx.now).await?;
        let own = ctx.member_of_caller();
        if ctx.plain_member().is_some() {
            open.retain(|session| Some(session.holder.member) == own);
            return Ok(open);
        }
        let reach = self.reach(ctx, project.account).await?;
        if let Reach::Departments(_) = &reach {
            let members = self.store.list_members(project.account).await?;
            let manages = |member: &Member| reach.covers(member.department) && !outranks(&reach, member);
            open.retain(|session| {
                let holder = session.holder.member;
                Some(holder) == own || members.iter().any(|member| member.id == holder && manages(member))
            });
        }
        Ok(open)
    }
}
