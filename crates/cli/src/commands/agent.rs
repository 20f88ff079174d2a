//! `mnemon agent`: the proxy, and the commands around it.

mod checked;
mod consenting;
mod installing;
mod syncing;

use std::io::Write;
use std::process::ExitCode;

use mnemon_agent::places::{Environment, Places};
use mnemon_agent::settings::{Flags, Settings};
use mnemon_agent::{background, hook, proxy};

use crate::arguments::{Agent, AgentCommand, Connection, Validate};
use crate::commands::validate;
use crate::printer::Printer;

/// What every command works with.
struct Desk {
    places: Places,
    settings: Settings,
    /// Whether the files that facts came from are checked when they change.
    is_checking: bool,
}

pub fn run(agent: &Agent, printer: &Printer) -> anyhow::Result<ExitCode> {
    let environment: Environment =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value))).collect();
    let flags =
        Flags { url: agent.url.clone(), key: agent.key.clone(), workspace: agent.workspace.clone(), profile: None };
    if matches!(agent.command, Some(AgentCommand::Hook)) {
        return Ok(answer_hook(&flags, &environment));
    }
    let places = Places::find(&environment)?;
    if let Err(error) = places.take_over_state(&environment) {
        tracing::warn!(%error, "can't take over the state of an earlier version; the agent starts without it");
    }
    let settings = Settings::load(&flags, &environment, &places)?;
    let desk = Desk { places, settings, is_checking: agent.check_sources };
    match &agent.command {
        None => serve(desk),
        Some(AgentCommand::Install(install)) => installing::install(&desk, install, printer),
        // Answered above, before anything could fail.
        Some(AgentCommand::Hook) => Ok(ExitCode::SUCCESS),
        Some(AgentCommand::Consent) => consenting::consent(&desk, printer),
        Some(AgentCommand::Revoke(revoke)) => consenting::revoke(&desk, revoke, printer),
        Some(AgentCommand::Status) => syncing::status(&desk, printer),
        Some(AgentCommand::Sync(sync)) => syncing::sync(&desk, sync, printer),
    }
}

/// A hook never fails the client: whatever is wrong, the assistant goes on without memory.
fn answer_hook(flags: &Flags, environment: &Environment) -> ExitCode {
    if let (Ok(places), Ok(runtime)) = (Places::find(environment), runtime()) {
        let settings = Settings::load(flags, environment, &places).map_err(|error| error.to_string());
        let settings = settings.as_ref().map_err(Clone::clone);
        let told = runtime.block_on(hook::answer(&places, settings, std::io::stdin().lock()));
        let _ = std::io::stdout().write_all(told.as_bytes());
        runtime.shutdown_background();
    }
    ExitCode::SUCCESS
}

/// Runs until the assistant closes its side. Standard output belongs to the protocol.
fn serve(desk: Desk) -> anyhow::Result<ExitCode> {
    if desk.is_checking {
        start_checking(&desk.settings);
    }
    let Desk { places, settings, .. } = desk;
    for warning in &settings.warnings {
        let _ = writeln!(std::io::stderr(), "mnemon agent: {warning}");
    }
    background::start(settings.clone(), places.clone())?;
    let runtime = runtime()?;
    let served = runtime.block_on(proxy::run(settings, places, tokio::io::stdin(), tokio::io::stdout()));
    // The thread that reads standard input may wait forever; it ends with the process.
    runtime.shutdown_background();
    served?;
    Ok(ExitCode::SUCCESS)
}

/// Beside the calls, whose bytes it never touches. Only in a repository: elsewhere the folder may be a whole home.
fn start_checking(settings: &Settings) {
    let connection = Connection {
        url: Some(settings.url.clone()),
        key: settings.key.as_ref().map(|key| key.expose().to_owned()),
        profile: None,
    };
    let validate = Validate { connection, workspace: settings.workspace.clone(), watch: true, ..Validate::default() };
    let is_repository =
        std::env::current_dir().is_ok_and(|folder| validate::git::Repository::around(&folder).is_some());
    if is_repository {
        // It ends with the process.
        std::thread::spawn(move || validate::watch::run_quietly(&validate));
    }
}

/// One thread is enough to move bytes, and uses the least memory.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}
