//! `mnemon context`: a digest of what is remembered.

use std::process::ExitCode;

use mnemon_protocol::admin::{AskContext, ContextJson};
use serde::Deserialize;

use crate::admin_client::AdminClient;
use crate::arguments::Context;
use crate::connecting;
use crate::printer::Printer;

pub fn run(context: &Context, printer: &Printer) -> anyhow::Result<ExitCode> {
    let client = AdminClient::with_key(&context.connection)?;
    let project = client.project(None)?;
    let asked = AskContext {
        query: context.query.clone(),
        workspace: connecting::workspace(context.workspace.as_ref()),
        budget: context.budget,
        min_score: context.min_score,
    };
    let answer = client.post(&format!("/projects/{project}/context"), asked)?;
    if printer.is_json() {
        printer.value(&answer);
        return Ok(ExitCode::SUCCESS);
    }
    let markdown = ContextJson::deserialize(&answer)?.markdown;
    printer.text(if markdown.is_empty() { "Nothing found." } else { markdown.trim_end() });
    Ok(ExitCode::SUCCESS)
}
