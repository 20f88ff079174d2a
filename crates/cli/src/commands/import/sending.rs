//! Sends lines to the service in batches, small enough for any proxy. A batch that got no answer is sent again: what it
//! saved the first time is found by the service.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use anyhow::Context;
use mnemon_protocol::export_lines::{ImportReport, ImportStop};

use super::report::Report;
use crate::admin_client::AdminClient;

const BATCH_LINES: usize = 500;
const BATCH_BYTES: usize = 768 << 10;
/// How long to wait before each further attempt.
const WAITS: [Duration; 4] =
    [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4), Duration::from_secs(8)];

/// A batch that is being filled.
pub struct Sender<'a> {
    client: &'a AdminClient,
    path: String,
    lines: Vec<String>,
    /// Where each line comes from.
    places: Vec<String>,
    bytes: usize,
    is_shown: bool,
}

impl<'a> Sender<'a> {
    pub fn new(client: &'a AdminClient, project: &str, is_dry_run: bool) -> Self {
        let path = format!("/projects/{project}/import?dry_run={is_dry_run}");
        let is_shown = std::io::stderr().is_terminal();
        Self { client, path, lines: Vec::new(), places: Vec::new(), bytes: 0, is_shown }
    }

    pub fn send(&mut self, place: String, line: String, report: &mut Report) -> anyhow::Result<()> {
        self.bytes += line.len();
        self.lines.push(line);
        self.places.push(place);
        if self.lines.len() >= BATCH_LINES || self.bytes >= BATCH_BYTES {
            self.flush(report)?;
        }
        Ok(())
    }

    /// Sends what is there. A batch that the service took only in part is continued when the service says so.
    pub fn flush(&mut self, report: &mut Report) -> anyhow::Result<()> {
        let (lines, places) = (std::mem::take(&mut self.lines), std::mem::take(&mut self.places));
        self.bytes = 0;
        let mut from = 0;
        while from < lines.len() {
            let answer = self.post(&lines[from..].concat(), report)?;
            let stopped = answer.stopped.clone();
            report.add(&answer, &places[from..]);
            self.show(report);
            match stopped {
                Some(ImportStop { line, retry_after_seconds, .. }) => {
                    from += usize::try_from(line.saturating_sub(1)).unwrap_or_default();
                    self.say(&format!("many texts were refused; going on in {retry_after_seconds} s"));
                    std::thread::sleep(Duration::from_secs(retry_after_seconds.max(1)));
                }
                None => break,
            }
        }
        self.say("");
        Ok(())
    }

    fn post(&self, body: &str, report: &Report) -> anyhow::Result<ImportReport> {
        let mut waits = WAITS.iter();
        loop {
            let answer = self.client.upload(&self.path, body.to_owned());
            let is_away = answer.as_ref().err().is_some_and(crate::http_client::is_no_answer);
            match waits.next().filter(|_| is_away) {
                Some(wait) => {
                    self.say("no answer; trying again");
                    std::thread::sleep(*wait);
                }
                None => {
                    let done = report.told.saved + report.told.present;
                    let answer = answer.with_context(|| {
                        format!("the import stopped after {done} records; run the same command again to continue")
                    })?;
                    return serde_json::from_value(answer).context("the service sent something that is not a report");
                }
            }
        }
    }

    fn show(&self, report: &Report) {
        let told = &report.told;
        self.say(&format!(
            "importing: {} saved, {} there already, {} not taken",
            told.saved, told.present, told.refused
        ));
    }

    /// One line that the next one replaces; only at a terminal.
    fn say(&self, text: &str) {
        if self.is_shown {
            let _ = write!(std::io::stderr(), "\r\u{1b}[2K{text}");
        }
    }
}
