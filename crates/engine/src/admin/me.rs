//! Who the caller is, and what it may do.

use std::sync::Arc;

use mnemon_core::{Account, PlanLimits, Project, SubscriptionState};
use mnemon_store::Credential;

use super::{AdminContext, AdminError};
use crate::Engine;

/// A member, as its key presents it.
#[derive(Debug, Clone)]
pub struct Me {
    pub credential: Arc<Credential>,
    pub account: Account,
    pub project: Project,
    /// What the account's plan allows; none without a plan.
    pub limits: Option<PlanLimits>,
    pub state: SubscriptionState,
}

impl Engine {
    /// The caller itself. The operator is no member of anything.
    pub async fn show_me(&self, ctx: &AdminContext) -> Result<Option<Me>, AdminError> {
        let Some(credential) = ctx.credential() else { return Ok(None) };
        let account = self.find_account_or_absent(credential.account).await?;
        let project = self.reachable_project(ctx, credential.project).await?;
        let limits = account.plan().map(|plan| *self.plans.limits(plan));
        let state = account.subscription.state(ctx.now);
        Ok(Some(Me { credential: Arc::clone(credential), account, project, limits, state }))
    }
}
