//! Departments, members, keys, connections and sessions of the console.

use mnemon_protocol::admin::{ChangeDepartment, ChangeMember, CreateDepartment, CreateKey, CreateMember, DeleteMember};

use super::handing_over::{self, changed};
use super::{client, encode, must_be_id, must_list, show_list, show_named, show_one};
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
            let columns = ["id", "name", "parent"];
            show_named(printer, &client, || Ok(account.clone()), client.get(&all)?, "departments", &columns);
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
            let path = format!("{all}/{}", encode(&client.department(&account, department)?));
            client.get(&path)?;
            confirmation.ask(&format!("delete the department {department}"), "It can't be restored.")?;
            show_one(printer, &client.delete(&path)?);
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
            let columns = ["id", "name", "role", "department", "access_until"];
            show_named(printer, &client, || Ok(account.clone()), client.get(&all)?, "members", &columns);
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
        MemberCommand::Invite(invite) => handing_over::invite(&client, &account, invite, printer)?,
        MemberCommand::Delete { member, hand_over_to, confirmation } => {
            let path = format!("{all}/{}", encode(&client.member(&account, member)?));
            client.get(&path)?;
            let heir = hand_over_to.as_ref().map(|heir| client.member(&account, heir)).transpose()?;
            let note = "Its keys are refused at once, and it can't be restored.";
            confirmation.ask(&format!("delete the member {member}"), note)?;
            show_one(printer, &client.delete_with(&path, DeleteMember { hand_over_to: heir })?);
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
                "project",
                "access",
                "label",
                "workspace",
                "created_by_name",
                "last_used_at",
                "revoked_at",
            ];
            show_named(printer, &client, || client.account(None), client.get("/me/keys")?, "keys", &columns);
        }
        KeyCommand::List { project, mine: false } => {
            let project = client.project(project.as_ref())?;
            let columns = [
                "key_id",
                "hint",
                "member",
                "access",
                "label",
                "workspace",
                "expires_at",
                "last_used_at",
                "revoked_at",
            ];
            let answer = client.get(&format!("/projects/{project}/keys"))?;
            show_named(printer, &client, || client.account_of(&project), answer, "keys", &columns);
        }
        KeyCommand::Change(change) => handing_over::change_key(&client, change, printer)?,
        KeyCommand::Revoke { key_id, confirmation } => {
            must_be_id(key_id, "no such key")?;
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
            must_be_id(connection_id, "no such connection")?;
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
            let columns = ["console_session_id", "browser", "member", "key_id", "created_at", "expires_at"];
            let answer = client.get(&format!("/projects/{project}/console-sessions"))?;
            show_named(printer, &client, || client.account_of(&project), answer, "console_sessions", &columns);
        }
        ConsoleCommand::End { console_session_id, confirmation } => {
            let answer = client.get(&format!("/projects/{project}/console-sessions"))?;
            let missing = "no such console session";
            must_list(&answer, "console_sessions", "console_session_id", console_session_id, missing)?;
            let note = "Its browser is asked for a key at the next click; the key stays valid.";
            confirmation.ask(&format!("end the console session {console_session_id}"), note)?;
            let path = format!("/projects/{project}/console-sessions/{}", encode(console_session_id));
            show_one(printer, &client.delete(&path)?);
        }
    }
    Ok(())
}
