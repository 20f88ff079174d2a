//! Departments, members, keys, connections and sessions of the console.

use mnemon_protocol::admin::{ChangeDepartment, ChangeMember, CreateDepartment, CreateKey, CreateMember, DeleteMember};

use super::{client, encode, show_list, show_one};
use crate::arguments::{
    ConnectionCommand, Connections, ConsoleCommand, ConsoleSessions, Department, DepartmentCommand, Key, KeyCommand,
    Member, MemberCommand,
};
use crate::naming;
use crate::printer::Printer;

pub fn department(arguments: &Department, printer: &Printer) -> anyhow::Result<()> {
    let client = client(&arguments.connection)?;
    let account = client.account(arguments.account.as_ref())?;
    let all = format!("/accounts/{account}/departments");
    match &arguments.command {
        DepartmentCommand::Create { name, parent } => {
            let parent_id = parent.as_ref().map(|parent| client.department(&account, parent)).transpose()?;
            let body = CreateDepartment { name: name.clone(), parent_id };
            show_one(printer, &client.post(&all, body)?);
        }
        DepartmentCommand::List => {
            show_list(printer, &client.get(&all)?, "departments", &["id", "name", "parent_id"]);
        }
        DepartmentCommand::Show { department } => {
            show_one(printer, &client.get(&format!("{all}/{}", encode(&client.department(&account, department)?)))?)
        }
        DepartmentCommand::Change { department, name, parent, top } => {
            let parent = parent.as_ref().map(|parent| client.department(&account, parent)).transpose()?;
            let body = ChangeDepartment { name: name.clone(), parent_id: changed(parent.as_ref(), *top) };
            show_one(
                printer,
                &client.patch(&format!("{all}/{}", encode(&client.department(&account, department)?)), body)?,
            );
        }
        DepartmentCommand::Delete { department, confirmation } => {
            confirmation.ask(&format!("delete the department {department}"), "It can't be restored.")?;
            show_one(printer, &client.delete(&format!("{all}/{}", encode(&client.department(&account, department)?)))?);
        }
    }
    Ok(())
}

pub fn member(arguments: &Member, printer: &Printer) -> anyhow::Result<()> {
    let client = client(&arguments.connection)?;
    let account = client.account(arguments.account.as_ref())?;
    let all = format!("/accounts/{account}/members");
    match &arguments.command {
        MemberCommand::Create { name, role, department, access_until, with_key, project } => {
            // Looked up first: a member without its key would be half of what was asked for.
            let project = with_key.as_ref().map(|_| client.project(project.as_ref())).transpose()?;
            let department_id = department.as_ref().map(|named| client.department(&account, named)).transpose()?;
            let body = CreateMember {
                name: name.clone(),
                role: role.clone(),
                department_id,
                access_until: access_until.clone(),
            };
            let mut made = client.post(&all, body)?;
            if let (Some(label), Some(project)) = (with_key, project) {
                let member_id = made["id"].as_str().unwrap_or_default().to_owned();
                let (label, access) = (label.clone(), "write".to_owned());
                let body = CreateKey { member_id, access, label, expires_at: None, workspace: None };
                let key = client.post(&format!("/projects/{project}/keys"), body)?;
                (made["key_id"], made["key"]) = (key["key_id"].clone(), key["key"].clone());
            }
            show_one(printer, &made);
            if !printer.is_json() && with_key.is_some() {
                printer.text("This key will not be shown again.");
            }
        }
        MemberCommand::List => {
            let columns = ["id", "name", "role", "department_id", "access_until"];
            show_list(printer, &client.get(&all)?, "members", &columns);
        }
        MemberCommand::Show { member } => {
            let member = client.member(&account, member)?;
            show_one(printer, &client.get(&format!("{all}/{}", encode(&member)))?);
        }
        MemberCommand::Change { member, name, role, department, no_department, access_until, no_end } => {
            let department = department.as_ref().map(|named| client.department(&account, named)).transpose()?;
            let body = ChangeMember {
                name: name.clone(),
                role: role.clone(),
                department_id: changed(department.as_ref(), *no_department),
                access_until: changed(access_until.as_ref(), *no_end),
            };
            let member = client.member(&account, member)?;
            show_one(printer, &client.patch(&format!("{all}/{}", encode(&member)), body)?);
        }
        MemberCommand::Delete { member, hand_over_to, confirmation } => {
            let note = "Its keys are refused at once, and it can't be restored.";
            confirmation.ask(&format!("delete the member {member}"), note)?;
            let id = client.member(&account, member)?;
            let heir = hand_over_to.as_ref().map(|heir| client.member(&account, heir)).transpose()?;
            let body = DeleteMember { hand_over_to: heir };
            show_one(printer, &client.delete_with(&format!("{all}/{}", encode(&id)), body)?);
        }
    }
    Ok(())
}

pub fn key(arguments: &Key, printer: &Printer) -> anyhow::Result<()> {
    let client = client(&arguments.connection)?;
    match &arguments.command {
        KeyCommand::Create { project, member, access, label, expires_at, workspace } => {
            let project = client.project(project.as_ref())?;
            let member_id = if naming::is_id(member) {
                member.clone()
            } else {
                client.member(&client.account_of(&project)?, member)?
            };
            let body = CreateKey {
                member_id,
                access: access.clone(),
                label: label.clone(),
                expires_at: expires_at.clone(),
                workspace: workspace.clone(),
            };
            show_one(printer, &client.post(&format!("/projects/{project}/keys"), body)?);
            if !printer.is_json() {
                printer
                    .text("This key will not be shown again. To rotate, switch to this key, then revoke the old one.");
            }
        }
        KeyCommand::List { mine: true, .. } => {
            let columns = [
                "key_id",
                "hint",
                "project_id",
                "access",
                "label",
                "workspace",
                "created_by_name",
                "last_used_at",
                "revoked_at",
            ];
            show_list(printer, &client.get("/me/keys")?, "keys", &columns);
        }
        KeyCommand::List { project, mine: false } => {
            let project = client.project(project.as_ref())?;
            let columns = [
                "key_id",
                "hint",
                "member_id",
                "access",
                "label",
                "workspace",
                "expires_at",
                "last_used_at",
                "revoked_at",
            ];
            show_list(printer, &client.get(&format!("/projects/{project}/keys"))?, "keys", &columns);
        }
        KeyCommand::Revoke { key_id, confirmation } => {
            let note = "It is refused at once, with every connection made with it, and can't be restored.";
            confirmation.ask(&format!("revoke the key {key_id}"), note)?;
            show_one(printer, &client.delete(&format!("/keys/{}", encode(key_id)))?);
        }
    }
    Ok(())
}

pub fn connection(arguments: &Connections, printer: &Printer) -> anyhow::Result<()> {
    let client = client(&arguments.connection)?;
    match &arguments.command {
        ConnectionCommand::List { project } => {
            let project = client.project(project.as_ref())?;
            let columns = [
                "connection_id",
                "client_name",
                "return_host",
                "created_at",
                "last_used_at",
                "expires_at",
                "revoked_at",
            ];
            show_list(printer, &client.get(&format!("/projects/{project}/connections"))?, "connections", &columns);
        }
        ConnectionCommand::Revoke { connection_id, confirmation } => {
            let note = "Its client must connect again; the key stays valid.";
            confirmation.ask(&format!("revoke the connection {connection_id}"), note)?;
            show_one(printer, &client.delete(&format!("/connections/{}", encode(connection_id)))?);
        }
    }
    Ok(())
}

pub fn console(arguments: &ConsoleSessions, printer: &Printer) -> anyhow::Result<()> {
    let client = client(&arguments.connection)?;
    let project = client.project(arguments.project.as_ref())?;
    match &arguments.command {
        ConsoleCommand::List => {
            let columns = ["console_session_id", "browser", "member_id", "key_id", "created_at", "expires_at"];
            let answer = client.get(&format!("/projects/{project}/console-sessions"))?;
            show_list(printer, &answer, "console_sessions", &columns);
        }
        ConsoleCommand::End { console_session_id, confirmation } => {
            let note = "Its browser is asked for a key at the next click; the key stays valid.";
            confirmation.ask(&format!("end the console session {console_session_id}"), note)?;
            let path = format!("/projects/{project}/console-sessions/{}", encode(console_session_id));
            show_one(printer, &client.delete(&path)?);
        }
    }
    Ok(())
}

/// A changed value: absent keeps what is there, `null` removes it.
fn changed(value: Option<&String>, is_removed: bool) -> Option<Option<String>> {
    if is_removed { Some(None) } else { value.cloned().map(Some) }
}
