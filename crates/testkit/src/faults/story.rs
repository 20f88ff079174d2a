//! The answers that one writer got, and whether the service still agrees.

use std::collections::{HashMap, HashSet};
use std::ops::AddAssign;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::wire::{CallFailed, Wire};

/// The hash that every save of a story gives its source, and another one that makes all of them stale.
const SAVED_HASH: &str = "as-saved";
const OTHER_HASH: &str = "as-seen-later";
/// How many records of a story are searched one by one; all of them are listed by their source.
const SEARCHES_MAX: usize = 250;

/// All answers that one writer got. Its records share a source, so they can be listed together.
#[derive(Debug, Clone)]
pub struct Story {
    pub workspace: String,
    pub source_id: String,
    /// The acknowledged records by id, with their text; including forgotten ones.
    pub saved: HashMap<String, String>,
    /// Those whose forgetting was acknowledged.
    pub forgotten: HashSet<String>,
    /// Saves that were never answered, or failed: they may or may not have happened.
    pub uncertain_saves: usize,
    /// Records whose forgetting may or may not have happened.
    pub uncertain_forgets: HashSet<String>,
    /// The refusals, as received.
    pub refusals: Vec<String>,
    /// The id of the last acknowledged save.
    pub(super) newest: Option<String>,
    texts_made: usize,
}

/// How a service differs from what it acknowledged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Findings {
    /// Acknowledged saves that were checked.
    pub saved: usize,
    /// Acknowledged forgets that were checked.
    pub forgotten: usize,
    /// Acknowledged records that are missing.
    pub lost: usize,
    /// Forgotten records that are back.
    pub returned: usize,
    /// Records with another text, or ones that were never saved.
    pub wrong: usize,
}

impl Findings {
    /// Whether the service agrees with everything.
    pub const fn is_clean(&self) -> bool {
        self.lost == 0 && self.returned == 0 && self.wrong == 0
    }
}

impl AddAssign for Findings {
    fn add_assign(&mut self, other: Self) {
        self.saved += other.saved;
        self.forgotten += other.forgotten;
        self.lost += other.lost;
        self.returned += other.returned;
        self.wrong += other.wrong;
    }
}

impl Story {
    /// An empty story.
    pub fn new(workspace: &str, source_id: &str) -> Self {
        Self {
            workspace: workspace.to_owned(),
            source_id: source_id.to_owned(),
            saved: HashMap::new(),
            forgotten: HashSet::new(),
            uncertain_saves: 0,
            uncertain_forgets: HashSet::new(),
            refusals: Vec::new(),
            newest: None,
            texts_made: 0,
        }
    }

    /// Saves one more record. `Err` if the connection broke; a refusal is recorded and is not an error.
    pub async fn save(&mut self, wire: &mut Wire) -> Result<bool> {
        self.texts_made += 1;
        let text = format!("note {} of a writer under test keeps {}", self.texts_made, self.marker(self.texts_made));
        let arguments = json!({
            "content": text, "workspace": self.workspace, "source_id": self.source_id, "source_hash": SAVED_HASH,
        });
        match wire.call("remember", &arguments).await {
            Ok(record) => {
                let id = record["id"].as_str().context("a saved record has an id")?;
                self.newest = Some(id.to_owned());
                self.saved.insert(id.to_owned(), text);
                Ok(true)
            }
            Err(failed) => {
                self.uncertain_saves += 1;
                self.refused(failed)
            }
        }
    }

    /// Forgets a record that was acknowledged and not yet forgotten.
    pub async fn forget(&mut self, wire: &mut Wire, id: &str) -> Result<bool> {
        match wire.call("forget", &json!({"memory_id": id})).await {
            Ok(_) => {
                self.forgotten.insert(id.to_owned());
                Ok(true)
            }
            Err(failed) => {
                self.uncertain_forgets.insert(id.to_owned());
                self.refused(failed)
            }
        }
    }

    fn refused(&mut self, failed: CallFailed) -> Result<bool> {
        match failed {
            CallFailed::Connection(error) => Err(error.into()),
            CallFailed::Refused { status, text } => {
                self.refusals.push(format!("{status}: {text}"));
                Ok(false)
            }
        }
    }

    /// A word, only letters, that no other record contains.
    fn marker(&self, number: usize) -> String {
        let letters = |mut left: u64| {
            let mut word = String::new();
            while left > 0 {
                word.push(char::from(b'a' + (left % 26) as u8));
                left /= 26;
            }
            word
        };
        let of_story = self.source_id.bytes().fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        format!("zq{}{}", letters(of_story % 308_915_776), letters(number as u64 + 676))
    }

    /// Lists all records of the story at once, by their ids.
    pub async fn check_ids(&self, wire: &mut Wire) -> Result<Findings> {
        let mut findings = Findings { saved: self.saved.len(), forgotten: self.forgotten.len(), ..Findings::default() };
        if self.saved.is_empty() && self.uncertain_saves == 0 {
            return Ok(findings);
        }
        let arguments = json!({"source_id": self.source_id, "current_source_hash": OTHER_HASH});
        let answer = call(wire, "validate_memory", &arguments).await?;
        let ids = answer["stale_ids"].as_array().context("validate_memory lists stale ids")?;
        let present: HashSet<&str> = ids.iter().filter_map(Value::as_str).collect();
        for id in self.saved.keys() {
            let (is_present, is_forgotten) = (present.contains(id.as_str()), self.forgotten.contains(id));
            findings.lost += usize::from(!is_present && !is_forgotten && !self.uncertain_forgets.contains(id));
            findings.returned += usize::from(is_present && is_forgotten);
        }
        let unknown = present.iter().filter(|id| !self.saved.contains_key(**id)).count();
        findings.wrong += unknown.saturating_sub(self.uncertain_saves);
        Ok(findings)
    }

    /// Searches for records by their words, and compares their texts byte for byte.
    pub async fn check_searches(&self, wire: &mut Wire) -> Result<Findings> {
        let mut findings = Findings::default();
        for (id, text) in self.saved.iter().take(SEARCHES_MAX) {
            let marker = text.rsplit(' ').next().unwrap_or_default();
            let arguments = json!({"query": marker, "workspace": self.workspace, "limit": 50});
            let answer = call(wire, "search", &arguments).await?;
            let hits = answer["result"].as_array().context("search lists results")?;
            let hit = hits.iter().find(|hit| hit["id"] == json!(id));
            if self.forgotten.contains(id) {
                findings.returned += usize::from(hit.is_some());
            } else if let Some(hit) = hit {
                findings.wrong += usize::from(hit["content"] != json!(text));
            } else {
                findings.lost += usize::from(!self.uncertain_forgets.contains(id));
            }
        }
        Ok(findings)
    }
}

/// Compares a service with stories: every id, and a sample of the texts.
pub async fn check_all(stories: &[Story], wire: &mut Wire) -> Result<Findings> {
    let mut findings = Findings::default();
    for story in stories {
        findings += story.check_ids(wire).await?;
        findings += story.check_searches(wire).await?;
    }
    Ok(findings)
}

async fn call(wire: &mut Wire, tool: &str, arguments: &Value) -> Result<Value> {
    match wire.call(tool, arguments).await {
        Ok(answer) => Ok(answer),
        Err(CallFailed::Refused { text, .. }) => bail!("{text}"),
        Err(CallFailed::Connection(error)) => Err(error).context("the service did not answer"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_differ_between_records_and_stories() {
        let (one, other) = (Story::new("w", "round-1-writer-1"), Story::new("w", "round-1-writer-2"));
        let markers: HashSet<String> =
            (0..5_000).flat_map(|number| [one.marker(number), other.marker(number)]).collect();
        assert_eq!(markers.len(), 10_000);
    }
}
