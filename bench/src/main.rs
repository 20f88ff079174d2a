//! Benches: each subcommand is one module that measures one promise of the service and prints what it found.
//! Recorded runs lie under `bench/runs/`.

#![expect(clippy::print_stdout, reason = "a bench prints its findings")]

mod guard;
mod recall;
mod recall_speed;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "mnemon-bench", about = "Measures what Mnemon promises")]
struct Cli {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Subcommand)]
enum Bench {
    /// What the guard catches, what it wrongly rejects, and what a verdict costs
    Guard(guard::Args),
    /// How well searches find what they should, on labelled sets
    Recall(recall::Args),
    /// What a search, a save and a cold start cost, by the size of the workspace
    RecallSpeed(recall_speed::Args),
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().bench {
        Bench::Guard(args) => guard::run(&args),
        Bench::Recall(args) => recall::run(&args),
        Bench::RecallSpeed(args) => recall_speed::run(&args),
    }
}
