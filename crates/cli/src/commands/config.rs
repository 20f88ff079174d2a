//! `mnemon config check` and `mnemon config print`.

use std::process::ExitCode;

use serde_json::json;

use crate::arguments::{ConfigArguments, ConfigCommand};
use crate::printer::Printer;
use crate::settings;

pub fn run(arguments: &ConfigArguments, printer: &Printer) -> anyhow::Result<ExitCode> {
    match &arguments.command {
        ConfigCommand::Check(given) => {
            settings::check(given)?;
            if printer.is_json() {
                printer.value(&json!({"ok": true}));
            } else {
                printer.text("The configuration is valid.");
            }
        }
        ConfigCommand::Print(given) => printer.text(settings::layers(given)?.to_toml().trim_end()),
    }
    Ok(ExitCode::SUCCESS)
}
