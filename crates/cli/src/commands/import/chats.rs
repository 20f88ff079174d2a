//! What other assistants remembered, out of the files that they export. Conversations themselves are not taken.
//!
//! ChatGPT's export has no file of memories. What it saved is in the conversations, as messages to its tool `bio`.
//! Claude's has `memories.json`, and `projects.json` with the documents of projects.

use std::path::Path;

use mnemon_protocol::export_lines::RecordLine;
use serde_json::Value;

use super::rules::{self, Item};
use super::{Desk, json_items, notes};

pub fn chatgpt(path: &Path, desk: &mut Desk<'_>) -> anyhow::Result<()> {
    json_items::each(path, &["conversations"], |conversation| {
        let title = conversation["title"].as_str().unwrap_or_default();
        let place = format!("{} '{title}'", path.display());
        for node in conversation["mapping"].as_object().into_iter().flat_map(|nodes| nodes.values()) {
            let message = &node["message"];
            if message["recipient"] == "bio" {
                remembered(message, &conversation, place.clone(), desk)?;
            }
        }
        Ok(())
    })
}

/// A message to the tool that saves: each of its lines is a memory.
fn remembered(message: &Value, conversation: &Value, place: String, desk: &mut Desk<'_>) -> anyhow::Result<()> {
    let parts = message["content"]["parts"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let id = ["conversation_id", "id"].iter().find_map(|name| conversation[name].as_str());
    for line in parts.flat_map(str::lines).map(str::trim).filter(|line| !line.is_empty()) {
        let record = RecordLine {
            content: line.to_owned(),
            source: Some("ChatGPT memory".to_owned()),
            source_id: id.map(|id| format!("chatgpt:{id}")),
            created_at: message["create_time"].as_f64().and_then(moment),
            ..RecordLine::default()
        };
        desk.record(place.clone(), record)?;
    }
    Ok(())
}

/// A moment in seconds, as RFC 3339.
fn moment(seconds: f64) -> Option<String> {
    mnemon_core::Timestamp::from_microsecond((seconds * 1e6) as i64).ok().map(|at| at.to_string())
}

pub fn claude(path: &Path, desk: &mut Desk<'_>) -> anyhow::Result<()> {
    json_items::each(path, &["memories", "projects"], |item| {
        let place = path.display().to_string();
        if !item["chat_messages"].is_null() {
            desk.left_out(place, "conversations are not imported; import memories.json or projects.json of the export");
            return Ok(());
        }
        if let Some(text) = item["conversations_memory"].as_str() {
            items(text, "Claude memory", "claude:memory", &place, desk)?;
        }
        for (project, text) in item["project_memories"].as_object().into_iter().flatten() {
            let text = text.as_str().unwrap_or_default();
            items(text, "Claude project memory", &format!("claude:project:{project}"), &place, desk)?;
        }
        documents(&item, &place, desk)
    })
}

/// A text of remembered things: its items and paragraphs.
fn items(text: &str, source: &str, source_id: &str, place: &str, desk: &mut Desk<'_>) -> anyhow::Result<()> {
    for Item { line, content } in rules::items(text) {
        let (source, source_id) = (Some(source.to_owned()), Some(source_id.to_owned()));
        let record = RecordLine { content, source, source_id, ..RecordLine::default() };
        desk.record(format!("{place} line {line} of the memory"), record)?;
    }
    Ok(())
}

/// The documents of a project, as notes.
fn documents(project: &Value, place: &str, desk: &mut Desk<'_>) -> anyhow::Result<()> {
    let name = project["name"].as_str().unwrap_or_default();
    for document in project["docs"].as_array().into_iter().flatten() {
        let file = document["filename"].as_str().unwrap_or("document");
        for content in notes::pieces(document["content"].as_str().unwrap_or_default(), file) {
            let record = RecordLine {
                content,
                source: Some(format!("Claude project {name}").trim_end().to_owned()),
                source_id: Some(format!("claude:{name}/{file}")),
                created_at: document["created_at"].as_str().map(str::to_owned),
                ..RecordLine::default()
            };
            desk.record(format!("{place} {file}"), record)?;
        }
    }
    Ok(())
}
