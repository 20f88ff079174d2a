//! `gateway_call`: a tool of another system.

use mnemon_engine::{Admission, CallError, GatewayCall};
use serde_json::value::RawValue;

use super::Arguments;
use crate::mcp::Call;

pub(super) async fn run(
    call: &Call<'_>,
    admission: Admission,
    mut arguments: Arguments,
) -> Result<Box<RawValue>, CallError> {
    let gateway_call = parse(&mut arguments)?;
    match call.app.engine.gateway_call(call.ctx, admission, gateway_call).await? {}
}

fn parse(arguments: &mut Arguments) -> Result<GatewayCall, CallError> {
    let missing = |name: &str| CallError::Argument(format!("{name} is required"));
    let server = arguments.filled_text("server")?.ok_or_else(|| missing("server"))?;
    let tool = arguments.filled_text("tool")?.ok_or_else(|| missing("tool"))?;
    arguments.object("arguments")?;
    Ok(GatewayCall { server, tool })
}
