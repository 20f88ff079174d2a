//! `mnemon transfer`: copies all data from one storage to another.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use mnemon_store::{Progress, Step, StorageEnd, Transferred, transfer_everything};
use serde_json::{Value, json};

use crate::arguments::Transfer;
use crate::printer::Printer;
use crate::storage;

/// How often progress is shown on a terminal.
const TELL_EVERY: Duration = Duration::from_millis(100);

pub fn run(transfer: &Transfer, printer: &Printer) -> anyhow::Result<ExitCode> {
    let from = StorageEnd::parse(&transfer.from).map_err(anyhow::Error::msg).context("--from")?;
    let to = StorageEnd::parse(&transfer.to).map_err(anyhow::Error::msg).context("--to")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut line = Line::new();
    let moved = runtime.block_on(transfer_everything(&from, &to, &mut |progress| line.tell(progress)));
    line.clear();
    let failed = |error| anyhow!("{}. Nothing is lost; the source is unchanged", storage::cause(&error));
    show(printer, &moved.map_err(failed)?);
    Ok(ExitCode::SUCCESS)
}

fn show(printer: &Printer, moved: &Transferred) {
    let rows: Vec<Value> = moved.tables.iter().map(|(table, rows)| json!({"table": table, "rows": rows})).collect();
    if printer.is_json() {
        let Transferred { accounts, projects, rows_before, .. } = moved;
        return printer.value(
            &json!({"accounts": accounts, "projects": projects, "rows_already_there": rows_before, "tables": rows}),
        );
    }
    printer.table(&["table", "rows"], &rows);
    if moved.rows_before > 0 {
        printer.text(&format!("{} rows were already there from an interrupted run.", moved.rows_before));
    }
    printer.text(&format!(
        "Transferred {} accounts with {} projects. Verified: row counts and hashes of every table agree on both sides.",
        moved.accounts, moved.projects
    ));
}

/// One line on a terminal, overwritten in place; nothing elsewhere.
struct Line {
    is_shown: bool,
    told_at: Option<Instant>,
}

impl Line {
    fn new() -> Self {
        Self { is_shown: std::io::stderr().is_terminal(), told_at: None }
    }

    fn tell(&mut self, progress: &Progress) {
        if !self.is_shown || self.told_at.is_some_and(|at| at.elapsed() < TELL_EVERY) {
            return;
        }
        self.told_at = Some(Instant::now());
        let verb = match progress.step {
            Step::Copy => "copying",
            Step::Verify => "comparing",
        };
        let _ = write!(
            std::io::stderr(),
            "\r\u{1b}[2K{verb} {}: {} rows, {} of {} accounts and projects",
            progress.table,
            progress.rows,
            progress.tenants,
            progress.tenants_all
        );
    }

    fn clear(&self) {
        if self.is_shown && self.told_at.is_some() {
            let _ = write!(std::io::stderr(), "\r\u{1b}[2K");
        }
    }
}
