//! All output goes through here: text for people or JSON for machines, and errors to standard error.

use std::io::{IsTerminal, Write};

use serde_json::{Value, json};

use crate::rejected::Rejected;
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

    /// Rows under headings, each column as wide as its widest cell. Long cells are cut, and at a terminal the last
    /// column ends where the line does; `…` shows where something was cut.
    pub fn table(self, columns: &[&str], rows: &[Value]) {
        self.rows(columns, rows, CELL_CHARS_MAX, terminal_columns());
    }

    /// The same without cutting, for what must be copied whole.
    pub fn whole_table(self, columns: &[&str], rows: &[Value]) {
        self.rows(columns, rows, usize::MAX, None);
    }

    fn rows(self, columns: &[&str], rows: &[Value], cell_max: usize, line_max: Option<usize>) {
        let cell = |row: &Value, column: &str| match &row[column] {
            Value::Null => "-".to_owned(),
            Value::String(text) if is_time(column) => to_the_minute(text),
            Value::String(text) => {
                let mut lines = text.lines();
                let first = visible::one_line(lines.next().unwrap_or_default()).into_owned();
                let first = if lines.next().is_some() { format!("{first} …") } else { first };
                cut(&first, cell_max)
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
            let line = padded.join("  ").trim_end().to_owned();
            line_max.map_or_else(|| line.clone(), |max| cut(&line, max))
        };
        self.styled(&self.bold(&line(&headings)));
        for row in &cells {
            self.text(&line(row));
        }
    }

    /// An error with its causes.
    pub fn error(self, error: &anyhow::Error) {
        if self.is_json {
            let mut told = json!({"error": format!("{error:#}")});
            if let Some(rejected) = error.downcast_ref::<Rejected>() {
                told["reference"] = rejected.reference.as_str().into();
            }
            let _ = writeln!(std::io::stderr(), "{}", visible::json(&told.to_string()));
        } else {
            let _ = writeln!(std::io::stderr(), "error: {}", visible::lines(&format!("{error:#}")));
        }
    }

    /// Bold text, if a terminal shows it.
    pub fn bold(self, text: &str) -> String {
        self.painted(Paint::Bold, text)
    }

    /// Coloured text, if a terminal shows it and NO_COLOR is not set.
    pub fn painted(self, paint: Paint, text: &str) -> String {
        let is_unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if is_unwanted || self.is_json || !std::io::stdout().is_terminal() {
            return text.to_owned();
        }
        format!("\u{1b}[{}m{text}\u{1b}[0m", paint as u8)
    }
}

/// How a text looks, by its number among a terminal's codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    Bold = 1,
    Faint = 2,
    Red = 31,
    Green = 32,
    Yellow = 33,
}

fn is_time(column: &str) -> bool {
    column == "at" || column.ends_with("_at") || column.ends_with("_until")
}

/// A time as people read it in a table; JSON has all of it.
fn to_the_minute(text: &str) -> String {
    let is_time = text.len() > 16 && text.as_bytes()[10] == b'T' && text.ends_with('Z');
    let parts = text.get(..10).zip(text.get(11..16)).filter(|_| is_time);
    parts.map_or_else(|| visible::one_line(text).into_owned(), |(day, minute)| format!("{day} {minute}Z"))
}

/// A text of at most this many characters; the last one shows that something is missing.
fn cut(text: &str, chars_max: usize) -> String {
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    let mut kept: String = text.chars().take(chars_max.saturating_sub(1)).collect();
    kept.push('…');
    kept
}

/// How wide the terminal is, if there is one.
fn terminal_columns() -> Option<usize> {
    mnemon_platform::terminal::columns().filter(|columns| *columns >= 40)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_end_with_the_minute() {
        assert_eq!(to_the_minute("2026-11-19T01:27:08.563479Z"), "2026-11-19 01:27Z");
        assert_eq!(to_the_minute("2026-11-19T01:27:08Z"), "2026-11-19 01:27Z");
        for other in ["2026-11-19", "", "2026-11-19T01:27:08+02:00", "ééééééééééééééééééZ"] {
            assert_eq!(to_the_minute(other), other);
        }
        assert!(["at", "created_at", "paid_until"].into_iter().all(is_time) && !is_time("state"));
    }

    #[test]
    fn what_is_cut_says_so() {
        assert_eq!(cut("four", 4), "four");
        assert_eq!(cut("fives", 4), "fiv…");
        assert_eq!(cut("ж漢字x", 3), "ж漢…");
    }
}
