//! Uploaded session histories: whose, how large, and deletion. Never the text.

use mnemon_core::{ProjectId, SessionId};
use mnemon_store::Session;

use super::{AdminContext, AdminError};
use crate::Engine;

/// A page of sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPage {
    /// The sessions, by the time of their first upload.
    pub sessions: Vec<Session>,
    /// Where the next page starts, if there may be one.
    pub next: Option<SessionId>,
}

impl Engine {
    /// Lists the sessions of a project. Whoever is no admin sees its own.
    pub async fn list_sessions(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        after: Option<SessionId>,
        limit: usize,
    ) -> Result<SessionPage, AdminError> {
        let project = self.readable_project(ctx, project).await?;
        let member = ctx.not_admin().map(|caller| caller.member);
        let sessions = self.store.list_sessions(project.id, member, after, limit).await?;
        let next = sessions.last().map(|session| session.id).filter(|_| sessions.len() == limit);
        Ok(SessionPage { sessions, next })
    }

    /// Deletes a session permanently.
    pub async fn delete_session(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        id: SessionId,
    ) -> Result<(), AdminError> {
        let project = self.admin_project(ctx, project).await?;
        ctx.need_write()?;
        let audit = self.admin_audit(ctx, project.account, Some(project.id), "session.delete", id);
        let was_there = self.store.delete_session(project.id, id, audit).await?;
        if was_there { Ok(()) } else { Err(AdminError::NotFound("session")) }
    }
}
