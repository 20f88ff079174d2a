//! Everything that is printed goes through here: text for people or JSON for machines, and errors to standard error.

use std::io::{IsTerminal, Write};

use serde_json::{Value, json};

/// Where output goes, and in which form.
#[derive(Debug, Clone, Copy)]
pub struct Printer {
    is_json: bool,
}

impl Printer {
    pub const fn new(is_json: bool) -> Self {
        Self { is_json }
    }

    pub const fn is_json(self) -> bool {
        self.is_json
    }

    /// Text for people.
    pub fn text(self, text: &str) {
        // A closed pipe (`mnemon search … | head -1`) is not an error of ours.
        let _ = writeln!(std::io::stdout(), "{text}");
    }

    /// A value for machines.
    pub fn value(self, value: &Value) {
        let _ = writeln!(std::io::stdout(), "{value}");
    }

    /// What went wrong, with its causes.
    pub fn error(self, error: &anyhow::Error) {
        if self.is_json {
            let _ = writeln!(std::io::stderr(), "{}", json!({"error": format!("{error:#}")}));
        } else {
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
        }
    }

    /// Text in bold where a terminal shows it.
    pub fn bold(self, text: &str) -> String {
        if std::io::stdout().is_terminal() { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}
