//! `gateway_call`, and integration tools under their own names: both return the upstream's own result.

use mnemon_engine::integrations::OfferedTool;
use mnemon_engine::{Admission, CallError, GatewayCall, ToolResult};
use mnemon_protocol::tools::{Annotations, Tool as Description};

use super::Arguments;
use crate::mcp::Call;

pub(super) async fn run(
    call: &Call<'_>,
    admission: Admission<GatewayCall>,
    mut arguments: Arguments,
) -> Result<ToolResult, CallError> {
    let gateway_call = parse(&mut arguments)?;
    call.app.engine.gateway_call(call.ctx, admission, gateway_call).await
}

fn parse(arguments: &mut Arguments) -> Result<GatewayCall, CallError> {
    let missing = |name: &str| CallError::Argument(format!("{name} is required"));
    let server = arguments.filled_text("server")?.ok_or_else(|| missing("server"))?;
    let tool = arguments.filled_text("tool")?.ok_or_else(|| missing("tool"))?;
    let arguments = arguments.object("arguments")?.unwrap_or_default();
    Ok(GatewayCall { server, tool, arguments })
}

/// An integration tool, as listed. Its result is the upstream's, so it has no schema of ours.
pub(super) fn description(tool: OfferedTool) -> Description {
    Description {
        name: tool.name,
        title: Some(tool.title.clone()),
        description: tool.description,
        input_schema: tool.input_schema,
        output_schema: None,
        annotations: Annotations {
            title: Some(tool.title),
            read_only: true,
            destructive: Some(false),
            idempotent: true,
            open_world: Some(true),
        },
    }
}
