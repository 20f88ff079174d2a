//! Claude Code: one JSON object per line, messages with content blocks.

use std::path::PathBuf;

use serde_json::Value;

use super::{Event, Parsed, joined, text};

/// What the client itself adds to a person's message.
const SCAFFOLDING: [&str; 9] = [
    "system-reminder",
    "command-name",
    "command-message",
    "command-args",
    "local-command-stdout",
    "local-command-stderr",
    "local-command-caveat",
    "persisted-output",
    "ide_opened_file",
];

pub(super) fn parse(value: &Value) -> Parsed {
    let mut parsed = Parsed {
        cwd: text(value, "cwd").map(PathBuf::from),
        session: text(value, "sessionId").map(str::to_owned),
        at: text(value, "timestamp").map(str::to_owned),
        events: Vec::new(),
    };
    // The client marks what it injects. Summaries of earlier sessions were not said in this one.
    let is_injected = ["isMeta", "isCompactSummary", "isVisibleInTranscriptOnly"];
    if is_injected.iter().any(|mark| value[*mark].as_bool() == Some(true)) {
        return parsed;
    }
    let role = match text(value, "type") {
        Some("user") => "user",
        Some("assistant") => "assistant",
        _ => return parsed,
    };
    match &value["message"]["content"] {
        Value::String(said) => parsed.events.extend(said_by(role, said)),
        Value::Array(blocks) => parsed.events.extend(blocks.iter().filter_map(|block| event(role, block))),
        _ => {}
    }
    parsed
}

fn event(role: &'static str, block: &Value) -> Option<Event> {
    match text(block, "type")? {
        "text" => said_by(role, text(block, "text")?),
        "tool_use" => Some(Event::Call {
            tool: text(block, "name")?.to_owned(),
            id: text(block, "id").map(str::to_owned),
            arguments: block.get("input").cloned().unwrap_or_default(),
        }),
        "tool_result" => Some(Event::Result {
            id: text(block, "tool_use_id").map(str::to_owned),
            text: without(&joined(&block["content"]), &["system-reminder", "persisted-output"]),
            is_error: block["is_error"].as_bool().unwrap_or(false),
        }),
        // Thinking, images and future block types.
        _ => None,
    }
}

fn said_by(role: &'static str, said: &str) -> Option<Event> {
    let text = without(said, &SCAFFOLDING);
    let text = text.trim();
    (!text.is_empty()).then(|| Event::Text { role, text: text.to_owned() })
}

/// The text without elements of these names: neither tags nor content.
fn without(text: &str, names: &[&str]) -> String {
    let mut rest = text.to_owned();
    for name in names {
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        while let Some(start) = rest.find(&open) {
            let end = rest[start..].find(&close).map_or(rest.len(), |at| start + at + close.len());
            rest.replace_range(start..end, "");
        }
    }
    rest
}
