//! Builds the effective configuration from flags, the environment and a file.

use std::path::Path;

use anyhow::Context;
use mnemon_server::config::{Config, Layers};

use crate::arguments::Settings;
use crate::logging;

/// The file that is read by default.
const USUAL_FILE: &str = "mnemon.toml";

/// All sources of settings, layered.
pub fn layers(settings: &Settings) -> anyhow::Result<Layers> {
    let mut layers = Layers::default();
    match &settings.config {
        Some(path) => {
            let text = std::fs::read_to_string(path).with_context(|| format!("can't read {}", path.display()))?;
            layers.file(&path.display().to_string(), &text);
        }
        None if Path::new(USUAL_FILE).exists() => {
            let text = std::fs::read_to_string(USUAL_FILE).with_context(|| format!("can't read {USUAL_FILE}"))?;
            layers.file(USUAL_FILE, &text);
        }
        None => {}
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
    Ok(layers)
}

/// The effective configuration, or every mistake in it.
pub fn load(settings: &Settings) -> anyhow::Result<Config> {
    let config = layers(settings)?.finish()?;
    logging::filter(&config.log)?;
    Ok(config)
}
