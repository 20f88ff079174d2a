//! Sends lines to the service in batches, small enough for any proxy. A batch that got no answer is sent again: what it
//! saved the first time is found by the service.

use std::time::Duration;

use anyhow::{Context, anyhow};
use mnemon_protocol::export_lines::{ImportReport, ImportStop};

use super::progress::Progress;
use super::report::Report;
use crate::admin_client::AdminClient;

const BATCH_LINES: usize = 500;
const BATCH_BYTES: usize = 768 << 10;
/// How long to wait before each further attempt.
const WAITS: [Duration; 4] =
    [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4), Duration::from_secs(8)];

/// A batch that is being filled. Without a client, lines are only counted.
pub struct Sender<'a> {
    client: Option<&'a AdminClient>,
    path: String,
    lines: Vec<String>,
    /// Where each line comes from.
    places: Vec<String>,
    bytes: usize,
    progress: Progress,
}

impl<'a> Sender<'a> {
    pub fn new(client: &'a AdminClient, project: &str, is_dry_run: bool, progress: Progress) -> Self {
        let path = format!("/projects/{project}/import?dry_run={is_dry_run}");
        Self { client: Some(client), path, lines: Vec::new(), places: Vec::new(), bytes: 0, progress }
    }

    /// One that counts, and returns nothing else.
    pub fn counting() -> Self {
        let (lines, places) = (Vec::new(), Vec::new());
        Self { client: None, path: String::new(), lines, places, bytes: 0, progress: Progress::default() }
    }

    pub fn count(&self) -> u64 {
        self.progress.done()
    }

    pub fn send(&mut self, place: String, line: String, report: &mut Report) -> anyhow::Result<()> {
        if self.client.is_none() {
            self.progress.add(1);
            return Ok(());
        }
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
            let answer = self.post(&lines[from..].concat())?;
            let stopped = answer.stopped.clone();
            report.add(&answer, &places[from..]);
            let until = match stopped {
                Some(ImportStop { line, .. }) => from + usize::try_from(line.saturating_sub(1)).unwrap_or_default(),
                None => lines.len(),
            };
            self.progress.add(until.saturating_sub(from) as u64);
            self.progress.show(report.told.refused);
            from = until;
            if let Some(ImportStop { retry_after_seconds, .. }) = answer.stopped {
                self.progress.say(&format!("many texts were refused; going on in {retry_after_seconds} s"));
                std::thread::sleep(Duration::from_secs(retry_after_seconds.max(1)));
            }
        }
        Ok(())
    }

    /// Removes the line that shows how far it is.
    pub fn clear(&self) {
        self.progress.say("");
    }

    fn post(&self, body: &str) -> anyhow::Result<ImportReport> {
        let Some(client) = self.client else { return Ok(ImportReport::default()) };
        let mut waits = WAITS.iter();
        loop {
            let answer = client.upload(&self.path, body.to_owned());
            let is_away = answer.as_ref().err().is_some_and(crate::http_client::is_no_answer);
            match waits.next().filter(|_| is_away) {
                Some(wait) => {
                    self.progress.say("no answer; trying again");
                    std::thread::sleep(*wait);
                }
                None => {
                    self.clear();
                    let answer = answer.map_err(|error| anyhow!("{error:#}. {}", self.progress.stopped()))?;
                    return serde_json::from_value(answer).context("the service sent something that is not a report");
                }
            }
        }
    }
}
