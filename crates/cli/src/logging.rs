//! The log goes to standard error: standard output belongs to answers.

use std::io::IsTerminal;

use anyhow::Context;
use mnemon_server::ACCESS_TARGET;
use mnemon_server::config::{LogConfig, LogFormat, TracesConfig};
use mnemon_traces::TraceLayer;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::prelude::*;

use crate::traces::Traces;

/// Parses the filter; an invalid one is a configuration mistake.
pub fn filter(config: &LogConfig) -> anyhow::Result<EnvFilter> {
    let filter = EnvFilter::try_new(&config.level)
        .with_context(|| format!("log.level '{}' is neither a level nor a filter", config.level))?;
    // Spans go to a collector, not to the log.
    let filter = filter.add_directive(format!("{}=off", mnemon_traces::TARGET).parse()?);
    // Turning the access log on means wanting its lines, whatever the level of the others.
    Ok(match config.access_every {
        Some(_) => filter.add_directive(format!("{ACCESS_TARGET}=info").parse()?),
        None => filter,
    })
}

/// Starts logging as configured, and gathers spans if they are sent anywhere.
pub fn start(config: &LogConfig, traces: Option<&TracesConfig>) -> anyhow::Result<Option<Traces>> {
    let filter = filter(config)?;
    let is_terminal = std::io::stderr().is_terminal();
    let is_json = match config.format {
        LogFormat::Json => true,
        LogFormat::Human => false,
        LogFormat::Auto => !is_terminal,
    };
    let (layer, traces) = traces.map(Traces::new).unzip();
    let spans = layer.map(|layer| layer.with_filter(TraceLayer::filter()));
    let log = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let started = if is_json {
        tracing_subscriber::registry().with(spans).with(log.json().with_filter(filter)).try_init()
    } else {
        tracing_subscriber::registry().with(spans).with(log.with_ansi(is_terminal).with_filter(filter)).try_init()
    };
    started.map_err(|error| anyhow::anyhow!("can't start logging: {error}"))?;
    Ok(traces)
}
