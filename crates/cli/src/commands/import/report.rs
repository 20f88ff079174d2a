//! What became of an import: counts, and what was not taken and why.

use std::collections::{BTreeMap, BTreeSet};

use clap::ValueEnum;
use mnemon_protocol::export_lines::{ImportProblem, ImportReport};
use serde_json::{Value, json};

use crate::printer::Printer;
use crate::transfer_arguments::ImportFormat;
use crate::visible;

/// How many problems are listed; all are counted.
const LISTED_MAX: usize = 1_000;
/// How many a person is shown.
const SHOWN_MAX: usize = 20;

#[derive(Debug, Default)]
pub struct Report {
    pub told: ImportReport,
    pub formats: BTreeSet<ImportFormat>,
    problems: Vec<(String, ImportProblem)>,
}

impl Report {
    /// Adds a batch's report. `places` says where its lines come from.
    pub fn add(&mut self, batch: &ImportReport, places: &[String]) {
        let told = &mut self.told;
        told.saved += batch.saved;
        told.present += batch.present;
        told.refused += batch.refused;
        told.redacted += batch.redacted;
        told.cautioned += batch.cautioned;
        told.other_author += batch.other_author;
        told.sources += batch.sources;
        for problem in &batch.problems {
            let nth = usize::try_from(problem.line).unwrap_or_default().saturating_sub(1);
            let place = places.get(nth).cloned().unwrap_or_default();
            if self.problems.len() < LISTED_MAX {
                self.problems.push((place, problem.clone()));
            }
        }
    }

    /// Notes something that was not even sent.
    pub fn left_out(&mut self, place: String, code: &str, message: String) {
        self.told.refused += 1;
        if self.problems.len() < LISTED_MAX {
            self.problems.push((place, ImportProblem { line: 0, code: code.to_owned(), message }));
        }
    }

    pub fn is_empty(&self) -> bool {
        let ImportReport { saved, present, refused, sources, .. } = &self.told;
        saved + present + refused + sources == 0
    }

    pub fn show(&self, printer: &Printer, is_dry_run: bool) {
        if printer.is_json() {
            return printer.value(&self.to_json(is_dry_run));
        }
        let ImportReport { saved, present, refused, redacted, cautioned, other_author, .. } = &self.told;
        let done = if is_dry_run { "would be saved (dry run; nothing was changed)" } else { "saved" };
        printer.text(&format!("{} {done}, {present} already there, {refused} not taken.", records(*saved)));
        let notes = [
            (redacted, "secret(s) replaced"),
            (cautioned, "marked with a caution: they may contain instructions"),
            (other_author, "saved under your name: their authors are no members here"),
        ];
        for (count, text) in notes.into_iter().filter(|(count, _)| **count > 0) {
            printer.text(&format!("  {count} {text}"));
        }
        if *refused > 0 {
            self.show_problems(printer);
        }
    }

    fn show_problems(&self, printer: &Printer) {
        printer.text("Not taken:");
        for (place, problem) in self.problems.iter().take(SHOWN_MAX) {
            let line = format!("  {place}: {}", problem.message);
            printer.text(&visible::one_line(&line));
        }
        let left = usize::try_from(self.told.refused).unwrap_or_default().saturating_sub(SHOWN_MAX);
        if left > 0 {
            printer.text(&format!("  … and {left} more; --json lists up to {LISTED_MAX}"));
        }
    }

    fn to_json(&self, is_dry_run: bool) -> Value {
        let name = |format: &ImportFormat| {
            format.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
        };
        let mut by_reason: BTreeMap<&str, u64> = BTreeMap::new();
        for (_, problem) in &self.problems {
            *by_reason.entry(&problem.code).or_default() += 1;
        }
        let problems = self
            .problems
            .iter()
            .map(|(place, problem)| json!({"place": place, "code": problem.code, "message": problem.message}));
        json!({
            "formats": self.formats.iter().map(name).collect::<Vec<_>>(),
            "dry_run": is_dry_run,
            "saved": self.told.saved,
            "present": self.told.present,
            "refused": self.told.refused,
            "redacted": self.told.redacted,
            "cautioned": self.told.cautioned,
            "other_author": self.told.other_author,
            "sources": self.told.sources,
            "refused_by_reason": by_reason,
            "problems": problems.collect::<Vec<_>>(),
        })
    }
}

fn records(count: u64) -> String {
    if count == 1 { "1 record".to_owned() } else { format!("{count} records") }
}
