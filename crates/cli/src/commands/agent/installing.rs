//! `mnemon agent install`.

use std::process::ExitCode;

use anyhow::{Context, bail};
use mnemon_agent::install::{Entry, Plan, Target, apply, plan_install, plan_uninstall};
use mnemon_agent::settings::Source;
use serde_json::json;

use super::Desk;
use crate::arguments::Install;
use crate::printer::Printer;

pub(super) fn install(desk: &Desk, install: &Install, printer: &Printer) -> anyhow::Result<ExitCode> {
    let Some(target) = Target::parse(&install.client) else {
        let known: Vec<&str> = Target::ALL.into_iter().map(Target::as_str).collect();
        bail!("unknown client '{}'; choose one of {}", install.client, known.join(", "));
    };
    let path = install.file.clone().unwrap_or_else(|| target.file(&desk.places));
    let plan = if install.uninstall {
        plan_uninstall(target, &path, &desk.places)?
    } else {
        plan_install(target, &path, &entry()?, install.replace)?
    };
    let mut backup = None;
    if !plan.is_empty() && !install.dry_run {
        backup = apply(&plan, target, &desk.places, !install.uninstall)?;
    }
    let is_key_kept = !install.uninstall && !install.dry_run && keep_settings(desk)?;
    let report = Report { plan: &plan, install, target, backup: backup.as_deref(), is_key_kept };
    report.show(desk, printer);
    Ok(ExitCode::SUCCESS)
}

/// This program, wherever it was started from.
fn entry() -> anyhow::Result<Entry> {
    let program = std::env::current_exe().context("can't find the path of this program")?;
    let command = program.to_str().context("the path of this program is not UTF-8")?.to_owned();
    Ok(Entry { command, args: vec!["agent".to_owned()] })
}

/// A flag or variable set now may be missing when the assistant starts the agent. So the URL and the key go into the
/// agent's own file, which only its owner can read. The assistant's configuration never holds the key.
fn keep_settings(desk: &Desk) -> anyhow::Result<bool> {
    let is_passing = |source: &Source| matches!(source, Source::Flag(_) | Source::Environment(_));
    let settings = &desk.settings;
    if !is_passing(&settings.key_source) && !is_passing(&settings.url_source) {
        return Ok(false);
    }
    let file = desk.places.shown(&desk.places.settings_file);
    settings.save(&desk.places).with_context(|| format!("can't save the URL and the key in {file}"))?;
    Ok(true)
}

struct Report<'a> {
    plan: &'a Plan,
    install: &'a Install,
    target: Target,
    backup: Option<&'a std::path::Path>,
    is_key_kept: bool,
}

impl Report<'_> {
    fn show(&self, desk: &Desk, printer: &Printer) {
        let file = desk.places.shown(&self.plan.path);
        let backup = self.backup.map(|path| desk.places.shown(path));
        if printer.is_json() {
            return printer.value(&json!({
                "client": self.target.as_str(),
                "file": self.plan.path.display().to_string(),
                "changed": !self.plan.is_empty() && !self.install.dry_run,
                "difference": self.plan.difference(),
                "backup": backup,
            }));
        }
        if self.plan.is_empty() {
            let said = if self.install.uninstall { "does not contain the agent" } else { "already contains the agent" };
            printer.text(&format!("{file} {said}; nothing to change."));
        } else {
            printer.text(&format!("{file}\n{}", self.plan.difference()));
            let said = match (self.install.dry_run, self.install.uninstall) {
                (true, _) => "Dry run; nothing was changed.",
                (false, true) => "Removed the agent. Restart the assistant.",
                (false, false) => "Added the agent. Restart the assistant.",
            };
            printer.text(said);
        }
        if let Some(backup) = backup {
            printer.text(&format!("The previous version is in {backup}."));
        }
        if self.is_key_kept {
            let kept = desk.places.shown(&desk.places.settings_file);
            printer.text(&format!("The URL and the key are saved in {kept}; only you can read that file."));
        }
        if !self.install.uninstall && desk.settings.key.is_none() {
            printer.text("No API key yet: run this again with --key, or set MNEMON_API_KEY for the assistant.");
        }
    }
}
