//! `mnemon search`.

use std::process::ExitCode;

use mnemon_protocol::admin::{ExplainSearch, ExplainedHitJson, ExplainedJson, ExplainedWordJson, HeldBackJson};
use mnemon_protocol::memory::{RecordJson, SearchJson};
use serde::Deserialize;
use serde_json::Value;

use crate::admin_client::AdminClient;
use crate::arguments::Search;
use crate::connecting;
use crate::mcp_client::{McpClient, given};
use crate::moment::{self, Side};
use crate::printer::{Paint, Printer};
use crate::visible;

pub fn run(search: &Search, printer: &Printer) -> anyhow::Result<ExitCode> {
    let client = McpClient::new(&search.connection)?;
    let query = search.query.join(" ");
    let workspace = connecting::workspace(search.workspace.as_ref());
    let since = moment::date(search.since.as_ref(), Side::First);
    let until = moment::date(search.until.as_ref(), Side::Last);
    let mut arguments = given([
        ("query", Some(&query)),
        ("limit", search.limit.as_ref()),
        ("workspace", workspace.as_ref()),
        ("scope", search.scope.as_ref()),
        ("fact_key", search.fact_key.as_ref()),
        ("source_id", search.source_id.as_ref()),
        ("since", since.as_ref()),
        ("until", until.as_ref()),
    ]);
    if !search.tags.is_empty() {
        arguments.insert("tags".to_owned(), Value::from(search.tags.clone()));
    }
    if !search.memory_ids.is_empty() {
        arguments.insert("memory_ids".to_owned(), Value::from(search.memory_ids.clone()));
    }
    if search.exclude_stale {
        arguments.insert("exclude_stale".to_owned(), Value::Bool(true));
    }
    let answer = client.call("search", arguments, None)?;
    if search.explain {
        let found = SearchJson::deserialize(&answer.structured)?;
        return explain(search, &found.project_id.unwrap_or_default(), printer);
    }
    if printer.is_json() {
        printer.value(&answer.structured);
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(notice) = &answer.notice {
        printer.text(notice);
    }
    let found = SearchJson::deserialize(&answer.structured)?.result;
    if found.is_empty() {
        printer.text("Nothing found.");
    }
    for record in &found {
        printer.styled(&show(printer, record));
    }
    Ok(ExitCode::SUCCESS)
}

/// A record as a person reads it: score, status and id, then the text, then where it came from and who sees it.
fn show(printer: &Printer, record: &RecordJson<'_>) -> String {
    let RecordJson { head, status, score, rest } = record;
    let paint = match status.as_ref() {
        "verified" => Paint::Green,
        "conflict" => Paint::Red,
        "stale" => Paint::Yellow,
        _ => Paint::Bold,
    };
    let status = printer.painted(paint, &format!("{:<10}", visible::one_line(status)));
    let id = printer.painted(Paint::Faint, &visible::one_line(&head.id));
    let mut lines = format!("{:.2}  {status}  {id}", score.unwrap_or_default());
    lines.push_str("\n      ");
    lines.push_str(&visible::block(&head.content, 6));
    let saved_at = rest.updated_at.as_deref().unwrap_or(&rest.created_at);
    let saved_at = saved_at.split('T').next().unwrap_or_default();
    let day = rest.occurred_at.as_deref().unwrap_or(saved_at);
    let tags: Vec<String> = rest.tags.iter().map(|tag| format!("#{tag}")).collect();
    let origin = [rest.source.as_deref(), rest.source_id.as_deref(), rest.author.as_deref()].into_iter().flatten();
    let place = [head.workspace.as_ref(), head.scope.as_ref(), day];
    let origin = format!(
        "[{}] {}",
        head.fact_key,
        origin.chain(place).chain(tags.iter().map(String::as_str)).collect::<Vec<_>>().join(" · ")
    );
    lines.push_str("\n      ");
    lines.push_str(&printer.painted(Paint::Faint, &visible::one_line(&origin)));
    if let Some(caution) = &rest.caution {
        lines.push_str("\n      ");
        lines.push_str(&printer.painted(Paint::Yellow, &format!("caution: {}", visible::one_line(caution))));
    }
    lines
}

/// Asks why the search ranked the records as it did, and shows the explanation.
fn explain(search: &Search, project: &str, printer: &Printer) -> anyhow::Result<ExitCode> {
    let client = AdminClient::with_key(&search.connection)?;
    let body = ExplainSearch {
        query: search.query.join(" "),
        workspace: connecting::workspace(search.workspace.as_ref()),
        limit: search.limit.as_ref().and_then(|limit| limit.parse().ok()),
        scope: search.scope.clone(),
        exclude_stale: search.exclude_stale.then_some(true),
    };
    let answer = client.post(&format!("/projects/{project}/explain"), body)?;
    if printer.is_json() {
        printer.value(&answer);
        return Ok(ExitCode::SUCCESS);
    }
    let explained = ExplainedJson::deserialize(&answer)?;
    printer.text(&format!("query words:         {}", stems(&explained.words)));
    printer.text(&format!("added from top hits: {}", stems(&explained.lent)));
    for hit in &explained.hits {
        printer.text(&show_reasons(hit));
    }
    for HeldBackJson { record, cosine, .. } in &explained.held_back {
        printer.text(&format!("held back, cosine {cosine:.2}: {}", first_line(&record.head.content)));
    }
    Ok(ExitCode::SUCCESS)
}

fn stems(words: &[ExplainedWordJson]) -> String {
    let shown = words.iter().map(|word| format!("{} ({} records)", word.stem, word.records));
    shown.collect::<Vec<_>>().join(", ")
}

fn first_line(content: &str) -> &str {
    content.lines().next().unwrap_or_default()
}

fn show_reasons(hit: &ExplainedHitJson<'_>) -> String {
    let cosine = hit.cosine.map_or("-".to_owned(), |cosine| format!("{cosine:.2}"));
    let matched = if hit.matched.is_empty() { "by meaning alone".to_owned() } else { hit.matched.join(", ") };
    format!(
        "{:.2}  {}\n      chance {:.2}, strength {:.2}, matched: {matched}\n      \
         words {:.2} + pairs {:.2} (with lent words {:.2}), cosine {cosine}\n      \
         shares: words {:.2}, pairs {:.2}, meaning {:.2}, count {:.2}, cover {:.2}, neighbours' terms {:.2}, \
         neighbours' words {:.2}; time +{:.2}, all words +{:.2}, as typed +{:.2}, truth {:.2}",
        hit.record.score.unwrap_or_default(),
        first_line(&hit.record.head.content),
        hit.chance,
        hit.strength,
        hit.words,
        hit.pairs,
        hit.words_with_lent,
        hit.words_share,
        hit.pairs_share,
        hit.cosine_share,
        hit.count_share,
        hit.cover_share,
        hit.around_share,
        hit.ring_share,
        hit.time_share,
        hit.all_words_bonus,
        hit.as_typed_bonus,
        hit.truth_share,
    )
}
