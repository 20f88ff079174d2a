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

/// Asks a person. A program that pipes `yes` in is none: both ends must be a terminal.
pub(super) fn consent(desk: &Desk, printer: &Printer) -> anyhow::Result<ExitCode> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        bail!("consent needs a person at a terminal; run `mnemon agent consent` there yourself");
    }
    let key = desk.settings.key.as_ref().context("there is no API key; give --key or set MNEMON_API_KEY")?;
    let found = status::sessions(&desk.places).len();
    let mut terminal = std::io::stderr();
    writeln!(
        terminal,
        "Session histories of Claude Code and Codex on this machine ({found} so far, and those to come) will be uploaded to\n\
         \n    {}\n    with the key of fingerprint {} (from {})\n\n\
         Sent: what you and the assistant say, tool calls, and the first 4,000 characters of each tool's result.\n\
         Not sent: reasoning, system prompts, absolute paths, known kinds of secrets (they are replaced first), and what\n\
         .mnemonignore files cover. Whoever runs that service can read what is sent.\n\
         See every line first: mnemon agent sync --dry-run --lines. Take it back at any time: mnemon agent revoke.\n",
        desk.settings.url,
        key.fingerprint(),
        desk.settings.key_source,
    )?;
    write!(terminal, "Type yes to agree: ")?;
    terminal.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    if answer.trim() != "yes" {
        bail!("nothing was agreed to, and nothing is sent");
    }
    let consent = Consent::grant(&desk.places, &desk.settings).context("the consent can't be noted")?;
    if printer.is_json() {
        printer.value(&json!({"consent": true, "server": consent.server, "at": consent.at}));
    } else {
        printer.text("Agreed. Running agents begin within a quarter of a minute; `mnemon agent sync` does it now.");
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn revoke(desk: &Desk, revoke: &Revoke, printer: &Printer) -> anyhow::Result<ExitCode> {
    let was_given = Consent::revoke(&desk.places).context("the consent can't be removed")?;
    let deleted = match revoke.delete_uploaded {
        true => Some(runtime()?.block_on(sync::delete_uploaded(&desk.settings))?),
        false => None,
    };
    if printer.is_json() {
        printer.value(&json!({"consent": false, "was_given": was_given, "deleted_sessions": deleted}));
        return Ok(ExitCode::SUCCESS);
    }
    printer.text(if was_given {
        "Taken back. Nothing is sent any more."
    } else {
        "There was no consent; nothing is sent."
    });
    match deleted {
        Some(count) => printer.text(&format!("{count} session(s) were removed from {}.", desk.settings.url)),
        None => printer.text("What was uploaded is still there; --delete-uploaded removes it."),
    }
    Ok(ExitCode::SUCCESS)
}
