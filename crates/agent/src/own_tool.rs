//! `agent_sync_status`: the one tool that the agent adds and answers itself.

use std::sync::LazyLock;

use mnemon_protocol::tools::{Annotations, CallToolResult, TextItem, Tool};
use serde_json::{json, value::to_raw_value};

use crate::answers;
use crate::message::Message;
use crate::status::SyncStatus;

pub const NAME: &str = "agent_sync_status";

pub fn description() -> Tool {
    let described = |kind: serde_json::Value, text: &str| json!({"type": kind, "description": text});
    Tool {
        name: NAME.to_owned(),
        title: None,
        description: "Show whether this machine's session histories are uploaded to the memory service, and how far the \
                      upload is: whether a person has consented, to which service, whether it is reachable, how many \
                      sessions were found and are up to date, how many bytes are pending, when the last sync ended, and the \
                      last error. Use it when the user asks about session sync. It changes nothing."
            .to_owned(),
        input_schema: json!({"type": "object", "properties": {}, "additionalProperties": false}),
        output_schema: Some(json!({
            "type": "object",
            "properties": {
                "consent": described(json!("boolean"), "Whether a person has consented, for this service and this key."),
                "server": described(json!("string"), "URL of the service."),
                "reachable": described(json!("boolean"), "Whether the service answers now."),
                "sessions_found": described(json!("integer"), "Session histories on this machine."),
                "sessions_synced": described(json!("integer"), "Session histories that are fully uploaded."),
                "bytes_pending": described(json!("integer"), "Bytes on this machine that have not been processed yet."),
                "last_sync_at": described(json!(["string", "null"]), "When the last sync ended (RFC 3339)."),
                "last_error": described(json!(["string", "null"]), "The last error, if any."),
            },
            "required": ["consent", "server", "reachable", "sessions_found", "sessions_synced", "bytes_pending",
                "last_sync_at", "last_error"],
        })),
        annotations: Annotations { title: None, read_only: true, destructive: None, idempotent: true, open_world: None },
    }
}

/// The description as JSON, for the list.
pub(crate) fn json() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        serde_json::to_string(&description()).expect("wire shapes have string keys and no failing serializers")
    });
    &TEXT
}

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
