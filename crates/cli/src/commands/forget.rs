//! `mnemon forget`.

use std::process::ExitCode;

use anyhow::bail;
use mnemon_agent::settings::WorkspaceChoice;

use crate::admin_client::AdminClient;
use crate::arguments::Forget;
use crate::connecting;
use crate::mcp_client::{McpClient, given};
use crate::printer::Printer;

pub fn run(forget: &Forget, printer: &Printer) -> anyhow::Result<ExitCode> {
    if forget.memory_id.is_some() && forget.workspace.is_some() {
        bail!("--workspace needs --source-id; a record id already identifies its workspace");
    }
    let client = McpClient::new(&forget.connection)?;
    // One record is named by its id; a source may be that of many.
    let mut workspace = connecting::workspace(forget.workspace.as_ref());
    if let Some(source_id) = &forget.source_id {
        if workspace.is_none() {
            // Name the workspace that the service would use, so that the question is true.
            workspace = AdminClient::with_key(&forget.connection)?.me()?.workspace;
        }
        // With a workspace named, never forget in all of them.
        if workspace.is_none() && forget.workspace == Some(WorkspaceChoice::Auto) {
            bail!("this folder is in no git repository, so `--workspace auto` names no workspace; name it");
        }
        let place = workspace.as_ref().map_or("all workspaces".to_owned(), |name| format!("workspace '{name}'"));
        let act = format!("forget every record from source '{source_id}' in {place}");
        forget.confirmation.ask(&act, "An admin can restore them for 30 days.")?;
    }
    let arguments = given([
        ("memory_id", forget.memory_id.as_ref()),
        ("source_id", forget.source_id.as_ref()),
        ("workspace", workspace.as_ref()),
    ]);
    let answer = client.call("forget", arguments, None)?;
    if printer.is_json() {
        printer.value(&answer.structured);
    } else {
        printer.text(&format!("Forgot {} record(s).", answer.structured["forgotten"]));
    }
    Ok(ExitCode::SUCCESS)
}
