//! Does the guard keep its promises? Rates by kind and source, the published bars, and what a verdict costs.

mod quality;
mod speed;

use std::path::PathBuf;

use anyhow::Result;

/// What to measure, and with which texts.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The directory with dev.jsonl, holdout.jsonl and curated.jsonl; without it, speed alone is measured
    #[arg(long)]
    data: Option<PathBuf>,
    /// Leave out cross-validation, which trains five times
    #[arg(long)]
    no_cross_validation: bool,
    /// Skip the measurement of speed
    #[arg(long)]
    no_speed: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let mut bars = Vec::new();
    if let Some(data) = &args.data {
        if !args.no_cross_validation {
            quality::cross_validated(data)?;
        }
        bars.extend(quality::held_out(data)?);
        bars.extend(quality::curated(data)?);
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
