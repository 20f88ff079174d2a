//! The tools: one table of names, schemas and hints, and the dispatch from a call to its use case.

mod arguments;
mod descriptions;
mod forget;
mod gateway_call;
mod remember;
mod search;
mod validate_memory;

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use bytes::Bytes;
use mnemon_core::WorkspaceName;
use mnemon_engine::{Admission, CallError, Connection, GatewayCall, IntegrationTool, Tool, ToolResult};
use mnemon_protocol::jsonrpc::{RpcError, code};
use mnemon_protocol::tools::Tool as Description;
use mnemon_traces::span;
use serde_json::{Map, Value};
use tracing::field::Empty;
use tracing::{Instrument, Span};

use super::Call;
use super::refusal::Failed;
use crate::access_log::note;
use crate::http::Shared;

use super::render::{OwnResult, passed_on, tool_failure, tool_success};
use arguments::Arguments;

/// How long tools of other systems are looked up: in storage, and then in the systems themselves, which have two
/// seconds.
const LISTING_MAX: Duration = Duration::from_secs(4);

/// The fields that tell callers with a key whose data a result is.
const INTERNAL_FIELDS: [&str; 3] = ["api_version", "tenant_id", "project_id"];

struct Row {
    tool: Tool,
    /// Whether OAuth callers have it.
    is_memory: bool,
    description: Description,
    /// Its description for OAuth callers.
    discreet: Description,
}

/// All of our own tools, in the order they are listed.
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

/// Our own tools that a caller may use.
pub(crate) fn visible_to(connection: Connection) -> Vec<&'static Description> {
    let shown = |row: &'static Row| if connection == Connection::Key { &row.description } else { &row.discreet };
    TABLE.iter().filter(|row| row.is_visible_to(connection)).map(shown).collect()
}

/// A description without the fields that OAuth callers never see.
fn without_internals(mut description: Description) -> Description {
    let properties = description.output_schema.as_mut().and_then(|schema| schema["properties"].as_object_mut());
    if let Some(properties) = properties {
        properties.retain(|name, _| !INTERNAL_FIELDS.contains(&name.as_str()));
    }
    description
}

/// The tools of the project's integrations.
pub(crate) async fn of_integrations(call: &Call<'_>) -> Result<Vec<Description>, RpcError> {
    let listing = async { Ok(call.app.engine.list_integration_tools(call.ctx).await?) };
    let offered = call.app.engine.in_time(LISTING_MAX, listing).await.map_err(|error| storage_failed(&error))?;
    Ok(offered.into_iter().map(gateway_call::description).collect())
}

/// What is called.
enum Called {
    Own(Tool),
    Integration(Box<IntegrationTool>, Admission<GatewayCall>),
}

/// The label of all tools of other systems: their names are not ours to put into figures.
const INTEGRATION: &str = "integration";

impl Called {
    /// What figures call it.
    const fn label(&self) -> &'static str {
        match self {
            Self::Own(tool) => tool.as_str(),
            Self::Integration(..) => INTEGRATION,
        }
    }
}

/// What a tool answered.
enum Answered {
    Own(OwnResult),
    /// Another system's, byte for byte.
    PassedOn(ToolResult),
}

/// `tools/call`.
pub(crate) async fn call(call: &Call<'_>, mut params: Map<String, Value>) -> Result<Bytes, Failed> {
    let name = match params.remove("name") {
        Some(Value::String(name)) => name,
        _ => return Err(RpcError::new(code::INVALID_PARAMS, "params.name must be the name of a tool").into()),
    };
    let arguments = match params.remove("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Err(RpcError::new(code::INVALID_PARAMS, "params.arguments must be an object").into()),
    };
    let is_search = name == Tool::Search.as_str();
    let mut held = match is_search {
        true => call.app.room.reserve(call.whose(), search::bytes_max(&arguments)).await?,
        false => call.app.room.unreserved(call.whose()),
    };
    let begun = Instant::now();
    let span = span!("tool", mnemon.tool = Empty, mnemon.outcome = Empty);
    // Boxed: the future is large and is moved several times.
    let answering = Box::pin(async {
        Ok::<_, RpcError>(match find(call, &name).await? {
            Ok(called) => (called.label(), run(call, called, arguments).await),
            Err(refusal) => (INTEGRATION, Err(refusal)),
        })
    });
    let (label, outcome) = answering.instrument(span.clone()).await?;
    Ended { label, name: &name, begun, span: &span }.report(call.app, outcome.as_ref().map(|_| ()));
    let body = match outcome {
        Ok(Answered::Own(result)) => {
            let fits = held.settle(result.size_bytes());
            if is_search {
                // Texts that are mostly escapes are larger than estimated. A call that changed something is answered in
                // any case.
                fits?;
            }
            tool_success(call, &*result)
        }
        Ok(Answered::PassedOn(result)) => passed_on(call, &result),
        Err(error) => tool_failure(call, &name, &error, advice(call, &error).await.as_deref()),
    };
    Ok(held.carry(body.into()))
}

/// A call that has come to an end.
struct Ended<'a> {
    label: &'static str,
    name: &'a str,
    begun: Instant,
    span: &'a Span,
}

impl Ended<'_> {
    /// Records how it ended, for figures, traces and the access log.
    fn report(&self, app: &Shared, outcome: Result<(), &CallError>) {
        let word = app.metrics.count_call(self.label, outcome, self.begun.elapsed());
        self.span.record("mnemon.tool", self.label).record("mnemon.outcome", word);
        note(|notes| (notes.tool, notes.outcome) = (Some(self.label), Some(word)));
        tracing::debug!(tool = %self.name, is_error = outcome.is_err(), "a tool was called");
    }
}

/// What a model can do next, where that helps it on. It follows the error, which stays to the letter.
async fn advice(call: &Call<'_>, error: &CallError) -> Option<String> {
    match error {
        CallError::ConnectionRate { retry_after_seconds } | CallError::ProjectRate { retry_after_seconds } => {
            Some(format!("Try again in {retry_after_seconds} s."))
        }
        CallError::WorkspaceNotActive(_) => {
            // Without the list the error still says what is wrong.
            let names = call.app.engine.active_workspaces(call.ctx).await.unwrap_or_default();
            let names: Vec<&str> = names.iter().map(WorkspaceName::as_str).collect();
            (!names.is_empty()).then(|| format!("Active workspaces: {}", names.join(", ")))
        }
        _ => None,
    }
}

/// The tool with this name, if the caller may use it. A tool that it may not call is as unknown as one that does not
/// exist. Tools of integrations have to be looked up, so such a name is admitted first, whether it means something or
/// not.
async fn find(call: &Call<'_>, name: &str) -> Result<Result<Called, CallError>, RpcError> {
    let (engine, ctx) = (&call.app.engine, call.ctx);
    let row = TABLE.iter().find(|row| row.description.name == name && row.is_visible_to(ctx.connection));
    if let Some(row) = row {
        return Ok(Ok(Called::Own(row.tool)));
    }
    let unknown = || RpcError::new(code::INVALID_PARAMS, format!("Unknown tool: {name}"));
    if !engine.names_integration_tool(ctx, name) {
        return Err(unknown());
    }
    let admission = match engine.admit(ctx) {
        Ok(admission) => admission,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let finding = async { Ok(engine.find_integration_tool(ctx, &admission, name).await?) };
    match engine.in_time(LISTING_MAX, finding).await {
        Ok(Some(tool)) => Ok(Ok(Called::Integration(Box::new(tool), admission))),
        Ok(None) => Err(unknown()),
        Err(error) => Ok(Err(error)),
    }
}

fn storage_failed(error: &CallError) -> RpcError {
    tracing::error!(%error, "could not look up integrations");
    RpcError::new(code::INTERNAL_ERROR, "storage is unavailable; retry in a few seconds")
}

/// Admits a call to a tool of ours before its arguments are looked at, and runs it.
async fn run(call: &Call<'_>, called: Called, arguments: Map<String, Value>) -> Result<Answered, CallError> {
    let (engine, ctx) = (&call.app.engine, call.ctx);
    let tool = match called {
        Called::Own(tool) => tool,
        Called::Integration(tool, admission) => {
            // Calls that go elsewhere are large. Apart, they don't make ours larger.
            let result = Box::pin(engine.call_integration_tool(ctx, admission, *tool, &arguments)).await?;
            return Ok(Answered::PassedOn(result));
        }
    };
    let arguments = Arguments::new(arguments);
    let left = call.left;
    let result = match tool {
        Tool::Remember => engine.in_time(left, remember::run(call, engine.admit(ctx)?, arguments)).await,
        Tool::Search => engine.in_time(left, search::run(call, engine.admit(ctx)?, arguments)).await,
        Tool::Forget => engine.in_time(left, forget::run(call, engine.admit(ctx)?, arguments)).await,
        Tool::ValidateMemory => engine.in_time(left, validate_memory::run(call, engine.admit(ctx)?, arguments)).await,
        Tool::GatewayCall => {
            return Box::pin(gateway_call::run(call, engine.admit(ctx)?, arguments)).await.map(Answered::PassedOn);
        }
    };
    result.map(Answered::Own)
}
