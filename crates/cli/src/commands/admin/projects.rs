//! Projects, workspaces and usage.

use mnemon_protocol::admin::{CreateProject, NameTools};

use super::{client, encode, must_list, show_list, show_one};
use crate::arguments::{Project, ProjectCommand, Usage, Workspace, WorkspaceCommand};
use crate::printer::Printer;

pub fn project(arguments: &Project, printer: &Printer) -> anyhow::Result<()> {
    let client = client(&arguments.connection)?;
    match &arguments.command {
        ProjectCommand::Create { account, name } => {
            let account = client.account(account.as_ref())?;
            show_one(
                printer,
                &client.post(&format!("/accounts/{account}/projects"), CreateProject { name: name.clone() })?,
            );
        }
        ProjectCommand::List { account } => {
            let account = client.account(account.as_ref())?;
            let answer = client.get(&format!("/accounts/{account}/projects"))?;
            show_list(printer, &answer, "projects", &["id", "name", "created_at"]);
        }
        ProjectCommand::Show { project } => {
            let project = client.project(project.as_ref())?;
            show_one(printer, &client.get(&format!("/projects/{project}"))?);
        }
        ProjectCommand::Change { project, tool_names } => {
            let project = client.project(project.as_ref())?;
            show_one(
                printer,
                &client
                    .put(&format!("/projects/{project}/tool-names"), NameTools { tool_names: tool_names.clone() })?,
            );
        }
        ProjectCommand::Delete { project, confirmation } => {
            let path = format!("/projects/{}", client.project(Some(project))?);
            client.get(&path)?;
            let note = "Its keys are refused at once, and it can't be restored.";
            confirmation.ask(&format!("delete the project {project} with all its records"), note)?;
            show_one(printer, &client.delete(&path)?);
        }
    }
    Ok(())
}

pub fn workspace(arguments: &Workspace, printer: &Printer) -> anyhow::Result<()> {
    let client = client(&arguments.connection)?;
    let project = client.project(arguments.project.as_ref())?;
    match &arguments.command {
        WorkspaceCommand::List { deleted: false } => {
            let answer = client.get(&format!("/projects/{project}/workspaces"))?;
            show_list(printer, &answer, "workspaces", &["name", "records", "last_saved_at", "created_at"]);
        }
        WorkspaceCommand::List { deleted: true } => {
            let answer = client.get(&format!("/projects/{project}/workspaces?state=deleted"))?;
            show_list(printer, &answer, "workspaces", &["name", "records", "created_at", "deleted_at"]);
        }
        WorkspaceCommand::Delete { name, confirmation } => {
            let answer = client.get(&format!("/projects/{project}/workspaces"))?;
            must_list(&answer, "workspaces", "name", name.trim(), "no such workspace")?;
            let note = "Its records can be restored for 30 days.";
            confirmation.ask(&format!("delete the workspace '{name}' with all its records"), note)?;
            show_one(printer, &client.delete(&format!("/projects/{project}/workspaces/{}", encode(name)))?);
        }
        WorkspaceCommand::Restore { name } => {
            let path = format!("/projects/{project}/workspaces/{}/restore", encode(name));
            show_one(printer, &client.post(&path, serde_json::json!({}))?);
        }
    }
    Ok(())
}

/// A day on which none of these happened is not worth a line.
const USED_BY: [&str; 4] = ["calls", "rejections", "refused_by_connection", "refused_by_project"];

pub fn usage(arguments: &Usage, printer: &Printer) -> anyhow::Result<()> {
    let client = client(&arguments.connection)?;
    let project = client.project(arguments.project.as_ref())?;
    let mut answer = client.get(&format!("/projects/{project}/usage?days={}", arguments.days))?;
    if !printer.is_json()
        && let Some(days) = answer["days"].as_array_mut()
    {
        days.retain(|day| USED_BY.iter().any(|figure| day[figure] != 0));
    }
    let figures = ["calls", "saves", "searches", "rejections", "refused_by_connection", "refused_by_project", "bytes"];
    show_list(printer, &answer, "days", &[&["day"], &figures[..]].concat());
    if !printer.is_json() {
        printer.text("");
        printer.table(
            &[&["key_id"], &figures[..]].concat(),
            answer["keys"].as_array().map(Vec::as_slice).unwrap_or_default(),
        );
        printer.text(&format!("\n{} records hold {} bytes of text.", answer["records"], answer["bytes"]));
    }
    Ok(())
}
