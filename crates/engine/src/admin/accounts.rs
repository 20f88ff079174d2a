//! Accounts and their subscriptions: managed by the operator.

use mnemon_core::{Account, AccountId, PlanLimits, PlanName, Subscription, Timestamp};

use super::{AdminContext, AdminError};
use crate::Engine;

impl Engine {
    /// Creates an account. Without a plan it can do nothing until one is activated.
    pub async fn create_account(
        &self,
        ctx: &AdminContext,
        name: &str,
        plan: Option<PlanName>,
        paid_until: Option<Timestamp>,
    ) -> Result<Account, AdminError> {
        let account = self.check_new_account(ctx, name, plan, paid_until).await?;
        let audit = self.admin_audit(ctx, account.id, None, "account.create", account.id).about(&account.name);
        self.store.insert_account(account.clone(), audit).await?;
        Ok(account)
    }

    /// An account that the operator makes.
    pub(super) async fn check_new_account(
        &self,
        ctx: &AdminContext,
        name: &str,
        plan: Option<PlanName>,
        paid_until: Option<Timestamp>,
    ) -> Result<Account, AdminError> {
        ctx.need_operator()?;
        Ok(Account {
            id: AccountId::new(self.ids.uuid(ctx.now)),
            name: self.check_name(ctx, "name", name).await?,
            subscription: Subscription { plan, paid_until, is_suspended: false },
            created_at: ctx.now,
        })
    }

    /// Accounts by id: all for the operator, its own for an admin.
    pub async fn list_accounts(
        &self,
        ctx: &AdminContext,
        after: Option<AccountId>,
        limit: usize,
    ) -> Result<Vec<Account>, AdminError> {
        ctx.need_operator()?;
        Ok(self.store.list_accounts(after, limit).await?)
    }

    pub async fn show_account(&self, ctx: &AdminContext, id: AccountId) -> Result<Account, AdminError> {
        ctx.need_admin(id)?;
        self.find_account_or_absent(id).await
    }

    /// Sets an account's plan.
    pub async fn set_subscription(
        &self,
        ctx: &AdminContext,
        id: AccountId,
        plan: Option<PlanName>,
        paid_until: Option<Timestamp>,
    ) -> Result<Account, AdminError> {
        self.change_subscription(ctx, id, "subscription.change", |subscription| {
            subscription.plan = plan;
            subscription.paid_until = paid_until;
        })
        .await
    }

    /// How many projects and live records an account has, for the operator.
    pub async fn show_account_size(&self, ctx: &AdminContext, id: AccountId) -> Result<(u64, u64), AdminError> {
        ctx.need_operator()?;
        Ok(self.store.count_projects(id).await?)
    }

    /// Every plan with its limits, smallest first, for the operator.
    pub fn list_plans(&self, ctx: &AdminContext) -> Result<Vec<(PlanName, PlanLimits)>, AdminError> {
        ctx.need_operator()?;
        Ok(PlanName::ALL.into_iter().map(|plan| (plan, *self.plans.limits(plan))).collect())
    }

    /// Suspends an account or lifts the suspension; it takes effect with the next request.
    pub async fn set_suspension(
        &self,
        ctx: &AdminContext,
        id: AccountId,
        is_suspended: bool,
    ) -> Result<Account, AdminError> {
        let action = if is_suspended { "account.suspend" } else { "account.resume" };
        self.change_subscription(ctx, id, action, |subscription| subscription.is_suspended = is_suspended).await
    }

    async fn change_subscription(
        &self,
        ctx: &AdminContext,
        id: AccountId,
        action: &'static str,
        change: impl FnOnce(&mut Subscription),
    ) -> Result<Account, AdminError> {
        ctx.need_operator()?;
        let mut account = self.find_account_or_absent(id).await?;
        change(&mut account.subscription);
        let audit = self.admin_audit(ctx, id, None, action, id).about(&account.name);
        let is_known = self.store.update_subscription(id, account.subscription, audit).await?;
        if is_known { Ok(account) } else { Err(AdminError::NotFound("account")) }
    }

    pub(super) async fn find_account_or_absent(&self, id: AccountId) -> Result<Account, AdminError> {
        self.store.find_account(id).await?.ok_or(AdminError::NotFound("account"))
    }
}
