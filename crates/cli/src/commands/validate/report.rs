//! What `mnemon validate` found, as a table or as JSON.

use anyhow::bail;
use mnemon_protocol::admin::CheckedSourceJson;
use serde_json::{Value, json};

use crate::printer::Printer;

/// What holds of a source's facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    Stale,
    Gone,
    Unknown,
    Verified,
}

impl State {
    pub fn parse(word: &str) -> anyhow::Result<Self> {
        Ok(match word.trim() {
            "stale" => Self::Stale,
            "gone" => Self::Gone,
            "unknown" => Self::Unknown,
            other => bail!("--fail-on takes stale, gone and unknown, not '{other}'"),
        })
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Stale => "stale",
            Self::Gone => "gone",
            Self::Unknown => "unknown",
            Self::Verified => "verified",
        }
    }
}

/// One source.
#[derive(Debug, Clone)]
pub struct Row {
    pub state: State,
    pub source_id: String,
    /// How many facts came from it.
    pub facts: u64,
    pub note: String,
    /// The facts that no longer hold.
    pub ids: Vec<String>,
}

impl Row {
    /// The same after the service has answered.
    pub fn with(mut self, checked: CheckedSourceJson) -> Self {
        if !checked.stale_ids.is_empty() {
            self.state = State::Stale;
            self.note = format!("{} of {} facts", checked.stale_ids.len(), checked.checked);
            self.ids = checked.stale_ids;
        }
        self
    }
}

/// Everything that was found.
#[derive(Debug, Default)]
pub struct Report {
    pub rows: Vec<Row>,
    /// Sources that are files and were not looked at.
    pub left_alone: usize,
    /// Sources that are no files here.
    pub elsewhere: usize,
}

impl Report {
    pub fn has(&self, state: State) -> bool {
        self.rows.iter().any(|row| row.state == state)
    }

    pub fn print(mut self, printer: &Printer) {
        self.rows.sort_by(|a, b| (a.state, &a.source_id).cmp(&(b.state, &b.source_id)));
        if printer.is_json() {
            return printer.value(&self.to_json());
        }
        // What holds is only counted: in a large repository the rest would drown in it.
        let rows: Vec<Value> = self.rows.iter().filter(|row| row.state != State::Verified).map(to_table_row).collect();
        if !rows.is_empty() {
            printer.table(&["state", "source", "note"], &rows);
        }
        for row in self.rows.iter().filter(|row| row.state == State::Stale) {
            printer.text(&format!("stale facts of {}: {}", row.source_id, row.ids.join(", ")));
        }
        printer.text(&self.summary());
    }

    fn summary(&self) -> String {
        let count = |state: State| self.rows.iter().filter(|row| row.state == state).count();
        let mut text = format!(
            "Sources: {} verified, {} stale, {} gone, {} unknown",
            count(State::Verified),
            count(State::Stale),
            count(State::Gone),
            count(State::Unknown),
        );
        if self.left_alone > 0 {
            text.push_str(&format!(", {} left alone", self.left_alone));
        }
        if self.elsewhere > 0 {
            text.push_str(&format!(", {} not files here", self.elsewhere));
        }
        text.push('.');
        text
    }

    fn to_json(&self) -> Value {
        let of = |state: State| {
            let rows = self.rows.iter().filter(|row| row.state == state);
            rows.map(|row| match state {
                State::Verified => json!({"source_id": row.source_id, "facts": row.facts}),
                State::Stale => json!({"source_id": row.source_id, "facts": row.facts, "stale_ids": row.ids}),
                State::Gone | State::Unknown => {
                    json!({"source_id": row.source_id, "facts": row.facts, "note": row.note})
                }
            })
            .collect::<Vec<_>>()
        };
        json!({
            "verified": of(State::Verified), "stale": of(State::Stale), "gone": of(State::Gone),
            "unknown": of(State::Unknown), "left_alone": self.left_alone, "not_files": self.elsewhere,
        })
    }
}

fn to_table_row(row: &Row) -> Value {
    json!({"state": row.state.as_str(), "source": row.source_id, "note": row.note})
}
