//! Does the guard keep its promises? Rates by kind and length, the published bars, and what a verdict costs.

mod cases;
mod quality;
mod speed;
mod tally;

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use mnemon_guard::Guard;
use serde::Serialize;

use crate::figures::{Json, rounded};
use quality::Language;
use speed::Pieces;

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
    #[command(flatten)]
    json: Json,
}

#[derive(Default, Serialize)]
struct Figures {
    languages: Vec<Language>,
    pieces: Option<Pieces>,
    bars: Vec<Bar>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let mut figures = Figures::default();
    if let Some(data) = &args.data {
        if args.cross_validation {
            quality::cross_validated(data)?;
        }
        (figures.languages, figures.bars) = match &args.weights {
            Some(path) => quality::held_out(&Guard::from_asset(&fs::read(path)?)?, data, &args.pages)?,
            None => quality::held_out(Guard::shipped(), data, &args.pages)?,
        };
    }
    if !args.no_speed {
        let (pieces, bars) = speed::measure();
        figures.pieces = Some(pieces);
        figures.bars.extend(bars);
    }
    println!("\n## Bars\n");
    for bar in &figures.bars {
        println!(
            "{:4}  {:58} {:>10}  (bar: {})",
            if bar.is_met { "ok" } else { "MISS" },
            bar.name,
            bar.found,
            bar.wanted
        );
    }
    args.json.write(&figures)
}

/// A promise, and whether it was kept.
#[derive(Serialize)]
pub(crate) struct Bar {
    name: String,
    found: String,
    /// The number of what was found, if it is one.
    value: Option<f64>,
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
        let (found, value) = (format!("{found:.2} %"), Some(rounded(found, 2)));
        Bar { name: name.to_owned(), found, value, wanted, is_met }
    }

    fn micros(name: &str, found: f64, at_most: f64) -> Bar {
        let (text, value) = (format!("{found:.1} µs"), Some(rounded(found, 1)));
        let wanted = format!("<= {at_most} µs");
        Bar { name: name.to_owned(), found: text, value, wanted, is_met: found <= at_most }
    }

    fn ratio(name: &str, found: f64, at_most: f64) -> Bar {
        let (text, value) = (format!("{found:.2} x"), Some(rounded(found, 2)));
        let wanted = format!("<= {at_most} x");
        Bar { name: name.to_owned(), found: text, value, wanted, is_met: found <= at_most }
    }
}
