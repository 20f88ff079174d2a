//! What other systems published, question by question, so that they are compared on the same ones.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;

/// The sessions that a system found, by dialogue and question.
pub(super) struct Published {
    pub(super) name: String,
    found: HashMap<(String, String), Vec<String>>,
}

#[derive(Deserialize)]
struct Line {
    sample_id: String,
    question: String,
    /// `session_7`, which is `D7` in the set.
    retrieved_ids: Vec<String>,
}

/// `name=file`
pub(super) fn named(argument: &str) -> Result<(String, PathBuf), String> {
    let (name, file) = argument.split_once('=').ok_or("write it as NAME=FILE")?;
    Ok((name.to_owned(), file.into()))
}

impl Published {
    pub(super) fn read(name: &str, path: &Path) -> Result<Published> {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let lines: Vec<Line> = serde_json::from_str(&text).with_context(|| format!("in {}", path.display()))?;
        let session = |id: String| id.strip_prefix("session_").map_or(id.clone(), |number| format!("D{number}"));
        let entry = |line: Line| {
            let found = line.retrieved_ids.into_iter().map(session).collect();
            ((line.sample_id, line.question.trim().to_owned()), found)
        };
        Ok(Published { name: name.to_owned(), found: lines.into_iter().map(entry).collect() })
    }

    /// Best first; nothing for a question that was not published.
    pub(super) fn found(&self, dialogue: &str, question: &str) -> Vec<String> {
        self.found.get(&(dialogue.to_owned(), question.trim().to_owned())).cloned().unwrap_or_default()
    }
}
