//! Projects, workspaces and usage.

use mnemon_protocol::admin::{CreateProject, NameTools};

use super::{client, encode, show_list, show_one};
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
        ProjectCommand::Delete { project } => {
            show_one(printer, &client.delete(&format!("/projects/{}", encode(project)))?);
        }
    }
    Ok(())
}

pub fn workspace(arguments: &Workspace, printer: &Printer) -> anyhow::Result<()> {
    let client = client(&arguments.connection)?;
    let project = client.project(arguments.project.as_ref())?;
    match &arguments.command {
        WorkspaceCommand::List => {
            let answer = client.get(&format!("/projects/{project}/workspaces"))?;
            show_list(printer, &answer, "workspaces", &["name", "records", "created_at"]);
        }
        WorkspaceCommand::Delete { name } => {
            show_one(printer, &client.delete(&format!("/projects/{project}/workspaces/{}", encode(name)))?);
        }
    }
    Ok(())
}

pub fn usage(arguments: &Usage, printer: &Printer) -> anyhow::Result<()> {
    let client = client(&arguments.connection)?;
    let project = client.project(arguments.project.as_ref())?;
    let answer = client.get(&format!("/projects/{project}/usage?days={}", arguments.days))?;
    let figures = ["calls", "saves", "searches", "rejections", "bytes"];
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
