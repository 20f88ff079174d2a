//! Builds the effective configuration from flags, the environment and a file.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::CommandFactory;
use mnemon_server::config::{Config, Layers, unknown_variables};

use crate::arguments::{Arguments, Settings};
use crate::connecting;
use crate::{data_dir, logging};

/// The file that is read by default.
const USUAL_FILE: &str = "mnemon.toml";

/// Settings that are not taken from a file that was found rather than named: it may have come with somebody else's
/// folder, and each of these hands over the service, its data, or a command on this machine.
const NAMED_ONLY: [(&str, &str); 10] = [
    ("admin", "operator_token"),
    ("database", "replicas"),
    ("gateway", "commands"),
    ("gateway", "encryption_key"),
    ("gateway", "previous_encryption_key"),
    ("outgoing", "allowed_hosts"),
    ("outgoing", "ca_file"),
    ("storage", "data_dir"),
    ("storage", "database"),
    ("traces", "endpoint"),
];

/// The effective configuration and where it is from.
pub struct Loaded {
    pub config: Config,
    /// What a person should know: variables that nothing reads.
    pub advice: Vec<String>,
    /// The file that was read.
    pub file: Option<PathBuf>,
}

/// All sources of settings, layered.
pub fn layers(settings: &Settings) -> anyhow::Result<Layers> {
    let mut layers = Layers::default();
    if let Some(path) = file(settings) {
        let text = std::fs::read_to_string(path).with_context(|| format!("can't read {}", path.display()))?;
        layers.file(&path.display().to_string(), &text);
        if settings.config.is_none() {
            list_dangerous(&text).into_iter().for_each(|mistake| layers.mistake(mistake));
        }
    }
    layers.environment(std::env::vars());
    let flags = [
        ("--data-dir", "storage.data_dir", &settings.data_dir),
        ("--database", "storage.database", &settings.database),
        ("--listen", "server.listen", &settings.listen),
        ("--base-url", "server.base_url", &settings.base_url),
        ("--log-level", "log.level", &settings.log_level),
        ("--log-format", "log.format", &settings.log_format),
    ];
    for (flag, setting, value) in flags {
        if let Some(value) = value {
            layers.text(flag, setting, value);
        }
    }
    if !settings.allowed_origins.is_empty() {
        layers.text("--allow-origin", "server.allowed_origins", &settings.allowed_origins.join(","));
    }
    layers.usual_data_dir(|| data_dir::usual().display().to_string());
    Ok(layers)
}

/// The file that was named, or else the one in the working directory.
fn file(settings: &Settings) -> Option<&Path> {
    let found = || Some(Path::new(USUAL_FILE)).filter(|path| path.exists());
    settings.config.as_deref().or_else(found)
}

/// A mistake for everything that a file may not say unless it was named.
fn list_dangerous(text: &str) -> Vec<String> {
    let Ok(table) = text.parse::<toml::Table>() else { return Vec::new() };
    let is_set = |value: &toml::Value| match value {
        toml::Value::String(text) => !text.is_empty(),
        toml::Value::Array(items) => !items.is_empty(),
        toml::Value::Table(table) => !table.is_empty(),
        _ => true,
    };
    let found = NAMED_ONLY
        .iter()
        .filter(|(section, key)| table.get(*section).and_then(|section| section.get(*key)).is_some_and(is_set));
    let tell = |(section, key): &(&str, &str)| {
        format!(
            "{USUAL_FILE}: '{section}.{key}' is not taken from a file that was only found in the working directory; if the \
             file is yours, name it with --config {USUAL_FILE}"
        )
    };
    found.map(tell).collect()
}

/// The effective configuration, or every mistake in it.
pub fn load(settings: &Settings) -> anyhow::Result<Config> {
    Ok(load_with_advice(settings)?.config)
}

/// The same, with what `mnemon serve` logs about it.
pub fn load_with_advice(settings: &Settings) -> anyhow::Result<Loaded> {
    let mut config = layers(settings)?.finish()?;
    logging::filter(&config.log)?;
    let data_dir = &mut config.storage.data_dir;
    *data_dir = std::path::absolute(&*data_dir).context("can't tell the working directory")?;
    let file = file(settings).map(std::path::absolute).transpose().context("can't tell the working directory")?;
    Ok(Loaded { config, advice: strange_variables(), file })
}

/// The configuration as `config check` sees it: a variable that nothing knows is a mistake, too. A start only warns of
/// it, because some platforms set variables for whatever is called `mnemon`.
pub fn check(settings: &Settings) -> anyhow::Result<()> {
    let mut layers = layers(settings)?;
    strange_variables().into_iter().for_each(|mistake| layers.mistake(mistake));
    let config = layers.finish()?;
    logging::filter(&config.log)?;
    Ok(())
}

fn strange_variables() -> Vec<String> {
    let set: Vec<String> = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
    let mut known = variables_of(&Arguments::command());
    known.extend(connecting::VARIABLES.iter().map(|(variable, ..)| (*variable).to_owned()));
    unknown_variables(set.iter().map(String::as_str), &known)
}

/// The variables that a command and its subcommands read.
fn variables_of(command: &clap::Command) -> Vec<String> {
    let own = command.get_arguments().filter_map(|argument| argument.get_env()?.to_str().map(str::to_owned));
    own.chain(command.get_subcommands().flat_map(variables_of)).collect()
}
