//! The admin commands: each makes one request to the admin API and shows a table or JSON.

mod accounts;
mod integrations;
mod me;
mod people;
mod projects;
mod records;

use std::process::ExitCode;

use serde_json::Value;

use crate::admin_client::{AdminClient, encode};
use crate::arguments::AdminCommand;
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
        // Only these lists can be continued.
        let how = if name == "records" { format!("; continue with --before {next}") } else { String::new() };
        printer.text(&format!("More rows follow{how}."));
    }
}

fn client(connection: &crate::arguments::AdminConnection) -> anyhow::Result<AdminClient> {
    AdminClient::new(connection)
}
