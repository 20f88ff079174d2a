//! What comes before every use of memory, by whatever way it comes: rate limits, then the subscription.

use std::marker::PhantomData;

use mnemon_core::{Access, PlanLimits};

use crate::admin::{AdminContext, AdminError};
use crate::usage::Counted;
use crate::{CallContext, CallError, Engine};

/// The tools, by what they need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tool {
    /// Saves.
    Remember,
    /// Reads.
    Search,
    /// Deletes.
    Forget,
    /// Reads, and records what was observed of a source.
    ValidateMemory,
    /// Reaches other systems.
    GatewayCall,
}

impl Tool {
    /// The tool's name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Remember => "remember",
            Self::Search => "search",
            Self::Forget => "forget",
            Self::ValidateMemory => "validate_memory",
            Self::GatewayCall => "gateway_call",
        }
    }

    const fn needs_active_subscription(self) -> bool {
        matches!(self, Self::Remember | Self::Forget | Self::GatewayCall)
    }

    const fn needs_write_access(self) -> bool {
        matches!(self, Self::Remember | Self::Forget)
    }
}

/// A call to a tool, by its arguments.
pub trait ToolCall {
    /// The tool that is called.
    const TOOL: Tool;
}

/// What a request of the admin API or the console does with records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoryUse {
    /// It shows them, or says which of them still hold.
    Reads,
    /// It adds, forgets, restores or purges them.
    Writes,
}

/// Proof that a call passed the checks before its tool. What lets a read-only key search does not let it save, so a
/// proof is worth something for one kind of call alone.
#[derive(Debug)]
#[must_use]
pub struct Admission<Call: ToolCall>(PhantomData<Call>);

/// Whether the subscription and the key allow a tool.
pub(crate) fn check_rights(ctx: &CallContext, tool: Tool) -> Result<(), CallError> {
    let state = ctx.subscription;
    let is_allowed = if tool.needs_active_subscription() { state.allows_writing() } else { state.allows_reading() };
    if !is_allowed {
        return Err(CallError::Subscription(state));
    }
    if tool.needs_write_access() && ctx.credential.access == Access::Read {
        return Err(CallError::ReadOnlyKey);
    }
    Ok(())
}

impl Engine {
    /// Admits and counts a call, or says why not.
    pub fn admit<Call: ToolCall>(&self, ctx: &CallContext) -> Result<Admission<Call>, CallError> {
        self.count_call(ctx)?;
        self.admit_again(ctx)
    }

    /// Admits the call that a counted request makes.
    pub(crate) fn admit_again<Call: ToolCall>(&self, ctx: &CallContext) -> Result<Admission<Call>, CallError> {
        check_rights(ctx, Call::TOOL)?;
        Ok(Admission(PhantomData))
    }

    /// Admits and counts a request that uses records without being a tool call. The operator has no plan and no limits.
    pub fn admit_to_memory(&self, ctx: &AdminContext, memory: MemoryUse) -> Result<(), AdminError> {
        let Some(call) = ctx.call() else { return Ok(()) };
        self.count_call(call)?;
        let state = call.subscription;
        let is_allowed = match memory {
            MemoryUse::Reads => state.allows_reading(),
            MemoryUse::Writes => state.allows_writing(),
        };
        if is_allowed { Ok(()) } else { Err(AdminError::Call(CallError::Subscription(state))) }
    }

    fn count_call(&self, ctx: &CallContext) -> Result<(), CallError> {
        let limits = self.plan_limits(ctx);
        let passed = self.rates.pass(ctx.connection_id(), ctx.project(), &limits, &ctx.elsewhere, ctx.now);
        match &passed {
            Err(CallError::ConnectionRate { .. }) => {
                self.counts.connection_limits.add(1);
                self.usage.count(ctx, Counted::RefusedByConnection);
            }
            Err(CallError::ProjectRate { .. }) => {
                self.counts.project_limits.add(1);
                self.usage.count(ctx, Counted::RefusedByProject);
            }
            _ => {}
        }
        passed?;
        self.usage.count(ctx, Counted::Call);
        Ok(())
    }

    /// What the caller's plan allows. An account without a plan can do nothing anyway, so it needs no limits.
    pub(crate) fn plan_limits(&self, ctx: &CallContext) -> PlanLimits {
        ctx.credential.subscription.plan.map_or_else(PlanLimits::default, |plan| *self.plans.limits(plan))
    }
}
