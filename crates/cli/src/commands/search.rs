//! `mnemon search`.

use std::process::ExitCode;

use serde_json::Value;

use crate::arguments::Search;
use crate::mcp_client::{McpClient, given};
use crate::printer::Printer;

pub fn run(search: &Search, printer: &Printer) -> anyhow::Result<ExitCode> {
    let client = McpClient::new(&search.connection)?;
    let mut arguments = given([
        ("query", Some(&search.query)),
        ("limit", search.limit.as_ref()),
        ("workspace", search.workspace.as_ref()),
        ("scope", search.scope.as_ref()),
    ]);
    if search.exclude_stale {
        arguments.insert("exclude_stale".to_owned(), Value::Bool(true));
    }
    let answer = client.call("search", arguments, None)?;
    if printer.is_json() {
        printer.value(&answer.structured);
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(notice) = &answer.notice {
        printer.text(notice);
    }
    let found = answer.structured["result"].as_array().map(Vec::as_slice).unwrap_or_default();
    if found.is_empty() {
        printer.text("Nothing found.");
    }
    for record in found {
        printer.text(&show(record));
    }
    Ok(ExitCode::SUCCESS)
}

/// A record as a person reads it: how good, whether it holds, the text, where it came from.
fn show(record: &Value) -> String {
    let text = |name: &str| record[name].as_str().unwrap_or_default();
    let mut lines = format!("{:.2}  {:<10}  {}", record["score"].as_f64().unwrap_or_default(), text("status"), text("id"));
    for line in text("content").lines() {
        lines.push_str("\n      ");
        lines.push_str(line);
    }
    let origin: Vec<&str> = [text("source"), text("source_id"), text("author")].into_iter().filter(|t| !t.is_empty()).collect();
    lines.push_str(&format!("\n      [{}] {}", text("fact_key"), origin.join(" · ")));
    lines
}
