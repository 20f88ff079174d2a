//! How far a long check has come, for a person at a terminal.

use std::io::{IsTerminal, Write};

use crate::printer::Printer;

/// Fewer sources are over before anybody wonders.
const SOURCES_MIN: usize = 200;
const STEP: usize = 50;

pub struct Progress {
    done: usize,
    of: usize,
    is_shown: bool,
}

impl Progress {
    pub fn begin(of: usize, printer: Printer) -> Self {
        let is_shown =
            of >= SOURCES_MIN && !printer.is_json() && !printer.is_silent() && std::io::stderr().is_terminal();
        Self { done: 0, of, is_shown }
    }

    pub fn step(&mut self) {
        self.done += 1;
        if self.is_shown && self.done.is_multiple_of(STEP) {
            let _ = write!(std::io::stderr(), "\r\u{1b}[2Klooked at {} of {} sources", self.done, self.of);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown {
            let _ = write!(std::io::stderr(), "\r\u{1b}[2K");
        }
    }
}
