//! The command `mnemon`: wiring, and what a person types. The one place that knows every crate and picks the store. It
//! is a library so that the reference pages can be made from its arguments.

#![expect(
    unreachable_pub,
    reason = "only what is named below has users outside; other `pub` means: used by another file"
)]

mod admin_arguments;
mod admin_client;
mod agent_arguments;
pub mod arguments;
mod commands;
mod confirm;
mod connecting;
mod connection_arguments;
mod data_dir;
mod handing_over_arguments;
pub mod help;
mod http_client;
mod integration_arguments;
mod logging;
mod mcp_client;
mod moment;
mod naming;
mod printer;
mod project_arguments;
mod rejected;
mod settings;
mod storage;
mod traces;
mod transfer_arguments;
mod version;
mod visible;

use std::process::ExitCode;

use clap::FromArgMatches;

use arguments::{Arguments, Command};
pub use connecting::VARIABLES;
use printer::Printer;

/// Runs the command of this process.
pub fn run() -> ExitCode {
    mnemon_platform::terminal::prepare();
    let matches = help::command().get_matches();
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let printer = Printer::new(arguments.json);
    if let Some(Err(problem)) = arguments.ca_file.as_deref().map(mnemon_agent::trust::add_file) {
        printer.error(&anyhow::anyhow!(problem));
        return ExitCode::FAILURE;
    }
    let outcome = match arguments.command {
        Command::Serve(serve) => commands::serve::run(&serve, &printer),
        Command::Remember(remember) => commands::remember::run(&remember, &printer),
        Command::Search(search) => commands::search::run(&search, &printer),
        Command::Forget(forget) => commands::forget::run(&forget, &printer),
        Command::Context(context) => commands::context::run(&context, &printer),
        Command::Validate(validate) => commands::validate::run(&validate, &printer),
        Command::Hash(hash) => commands::hash::run(&hash, &printer),
        Command::Agent(agent) => commands::agent::run(&agent, &printer),
        Command::Apply(apply) => commands::apply::run(&apply, &printer),
        Command::Login(login) => commands::login::login(&login, &printer),
        Command::Logout(logout) => commands::login::logout(&logout, &printer),
        Command::Export(export) => commands::export::run(&export, &printer),
        Command::Import(import) => commands::import::run(&import, &printer),
        Command::Backup(backup) => commands::backup::back(&backup, &printer),
        Command::Restore(restore) => commands::backup::restore(&restore, &printer),
        Command::Transfer(transfer) => commands::transfer::run(&transfer, &printer),
        Command::Completions(completions) => commands::completions::completions(&completions, &printer),
        Command::Man(man) => commands::completions::man(&man, &printer),
        Command::Health(health) => commands::health::run(&health, &printer),
        Command::Config(config) => commands::config::run(&config, &printer),
        Command::Doctor(doctor) => commands::doctor::run(&doctor, &printer),
        Command::Selftest(selftest) => commands::selftest::run(&selftest, &printer),
        Command::Admin(verb) => commands::admin::run(&verb, &printer),
    };
    outcome.unwrap_or_else(|error| {
        printer.error(&error);
        ExitCode::FAILURE
    })
}
