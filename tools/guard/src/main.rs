//! Remakes the guard's weights: `cargo run --release -p mnemon-guard-train -- --data <directory>`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Parser;
use mnemon_guard_train::calibrate::Course;
use mnemon_guard_train::data::load_all;
use mnemon_guard_train::fit::Settings;
use mnemon_guard_train::pages;

/// Trains the guard on the public part of the data and writes the asset.
#[derive(Debug, Parser)]
struct Arguments {
    /// The directory that holds v2/dev-v2.jsonl.gz and v3.
    #[arg(long, required_unless_present = "list_pages")]
    data: Option<PathBuf>,
    /// Where the asset goes.
    #[arg(long, default_value = "crates/guard/assets/guard.bin")]
    out: PathBuf,
    /// Only write the list of pages in cargo's package cache that may be trained on, for pages.tsv.
    #[arg(long)]
    list_pages: Option<PathBuf>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if let Some(path) = arguments.list_pages {
        return fs::write(&path, pages::list(&pages::cache()?)?).with_context(|| format!("writing {}", path.display()));
    }
    let data = arguments.data.unwrap_or_default();
    let samples = load_all(&data)?;
    let asset = Course::new(&samples, &pages::pinned()?).fit(&Settings::default()).to_asset();
    fs::write(&arguments.out, asset).with_context(|| format!("writing {}", arguments.out.display()))
}
