//! Calls a tool of another system: through `gateway_call`, or under its own name. Both ways reach the same tools, and
//! both leave an audit row: which tool and the outcome, never the arguments or the answer.

use mnemon_gateway::{ToolResult, UpstreamTool};
use mnemon_store::{IntegrationRow, ProjectIntegrations, StoreError, ToolRow};
use mnemon_traces::span;
use serde_json::{Map, Value};
use tracing::Instrument;

use crate::integrations::{OfferedTool, ToolNames, ToolState, describe, split, state_of};
use crate::{Admission, CallContext, CallError, Connection, Engine, Tool, ToolCall};

#[derive(Debug, Clone, PartialEq)]
pub struct GatewayCall {
    pub server: String,
    pub tool: String,
    pub arguments: Map<String, Value>,
}

/// A tool that the caller may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntegrationTool {
    integration: IntegrationRow,
    tool: String,
}

impl ToolCall for GatewayCall {
    const TOOL: Tool = Tool::GatewayCall;
}

impl Engine {
    /// The tools of the project's integrations, by name. OAuth callers have none.
    pub async fn list_integration_tools(&self, ctx: &CallContext) -> Result<Vec<OfferedTool>, StoreError> {
        if ctx.connection != Connection::Key {
            return Ok(Vec::new());
        }
        let found = self.fresh_integrations(ctx, |_| true).await?;
        let style = found.tool_names.as_deref().and_then(ToolNames::parse).unwrap_or_default();
        let mut offered: Vec<OfferedTool> = Vec::new();
        for row in found.rows.iter().filter(|row| row.is_enabled) {
            for tool in &row.tools {
                let read = UpstreamTool::from_definition(&tool.seen.definition);
                if self.tool_state(ctx, row, tool, read.as_ref()).await? == ToolState::Offered {
                    offered.extend(read.and_then(|read| describe(row, &read, style)));
                }
            }
        }
        offered.sort_by(|one, other| one.name.cmp(&other.name));
        // Two tools that differ only by a dot have one name with underscores, and a list names each once.
        offered.dedup_by(|one, other| one.name == other.name);
        Ok(offered)
    }

    /// Whether a name has the form of an integration's tool. Looks nothing up.
    pub fn names_integration_tool(&self, ctx: &CallContext, name: &str) -> bool {
        ctx.connection == Connection::Key && split(name).is_some()
    }

    /// The tool that a name means for this caller. Looking it up costs as much as a call, so it takes an admission:
    /// unknown names count against the limits too.
    pub async fn find_integration_tool(
        &self,
        ctx: &CallContext,
        _admission: &Admission<GatewayCall>,
        name: &str,
    ) -> Result<Option<IntegrationTool>, StoreError> {
        let Some(split) = split(name).filter(|_| ctx.connection == Connection::Key) else { return Ok(None) };
        let Some(row) = self.find_enabled(ctx, split.integration).await? else { return Ok(None) };
        let names = row.tools.iter().map(|tool| tool.seen.name.as_str());
        let Some(tool) = split.pick(names).map(str::to_owned) else { return Ok(None) };
        self.offered(ctx, row, tool).await
    }

    /// Calls an integration's tool by their names.
    pub async fn gateway_call(
        &self,
        ctx: &CallContext,
        admission: Admission<GatewayCall>,
        call: GatewayCall,
    ) -> Result<ToolResult, CallError> {
        let absent = || CallError::IntegrationNotEnabled(call.server.clone());
        let row = self.find_enabled(ctx, &call.server).await?.ok_or_else(absent)?;
        let has_answered = row.seen_at.is_some();
        let not_offered = || match has_answered {
            true => CallError::ToolNotOffered { server: call.server.clone(), tool: call.tool.clone() },
            false => CallError::IntegrationSilent(call.server.clone()),
        };
        let tool = self.offered(ctx, row, call.tool.clone()).await?.ok_or_else(not_offered)?;
        self.call_integration_tool(ctx, admission, tool, &call.arguments).await
    }

    /// Calls a tool that was found.
    pub async fn call_integration_tool(
        &self,
        ctx: &CallContext,
        _admission: Admission<GatewayCall>,
        called: IntegrationTool,
        arguments: &Map<String, Value>,
    ) -> Result<ToolResult, CallError> {
        let IntegrationTool { integration, tool } = called;
        let outcome = match self.integrations.upstream(ctx.into(), &integration) {
            Ok(upstream) => {
                let calling = self.integrations.gateway.call(&upstream, &tool, arguments, ctx.now);
                calling.instrument(span!("upstream")).await
            }
            Err(error) => Err(error),
        };
        let word = match &outcome {
            Ok(result) if result.is_error => "tool error",
            Ok(_) => "ok",
            Err(_) => "failed",
        };
        let subject = format!("{}.{tool}: {word}", integration.name);
        self.store.insert_audit(self.audit(ctx, "integration.call", subject)).await?;
        outcome.map_err(|error| CallError::Upstream { server: integration.name, error })
    }

    async fn find_enabled(&self, ctx: &CallContext, name: &str) -> Result<Option<IntegrationRow>, StoreError> {
        let found = self.fresh_integrations(ctx, |row| row.name == name).await?;
        Ok(found.rows.into_iter().find(|row| row.name == name && row.is_enabled))
    }

    async fn offered(
        &self,
        ctx: &CallContext,
        integration: IntegrationRow,
        name: String,
    ) -> Result<Option<IntegrationTool>, StoreError> {
        let Some(tool) = integration.tools.iter().find(|tool| tool.seen.name == name) else { return Ok(None) };
        let read = UpstreamTool::from_definition(&tool.seen.definition);
        let state = self.tool_state(ctx, &integration, tool, read.as_ref()).await?;
        Ok((state == ToolState::Offered).then_some(IntegrationTool { integration, tool: name }))
    }

    /// The project's integrations. Those that are meant are listed again first if their lists are old.
    async fn fresh_integrations(
        &self,
        ctx: &CallContext,
        is_meant: impl Fn(&IntegrationRow) -> bool,
    ) -> Result<ProjectIntegrations, StoreError> {
        let found = self.store.list_integrations(ctx.project()).await?;
        let meant = found.rows.iter().filter(|row| is_meant(row));
        if self.integrations.freshen(ctx.into(), meant, ctx.now).await {
            return self.store.list_integrations(ctx.project()).await;
        }
        Ok(found)
    }

    async fn tool_state(
        &self,
        ctx: &CallContext,
        row: &IntegrationRow,
        tool: &ToolRow,
        read: Option<&UpstreamTool>,
    ) -> Result<ToolState, StoreError> {
        let is_released = match tool.seen.refused_text {
            None => true,
            Some(hash) => self.is_let_through(ctx.credential.account, ctx.project(), hash).await?,
        };
        Ok(state_of(row, tool, read, is_released))
    }
}
