//! All output goes through here: text for people or JSON for machines, and errors to standard error.

use std::io::{IsTerminal, Write};

use serde_json::{Value, json};

use crate::visible;

/// Maximum width of a table cell.
const CELL_CHARS_MAX: usize = 64;

/// Where output goes, and in which format.
#[derive(Debug, Clone, Copy)]
pub struct Printer {
    is_json: bool,
    is_silent: bool,
}

impl Printer {
    pub const fn new(is_json: bool) -> Self {
        Self { is_json, is_silent: false }
    }

    /// One that prints nothing, for work beside something else.
    pub const fn silent() -> Self {
        Self { is_json: false, is_silent: true }
    }

    pub const fn is_silent(self) -> bool {
        self.is_silent
    }

    pub const fn is_json(self) -> bool {
        self.is_json
    }

    /// Text for people. Control characters are shown as escapes, wherever in it the words of others stand.
    pub fn text(self, text: &str) {
        self.styled(&visible::lines(text));
    }

    /// Text of our own alone, which may hold what [`Self::bold`] makes.
    pub fn styled(self, text: &str) {
        // A closed pipe (`mnemon search … | head -1`) is not our error.
        if !self.is_silent {
            let _ = writeln!(std::io::stdout(), "{text}");
        }
    }

    /// A value for machines.
    pub fn value(self, value: &Value) {
        let _ = writeln!(std::io::stdout(), "{}", visible::json(&value.to_string()));
    }

    /// Rows under headings, each column as wide as its widest cell; a long last column is cut to one line.
    pub fn table(self, columns: &[&str], rows: &[Value]) {
        let cell = |row: &Value, column: &str| match &row[column] {
            Value::Null => "-".to_owned(),
            Value::String(text) => {
                let line = visible::one_line(text.lines().next().unwrap_or_default());
                line.chars().take(CELL_CHARS_MAX).collect()
            }
            other => visible::one_line(&other.to_string()).into_owned(),
        };
        let headings: Vec<String> = columns.iter().map(|column| column.replace('_', " ").to_uppercase()).collect();
        let cells: Vec<Vec<String>> =
            rows.iter().map(|row| columns.iter().map(|column| cell(row, column)).collect()).collect();
        let width = |at: usize| {
            let all = cells.iter().map(|row| row[at].chars().count());
            all.chain([headings[at].chars().count()]).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..columns.len()).map(width).collect();
        let line = |row: &[String]| {
            let padded: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
            padded.join("  ").trim_end().to_owned()
        };
        self.styled(&self.bold(&line(&headings)));
        for row in &cells {
            self.text(&line(row));
        }
    }

    /// An error with its causes.
    pub fn error(self, error: &anyhow::Error) {
        if self.is_json {
            let error = json!({"error": format!("{error:#}")}).to_string();
            let _ = writeln!(std::io::stderr(), "{}", visible::json(&error));
        } else {
            let _ = writeln!(std::io::stderr(), "error: {}", visible::lines(&format!("{error:#}")));
        }
    }

    /// Bold text, if a terminal shows it.
    pub fn bold(self, text: &str) -> String {
        if std::io::stdout().is_terminal() { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}
