//! The page of errors: what a caller may be told, and what to do about it. Texts come from the errors themselves.

use std::fmt::Write;

use mnemon_core::{SubscriptionState, Timestamp};
use mnemon_engine::{CallError, UpstreamError};
use mnemon_store::StoreError;

pub(super) fn page() -> String {
    let mut page = "# Errors\n\nWhat the service answers when it refuses or fails, and what to do. `mnemon doctor` looks for causes on the operator's side; \
                    [Troubleshooting](../operations/troubleshooting.md) starts from symptoms.\n"
        .to_owned();
    add_tool_errors(&mut page);
    add_notices(&mut page);
    add_upstream_errors(&mut page);
    add_endpoint_errors(&mut page);
    page
}

fn add_tool_errors(page: &mut String) {
    page.push_str(
        "\n## Tool calls\n\nA refused or failed call is a result with `isError: true`. Its first text is `Error executing tool NAME: ` and one of these. \
         Where a later try may succeed, `_meta.retry_after_seconds` says when.\n\n| text | what to do |\n| --- | --- |\n",
    );
    for error in tool_errors() {
        let _ = writeln!(page, "| `{}` | {} |", shown(&error), what_to_do(&error));
    }
    page.push_str("\nWrong arguments name the argument and its limit: [Limits](limits.md).\n");
}

/// One of each, with names that stand for any.
fn tool_errors() -> Vec<CallError> {
    let name = |name: &str| name.to_owned();
    vec![
        CallError::Argument(name("content is 16385 bytes long; the limit is 16384")),
        CallError::WorkspaceNotActive(name("NAME")),
        CallError::NotFound(name("ID")),
        CallError::Guard { reference: name("REFERENCE") },
        CallError::ReadOnlyKey,
        CallError::ConnectionRate { retry_after_seconds: 1 },
        CallError::ProjectRate { retry_after_seconds: 1 },
        CallError::MemoryLimit,
        CallError::WorkspaceLimit,
        CallError::IdempotencyKeyReused,
        CallError::IntegrationNotEnabled(name("NAME")),
        CallError::ToolNotOffered { server: name("NAME"), tool: name("TOOL") },
        CallError::IntegrationSilent(name("NAME")),
        CallError::Upstream { server: name("NAME"), error: UpstreamError::Unreachable },
        CallError::Store(StoreError::Away(String::new())),
        CallError::Store(StoreError::Full),
        CallError::Store(StoreError::Failed(String::new())),
    ]
}

/// What a caller reads. The causes of our own faults stay in the log, so the endpoint has texts of its own for them; a
/// test of the repository looks for these there.
fn shown(error: &CallError) -> String {
    match error {
        CallError::Store(StoreError::Away(_)) => "storage is unavailable; retry in a few seconds".to_owned(),
        CallError::Store(StoreError::Full) => {
            "storage is full; search still works, but saving needs the operator to free space".to_owned()
        }
        CallError::Store(_) => "internal error (reference REFERENCE)".to_owned(),
        error => error.to_string(),
    }
}

/// A new kind of error must be described here before it compiles.
const fn what_to_do(error: &CallError) -> &'static str {
    match error {
        CallError::Argument(_) => "Change the argument that the text names.",
        CallError::WorkspaceNotActive(_) => {
            "Nothing that you may see was saved there. A second text lists the workspaces that are active."
        }
        CallError::NotFound(_) => "The record was forgotten, never existed, or is not visible to this key.",
        CallError::Guard { .. } => {
            "The text reads like orders to an assistant. Rewrite it as a fact, or give an admin the reference in `_meta.guard.reference`: \
             `mnemon guard release PROJECT REFERENCE`."
        }
        CallError::ReadOnlyKey => "Use a key with write access.",
        CallError::ConnectionRate { .. } => {
            "This key made too many calls in the last 60 seconds. Wait as long as the second text says."
        }
        CallError::ProjectRate { .. } => {
            "All keys of the project together made too many calls in the last 60 seconds. Wait as long as the second text says."
        }
        CallError::MemoryLimit => {
            "The project holds as many records as its plan allows. Forget some, or ask for a larger plan."
        }
        CallError::WorkspaceLimit => {
            "The project has as many workspaces as its plan allows. Use one of them, or have an admin delete one."
        }
        CallError::IdempotencyKeyReused => "Take a new idempotency key for a different save.",
        CallError::IntegrationNotEnabled(_) => "Ask an admin to enable it; `gateway_call` lists what is there.",
        CallError::ToolNotOffered { .. } => "The list of tools may have changed; fetch it again.",
        CallError::IntegrationSilent(_) => "Try again, or let an admin see why: `mnemon integration test NAME`.",
        CallError::Upstream { .. } => "Another system failed; see [below](#other-systems).",
        CallError::Subscription(_) => "See the notices below.",
        CallError::Store(StoreError::Away(_)) => "Try again. A save with the same idempotency key is stored once.",
        CallError::Store(StoreError::Full) => "The operator frees disk space; no restart is needed.",
        CallError::Store(StoreError::Broken { .. } | StoreError::Failed(_)) => {
            "A fault of the service. The operator finds the cause in the log by the reference."
        }
    }
}

fn add_notices(page: &mut String) {
    page.push_str("\n## Notices\n\nA subscription that has ended answers with a notice in place of the text above.\n\n| state | text |\n| --- | --- |\n");
    let states = [
        ("no plan", SubscriptionState::None),
        ("grace", SubscriptionState::Grace { until: Timestamp::UNIX_EPOCH }),
        ("suspended", SubscriptionState::Suspended),
    ];
    for (name, state) in states {
        let _ = writeln!(page, "| {name} | `[Mnemon Notice]: {}` |", state.notice().unwrap_or_default());
    }
    let _ = writeln!(
        page,
        "\nThe grace period lasts {} days. An account that the operator suspended is refused with 401.",
        mnemon_core::GRACE_DAYS
    );
}

fn add_upstream_errors(page: &mut String) {
    page.push_str("\n## Other systems\n\nA call to an integration that failed: `'NAME' ` and a text such as\n\n");
    for error in upstream_errors() {
        let _ = writeln!(page, "- `{error}`");
    }
}

fn upstream_errors() -> Vec<UpstreamError> {
    let limits = mnemon_gateway::Limits::default();
    let detail = || "…".to_owned();
    vec![
        UpstreamError::TimedOut { seconds: limits.call_timeout.as_secs() },
        UpstreamError::TooLarge { bytes_max: limits.answer_bytes_max },
        UpstreamError::TooDeep { depth_max: mnemon_core::JSON_DEPTH_MAX },
        UpstreamError::Unreachable,
        UpstreamError::Closed(detail()),
        UpstreamError::Unauthorized { status: 401 },
        UpstreamError::Status { status: 500 },
        UpstreamError::Redirected,
        UpstreamError::BrokenOff,
        UpstreamError::Garbled("…"),
        UpstreamError::AsksBack,
        UpstreamError::Refused { code: -32000, message: detail() },
        UpstreamError::Resting {
            failures: mnemon_gateway::FAILURES_MAX,
            seconds: mnemon_gateway::PAUSE.as_secs().unsigned_abs(),
        },
        UpstreamError::Busy { calls_max: limits.calls_max },
        UpstreamError::NotStarted(detail()),
        UpstreamError::Ended,
        UpstreamError::TooManyTools { tools_max: mnemon_gateway::TOOLS_MAX },
    ]
}

/// Status, code and cause. A test of the repository looks for each code in the server's sources.
const ENDPOINT_ERRORS: &[(u16, &str, &str)] = &[
    (400, "-32700", "the body is not valid JSON, or nested too deep"),
    (400, "-32600", "the body is not one JSON-RPC message"),
    (400, "bad_host", "no `Host` header, or several"),
    (400, "invalid", "admin API: a field or parameter is wrong; the message says which"),
    (401, "invalid_token", "MCP: no key, or one that was rejected, revoked or belongs to a suspended account"),
    (401, "unauthorized", "admin API: the same"),
    (403, "forbidden", "admin API: the credential may not do this"),
    (403, "forbidden_origin", "a web page calls that is not in `server.allowed_origins`"),
    (404, "not_found", "no such path; in the admin API also what the credential may not see"),
    (405, "method_not_allowed", "`/mcp` accepts only POST"),
    (406, "-32600", "the `Accept` header excludes `application/json`"),
    (408, "-32600", "the body did not arrive in time"),
    (409, "conflict", "admin API: the change contradicts what is there; the message says how"),
    (413, "-32600", "the body is larger than the limit"),
    (415, "-32600", "the body is compressed"),
    (429, "too_many_refused", "too many rejected credentials from this address; `Retry-After` says when to come back"),
    (431, "head_too_large", "the head of the request is larger than 64 KiB"),
    (500, "internal", "a fault of the service; the log has the cause"),
    (503, "storage_unavailable", "the disk or the database does not answer; try again"),
    (503, "not_ready", "`/health/ready`: storage can't be read"),
    (503, "not_writable", "`/health/writable`: nothing can be saved; searches may work"),
    (507, "storage_full", "the operator frees disk space"),
];

fn add_endpoint_errors(page: &mut String) {
    page.push_str(
        "\n## HTTP\n\nRequests that no tool was called for. `/mcp` answers a JSON-RPC error where the code is a number; the rest is \
         `{\"error\": CODE, \"message\": TEXT}`.\n\n| status | code | when |\n| --- | --- | --- |\n",
    );
    for (status, code, when) in ENDPOINT_ERRORS {
        let _ = writeln!(page, "| {status} | `{code}` | {when} |");
    }
}
