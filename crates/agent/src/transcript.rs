//! Converts a client's transcript to the lines that are uploaded: who said what, which tools were called, what they
//! returned. Reasoning, system prompts, counters, absolute paths and secrets stay on this machine.
//!
//! The formats belong to the clients and change without notice: unknown content is skipped and never fails a file. A
//! line becomes zero or more lines, and depends only on the lines before it. So the result only grows at its end, like
//! the transcript.

mod claude;
mod clean;
mod codex;
mod paths;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use mnemon_protocol::sessions::HistoryLine;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::discover::Client;
use crate::ignoring::IgnoreRules;
use clean::{Cleaner, pieces};

/// How many excluded calls of a session may be waiting for their results at the same time.
const HIDDEN_CALLS_MAX: usize = 256;
/// Replaces what `.mnemonignore` covers.
const LEFT_OUT: &str = "[left out by .mnemonignore]";
/// Maximum number of characters of a tool's arguments or result.
const TOOL_CHARS_MAX: usize = 4_000;

/// What must be known about earlier lines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Memory {
    /// The first folder the session worked in.
    pub(crate) cwd: Option<PathBuf>,
    /// Whether the first line was written.
    pub(crate) has_begun: bool,
    /// Excluded calls whose results must be excluded too.
    pub(crate) hidden_calls: VecDeque<String>,
    pub(crate) redacted: u64,
}

/// Something that was said or done, independent of the client's format.
#[derive(Debug, Clone, PartialEq)]
enum Event {
    Text { role: &'static str, text: String },
    Call { tool: String, id: Option<String>, arguments: Value },
    Result { id: Option<String>, text: String, is_error: bool },
}

/// What a line of a transcript contains.
#[derive(Debug, Default)]
struct Parsed {
    cwd: Option<PathBuf>,
    session: Option<String>,
    at: Option<String>,
    events: Vec<Event>,
}

/// Converts one transcript.
pub(crate) struct Deriver {
    client: Client,
    name: String,
    rules: IgnoreRules,
    cleaner: Cleaner,
    pub(crate) memory: Memory,
}

impl Deriver {
    pub(crate) fn new(client: Client, name: &str, home: &Path, memory: Memory) -> Self {
        let rules = IgnoreRules::read(memory.cwd.as_deref(), home);
        let cleaner = Cleaner::new(memory.cwd.as_deref(), home);
        Self { client, name: name.to_owned(), rules, cleaner, memory }
    }

    pub(crate) fn rules(&self) -> &IgnoreRules {
        &self.rules
    }

    /// Appends what one line of the transcript becomes, each line with its newline.
    pub(crate) fn derive(&mut self, line: &[u8], out: &mut Vec<u8>) {
        let Ok(value) = serde_json::from_slice::<Value>(line) else { return };
        let parsed = parse(self.client, &value);
        for event in parsed.events {
            self.begin(parsed.session.as_deref(), out);
            let at = parsed.at.clone().filter(|at| at.len() <= 40);
            for line in self.lines(event) {
                write(&HistoryLine { at: at.clone(), ..line }, out);
            }
        }
    }

    /// The first line says where the session comes from.
    fn begin(&mut self, session: Option<&str>, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.memory.has_begun, true) {
            return;
        }
        let folder =
            self.memory.cwd.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let first = HistoryLine {
            kind: "session".to_owned(),
            client: Some(self.client.as_str().to_owned()),
            session: Some(self.cleaner.name(session.unwrap_or(&self.name))),
            project: folder.map(|folder| self.cleaner.name(&folder)),
            ..HistoryLine::default()
        };
        write(&first, out);
    }

    fn lines(&mut self, event: Event) -> Vec<HistoryLine> {
        let line = |kind: &str| HistoryLine { kind: kind.to_owned(), ..HistoryLine::default() };
        let base = match &event {
            Event::Text { role, .. } => HistoryLine { role: Some((*role).to_owned()), ..line("text") },
            Event::Call { tool, id, .. } => {
                let (tool, call) = (Some(self.cleaner.name(tool)), id.as_deref().map(|id| self.cleaner.name(id)));
                HistoryLine { tool, call, ..line("tool_call") }
            }
            Event::Result { id, is_error, .. } => {
                let call = id.as_deref().map(|id| self.cleaner.name(id));
                HistoryLine { call, is_error: is_error.then_some(true), ..line("tool_result") }
            }
        };
        let text = self.text(event);
        let pieces = pieces(&text);
        let is_split = pieces.len() > 1;
        let numbered = (1..).zip(pieces);
        let lines = numbered.map(|(part, piece)| {
            // Cutting can leave something that looks like a secret itself.
            let text = self.cleaner.again(piece);
            HistoryLine { text: Some(text), part: is_split.then_some(part), ..base.clone() }
        });
        let lines = lines.collect();
        self.memory.redacted += self.cleaner.take_count();
        lines
    }

    fn text(&mut self, event: Event) -> String {
        match event {
            Event::Text { text, .. } => self.cleaner.text(&text),
            Event::Call { id, arguments, .. } => {
                if is_named(&self.rules, &arguments) {
                    self.hide(id);
                    return LEFT_OUT.to_owned();
                }
                self.cleaner.arguments(arguments, TOOL_CHARS_MAX)
            }
            Event::Result { id, text, .. } => {
                if let Some(at) = self.memory.hidden_calls.iter().position(|hidden| Some(hidden) == id.as_ref()) {
                    self.memory.hidden_calls.remove(at);
                    return LEFT_OUT.to_owned();
                }
                self.cleaner.cut(&text, TOOL_CHARS_MAX)
            }
        }
    }

    fn hide(&mut self, id: Option<String>) {
        self.memory.hidden_calls.extend(id);
        while self.memory.hidden_calls.len() > HIDDEN_CALLS_MAX {
            self.memory.hidden_calls.pop_front();
        }
    }
}

fn parse(client: Client, value: &Value) -> Parsed {
    match client {
        Client::ClaudeCode => claude::parse(value),
        Client::Codex => codex::parse(value),
    }
}

/// The folder that a line says the session works in.
pub(crate) fn cwd_of(client: Client, line: &[u8]) -> Option<PathBuf> {
    let value = serde_json::from_slice(line).ok()?;
    parse(client, &value).cwd
}

fn is_named(rules: &IgnoreRules, arguments: &Value) -> bool {
    match arguments {
        Value::String(text) => rules.is_named_in(text),
        Value::Array(items) => items.iter().any(|item| is_named(rules, item)),
        Value::Object(members) => members.values().any(|value| is_named(rules, value)),
        _ => false,
    }
}

fn write(line: &HistoryLine, out: &mut Vec<u8>) {
    serde_json::to_writer(&mut *out, line).expect("a line has string keys, and writing to memory does not fail");
    out.push(b'\n');
}

/// A member as text.
fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

/// The texts of a list of content blocks, or the text itself.
fn joined(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| text(block, "text").or_else(|| block.as_str()));
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Null => String::new(),
        other => {
            text(other, "content").or_else(|| text(other, "output")).map_or_else(|| other.to_string(), str::to_owned)
        }
    }
}

#[cfg(test)]
mod tests;
