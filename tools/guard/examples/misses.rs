//! Shows what cross-validation on the training part gets wrong, so that features and own texts can be improved by
//! reading. It opens `dev.jsonl` alone: whoever reads other parts' misses can't measure with them any more.

#![expect(clippy::print_stdout, reason = "a tool for people at a terminal")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Parser;
use mnemon_guard_train::calibrate::{Scored, cross_validate, threshold};
use mnemon_guard_train::data::load;
use mnemon_guard_train::fit::Settings;

/// Lists wrong verdicts, worst first.
#[derive(Debug, Parser)]
struct Arguments {
    /// The directory that holds dev.jsonl.
    #[arg(long)]
    data: PathBuf,
    /// Show misses of this kind only.
    #[arg(long)]
    kind: Option<String>,
    /// How many misses of each label to show.
    #[arg(long, default_value_t = 0)]
    show: usize,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let samples = load(&arguments.data, "dev")?;
    let scored = cross_validate(&samples, &Settings::default());
    let threshold = threshold(&scored);
    println!("threshold {threshold:.3}");
    rates(&scored, threshold);
    for label in [0, 1] {
        misses(&scored, threshold, label, &arguments);
    }
    Ok(())
}

fn rates(scored: &[Scored<'_>], threshold: f32) {
    let mut table: BTreeMap<(u8, &str, &str), (usize, usize)> = BTreeMap::new();
    for one in scored {
        let rejected = usize::from(one.score >= threshold);
        let group = if one.sample.is_core() { "core" } else { "rest" };
        let source = if one.sample.is_malicious() { one.sample.source.as_str() } else { "" };
        for (kind, source) in [(group, ""), (&one.sample.kind, source)] {
            let row = table.entry((one.sample.label, kind, source)).or_default();
            *row = (row.0 + rejected, row.1 + 1);
        }
    }
    for ((label, kind, source), (rejected, all)) in table {
        let percent = 100.0 * rejected as f64 / all as f64;
        println!("{label} {kind:16} {source:28} {rejected:5} of {all:5}  {percent:6.2} %");
    }
}

fn misses(scored: &[Scored<'_>], threshold: f32, label: u8, arguments: &Arguments) {
    let mut wrong: Vec<&Scored<'_>> = scored
        .iter()
        .filter(|one| one.sample.label == label && one.sample.is_malicious() != (one.score >= threshold))
        .filter(|one| arguments.kind.as_ref().is_none_or(|kind| *kind == one.sample.kind))
        .collect();
    wrong.sort_by(|a, b| (b.score - threshold).abs().total_cmp(&(a.score - threshold).abs()));
    for one in wrong.iter().take(arguments.show) {
        let text: String = one.sample.text.chars().take(300).collect();
        println!("{label} {:6.2} {}: {text:?}", one.score - threshold, one.sample.source);
    }
}
