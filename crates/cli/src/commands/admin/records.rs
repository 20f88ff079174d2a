//! Records (list, show, keep, forget, restore, purge), uploaded session histories, and compaction.

use serde_json::Value;

use super::{client, encode, must_be_id, show_list, show_named, show_one};
use crate::arguments::{Compact, Record, RecordCommand, Session, SessionCommand};
use crate::connecting;
use crate::printer::Printer;

pub fn record(arguments: &Record, printer: &Printer) -> anyhow::Result<()> {
    let client = client(&arguments.connection)?;
    match &arguments.command {
        RecordCommand::List {
            project,
            workspace,
            source_id,
            status,
            scope,
            author,
            fact_key,
            has_source,
            forgotten,
            before,
            limit,
        } => {
            let project = client.project(project.as_ref())?;
            let mut query = format!("?limit={limit}");
            let workspace = connecting::workspace(workspace.as_ref());
            let parts = [
                ("workspace", &workspace),
                ("source_id", source_id),
                ("status", status),
                ("scope", scope),
                ("author", author),
                ("fact_key", fact_key),
                ("has_source", has_source),
                ("before", before),
            ];
            for (name, value) in parts.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?))) {
                query.push_str(&format!("&{name}={}", encode(value)));
            }
            if *forgotten {
                query.push_str("&state=forgotten");
            }
            let answer = client.get(&format!("/projects/{project}/records{query}"))?;
            show_list(printer, &answer, "records", &["id", "workspace", "scope", "status", "content"]);
        }
        RecordCommand::Show { record } => {
            let answer = client.get(&format!("/records/{}", encode(record)))?;
            if printer.is_json() { printer.value(&answer) } else { show_detail(printer, &answer) }
        }
        RecordCommand::Keep { record } => {
            let answer = client.post(&format!("/records/{}/keep", encode(record)), serde_json::json!({}))?;
            show_one(printer, &answer);
        }
        RecordCommand::Forget { record } => show_one(printer, &client.delete(&format!("/records/{}", encode(record)))?),
        RecordCommand::Restore { record } => {
            show_one(printer, &client.post(&format!("/records/{}/restore", encode(record)), serde_json::json!({}))?);
        }
        RecordCommand::Purge { record, confirmation } => {
            must_be_id(record, "no such record")?;
            confirmation.ask(&format!("delete the record {record} for good"), "It can't be restored.")?;
            show_one(printer, &client.delete(&format!("/records/{}?purge=true", encode(record)))?);
        }
    }
    Ok(())
}

/// The record's own fields, then why it has its status, what contradicts it, and what happened to it.
fn show_detail(printer: &Printer, answer: &Value) {
    let mut own = answer.clone();
    let parts = ["reason", "rivals", "history"].map(|part| own.as_object_mut().and_then(|own| own.remove(part)));
    let [reason, rivals, history] = parts.map(Option::unwrap_or_default);
    show_one(printer, &own);
    printer.text(&format!("{:<20} {}", "reason", reason["text"].as_str().unwrap_or_default()));
    let rows = |list: &Value| list.as_array().cloned().unwrap_or_default();
    if !rows(&rivals).is_empty() {
        printer.text("\nContradicted by:");
        printer.table(&["id", "status", "author", "created_at", "content"], &rows(&rivals));
    }
    printer.text("\nHistory:");
    printer.table(&["at", "event", "by", "key", "record_id"], &rows(&history));
}

pub fn compact(arguments: &Compact, printer: &Printer) -> anyhow::Result<()> {
    let client = client(&arguments.connection)?;
    show_one(printer, &client.post("/compact", serde_json::json!({}))?);
    Ok(())
}

pub fn session(arguments: &Session, printer: &Printer) -> anyhow::Result<()> {
    let client = client(&arguments.connection)?;
    let project = client.project(arguments.project.as_ref())?;
    match &arguments.command {
        SessionCommand::List { after, limit } => {
            let after = after.as_ref().map(|after| format!("&after={}", encode(after))).unwrap_or_default();
            let answer = client.get(&format!("/projects/{project}/sessions?limit={limit}{after}"))?;
            let columns = ["id", "member", "client", "bytes", "kept_bytes", "redacted", "updated_at", "name"];
            show_named(printer, &client, || client.account_of(&project), answer, "sessions", &columns);
        }
        SessionCommand::Delete { session, confirmation } => {
            must_be_id(session, "no such session")?;
            confirmation.ask(&format!("delete the session history {session}"), "It can't be restored.")?;
            show_one(printer, &client.delete(&format!("/projects/{project}/sessions/{}", encode(session)))?);
        }
    }
    Ok(())
}
