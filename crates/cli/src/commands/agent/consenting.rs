//! `mnemon agent consent` and `revoke`.

use std::io::{BufRead, IsTerminal, Write};
use std::process::ExitCode;

use anyhow::{Context, bail};
use mnemon_agent::consent::Consent;
use mnemon_agent::{status, sync};
use serde_json::json;

use super::{Desk, runtime};
use crate::arguments::Revoke;
use crate::printer::Printer;

/// Asks a person. A program that pipes `yes` in is not one: both ends must be a terminal.
pub(super) fn consent(desk: &Desk, printer: &Printer) -> anyhow::Result<ExitCode> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        bail!("consent needs a person at a terminal; run `mnemon agent consent` there yourself");
    }
    let key = desk.settings.key.as_ref().context("no API key; pass --key or set MNEMON_API_KEY")?;
    let found = status::sessions(&desk.places).len();
    let mut terminal = std::io::stderr();
    writeln!(
        terminal,
        "Session histories of Claude Code and Codex on this machine ({found} now, and future ones) will be uploaded to\n\
         \n    {}\n    using the key with fingerprint {} (from {})\n\n\
         Sent: what you and the assistant say, tool calls, and the first 4,000 characters of each tool's result.\n\
         Not sent: reasoning, system prompts, absolute paths, known kinds of secrets (they are redacted first), and files\n\
         covered by .mnemonignore. The operator of the service can read what is sent.\n\
         To see every line first, run `mnemon agent sync --dry-run --lines`. To withdraw consent at any time, run\n\
         `mnemon agent revoke`.\n",
        desk.settings.url,
        key.fingerprint(),
        desk.settings.key_source,
    )?;
    write!(terminal, "Type yes to consent: ")?;
    terminal.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    if answer.trim() != "yes" {
        bail!("consent was not given; nothing will be uploaded");
    }
    let consent = Consent::grant(&desk.places, &desk.settings).context("can't save the consent")?;
    if printer.is_json() {
        printer.value(&json!({"consent": true, "server": consent.server, "at": consent.at}));
    } else {
        printer.text(
            "Consent saved. Running agents start uploading within 15 seconds; run `mnemon agent sync` to upload now.",
        );
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn revoke(desk: &Desk, revoke: &Revoke, printer: &Printer) -> anyhow::Result<ExitCode> {
    if revoke.delete_uploaded {
        let act =
            format!("withdraw consent and delete every session history that you uploaded to {}", desk.settings.url);
        revoke.confirmation.ask(&act, "Deleted histories can't be restored.")?;
    }
    let was_given = Consent::revoke(&desk.places).context("can't remove the consent")?;
    let deleted = match revoke.delete_uploaded {
        true => Some(runtime()?.block_on(sync::delete_uploaded(&desk.settings, &desk.places))?),
        false => None,
    };
    if printer.is_json() {
        printer.value(&json!({"consent": false, "was_given": was_given, "deleted_sessions": deleted}));
        return Ok(ExitCode::SUCCESS);
    }
    printer.text(if was_given {
        "Consent withdrawn. Nothing more will be uploaded."
    } else {
        "There was no consent to withdraw; nothing is uploaded."
    });
    match deleted {
        Some(count) => printer.text(&format!("Deleted {count} session(s) from {}.", desk.settings.url)),
        None => printer.text("Uploaded sessions are still on the service; delete them with --delete-uploaded."),
    }
    Ok(ExitCode::SUCCESS)
}
