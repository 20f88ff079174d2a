//! Uploaded session histories: whose, how large, and deletion. Never the text.

use mnemon_core::{ProjectId, SessionId};
use mnemon_store::Session;

use super::{AdminContext, AdminError};
use crate::Engine;

/// A page of sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPage {
    /// The sessions, by the time of their last upload, the latest first.
    pub sessions: Vec<Session>,
    /// How many there are on all pages.
    pub count: u64,
    /// Bytes of text that are kept of all of them.
    pub kept_bytes: u64,
    /// How many bytes the project may keep, by the account's plan.
    pub bytes_max: Option<u64>,
    /// Where the next page starts, if there may be one.
    pub next: Option<SessionId>,
}

impl Engine {
    /// Lists the sessions of a project. Members who are not admins see their own.
    pub async fn list_sessions(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        after: Option<SessionId>,
        limit: usize,
    ) -> Result<SessionPage, AdminError> {
        let project = self.readable_project(ctx, project).await?;
        let member = ctx.not_admin().map(|caller| caller.member);
        let sessions = self.store.list_latest_sessions(project.id, member, after, limit).await?;
        let (count, kept_bytes) = self.store.sum_sessions(project.id, member).await?;
        let account = self.find_account_or_absent(project.account).await?;
        let bytes_max = account.plan().and_then(|plan| self.plans.limits(plan).history_bytes_max);
        let next = sessions.last().map(|session| session.id).filter(|_| sessions.len() == limit);
        Ok(SessionPage { sessions, count, kept_bytes, bytes_max, next })
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
