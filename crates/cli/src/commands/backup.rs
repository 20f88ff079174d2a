//! `mnemon backup` and `mnemon restore`: one file for all that a data directory holds, and back.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use mnemon_core::Clock;
use mnemon_engine::SystemClock;
use mnemon_server::config::StorageConfig;
use mnemon_store::sqlite::{Copied, Trust, back_up, restore as bring_back};
use serde_json::json;

use crate::arguments::{Backup, Restore};
use crate::printer::Printer;
use crate::settings;

const MB: u64 = 1_000_000;

pub fn back(backup: &Backup, printer: &Printer) -> anyhow::Result<ExitCode> {
    let data_dir = data_dir(settings::load(&backup.settings)?.storage)?;
    let to = file_in(&backup.to).context("no backup was made")?;
    let is_shown = std::io::stderr().is_terminal();
    let mut tell = |done: u64, all: u64| {
        if is_shown {
            let _ = write!(std::io::stderr(), "\r\u{1b}[2Kcopying: {} of {} MB", done / MB, all / MB);
        }
    };
    let copied = back_up(&data_dir, &to, backup.rate.map(|rate| rate * MB), backup.keep_damaged, &mut tell);
    if is_shown {
        let _ = write!(std::io::stderr(), "\r\u{1b}[2K");
    }
    let copied = copied.context("no backup was made")?;
    show(printer, "backup", &to, &copied, "Read back and complete.");
    Ok(ExitCode::SUCCESS)
}

pub fn restore(restore: &Restore, printer: &Printer) -> anyhow::Result<ExitCode> {
    let data_dir = data_dir(settings::load(&restore.settings)?.storage)?;
    let trust = Trust { unsealed: restore.raw, damaged_records: restore.keep_damaged };
    let copied = bring_back(&restore.from, &data_dir, trust).context("nothing was restored")?;
    let next = format!("Start the service with `mnemon serve --data-dir {}`.", data_dir.display());
    show(printer, "data_dir", &data_dir, &copied, &next);
    Ok(ExitCode::SUCCESS)
}

fn data_dir(storage: StorageConfig) -> anyhow::Result<PathBuf> {
    if storage.database.is_some() {
        bail!("the data is in PostgreSQL, which has its own tools for this; see docs/operations/backup.md");
    }
    Ok(storage.data_dir)
}

/// The file itself, or one named after the time in the directory given. A path that ends with `/` is a directory, and
/// is made: otherwise the first of many backups would become a file of that name, and all others would fail.
fn file_in(to: &Path) -> anyhow::Result<PathBuf> {
    let last = to.as_os_str().as_encoded_bytes().last();
    if last.is_some_and(|&last| std::path::is_separator(char::from(last))) {
        let made = mnemon_platform::files::make_folder(to);
        made.with_context(|| format!("the directory {} can't be made", to.display()))?;
    }
    if !to.is_dir() {
        return Ok(to.to_owned());
    }
    let now = SystemClock.now().strftime("%Y%m%dT%H%M%SZ");
    Ok(to.join(format!("mnemon-{now}.db")))
}

fn show(printer: &Printer, name: &str, path: &Path, copied: &Copied, next: &str) {
    let Copied { bytes, records, dropped } = copied;
    if printer.is_json() {
        let shown = json!({name: path.display().to_string(), "bytes": bytes, "records": records, "dropped": dropped});
        return printer.value(&shown);
    }
    for part in dropped {
        // Its name is a stranger's.
        printer.text(&format!("left out, because mnemon did not make it: {}", part.escape_debug()));
    }
    let records = if *records == 1 { "1 record".to_owned() } else { format!("{records} records") };
    printer.text(&format!("{}: {records}, {:.1} MB. {next}", path.display(), *bytes as f64 / MB as f64));
}
