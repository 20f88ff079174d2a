//! The tools: one table of names, schemas and hints, and the way from a call to its use case.

mod arguments;
mod descriptions;
mod forget;
mod gateway_call;
mod remember;
mod search;
mod validate_memory;

use std::sync::LazyLock;

use mnemon_engine::{Admission, CallError, Connection, Tool};
use mnemon_protocol::jsonrpc::{RpcError, code};
use mnemon_protocol::tools::Tool as Description;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::Call;
use super::render::{tool_failure, tool_success};
use arguments::Arguments;

/// What results of memory tools say of whose they are, to callers with a key.
const INTERNAL_FIELDS: [&str; 3] = ["api_version", "tenant_id", "project_id"];

struct Row {
    tool: Tool,
    /// Whether callers by OAuth have it.
    is_memory: bool,
    description: Description,
    /// How it is described to callers by OAuth.
    discreet: Description,
}

/// Every tool of our own, in the order in which it is listed.
static TABLE: LazyLock<Vec<Row>> = LazyLock::new(|| {
    vec![
        Row::new(Tool::Remember, true, descriptions::remember()),
        Row::new(Tool::Search, true, descriptions::search()),
        Row::new(Tool::Forget, true, descriptions::forget()),
        Row::new(Tool::ValidateMemory, true, descriptions::validate_memory()),
        Row::new(Tool::GatewayCall, false, descriptions::gateway_call()),
    ]
});

impl Row {
    fn new(tool: Tool, is_memory: bool, description: Description) -> Self {
        Self { tool, is_memory, discreet: without_internals(description.clone()), description }
    }

    fn is_visible_to(&self, connection: Connection) -> bool {
        self.is_memory || connection == Connection::Key
    }
}

/// The tools that a caller has.
pub(crate) fn visible_to(connection: Connection) -> Vec<&'static Description> {
    let shown = |row: &'static Row| if connection == Connection::Key { &row.description } else { &row.discreet };
    TABLE.iter().filter(|row| row.is_visible_to(connection)).map(shown).collect()
}

/// A description that does not name the fields which callers by OAuth never see.
fn without_internals(mut description: Description) -> Description {
    let properties = description.output_schema.as_mut().and_then(|schema| schema["properties"].as_object_mut());
    if let Some(properties) = properties {
        properties.retain(|name, _| !INTERNAL_FIELDS.contains(&name.as_str()));
    }
    description
}

/// `tools/call`.
pub(crate) async fn call(call: &Call<'_>, mut params: Map<String, Value>) -> Result<Vec<u8>, RpcError> {
    let name = match params.remove("name") {
        Some(Value::String(name)) => name,
        _ => return Err(RpcError::new(code::INVALID_PARAMS, "params.name must be the name of a tool")),
    };
    let arguments = match params.remove("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Err(RpcError::new(code::INVALID_PARAMS, "params.arguments must be an object")),
    };
    let row = TABLE.iter().find(|row| row.description.name == name && row.is_visible_to(call.ctx.connection));
    let Some(row) = row else {
        return Err(RpcError::new(code::INVALID_PARAMS, format!("Unknown tool: {name}")));
    };
    let outcome = match call.app.engine.admit(call.ctx, row.tool) {
        Ok(admission) => run(call, row.tool, admission, Arguments::new(arguments)).await,
        Err(refusal) => Err(refusal),
    };
    tracing::debug!(tool = %name, is_error = outcome.is_err(), "a tool was called");
    Ok(match outcome {
        Ok(result) => tool_success(call, &result),
        Err(error) => tool_failure(call, row.tool, &error),
    })
}

async fn run(
    call: &Call<'_>,
    tool: Tool,
    admission: Admission,
    arguments: Arguments,
) -> Result<Box<RawValue>, CallError> {
    match tool {
        Tool::Remember => remember::run(call, admission, arguments).await,
        Tool::Search => search::run(call, admission, arguments).await,
        Tool::Forget => forget::run(call, admission, arguments).await,
        Tool::ValidateMemory => validate_memory::run(call, admission, arguments).await,
        Tool::GatewayCall => gateway_call::run(call, admission, arguments).await,
    }
}
