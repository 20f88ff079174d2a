//! Converts engine values to what goes over the wire.

use mnemon_core::SubscriptionState;
use mnemon_engine::stored::StoreError;
use mnemon_engine::{CallError, Connection, ToolResult};
use mnemon_protocol::API_VERSION;
use mnemon_protocol::jsonrpc::success;
use mnemon_protocol::memory::{CommonMembers, MemoryResult};
use mnemon_protocol::result::{GuardMeta, ResultMeta, ServerInfo, SubscriptionMeta, Trailer};
use mnemon_protocol::tool_result::{self, Form, Twice};
use mnemon_protocol::tools::{CallToolResult, PassedOnResult, TextItem};
use serde::Serialize;

use super::Call;
use super::era::Era;
use crate::access_log::note;
use crate::http::Shared;

pub(crate) fn server_info(app: &Shared) -> ServerInfo {
    ServerInfo { name: app.service_name.clone(), version: env!("CARGO_PKG_VERSION") }
}

/// What every result carries.
pub(crate) fn trailer(call: &Call<'_>) -> Trailer {
    let is_modern = call.era == Era::Modern;
    Trailer {
        result_type: is_modern.then_some("complete"),
        meta: ResultMeta {
            api_version: shows_internals(call).then_some(API_VERSION),
            server_info: is_modern.then(|| server_info(call.app)),
            subscription: subscription(call.ctx.subscription),
            retry_after_seconds: None,
            guard: None,
            time: None,
        },
    }
}

fn shows_internals(call: &Call<'_>) -> bool {
    call.ctx.connection == Connection::Key
}

fn subscription(state: SubscriptionState) -> Option<SubscriptionMeta> {
    let until = match state {
        SubscriptionState::Active => return None,
        SubscriptionState::Grace { until } => Some(until.to_string()),
        _ => None,
    };
    Some(SubscriptionMeta { state: state.as_str(), until })
}

/// The JSON of a memory tool's result.
pub(crate) fn memory_result(call: &Call<'_>, ignored_arguments: &[String], body: impl Serialize) -> OwnResult {
    Box::new(Written(to_json(&MemoryResult { body, common: common_members(call, ignored_arguments) })))
}

/// What the result of every memory tool ends with.
pub(crate) fn common_members<'a>(call: &Call<'_>, ignored_arguments: &'a [String]) -> CommonMembers<'a> {
    let credential = &call.ctx.credential;
    let is_shown = shows_internals(call);
    CommonMembers {
        ignored_arguments,
        api_version: is_shown.then_some(API_VERSION),
        tenant_id: is_shown.then(|| credential.account.to_string()),
        project_id: is_shown.then(|| credential.project.to_string()),
    }
}

pub(crate) fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("wire shapes have string keys and no failing serializers")
}

/// The result of one of our own tools.
pub(crate) type OwnResult = Box<dyn Twice + Send>;

/// A result that is already JSON.
struct Written(String);

impl Twice for Written {
    fn size_bytes(&self) -> usize {
        self.0.size_bytes()
    }

    fn write(&self, form: Form, out: &mut Vec<u8>) {
        self.0.write(form, out);
    }
}

/// The answer of a tool that succeeded. In the grace period, the notice comes first and the JSON second.
pub(crate) fn tool_success(call: &Call<'_>, result: &dyn Twice) -> Vec<u8> {
    let mut trailer = trailer(call);
    trailer.meta.time = result.time();
    tool_result::tool_success(call.id, notice(call).as_deref(), result, &trailer)
}

/// The answer of another system's tool, byte for byte.
pub(crate) fn passed_on(call: &Call<'_>, result: &ToolResult) -> Vec<u8> {
    let result = PassedOnResult {
        content: &result.content,
        structured_content: result.structured_content.as_deref(),
        is_error: result.is_error,
        trailer: &trailer(call),
    };
    success(call.id, result)
}

/// The answer of a tool that failed, under the name it was called by, and advice as a second text.
pub(crate) fn tool_failure(call: &Call<'_>, tool: &str, error: &CallError, advice: Option<&str>) -> Vec<u8> {
    let mut trailer = trailer(call);
    trailer.meta.retry_after_seconds = error.retry_after_seconds();
    if let CallError::Guard { reference } = error {
        note(|notes| notes.reference = Some(reference.clone()));
        trailer.meta.guard = Some(GuardMeta { reference: reference.clone() });
    }
    let text = match error {
        CallError::Subscription(_) => notice(call).unwrap_or_default(),
        error => format!("Error executing tool {tool}: {}", reason(call, tool, error)),
    };
    let content = [Some(text.as_str()), advice].into_iter().flatten().map(TextItem::new).collect();
    success(call.id, CallToolResult { content, structured_content: None, is_error: true, trailer: &trailer })
}

fn notice(call: &Call<'_>) -> Option<String> {
    call.ctx.subscription.notice().map(|notice| format!("[{} Notice]: {notice}", call.app.service_name))
}

/// The text for the caller. The causes of our own faults go to the log under a reference, never into the answer.
fn reason(call: &Call<'_>, tool: &str, error: &CallError) -> String {
    match error {
        CallError::Store(StoreError::Away(cause)) => {
            tracing::error!(tool, cause, "storage is unavailable");
            "storage is unavailable; retry in a few seconds".to_owned()
        }
        CallError::Store(StoreError::Full) => {
            tracing::error!(tool, "storage is full");
            "storage is full; search still works, but saving needs the operator to free space".to_owned()
        }
        CallError::Store(error) => {
            let reference = call.app.engine.new_reference(call.ctx);
            note(|notes| notes.reference = Some(reference.clone()));
            tracing::error!(tool, %reference, %error, "a call failed");
            format!("internal error (reference {reference})")
        }
        error => error.to_string(),
    }
}
