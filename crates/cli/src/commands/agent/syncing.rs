//! `mnemon agent status` and `sync`.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use mnemon_agent::service::Service;
use mnemon_agent::status;
use mnemon_agent::sync::{Options, Pace, Progress, preview, sync as sync_now};
use serde_json::{Value, json};

use super::{Desk, runtime};
use crate::arguments::Sync;
use crate::printer::Printer;
use crate::visible;

pub(super) fn status(desk: &Desk, printer: &Printer) -> anyhow::Result<ExitCode> {
    let service = runtime()?.block_on(async {
        let service = Service::new(&desk.settings);
        status::collect(&desk.settings, &desk.places, &service).await
    });
    let sessions = serde_json::to_value(status::sessions(&desk.places))?;
    let mut shown = serde_json::to_value(&service)?;
    if printer.is_json() {
        shown["sessions"] = sessions;
        printer.value(&shown);
        return Ok(ExitCode::SUCCESS);
    }
    for (name, value) in shown.as_object().into_iter().flatten() {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        printer.text(&format!("{:<16} {}", name.replace('_', " "), if value.is_null() { "-" } else { &text }));
    }
    let rows: Vec<Value> = sessions.as_array().cloned().unwrap_or_default();
    let sent: Vec<Value> =
        rows.into_iter().filter(|row| row["sent_bytes"] != json!(0) || !row["rest"].is_null()).collect();
    if !sent.is_empty() {
        printer.text("");
        printer.table(&["client", "sent_bytes", "redacted", "sent_at", "rest", "session"], &sent);
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn sync(desk: &Desk, sync: &Sync, printer: &Printer) -> anyhow::Result<ExitCode> {
    if sync.dry_run {
        return dry_run(desk, sync, printer);
    }
    let is_terminal = std::io::stderr().is_terminal() && !printer.is_json();
    let mut watch = |progress: Progress<'_>| {
        if is_terminal {
            let Progress { session, at, of, sent_bytes } = progress;
            let (kib, client) = (sent_bytes / 1024, session.client.as_str());
            let name = visible::one_line(&session.name);
            let _ = write!(std::io::stderr(), "\r\u{1b}[2K{at} of {of}: {client} {name} ({kib} KiB sent)");
        }
    };
    let options = Options { pace: Pace::Full, is_again: sync.again };
    let done = runtime()?.block_on(sync_now(&desk.settings, &desk.places, options, &mut watch));
    if is_terminal {
        let _ = write!(std::io::stderr(), "\r\u{1b}[2K");
    }
    let report = done?;
    if printer.is_json() {
        printer.value(&serde_json::to_value(&report)?);
    } else {
        let (sessions, sent, bytes) = (report.sessions, report.sent_sessions, report.sent_bytes);
        printer.text(&format!("Found {sessions} session(s); uploaded {bytes} bytes from {sent} of them."));
        for (count, words) in [
            (report.ignored, "skipped because of .mnemonignore"),
            (report.deleted, "deleted from the service and not uploaded again (use --again)"),
            (report.busy, "being uploaded by another agent"),
        ] {
            if count > 0 {
                printer.text(&format!("{count} {words}."));
            }
        }
        for (name, why) in &report.failed {
            printer.text(&visible::one_line(&format!("{name} was not uploaded: {why}")));
        }
    }
    Ok(if report.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn dry_run(desk: &Desk, sync: &Sync, printer: &Printer) -> anyhow::Result<ExitCode> {
    let mut stdout = std::io::stdout();
    let is_terminal = stdout.is_terminal();
    let mut lines = |_: &_, line: &[u8]| {
        if sync.lines {
            // The bytes that would be sent, unless a terminal would act on them. A closed pipe (`… | head`) is not our
            // error.
            let _ = match is_terminal {
                true => writeln!(stdout, "{}", visible::json(String::from_utf8_lossy(line).trim_end_matches('\n'))),
                false => stdout.write_all(line),
            };
        }
    };
    let previews = preview(&desk.places, &mut lines);
    if sync.lines {
        return Ok(ExitCode::SUCCESS);
    }
    let rows = serde_json::to_value(&previews)?;
    if printer.is_json() {
        printer.value(&json!({"sessions": rows}));
        return Ok(ExitCode::SUCCESS);
    }
    let rows = rows.as_array().cloned().unwrap_or_default();
    printer.table(&["client", "raw_bytes", "lines", "bytes", "sent_bytes", "redacted", "ignored", "session"], &rows);
    printer.text("Dry run; nothing was uploaded.");
    Ok(ExitCode::SUCCESS)
}
