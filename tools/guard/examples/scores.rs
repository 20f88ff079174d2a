//! Scores of texts by given weights: JSON objects with `text` come in on standard input, one score per line goes out.
//!
//! `cargo run --release -p mnemon-guard-train --example scores -- crates/guard/assets/guard.bin < texts.jsonl`

use std::io::{BufRead, BufWriter, Write, stdin, stdout};

use anyhow::{Context, Result};
use mnemon_guard::{Field, Guard};
use serde::Deserialize;

#[derive(Deserialize)]
struct Line {
    text: String,
}

fn main() -> Result<()> {
    let path = std::env::args().nth(1).context("the path of an asset is missing")?;
    let guard = Guard::from_asset(&std::fs::read(path)?)?;
    let mut out = BufWriter::new(stdout().lock());
    for line in stdin().lock().lines() {
        let Line { text } = serde_json::from_str(&line?)?;
        writeln!(out, "{:.4}", guard.examine(Field::Content, &text).score)?;
    }
    Ok(())
}
