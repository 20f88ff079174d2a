//! Adds the agent to other programs' configurations, and removes it again. One entry is added; every other byte stays:
//! comments, order, line endings. The previous version is kept as a backup.

mod json;
mod toml;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use mnemon_protocol::hex::to_hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::places::Places;
use crate::{clock, private};

/// The name of the entry.
pub const ENTRY: &str = "mnemon";

/// The programs the agent can be added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Claude Code, at user level.
    ClaudeCode,
    ClaudeDesktop,
    Codex,
    Cursor,
    VsCode,
}

impl Target {
    pub const ALL: [Self; 5] = [Self::ClaudeCode, Self::ClaudeDesktop, Self::Codex, Self::Cursor, Self::VsCode];

    /// The name that a person types.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::ClaudeDesktop => "claude-desktop",
            Self::Codex => "codex",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|target| target.as_str() == word)
    }

    /// Where the program keeps its configuration.
    pub fn file(self, places: &Places) -> PathBuf {
        let support = if cfg!(target_os = "macos") {
            places.home.join("Library/Application Support")
        } else if cfg!(windows) {
            places.home.join("AppData/Roaming")
        } else {
            places.config_home.clone()
        };
        match self {
            Self::ClaudeCode => places.claude_file.clone(),
            Self::ClaudeDesktop => support.join("Claude/claude_desktop_config.json"),
            Self::Codex => places.codex.join("config.toml"),
            Self::Cursor => places.home.join(".cursor/mcp.json"),
            Self::VsCode => support.join("Code/User/mcp.json"),
        }
    }

    /// The key of the object that holds the servers.
    const fn container(self) -> &'static str {
        match self {
            Self::ClaudeCode | Self::ClaudeDesktop | Self::Cursor => "mcpServers",
            Self::Codex => "mcp_servers",
            Self::VsCode => "servers",
        }
    }

    const fn names_its_kind(self) -> bool {
        matches!(self, Self::ClaudeCode | Self::VsCode)
    }
}

/// How to start the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The program's absolute path: assistants started from a desktop don't know the shell's search path.
    pub command: String,
    pub args: Vec<String>,
}

/// Why a configuration was not changed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("{path}: {error}")]
    File { path: String, error: io::Error },
    #[error("{path} is not valid {form} ({why}); fix it first. Nothing was changed")]
    Broken { path: String, form: &'static str, why: String },
    #[error("{path} already has a different entry named '{ENTRY}'; pass --replace to replace it")]
    Occupied { path: String },
}

/// A change that is computed but not yet made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub path: PathBuf,
    /// The current content; `None` if there is no file.
    pub before: Option<String>,
    /// The new content; `None` if the file will be removed.
    pub after: Option<String>,
}

impl Plan {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.before == self.after
    }

    /// The difference, for a person.
    pub fn difference(&self) -> String {
        difference(self.before.as_deref().unwrap_or_default(), self.after.as_deref().unwrap_or_default())
    }
}

/// What was done to a configuration, so that it can be undone.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    path: PathBuf,
    /// Where the backup is; `None` if there was no file.
    backup: Option<PathBuf>,
    /// A hash of the content we wrote.
    after: String,
    /// The inserted text, if it was inserted in one place.
    inserted: Option<String>,
    /// Whether we also created the object that holds the servers.
    has_made_container: bool,
}

/// The change that adds the agent.
pub fn plan_install(target: Target, path: &Path, entry: &Entry, is_replacing: bool) -> Result<Plan, InstallError> {
    let path = resolved(path);
    let before = read(&path)?;
    let text = before.as_deref().unwrap_or_default();
    let after = match target {
        Target::Codex => toml::insert(target.container(), entry, text, is_replacing),
        _ => json::insert(target.container(), target.names_its_kind(), entry, text, is_replacing),
    };
    let after = after.map_err(|refusal| refusal.named(&path))?;
    Ok(Plan { path, before, after: Some(after) })
}

/// The change that removes the agent.
pub fn plan_uninstall(target: Target, path: &Path, places: &Places) -> Result<Plan, InstallError> {
    let path = resolved(path);
    let before = read(&path)?;
    let Some(text) = before.clone() else { return Ok(Plan { path, before: None, after: None }) };
    let record = find_record(places, target).filter(|record| record.path == path);
    let after = match &record {
        Some(record) if record.after == hash(&text) => former(record)?,
        record => Some(cut_out(target, &path, &text, record.as_ref())?),
    };
    let is_ours_alone = record.as_ref().is_some_and(|record| record.backup.is_none());
    // A file that we created and that contains nothing else is removed too.
    let after = after.filter(|after| !(is_ours_alone && is_nothing(after)));
    Ok(Plan { path, before, after })
}

/// Makes a change and returns where the backup is.
pub fn apply(plan: &Plan, target: Target, places: &Places, is_install: bool) -> Result<Option<PathBuf>, InstallError> {
    let failed = |error| InstallError::File { path: places.shown(&plan.path), error };
    let backup = match &plan.before {
        Some(before) => Some(keep_backup(target, before, &plan.path, places).map_err(failed)?),
        None => None,
    };
    match &plan.after {
        Some(after) => {
            if let Some(folder) = plan.path.parent() {
                fs::create_dir_all(folder).map_err(failed)?;
            }
            private::replace(&plan.path, after.as_bytes(), None).map_err(failed)?;
        }
        None => fs::remove_file(&plan.path).map_err(failed)?,
    }
    if is_install {
        let record = Record {
            path: plan.path.clone(),
            backup: backup.clone(),
            after: hash(plan.after.as_deref().unwrap_or_default()),
            inserted: inserted(plan),
            has_made_container: !plan.before.as_deref().unwrap_or_default().contains(target.container()),
        };
        let text = serde_json::to_vec(&record).map_err(|error| failed(error.into()))?;
        private::write(&record_path(places, target), &text).map_err(failed)?;
    } else {
        let _ = fs::remove_file(record_path(places, target));
    }
    Ok(backup)
}

/// A symbolic link stays a link: the file it points to is written.
fn resolved(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn read(path: &Path) -> Result<Option<String>, InstallError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(InstallError::File { path: path.display().to_string(), error }),
    }
}

fn hash(text: &str) -> String {
    to_hex(&Sha256::digest(text.as_bytes()))
}

fn record_path(places: &Places, target: Target) -> PathBuf {
    places.data.join("installed").join(format!("{}.json", target.as_str()))
}

fn find_record(places: &Places, target: Target) -> Option<Record> {
    serde_json::from_slice(&fs::read(record_path(places, target)).ok()?).ok()
}

fn former(record: &Record) -> Result<Option<String>, InstallError> {
    record.backup.as_deref().map_or(Ok(None), read)
}

fn keep_backup(target: Target, before: &str, path: &Path, places: &Places) -> io::Result<PathBuf> {
    let end = path.extension().unwrap_or_default().to_string_lossy().into_owned();
    let name = format!("{}-{}.{end}", target.as_str(), clock::now().as_microsecond());
    let backup = places.data.join("backups").join(name);
    private::write(&backup, before.as_bytes())?;
    Ok(backup)
}

/// Removes the entry from a text that has changed since: exactly the inserted bytes if they can be found, else the entry
/// by its name.
fn cut_out(target: Target, path: &Path, text: &str, record: Option<&Record>) -> Result<String, InstallError> {
    let has_entry = |text: &str| match target {
        Target::Codex => toml::has_entry(target.container(), text),
        _ => json::has_entry(target.container(), text),
    };
    if let Some(inserted) = record.and_then(|record| record.inserted.as_deref())
        && text.matches(inserted).count() == 1
    {
        let rest = text.replacen(inserted, "", 1);
        if has_entry(&rest) == Ok(false) {
            return Ok(rest);
        }
    }
    let is_container_ours = record.is_some_and(|record| record.has_made_container);
    let removed = match target {
        Target::Codex => toml::remove(target.container(), text, is_container_ours),
        _ => json::remove(target.container(), text, is_container_ours),
    };
    removed.map_err(|refusal| refusal.named(path))
}

/// The inserted text, if nothing was removed.
fn inserted(plan: &Plan) -> Option<String> {
    let (before, after) = (plan.before.as_deref().unwrap_or_default(), plan.after.as_deref()?);
    let start = common(before.bytes(), after.bytes());
    let end = common(before[floor(before, start)..].bytes().rev(), after[floor(after, start)..].bytes().rev());
    let start = floor(before, start);
    let end = before.len().checked_sub(start).filter(|rest| *rest == end)?;
    after.get(start..after.len() - end).map(str::to_owned)
}

fn common(a: impl Iterator<Item = u8>, b: impl Iterator<Item = u8>) -> usize {
    a.zip(b).take_while(|(a, b)| a == b).count()
}

fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at)
}

fn is_nothing(text: &str) -> bool {
    let plain: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    matches!(plain.as_str(), "" | "{}")
}

/// The removed and added lines, with some context.
fn difference(before: &str, after: &str) -> String {
    const AROUND: usize = 3;
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let left = (old.len() - start).min(new.len() - start);
    let end = old.iter().rev().zip(new.iter().rev()).take(left).take_while(|(a, b)| a == b).count();
    let mut lines: Vec<String> =
        old[start.saturating_sub(AROUND)..start].iter().map(|line| format!("  {line}")).collect();
    lines.extend(old[start..old.len() - end].iter().map(|line| format!("- {line}")));
    lines.extend(new[start..new.len() - end].iter().map(|line| format!("+ {line}")));
    let after_it = &old[old.len() - end..];
    lines.extend(after_it.iter().take(AROUND).map(|line| format!("  {line}")));
    lines.join("\n")
}

/// Why a text was not changed; the caller adds the file name.
#[derive(Debug, PartialEq, Eq)]
enum Refusal {
    Broken { form: &'static str, why: String },
    Occupied,
}

impl Refusal {
    fn named(self, path: &Path) -> InstallError {
        let path = path.display().to_string();
        match self {
            Self::Broken { form, why } => InstallError::Broken { path, form, why },
            Self::Occupied => InstallError::Occupied { path },
        }
    }
}

#[cfg(test)]
mod tests;
