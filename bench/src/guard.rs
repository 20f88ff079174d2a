//! Does the guard keep its promises? Rates by kind and length, the published bars, and what a verdict costs.

mod cases;
mod quality;
mod speed;
mod tally;

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use mnemon_guard::Guard;

/// What to measure, and with which texts.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The directory with v2/holdout-v2.jsonl.gz and curated.jsonl; without it, speed alone is measured
    #[arg(long)]
    data: Option<PathBuf>,
    /// Directories with documents of packages that took no part in training, such as npm's and Debian's
    #[arg(long)]
    pages: Vec<PathBuf>,
    /// Other weights than the shipped ones
    #[arg(long)]
    weights: Option<PathBuf>,
    /// Also cross-validate, which trains five times
    #[arg(long)]
    cross_validation: bool,
    /// Skip the measurement of speed
    #[arg(long)]
    no_speed: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let mut bars = Vec::new();
    if let Some(data) = &args.data {
        if args.cross_validation {
            quality::cross_validated(data)?;
        }
        bars.extend(match &args.weights {
            Some(path) => quality::held_out(&Guard::from_asset(&fs::read(path)?)?, data, &args.pages)?,
            None => quality::held_out(Guard::shipped(), data, &args.pages)?,
        });
    }
    if !args.no_speed {
        bars.extend(speed::measure());
    }
    println!("\n## Bars\n");
    for bar in &bars {
        println!(
            "{:4}  {:58} {:>10}  (bar: {})",
            if bar.is_met { "ok" } else { "MISS" },
            bar.name,
            bar.found,
            bar.wanted
        );
    }
    Ok(())
}

/// A promise, and whether it was kept.
pub(crate) struct Bar {
    name: String,
    found: String,
    wanted: String,
    is_met: bool,
}

impl Bar {
    fn at_least(name: &str, found: f64, wanted: f64) -> Bar {
        Bar::percent(name, found, format!(">= {wanted} %"), found >= wanted)
    }

    fn at_most(name: &str, found: f64, wanted: f64) -> Bar {
        Bar::percent(name, found, format!("<= {wanted} %"), found <= wanted)
    }

    fn percent(name: &str, found: f64, wanted: String, is_met: bool) -> Bar {
        Bar { name: name.to_owned(), found: format!("{found:.2} %"), wanted, is_met }
    }

    fn micros(name: &str, found: f64, at_most: f64) -> Bar {
        let found_text = format!("{found:.1} µs");
        Bar { name: name.to_owned(), found: found_text, wanted: format!("<= {at_most} µs"), is_met: found <= at_most }
    }

    fn ratio(name: &str, found: f64, at_most: f64) -> Bar {
        let found_text = format!("{found:.2} x");
        Bar { name: name.to_owned(), found: found_text, wanted: format!("<= {at_most} x"), is_met: found <= at_most }
    }
}
