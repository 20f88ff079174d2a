//! Remakes the guard's weights: `cargo run --release -p mnemon-guard-train -- --data <directory>`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Parser;
use mnemon_guard_train::calibrate::train;
use mnemon_guard_train::data::load;
use mnemon_guard_train::fit::Settings;

/// Trains the guard on the public part of the data and writes the asset.
#[derive(Debug, Parser)]
struct Arguments {
    /// The directory that holds dev.jsonl.
    #[arg(long)]
    data: PathBuf,
    /// Where the asset goes.
    #[arg(long, default_value = "crates/guard/assets/guard.bin")]
    out: PathBuf,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let samples = load(&arguments.data, "dev")?;
    let asset = train(&samples, &Settings::default()).to_asset();
    fs::write(&arguments.out, asset).with_context(|| format!("writing {}", arguments.out.display()))
}
