//! Codex: envelopes of `timestamp`, `type` and `payload`; older files have only the payload. Two logs are interleaved:
//! `response_item` is read, `event_msg` repeats it.

use std::path::PathBuf;

use serde_json::Value;

use super::{Event, Parsed, joined, text};

/// What the client itself says in a person's name.
const SCAFFOLDING: [&str; 6] = [
    "<environment_context>",
    "<permissions instructions>",
    "<user_instructions>",
    "<turn_aborted>",
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
];

pub(super) fn parse(value: &Value) -> Parsed {
    let at = text(value, "timestamp").map(str::to_owned);
    let kind = text(value, "type").unwrap_or_default();
    let Some(payload) = value.get("payload") else {
        // The older form: the first line describes the session, the others are items.
        return Parsed { at, events: event(value).into_iter().collect(), ..Parsed::default() };
    };
    let mut parsed = Parsed { at, ..Parsed::default() };
    match kind {
        "session_meta" => {
            parsed.cwd = text(payload, "cwd").map(PathBuf::from);
            parsed.session = text(payload, "id").map(str::to_owned);
        }
        "turn_context" => parsed.cwd = text(payload, "cwd").map(PathBuf::from),
        "response_item" => parsed.events.extend(event(payload)),
        _ => {}
    }
    parsed
}

fn event(item: &Value) -> Option<Event> {
    let id = || text(item, "call_id").map(str::to_owned);
    match text(item, "type")? {
        "message" => message(item),
        "function_call" => {
            let arguments = &item["arguments"];
            // JSON inside a string; if it does not parse, it is shown as it is.
            let parsed = arguments.as_str().and_then(|text| serde_json::from_str(text).ok());
            let tool = text(item, "name")?.to_owned();
            Some(Event::Call { tool, id: id(), arguments: parsed.unwrap_or_else(|| arguments.clone()) })
        }
        "custom_tool_call" => {
            Some(Event::Call { tool: text(item, "name")?.to_owned(), id: id(), arguments: item["input"].clone() })
        }
        "local_shell_call" => {
            let arguments = item.pointer("/action/command").cloned().unwrap_or_default();
            Some(Event::Call { tool: "shell".to_owned(), id: id(), arguments })
        }
        "function_call_output" | "custom_tool_call_output" => {
            let output = unwrapped(&item["output"]);
            let is_error = item["output"]["success"].as_bool() == Some(false);
            Some(Event::Result { id: id(), text: output, is_error })
        }
        // Reasoning, searches and future item types.
        _ => None,
    }
}

fn message(item: &Value) -> Option<Event> {
    let role = match text(item, "role")? {
        "user" => "user",
        "assistant" => "assistant",
        _ => return None,
    };
    let said = joined(&item["content"]);
    let said = said.trim();
    let is_scaffolding = role == "user" && SCAFFOLDING.iter().any(|start| said.starts_with(start));
    (!said.is_empty() && !is_scaffolding).then(|| Event::Text { role, text: said.to_owned() })
}

/// The text of a tool's output. Some tools wrap it as JSON in a string: `{"output": …, "metadata": …}`.
fn unwrapped(output: &Value) -> String {
    let plain = joined(output);
    let wrapped: Option<Value> = plain.starts_with('{').then(|| serde_json::from_str(&plain).ok()).flatten();
    match wrapped.as_ref().and_then(|wrapped| text(wrapped, "output")) {
        Some(inner) => inner.to_owned(),
        None => plain,
    }
}
