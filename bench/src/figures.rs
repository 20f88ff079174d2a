//! Figures as JSON beside what is printed: `tools/results` makes its page from these files.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::Serialize;

#[derive(clap::Args)]
pub(crate) struct Json {
    /// Write the figures as JSON to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl Json {
    pub(crate) fn write(&self, figures: &impl Serialize) -> Result<()> {
        let Some(path) = &self.json else { return Ok(()) };
        let text = serde_json::to_string_pretty(figures)? + "\n";
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}

/// A share as a percentage with one decimal, as it is printed.
pub(crate) fn percent(sum: f64, of: u32) -> f64 {
    rounded(100.0 * sum / f64::from(of.max(1)), 1)
}

pub(crate) fn rounded(value: f64, decimals: i32) -> f64 {
    let unit = 10_f64.powi(decimals);
    (value * unit).round() / unit
}

/// A bar, and whether it was met.
#[derive(Debug, Serialize)]
pub(crate) struct Verdict {
    pub(crate) is_met: bool,
    pub(crate) bar: String,
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", if self.is_met { "PASS" } else { "FAIL" }, self.bar)
    }
}

/// Prints the verdicts. The exit code says whether a bar was missed.
#[expect(clippy::print_stdout, reason = "a bench prints its findings")]
pub(crate) fn judge(verdicts: &[Verdict]) {
    verdicts.iter().for_each(|verdict| println!("{verdict}"));
    exit_unless_met(verdicts);
}

pub(crate) fn exit_unless_met(verdicts: &[Verdict]) {
    if !verdicts.iter().all(|verdict| verdict.is_met) {
        std::process::exit(1);
    }
}
