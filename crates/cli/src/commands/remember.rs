//! `mnemon remember`.

use std::io::{IsTerminal, Read, Write};
use std::process::ExitCode;

use anyhow::Context;

use crate::arguments::Remember;
use crate::connecting;
use crate::mcp_client::{McpClient, given};
use crate::moment;
use crate::printer::Printer;

pub fn run(remember: &Remember, printer: &Printer) -> anyhow::Result<ExitCode> {
    let client = McpClient::new(&remember.connection)?;
    let content = if remember.content.is_empty() { read_input()? } else { remember.content.join(" ") };
    let workspace = connecting::workspace(remember.workspace.as_ref());
    let (valid_until, occurred_at) =
        (moment::moment(remember.valid_until.as_ref()), moment::range(remember.occurred_at.as_ref())?);
    let mut arguments = given([
        ("content", Some(&content)),
        ("workspace", workspace.as_ref()),
        ("scope", remember.scope.as_ref()),
        ("fact_key", remember.fact_key.as_ref()),
        ("source", remember.source.as_ref()),
        ("source_id", remember.source_id.as_ref()),
        ("source_hash", remember.source_hash.as_ref()),
        ("source_revision", remember.source_revision.as_ref()),
        ("confidence", remember.confidence.as_ref()),
        ("valid_until", valid_until.as_ref()),
        ("occurred_at", occurred_at.as_ref()),
    ]);
    if !remember.tags.is_empty() {
        arguments.insert("tags".to_owned(), remember.tags.clone().into());
    }
    if !remember.supersedes.is_empty() {
        arguments.insert("supersedes".to_owned(), remember.supersedes.clone().into());
    }
    if remember.replace {
        arguments.insert("replace".to_owned(), true.into());
    }
    let answer = client.call("remember", arguments, remember.idempotency_key.as_deref())?;
    if printer.is_json() {
        printer.value(&answer.structured);
        return Ok(ExitCode::SUCCESS);
    }
    let record = &answer.structured;
    let verb = if record["duplicate"] == true { "Already saved" } else { "Saved" };
    let text = |name: &str| record[name].as_str().unwrap_or_default().to_owned();
    printer.text(&format!("{verb}: {}  ({}, {})", text("id"), text("fact_key"), text("status")));
    if let Some(count) = record["redacted"].as_u64() {
        printer.text(&format!("{count} secret(s) in the text were redacted."));
    }
    if let Some(superseded) = ids(&record["superseded"]) {
        printer.text(&format!("Replaced: {superseded}"));
    }
    if let Some(rivals) = ids(&record["conflicts_with"]) {
        printer.text(&format!("Conflicts with other records under the same key: {rivals}"));
        printer.text("To replace them, save it again with --replace.");
    }
    Ok(ExitCode::SUCCESS)
}

fn ids(value: &serde_json::Value) -> Option<String> {
    let ids: Vec<&str> = value.as_array()?.iter().filter_map(|id| id.as_str()).collect();
    Some(ids.join(", "))
}

fn read_input() -> anyhow::Result<String> {
    let mut text = String::new();
    if std::io::stdin().is_terminal() {
        let _ = writeln!(std::io::stderr(), "Type the text, then press Enter and Ctrl-D.");
    }
    std::io::stdin().read_to_string(&mut text).context("can't read standard input as UTF-8")?;
    Ok(text)
}
