//! `mnemon agent install`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use mnemon_agent::install::{
    Entry, Hooks, Piece, Plan, Target, apply, extras, plan_hooks, plan_install, plan_instructions, plan_uninstall,
};
use mnemon_agent::settings::{Source, WorkspaceChoice};
use serde_json::{Value, json};

use super::Desk;
use super::checked::{program, spare_saved_key, warning_about_key, warning_about_path};
use crate::arguments::Install;
use crate::printer::Printer;

pub(super) fn install(desk: &Desk, install: &Install, printer: &Printer) -> anyhow::Result<ExitCode> {
    let Some(target) = Target::parse(&install.client) else {
        let known: Vec<&str> = Target::ALL.into_iter().map(Target::as_str).collect();
        bail!("unknown client '{}'; choose one of {}", install.client, known.join(", "));
    };
    let mut warnings = Vec::new();
    if !install.uninstall {
        if is_to_be_saved(desk) {
            warnings.extend(warning_about_key(&desk.settings)?);
            if !install.replace {
                spare_saved_key(desk)?;
            }
        }
        let program = program(desk, install.copy, true)?;
        warnings.extend(warning_about_path(desk, &program));
    }
    let entry = entry(desk, install.copy)?;
    let command = hook_command(&entry);
    let working_dir = std::env::current_dir().context("can't find the working directory")?;
    let plans = if install.uninstall {
        uninstall_plans(desk, install, target, &working_dir)?
    } else {
        install_plans(desk, install, target, &entry, &command, &working_dir)?
    };
    program(desk, install.copy, install.dry_run)?;
    let mut backups = Vec::new();
    for plan in &plans {
        let is_change = !plan.is_empty() && !install.dry_run;
        backups.push(if is_change { apply(plan, target, &desk.places, !install.uninstall)? } else { None });
    }
    let is_key_kept = !install.uninstall && !install.dry_run && keep_settings(desk)?;
    let words = ["stdio", "command", "local", "custom", "*"].map(str::to_owned);
    let own = [&[entry.command, command][..], &words, &entry.args].concat();
    let report = Report { plans: &plans, backups: &backups, install, target, own: &own, is_key_kept, warnings };
    report.show(desk, printer);
    Ok(ExitCode::SUCCESS)
}

/// All changes are computed before the first one is made: a broken file stops everything.
fn install_plans(
    desk: &Desk,
    install: &Install,
    target: Target,
    entry: &Entry,
    command: &str,
    working_dir: &Path,
) -> anyhow::Result<Vec<Plan>> {
    let path = install.file.clone().unwrap_or_else(|| target.file(&desk.places));
    let mut plans = vec![plan_install(target, &path, entry, install.replace)?];
    if install.hooks {
        let Some(path) = target.hooks_file(&desk.places) else {
            bail!("{} has no hooks; leave out --hooks", target.as_str());
        };
        if install.prompt_hook && target == Target::Cursor {
            bail!("Cursor's prompt hook can't add to a prompt; leave out --prompt-hook");
        }
        let hooks = Hooks { command: command.to_owned(), has_prompts: install.prompt_hook };
        plans.push(plan_hooks(target, &path, &hooks)?);
    }
    if let Some(given) = &install.instructions {
        let usual = || target.instructions_file(&desk.places, working_dir);
        let path = given.as_ref().map(|given| working_dir.join(given)).or_else(usual);
        let Some(path) = path else {
            bail!("{} reads no file of instructions; name one with --instructions=FILE", target.as_str());
        };
        plans.push(plan_instructions(&path)?);
    }
    Ok(plans)
}

/// Everything that was added for the client, and what looks like it in the usual places.
fn uninstall_plans(desk: &Desk, install: &Install, target: Target, working_dir: &Path) -> anyhow::Result<Vec<Plan>> {
    let path = install.file.clone().unwrap_or_else(|| target.file(&desk.places));
    let mut plans = Vec::new();
    let mut files = extras(target, &desk.places);
    files.extend(target.hooks_file(&desk.places).map(|path| (Piece::Hooks, path)));
    let instructions = target.instructions_file(&desk.places, working_dir);
    files.extend(instructions.map(|path| (Piece::Instructions, path)));
    for (piece, path) in files {
        let plan = plan_uninstall(piece, target, &path, &desk.places)?;
        if !plan.is_empty() && !plans.contains(&plan) {
            plans.push(plan);
        }
    }
    // Last, because it came first and may have made the folder that the others lie in.
    plans.push(plan_uninstall(Piece::Server, target, &path, &desk.places)?);
    Ok(plans)
}

/// How to start this program, or its copy.
fn entry(desk: &Desk, is_copied: bool) -> anyhow::Result<Entry> {
    let program = program(desk, is_copied, true)?;
    let command = program.to_str().context("the path of this program is not UTF-8")?.to_owned();
    let mut args = vec!["agent".to_owned()];
    match &desk.settings.workspace {
        None => {}
        Some(WorkspaceChoice::Auto) => args.extend(["--workspace".to_owned(), "auto".to_owned()]),
        Some(WorkspaceChoice::Named(name)) => args.extend(["--workspace".to_owned(), name.clone()]),
    }
    if desk.is_checking {
        args.push("--check-sources".to_owned());
    }
    Ok(Entry { command, args })
}

/// The same program as a command line: hooks are run by a shell.
fn hook_command(entry: &Entry) -> String {
    let words = std::iter::once(&entry.command).chain(&entry.args).map(|word| quoted(word));
    format!("{} hook", words.collect::<Vec<_>>().join(" "))
}

fn quoted(word: &str) -> String {
    if cfg!(windows) { quoted_for_windows(word) } else { quoted_for_shells(word) }
}

/// A word that needs no quoting in a shell.
fn quoted_for_shells(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// Assistants run hooks by Git Bash, which drops backslashes, by PowerShell, or by cmd. All of them take slashes.
fn quoted_for_windows(word: &str) -> String {
    let word = word.replace('\\', "/");
    if word.contains(' ') { format!("\"{word}\"") } else { word }
}

/// A flag or variable set now may be missing when the assistant starts the agent. So the URL and the key go into the
/// agent's own file, which only its owner can read. The assistant's configuration never holds the key.
fn keep_settings(desk: &Desk) -> anyhow::Result<bool> {
    if !is_to_be_saved(desk) {
        return Ok(false);
    }
    let file = desk.places.shown(&desk.places.settings_file);
    desk.settings.save(&desk.places).with_context(|| format!("can't save the URL and the key in {file}"))?;
    Ok(true)
}

/// Whether a flag or a variable says something that is not saved yet.
fn is_to_be_saved(desk: &Desk) -> bool {
    let is_passing = |source: &Source| matches!(source, Source::Flag(_) | Source::Environment(_));
    is_passing(&desk.settings.key_source) || is_passing(&desk.settings.url_source)
}

struct Report<'a> {
    plans: &'a [Plan],
    backups: &'a [Option<PathBuf>],
    install: &'a Install,
    target: Target,
    /// The values in configurations that are ours, and may be shown.
    own: &'a [String],
    is_key_kept: bool,
    warnings: Vec<String>,
}

impl Report<'_> {
    fn show(&self, desk: &Desk, printer: &Printer) {
        if printer.is_json() {
            return printer.value(&self.to_json(desk));
        }
        for (plan, backup) in self.plans.iter().zip(self.backups) {
            self.show_plan(desk, printer, plan);
            if let Some(backup) = backup {
                printer.text(&format!("The previous version is in {}.", desk.places.shown(backup)));
            }
        }
        if self.plans.iter().any(|plan| !plan.is_empty()) {
            printer.text(if self.install.dry_run { "Dry run; nothing was changed." } else { "Restart the assistant." });
        }
        if self.install.hooks && self.target == Target::Codex && !self.install.uninstall {
            printer.text("Codex runs a new hook only after you have trusted it: type /hooks in Codex.");
        }
        if self.is_key_kept {
            let kept = desk.places.shown(&desk.places.settings_file);
            printer.text(&format!("The URL and the key are saved in {kept}; only you can read that file."));
        }
        if !self.install.uninstall && desk.settings.key.is_none() {
            printer.text("No API key yet: run this again with --key, or set MNEMON_API_KEY for the assistant.");
        }
        for warning in &self.warnings {
            printer.text(warning);
        }
        for (path, what) in self.left(desk) {
            printer.text(&format!("Left in place: {} ({what}).", desk.places.shown(&path)));
        }
    }

    fn show_plan(&self, desk: &Desk, printer: &Printer, plan: &Plan) {
        let (file, piece) = (desk.places.shown(&plan.path), plan.piece.as_str());
        if plan.is_empty() {
            let said = if self.install.uninstall { "does not contain" } else { "already contains" };
            return printer.text(&format!("{file} {said} {piece}; nothing to change."));
        }
        printer.text(&format!("{file}\n{}", plan.difference(self.own)));
        if !self.install.dry_run {
            let said = if self.install.uninstall { "Removed" } else { "Added" };
            printer.text(&format!("{said} {piece}."));
        }
    }

    /// What an uninstall does not touch: other clients may use it, and the key may exist nowhere else.
    fn left(&self, desk: &Desk) -> Vec<(PathBuf, &'static str)> {
        if !self.install.uninstall {
            return Vec::new();
        }
        let places = &desk.places;
        let left = [
            (places.settings_file.clone(), "the URL and the key, which other clients may use"),
            (places.state.clone(), "consent, upload state and backups of changed files"),
        ];
        left.into_iter().filter(|(path, _)| path.exists()).collect()
    }

    fn to_json(&self, desk: &Desk) -> Value {
        let is_changed = |plan: &Plan| !plan.is_empty() && !self.install.dry_run;
        let files = self.plans.iter().zip(self.backups).map(|(plan, backup)| {
            json!({
                "adds": plan.piece,
                "file": plan.path.display().to_string(),
                "changed": is_changed(plan),
                "difference": plan.difference(self.own),
                "backup": backup.as_ref().map(|path| desk.places.shown(path)),
            })
        });
        let left: Vec<String> = self.left(desk).iter().map(|(path, _)| path.display().to_string()).collect();
        json!({
            "client": self.target.as_str(),
            "changed": self.plans.iter().any(is_changed),
            "files": files.collect::<Vec<_>>(),
            "left_in_place": left,
            "warnings": self.warnings,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_s_path_survives_the_shell() {
        assert_eq!(quoted_for_windows(r"C:\Users\ana\mnemon.exe"), "C:/Users/ana/mnemon.exe");
        assert_eq!(quoted_for_windows(r"C:\Users\Ana B\mnemon.exe"), "\"C:/Users/Ana B/mnemon.exe\"");
        assert_eq!(quoted_for_shells("/opt/mnemon"), "/opt/mnemon");
        assert_eq!(quoted_for_shells("/opt/it's/mnemon"), r"'/opt/it'\''s/mnemon'");
    }
}
