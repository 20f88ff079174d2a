//! Accounts, plans, the audit log, the guard and the nodes.

use mnemon_protocol::admin::{CreateAccount, ReleaseText, SetGuard, SetSubscription, SetSuspension};
use serde_json::json;

use super::{client, encode, show_list, show_named, show_one};
use crate::arguments::{Account, AccountCommand, Audit, Guard, GuardCommand, NodeCommand, Nodes, Plan, PlanCommand};
use crate::printer::Printer;

const COLUMNS: [&str; 5] = ["id", "name", "plan", "paid_until", "state"];

/// The length of a SHA-256 in hex; a reference is shorter.
const HASH_DIGITS: usize = 64;

pub fn account(arguments: &Account, printer: &Printer) -> anyhow::Result<()> {
    let client = client(&arguments.connection)?;
    match &arguments.command {
        AccountCommand::Create { name, plan, paid_until } => {
            let body = CreateAccount {
                name: name.clone(),
                plan: plan.clone(),
                paid_until: paid_until.clone(),
                project: None,
                admin: None,
                guard_mode: None,
                link_hours: None,
            };
            show_one(printer, &client.post("/accounts", body)?);
        }
        AccountCommand::List { after } => {
            let query = after.as_ref().map(|after| format!("?after={}", encode(after))).unwrap_or_default();
            show_list(printer, &client.get(&format!("/accounts{query}"))?, "accounts", &COLUMNS);
        }
        AccountCommand::Show { account } => {
            let account = client.account(account.as_ref())?;
            show_one(printer, &client.get(&format!("/accounts/{account}"))?);
        }
        AccountCommand::Suspend { account } => {
            let body = SetSuspension { suspended: true };
            show_one(printer, &client.put(&format!("/accounts/{}/suspension", client.account(Some(account))?), body)?);
        }
        AccountCommand::Resume { account } => {
            let body = SetSuspension { suspended: false };
            show_one(printer, &client.put(&format!("/accounts/{}/suspension", client.account(Some(account))?), body)?);
        }
    }
    Ok(())
}

pub fn plan(arguments: &Plan, printer: &Printer) -> anyhow::Result<()> {
    let client = client(&arguments.connection)?;
    match &arguments.command {
        PlanCommand::Set { account, plan, paid_until } => {
            let body = SetSubscription { plan: plan.clone(), paid_until: paid_until.clone() };
            show_one(
                printer,
                &client.put(&format!("/accounts/{}/subscription", client.account(Some(account))?), body)?,
            );
        }
        PlanCommand::Show { account } => {
            let account = client.account(account.as_ref())?;
            let shown = client.get(&format!("/accounts/{account}"))?;
            show_one(
                printer,
                &json!({
                    "plan": shown["plan"], "paid_until": shown["paid_until"], "state": shown["state"]
                }),
            );
        }
    }
    Ok(())
}

pub fn node(arguments: &Nodes, printer: &Printer) -> anyhow::Result<()> {
    let client = client(&arguments.connection)?;
    let NodeCommand::List = arguments.command;
    let columns =
        ["name", "version", "ready", "started_at", "seen_at", "index_bytes", "calls_per_minute", "storage_ms"];
    show_list(printer, &client.get("/nodes")?, "nodes", &columns);
    Ok(())
}

pub fn audit(arguments: &Audit, printer: &Printer) -> anyhow::Result<()> {
    let client = client(&arguments.connection)?;
    let account = client.account(arguments.account.as_ref())?;
    let mut path = format!("/accounts/{account}/audit?limit={}", arguments.limit);
    let member = arguments.member.as_ref().map(|member| client.member(&account, member)).transpose()?;
    let project = arguments.project.as_ref().map(|project| client.project(Some(project))).transpose()?;
    let parts = [
        ("before", &arguments.before),
        ("actor", &arguments.actor),
        ("member_id", &member),
        ("action", &arguments.action),
        ("except", &arguments.except),
        ("project_id", &project),
        ("subject", &arguments.subject),
        ("from", &arguments.from),
        ("to", &arguments.to),
    ];
    for (name, value) in parts.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?))) {
        path.push_str(&format!("&{name}={}", encode(value)));
    }
    let columns = ["at", "actor", "actor_name", "action", "subject", "subject_name", "affected"];
    show_list(printer, &client.get(&path)?, "audit", &columns);
    Ok(())
}

pub fn guard(arguments: &Guard, printer: &Printer) -> anyhow::Result<()> {
    let client = client(&arguments.connection)?;
    match &arguments.command {
        GuardCommand::Show { account } => {
            let account = client.account(account.as_ref())?;
            show_one(printer, &client.get(&format!("/accounts/{account}/guard"))?);
        }
        GuardCommand::Set { account, mode } => {
            let body = SetGuard { mode: mode.clone() };
            show_one(printer, &client.put(&format!("/accounts/{}/guard", client.account(Some(account))?), body)?);
        }
        GuardCommand::Rejections { account, limit } => {
            let account = client.account(account.as_ref())?;
            let answer = client.get(&format!("/accounts/{account}/guard/rejections?limit={limit}"))?;
            let columns =
                ["at", "project", "member", "key_label", "text", "why", "source", "stored", "released", "reference"];
            show_named(printer, &client, || Ok(account.clone()), answer, "rejections", &columns);
        }
        GuardCommand::Release { project, text } => {
            let is_hash = text.trim().len() == HASH_DIGITS;
            let body = ReleaseText { hash: is_hash.then(|| text.clone()), reference: (!is_hash).then(|| text.clone()) };
            show_one(
                printer,
                &client.post(&format!("/projects/{}/guard/releases", client.project(Some(project))?), body)?,
            );
        }
    }
    Ok(())
}
