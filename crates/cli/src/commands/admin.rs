//! The admin commands: each makes one request to the admin API and shows a table or JSON.

mod accounts;
mod handing_over;
mod integrations;
mod me;
mod people;
mod projects;
mod records;

use std::process::ExitCode;

use anyhow::bail;
use serde_json::Value;

use crate::admin_client::{AdminClient, encode};
use crate::arguments::AdminCommand;
use crate::naming::{self, DEPARTMENT, Kind, MEMBER, Named, PROJECT};
use crate::printer::Printer;
use crate::visible;

/// Runs an admin command.
pub fn run(command: &AdminCommand, printer: &Printer) -> anyhow::Result<ExitCode> {
    match command {
        AdminCommand::Account(arguments) => accounts::account(arguments, printer),
        AdminCommand::Plan(arguments) => accounts::plan(arguments, printer),
        AdminCommand::Audit(arguments) => accounts::audit(arguments, printer),
        AdminCommand::Guard(arguments) => accounts::guard(arguments, printer),
        AdminCommand::Department(arguments) => people::department(arguments, printer),
        AdminCommand::Member(arguments) => people::member(arguments, printer),
        AdminCommand::Key(arguments) => people::key(arguments, printer),
        AdminCommand::Connection(arguments) => people::connection(arguments, printer),
        AdminCommand::Console(arguments) => people::console(arguments, printer),
        AdminCommand::Node(arguments) => accounts::node(arguments, printer),
        AdminCommand::Project(arguments) => projects::project(arguments, printer),
        AdminCommand::Integration(arguments) => integrations::integration(arguments, printer),
        AdminCommand::Workspace(arguments) => projects::workspace(arguments, printer),
        AdminCommand::Usage(arguments) => projects::usage(arguments, printer),
        AdminCommand::Whoami(arguments) => me::whoami(arguments, printer),
        AdminCommand::Record(arguments) => records::record(arguments, printer),
        AdminCommand::Session(arguments) => records::session(arguments, printer),
        AdminCommand::Compact(arguments) => records::compact(arguments, printer),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// Shows one object: its members line by line, or the JSON.
fn show_one(printer: &Printer, thing: &Value) {
    if printer.is_json() {
        return printer.value(thing);
    }
    for (name, value) in thing.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        printer.text(&format!("{:<20} {}", name.replace('_', " "), visible::block(&text, 21)));
    }
}

/// Shows a list as a table, or the JSON.
fn show_list(printer: &Printer, answer: &Value, name: &str, columns: &[&str]) {
    if printer.is_json() {
        return printer.value(answer);
    }
    let rows = answer[name].as_array().map(Vec::as_slice).unwrap_or_default();
    printer.table(columns, rows);
    if let Some(next) = answer["next"].as_str() {
        let option = if matches!(name, "accounts" | "sessions") { "--after" } else { "--before" };
        printer.text(&format!("More rows follow; continue with {option} {next}."));
    }
}

/// Columns with names, the fields that hold the ids, and where the names are.
const NAMED: [(&str, &str, Kind); 4] = [
    ("member", "member_id", MEMBER),
    ("project", "project_id", PROJECT),
    ("department", "department_id", DEPARTMENT),
    ("parent", "parent_id", DEPARTMENT),
];

/// The same with names in the place of ids. What has no name any more, or none that the caller may know, keeps its id.
fn show_named(
    printer: &Printer,
    client: &AdminClient,
    account: impl FnOnce() -> anyhow::Result<String>,
    mut answer: Value,
    name: &str,
    columns: &[&str],
) {
    if printer.is_json() {
        return printer.value(&answer);
    }
    let account = account().unwrap_or_default();
    for (column, field, kind) in NAMED.iter().filter(|(column, ..)| columns.contains(column)) {
        let mut all = client.all(&account, *kind).unwrap_or_default();
        if all.is_empty() {
            all.extend(own_name(client, column));
        }
        for row in answer[name].as_array_mut().into_iter().flatten() {
            let noted = row[&format!("{column}_name")].as_str().map(str::to_owned);
            let named = noted.or_else(|| Some(all.iter().find(|thing| row[field] == thing.id.as_str())?.name.clone()));
            row[column] = named.map_or_else(|| row[field].clone(), Value::from);
        }
    }
    show_list(printer, &answer, name, columns);
}

/// What somebody who may list nobody knows: its own names.
fn own_name(client: &AdminClient, column: &str) -> Option<Named> {
    let me = client.whose().ok()?;
    let own = match column {
        "member" => me.member,
        "project" => me.project,
        "department" => me.department,
        _ => None,
    }?;
    Some(Named { id: own.id, name: own.name })
}

/// Fails if a list has no such row, so that nobody is asked about something that is not there.
fn must_list(answer: &Value, list: &str, field: &str, wanted: &str, missing: &str) -> anyhow::Result<()> {
    let mut rows = answer[list].as_array().into_iter().flatten();
    if rows.any(|row| row[field] == wanted) { Ok(()) } else { bail!("{missing}") }
}

/// Fails if this can't be an id.
fn must_be_id(typed: &str, missing: &str) -> anyhow::Result<()> {
    if naming::is_id(typed) { Ok(()) } else { bail!("{missing}") }
}

fn client(connection: &crate::arguments::AdminConnection) -> anyhow::Result<AdminClient> {
    AdminClient::new(connection)
}
