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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub state: State,
    pub source_id: String,
    /// How many facts came from it.
    pub facts: u64,
    pub note: String,
    /// How the working copy differs from what counts.
    pub here: Option<String>,
    /// The facts that no longer hold, if the service was asked.
    pub ids: Vec<String>,
    /// Whether it was reported to the service.
    pub is_told: bool,
}

impl Row {
    /// The same after the service has answered.
    pub fn with(mut self, checked: CheckedSourceJson) -> Self {
        self.is_told = true;
        match self.state {
            State::Gone => {}
            _ if !checked.stale_ids.is_empty() => {
                self.state = State::Stale;
                self.note = format!("{} of {} facts", checked.stale_ids.len(), checked.checked);
                self.ids = checked.stale_ids;
            }
            State::Unknown => {}
            State::Stale | State::Verified => (self.state, self.note) = (State::Verified, String::new()),
        }
        self
    }

    fn is_shown(&self) -> bool {
        self.state != State::Verified || self.here.is_some()
    }

    fn to_table_row(&self) -> Value {
        let notes: Vec<&str> = [Some(self.note.as_str()), self.here.as_deref()].into_iter().flatten().collect();
        let note = notes.into_iter().filter(|note| !note.is_empty()).collect::<Vec<_>>().join("; ");
        json!({"state": self.state.as_str(), "source": self.source_id, "note": note})
    }

    fn to_json(&self) -> Value {
        let mut row = json!({"source_id": self.source_id, "facts": self.facts, "told": self.is_told});
        match self.state {
            State::Verified => {}
            State::Stale => row["stale_ids"] = json!(self.ids),
            State::Gone | State::Unknown => row["note"] = json!(self.note),
        }
        if let Some(here) = &self.here {
            row["here"] = json!(here);
        }
        row
    }
}

/// Everything that was found.
#[derive(Debug, Default)]
pub struct Report {
    pub workspace: String,
    /// The branch that counts; none outside of a repository, and where files count as they are.
    pub branch: Option<String>,
    /// What sources were compared with, in words.
    pub compared_with: Option<String>,
    pub rows: Vec<Row>,
    /// Sources that are files and were not looked at.
    pub left_alone: usize,
    /// Sources that are no files here.
    pub elsewhere: usize,
    /// What a person has to know beside it.
    pub remarks: Vec<String>,
}

impl Report {
    pub fn has(&self, state: State) -> bool {
        self.rows.iter().any(|row| row.state == state)
    }

    pub fn print(&self, printer: &Printer) {
        if printer.is_json() {
            return printer.value(&self.to_json());
        }
        // What holds is only counted: in a large repository the rest would drown in it.
        let rows: Vec<Value> = self.rows.iter().filter(|row| row.is_shown()).map(Row::to_table_row).collect();
        if !rows.is_empty() {
            printer.table(&["state", "source", "note"], &rows);
        }
        for row in self.rows.iter().filter(|row| !row.ids.is_empty()) {
            printer.text(&format!("stale facts of {}: {}", row.source_id, row.ids.join(", ")));
        }
        self.remarks.iter().for_each(|remark| printer.text(remark));
        printer.text(&self.summary());
    }

    /// In the order in which they are shown.
    pub fn sort(&mut self) {
        self.rows.sort_by(|a, b| (a.state, &a.source_id).cmp(&(b.state, &b.source_id)));
    }

    /// Whether it reads the same, however much of it was reported to the service.
    pub fn is_same_as(&self, other: &Self) -> bool {
        let shown = |report: &Self| -> Vec<Value> { report.rows.iter().map(Row::to_table_row).collect() };
        self.summary() == other.summary() && self.remarks == other.remarks && shown(self) == shown(other)
    }

    fn summary(&self) -> String {
        let count = |state: State| self.rows.iter().filter(|row| row.state == state).count();
        let compared = self.compared_with.as_ref().map(|words| format!(", compared with {words}")).unwrap_or_default();
        let mut text = format!(
            "Sources of workspace {}{compared}: {} verified, {} stale, {} gone, {} unknown",
            self.workspace,
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
            rows.map(Row::to_json).collect::<Vec<_>>()
        };
        json!({
            "workspace": self.workspace, "branch": self.branch,
            "verified": of(State::Verified), "stale": of(State::Stale), "gone": of(State::Gone),
            "unknown": of(State::Unknown), "left_alone": self.left_alone, "not_files": self.elsewhere,
        })
    }
}
