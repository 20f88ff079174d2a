//! `freshness`: does what holds come first? Facts change in every way the service knows, over real calls to a real
//! server, and people ask about them afterwards.

mod data;
mod report;
mod story;

use std::path::PathBuf;

use anyhow::Context;

use crate::figures::{Json, exit_unless_met};
use report::{ChangeResult, Figures};
use story::Change;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder with `updates.jsonl` and `around.jsonl`
    #[arg(long, default_value = "bench/data/freshness")]
    data: PathBuf,
    /// List every question whose answer is not the wanted record
    #[arg(long)]
    show: bool,
    #[command(flatten)]
    json: Json,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let domains = data::load(&args.data)?;
    let runtime = tokio::runtime::Runtime::new()?;
    let (mut rows, mut refused) = (Vec::new(), std::collections::BTreeSet::new());
    for change in Change::ALL {
        let told = runtime.block_on(story::tell(change, &domains)).with_context(|| format!("{change:?}"))?;
        let asked = told.map(|told| {
            refused.extend(told.refused);
            told.asked
        });
        rows.push(ChangeResult { change, asked });
    }
    let updates: usize = domains.iter().map(|domain| domain.updates.len()).sum();
    let records: usize = domains.iter().map(|domain| domain.around.len()).sum();
    println!("{updates} updates in {} workspaces, {records} other records around them\n", domains.len());
    let (fresh, stale) = report::print_tables(&rows);
    for text in &refused {
        let start: String = text.chars().take(70).collect();
        println!("not asked about, because the guard refused it: {start:?}");
    }
    if args.show {
        report::print_missed(&rows);
    }
    let figures = Figures { fresh, stale, verdicts: report::print_bars(&rows) };
    args.json.write(&figures)?;
    exit_unless_met(&figures.verdicts);
    Ok(())
}
