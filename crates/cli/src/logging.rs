//! The log goes to standard error: standard output belongs to answers.

use std::io::IsTerminal;

use anyhow::Context;
use mnemon_server::config::{LogConfig, LogFormat};
use mnemon_server::{ACCESS_TARGET, AccessLines};
use tracing_subscriber::EnvFilter;

/// Parses the filter; an invalid one is a configuration mistake.
pub fn filter(config: &LogConfig) -> anyhow::Result<EnvFilter> {
    let filter = EnvFilter::try_new(&config.level)
        .with_context(|| format!("log.level '{}' is neither a level nor a filter", config.level))?;
    // Whoever turned the access log on wants its lines, whatever the level of the others is.
    Ok(match config.access_every {
        Some(_) => filter.add_directive(format!("{ACCESS_TARGET}=info").parse()?),
        None => filter,
    })
}

/// Starts logging as configured. Lines of the access log go another way where the log is JSON: there may be thousands a second.
pub fn start(config: &LogConfig) -> anyhow::Result<Option<AccessLines>> {
    let filter = filter(config)?;
    let is_terminal = std::io::stderr().is_terminal();
    let is_json = match config.format {
        LogFormat::Json => true,
        LogFormat::Human => false,
        LogFormat::Auto => !is_terminal,
    };
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = if is_json { log.json().try_init() } else { log.with_ansi(is_terminal).try_init() };
    started.map_err(|error| anyhow::anyhow!("can't start logging: {error}"))?;
    let has_lines = is_json && config.access_every.is_some();
    Ok(has_lines.then(AccessLines::start).transpose()?)
}
