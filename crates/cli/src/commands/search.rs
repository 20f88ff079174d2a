//! `mnemon search`.

use std::process::ExitCode;

use serde_json::Value;

use crate::admin_client::AdminClient;
use crate::arguments::{AdminConnection, Search};
use crate::mcp_client::{McpClient, given};
use crate::printer::Printer;
use crate::visible;

pub fn run(search: &Search, printer: &Printer) -> anyhow::Result<ExitCode> {
    let client = McpClient::new(&search.connection)?;
    let mut arguments = given([
        ("query", Some(&search.query)),
        ("limit", search.limit.as_ref()),
        ("workspace", search.workspace.as_ref()),
        ("scope", search.scope.as_ref()),
        ("fact_key", search.fact_key.as_ref()),
        ("source_id", search.source_id.as_ref()),
        ("since", search.since.as_ref()),
        ("until", search.until.as_ref()),
    ]);
    if !search.memory_ids.is_empty() {
        arguments.insert("memory_ids".to_owned(), Value::from(search.memory_ids.clone()));
    }
    if search.exclude_stale {
        arguments.insert("exclude_stale".to_owned(), Value::Bool(true));
    }
    let answer = client.call("search", arguments, None)?;
    if search.explain {
        return explain(search, &answer.structured, printer);
    }
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

/// A record as a person reads it: score, status and id, then the text and where it came from.
fn show(record: &Value) -> String {
    let text = |name: &str| record[name].as_str().unwrap_or_default();
    let mut lines =
        format!("{:.2}  {:<10}  {}", record["score"].as_f64().unwrap_or_default(), text("status"), text("id"));
    lines.push_str("\n      ");
    lines.push_str(&visible::block(text("content"), 6));
    let origin: Vec<&str> =
        [text("source"), text("source_id"), text("author")].into_iter().filter(|t| !t.is_empty()).collect();
    let origin = format!("[{}] {}", text("fact_key"), origin.join(" · "));
    lines.push_str("\n      ");
    lines.push_str(&visible::one_line(&origin));
    if !text("caution").is_empty() {
        lines.push_str("\n      caution: ");
        lines.push_str(&visible::one_line(text("caution")));
    }
    lines
}

/// Asks why the search ranked the records as it did, and shows the explanation.
fn explain(search: &Search, answer: &Value, printer: &Printer) -> anyhow::Result<ExitCode> {
    let (url, key) = (search.connection.url.clone(), search.connection.key.clone());
    let client = AdminClient::new(&AdminConnection { url, operator_token: None, key })?;
    let project = answer["project_id"].as_str().unwrap_or_default();
    let mut body = given([("query", Some(&search.query)), ("workspace", search.workspace.as_ref())]);
    if let Some(limit) = search.limit.as_ref().and_then(|limit| limit.parse::<u64>().ok()) {
        body.insert("limit".to_owned(), Value::from(limit));
    }
    let explained = client.post(&format!("/projects/{project}/explain"), Value::Object(body))?;
    if printer.is_json() {
        printer.value(&explained);
        return Ok(ExitCode::SUCCESS);
    }
    let stems = |name: &str| {
        let words = explained[name].as_array().into_iter().flatten();
        words
            .map(|word| format!("{} ({} records)", word["stem"].as_str().unwrap_or_default(), word["records"]))
            .collect::<Vec<_>>()
            .join(", ")
    };
    printer.text(&format!("query words:         {}", stems("words")));
    printer.text(&format!("added from top hits: {}", stems("lent")));
    for hit in explained["hits"].as_array().into_iter().flatten() {
        printer.text(&show_reasons(hit));
    }
    for held in explained["held_back"].as_array().into_iter().flatten() {
        let text = held["content"].as_str().unwrap_or_default().lines().next().unwrap_or_default();
        printer.text(&format!("held back, cosine {:.2}: {text}", held["cosine"].as_f64().unwrap_or_default()));
    }
    Ok(ExitCode::SUCCESS)
}

fn show_reasons(hit: &Value) -> String {
    let number = |name: &str| hit[name].as_f64().map_or("-".to_owned(), |value| format!("{value:.2}"));
    let matched: Vec<&str> = hit["matched"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    format!(
        "{}  {}\n      chance {}, strength {}, matched: {}\n      words {} + pairs {} (with lent words {}), cosine {}\n      \
         shares: words {}, pairs {}, meaning {}, count {}, cover {}, neighbours' terms {}, neighbours' words {}; \
         all words +{}, as typed +{}, truth {}",
        number("score"),
        hit["content"].as_str().unwrap_or_default().lines().next().unwrap_or_default(),
        number("chance"),
        number("strength"),
        if matched.is_empty() { "by meaning alone".to_owned() } else { matched.join(", ") },
        number("words"),
        number("pairs"),
        number("words_with_lent"),
        number("cosine"),
        number("words_share"),
        number("pairs_share"),
        number("cosine_share"),
        number("count_share"),
        number("cover_share"),
        number("around_share"),
        number("ring_share"),
        number("all_words_bonus"),
        number("as_typed_bonus"),
        number("truth_share"),
    )
}
