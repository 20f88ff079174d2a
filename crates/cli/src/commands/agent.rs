//! `mnemon agent`: the proxy, and the commands around it.

mod consenting;
mod installing;
mod syncing;

use std::io::Write;
use std::process::ExitCode;

use mnemon_agent::places::{Environment, Places};
use mnemon_agent::settings::{Flags, Settings};
use mnemon_agent::{background, proxy};

use crate::arguments::{Agent, AgentCommand};
use crate::printer::Printer;

/// What every command works with.
struct Desk {
    places: Places,
    settings: Settings,
}

pub fn run(agent: &Agent, printer: &Printer) -> anyhow::Result<ExitCode> {
    let environment: Environment =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value))).collect();
    let places = Places::find(&environment)?;
    let flags = Flags { url: agent.url.clone(), key: agent.key.clone() };
    let settings = Settings::load(&flags, &environment, &places)?;
    let desk = Desk { places, settings };
    match &agent.command {
        None => serve(desk),
        Some(AgentCommand::Install(install)) => installing::install(&desk, install, printer),
        Some(AgentCommand::Consent) => consenting::consent(&desk, printer),
        Some(AgentCommand::Revoke(revoke)) => consenting::revoke(&desk, revoke, printer),
        Some(AgentCommand::Status) => syncing::status(&desk, printer),
        Some(AgentCommand::Sync(sync)) => syncing::sync(&desk, sync, printer),
    }
}

/// Runs until the assistant closes its side. Standard output belongs to the protocol.
fn serve(desk: Desk) -> anyhow::Result<ExitCode> {
    let Desk { places, settings } = desk;
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

/// One thread is enough to move bytes, and uses the least memory.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}
