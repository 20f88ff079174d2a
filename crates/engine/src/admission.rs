//! What comes before every tool call: rate limits, then the subscription.

use std::marker::PhantomData;

use mnemon_core::{Access, PlanLimits};

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
    /// Reads, and records what it is told about a source.
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

/// Proof that a call passed what stands before its tool. What lets a read-only key search does not let it save, so a proof
/// is worth something for one kind of call alone.
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
        let tool = Call::TOOL;
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
        check_rights(ctx, tool)?;
        Ok(Admission(PhantomData))
    }

    /// What the caller's plan allows. An account without a plan can do nothing anyway, so it needs no limits.
    pub(crate) fn plan_limits(&self, ctx: &CallContext) -> PlanLimits {
        ctx.credential.subscription.plan.map_or_else(PlanLimits::default, |plan| *self.plans.limits(plan))
    }
}
