//! `agent_sync_status`: the one tool that the agent adds and answers itself.

use std::sync::LazyLock;

use mnemon_protocol::tools::{Annotations, CallToolResult, TextItem, Tool};
use serde_json::{json, value::to_raw_value};

use crate::answers;
use crate::message::Message;
use crate::status::SyncStatus;

/// What it is called by.
pub const NAME: &str = "agent_sync_status";

/// How it is described.
pub fn description() -> Tool {
    let described = |kind: serde_json::Value, text: &str| json!({"type": kind, "description": text});
    Tool {
        name: NAME.to_owned(),
        title: None,
        description: "Tells whether session histories of this machine are uploaded to the memory service, and how far that \
                      has come: whether a person has agreed to it, which service, whether that can be reached, how many \
                      sessions there are and are up to date, how many bytes wait, when the last sync ended and what went \
                      wrong. Use it when the user asks about the sync. It changes nothing."
            .to_owned(),
        input_schema: json!({"type": "object", "properties": {}, "additionalProperties": false}),
        output_schema: Some(json!({
            "type": "object",
            "properties": {
                "consent": described(json!("boolean"), "Whether a person has agreed, for this service and this key."),
                "server": described(json!("string"), "The service's address."),
                "reachable": described(json!("boolean"), "Whether the service answers now."),
                "sessions_found": described(json!("integer"), "Session histories on this machine."),
                "sessions_synced": described(json!("integer"), "Those of them that are uploaded to their end."),
                "bytes_pending": described(json!("integer"), "Bytes on this machine that were not looked at yet."),
                "last_sync_at": described(json!(["string", "null"]), "When the last sync ended (RFC 3339)."),
                "last_error": described(json!(["string", "null"]), "What went wrong last, if anything did."),
            },
            "required": ["consent", "server", "reachable", "sessions_found", "sessions_synced", "bytes_pending",
                "last_sync_at", "last_error"],
        })),
        annotations: Annotations { title: None, read_only: true, destructive: None, idempotent: true, open_world: None },
    }
}

/// The description as it goes into a list.
pub(crate) fn json() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        serde_json::to_string(&description()).expect("wire shapes have string keys and no failing serializers")
    });
    &TEXT
}

/// The answer to a call.
pub(crate) fn answer(message: &Message, status: &SyncStatus) -> Vec<u8> {
    let raw = to_raw_value(status).expect("a status has string keys and no failing serializers");
    let trailer = answers::trailer(message.is_modern());
    let result = CallToolResult {
        content: vec![TextItem::new(raw.get())],
        structured_content: Some(&raw),
        is_error: false,
        trailer: &trailer,
    };
    answers::success(message, &result)
}
