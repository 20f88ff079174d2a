//! Adds the agent to other programs' configurations, and removes it again. One entry is added; every other byte stays:
//! comments, order, line endings. The previous version is kept as a backup.

mod hooks;
mod instructions;
mod json;
mod masking;
mod target;
mod toml;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use mnemon_platform::files;
use mnemon_protocol::hex::to_hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::places::Places;
use crate::{clock, private};

pub use hooks::Hooks;
pub use target::Target;

/// The name of the entry.
pub const ENTRY: &str = "mnemon";

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
    #[error(
        "{path} leads to {real} by a link, out of {folder}; remove the link, or name the file itself. Nothing was changed"
    )]
    LeadsOut { path: String, real: String, folder: String },
    #[error("{path} already has a different entry named '{ENTRY}'; pass --replace to replace it")]
    Occupied { path: String },
}

/// What is added to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Piece {
    /// The entry that starts the agent.
    #[default]
    Server,
    Hooks,
    Instructions,
}

impl Piece {
    /// The name for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Server => "the agent",
            Self::Hooks => "the hooks",
            Self::Instructions => "the instructions",
        }
    }
}

/// A change that is computed but not yet made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub piece: Piece,
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

    /// The difference, for a person. Of values in a configuration only our own are shown.
    pub fn difference(&self, own: &[String]) -> String {
        let shown = difference(self.before.as_deref().unwrap_or_default(), self.after.as_deref().unwrap_or_default());
        match self.piece {
            Piece::Instructions => mnemon_guard::redact(&shown).text.into_owned(),
            Piece::Server | Piece::Hooks => masking::masked(&shown, own),
        }
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
    #[serde(default)]
    piece: Piece,
    /// Folders that did not exist before, the deepest first.
    #[serde(default)]
    made_folders: Vec<PathBuf>,
}

/// The change that adds the agent.
pub fn plan_install(target: Target, path: &Path, entry: &Entry, is_replacing: bool) -> Result<Plan, InstallError> {
    plan(Piece::Server, path, |text| match target {
        Target::Codex => toml::insert(target.container(), entry, text, is_replacing),
        _ => json::insert(target.container(), &target.value(entry), text, is_replacing),
    })
}

/// The change that adds hooks.
pub fn plan_hooks(target: Target, path: &Path, hooks: &Hooks) -> Result<Plan, InstallError> {
    plan(Piece::Hooks, path, |text| hooks::insert(target, hooks, text))
}

/// The change that adds instructions.
pub fn plan_instructions(path: &Path) -> Result<Plan, InstallError> {
    let is_cursor_rule = path.extension().is_some_and(|end| end == "mdc");
    plan(Piece::Instructions, path, |text| instructions::insert(text, is_cursor_rule))
}

fn plan(piece: Piece, path: &Path, insert: impl Fn(&str) -> Result<String, Refusal>) -> Result<Plan, InstallError> {
    let path = resolved(path)?;
    let before = read(&path)?;
    let after = insert(before.as_deref().unwrap_or_default()).map_err(|refusal| refusal.named(&path))?;
    Ok(Plan { piece, path, before, after: Some(after) })
}

/// The program that a client's configuration starts as the agent, if it does.
pub fn starts(target: Target, path: &Path) -> Result<Option<String>, InstallError> {
    let Some(text) = read(path)? else { return Ok(None) };
    let found = match target {
        Target::Codex => toml::program(target.container(), &text),
        _ => json::program(target.container(), &text),
    };
    found.map_err(|refusal| refusal.named(path))
}

/// The command lines of our hooks in a client's file.
pub fn hook_commands(path: &Path) -> Result<Vec<String>, InstallError> {
    let text = read(path)?.unwrap_or_default();
    hooks::commands(&text).map_err(|refusal| refusal.named(path))
}

/// The files that something was added to for a client, the hooks and instructions only.
pub fn extras(target: Target, places: &Places) -> Vec<(Piece, PathBuf)> {
    let Ok(entries) = fs::read_dir(places.state.join("installed")) else { return Vec::new() };
    let start = format!("{}-", target.as_str());
    let of_target = entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(&start));
    let records = of_target.filter_map(|entry| serde_json::from_slice::<Record>(&fs::read(entry.path()).ok()?).ok());
    let mut extras: Vec<(Piece, PathBuf)> = records.map(|record| (record.piece, record.path)).collect();
    extras.sort_by(|a, b| a.1.cmp(&b.1));
    extras
}

/// The change that removes something again.
pub fn plan_uninstall(piece: Piece, target: Target, path: &Path, places: &Places) -> Result<Plan, InstallError> {
    let path = resolved(path)?;
    let before = read(&path)?;
    let Some(text) = before.clone() else { return Ok(Plan { piece, path, before: None, after: None }) };
    let record = find_record(places, piece, target, &path).filter(|record| record.path == path);
    let after = match &record {
        Some(record) if record.after == hash(&text) => former(record)?,
        record => Some(cut_out(piece, target, &path, &text, record.as_ref())?),
    };
    let is_ours_alone = record.as_ref().is_some_and(|record| record.backup.is_none());
    // A file that we created and that contains nothing else is removed too.
    let after = after.filter(|after| !(is_ours_alone && is_nothing(after)));
    Ok(Plan { piece, path, before, after })
}

/// Makes a change and returns where the backup is.
pub fn apply(plan: &Plan, target: Target, places: &Places, is_install: bool) -> Result<Option<PathBuf>, InstallError> {
    let failed = |error| InstallError::File { path: places.shown(&plan.path), error };
    let record_path = record_path(places, plan.piece, target, &plan.path);
    let earlier = find_record(places, plan.piece, target, &plan.path).filter(|earlier| earlier.path == plan.path);
    let backup = match &plan.before {
        Some(before) => Some(keep_backup(target, before, &plan.path, places).map_err(failed)?),
        None => None,
    };
    let mut made_folders = missing_folders(&plan.path);
    match &plan.after {
        Some(after) => {
            if let Some(folder) = plan.path.parent() {
                fs::create_dir_all(folder).map_err(failed)?;
            }
            private::replace(&plan.path, after.as_bytes(), None).map_err(failed)?;
        }
        None => fs::remove_file(&plan.path).map_err(failed)?,
    }
    if !is_install {
        for folder in earlier.iter().flat_map(|record| &record.made_folders) {
            // What others put into it since stays, and the folder with it.
            let _ = fs::remove_dir(folder);
        }
        let _ = fs::remove_file(record_path);
        return Ok(backup);
    }
    // After a second install, uninstalling restores what was there before the first.
    let unchanged = earlier.filter(|earlier| Some(&earlier.after) == plan.before.as_deref().map(hash).as_ref());
    let (former_backup, inserted) = match &unchanged {
        Some(earlier) => (earlier.backup.clone(), None),
        None => (backup.clone(), inserted(plan)),
    };
    made_folders.extend(unchanged.into_iter().flat_map(|earlier| earlier.made_folders));
    let record = Record {
        path: plan.path.clone(),
        backup: former_backup,
        after: hash(plan.after.as_deref().unwrap_or_default()),
        inserted,
        has_made_container: !plan.before.as_deref().unwrap_or_default().contains(target.container()),
        piece: plan.piece,
        made_folders,
    };
    let text = serde_json::to_vec(&record).map_err(|error| failed(error.into()))?;
    private::write(&record_path, &text).map_err(failed)?;
    Ok(backup)
}

/// The folders on the way to a file that do not exist, the deepest first.
fn missing_folders(path: &Path) -> Vec<PathBuf> {
    let folders = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
    folders.take_while(|folder| !folder.exists()).map(Path::to_owned).collect()
}

/// A symbolic link stays a link: the file it points to is written. In a project it may not lead out of the project:
/// the project's author may have made the link, and the file that it names belongs to somebody else.
pub fn resolved(path: &Path) -> Result<PathBuf, InstallError> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let real = real_path(&path);
    let Some(project) = project_of(&path) else { return Ok(real) };
    if real.starts_with(real_path(&project)) {
        return Ok(real);
    }
    let shown = |path: &Path| path.display().to_string();
    Err(InstallError::LeadsOut { path: shown(&path), real: shown(&real), folder: shown(&project) })
}

/// Where a path leads, as far as it exists.
fn real_path(path: &Path) -> PathBuf {
    match (files::real_path(path), path.parent(), path.file_name()) {
        (Ok(real), ..) => real,
        (Err(_), Some(folder), Some(name)) => real_path(folder).join(name),
        (Err(_), ..) => path.to_owned(),
    }
}

/// The project that a path lies in by its name: the nearest repository, else the working directory.
fn project_of(path: &Path) -> Option<PathBuf> {
    let repository = path.ancestors().skip(1).find(|folder| fs::symlink_metadata(folder.join(".git")).is_ok());
    let working_dir = || std::env::current_dir().ok().filter(|folder| path.starts_with(folder));
    repository.map(Path::to_owned).or_else(working_dir)
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

/// One record per client for the agent, and one per file for the rest: instructions may be in many projects.
fn record_path(places: &Places, piece: Piece, target: Target, path: &Path) -> PathBuf {
    let target = target.as_str();
    let of_file = || hash(&path.display().to_string())[..16].to_owned();
    let name = match piece {
        Piece::Server => format!("{target}.json"),
        Piece::Hooks => format!("{target}-hooks-{}.json", of_file()),
        Piece::Instructions => format!("{target}-instructions-{}.json", of_file()),
    };
    places.state.join("installed").join(name)
}

fn find_record(places: &Places, piece: Piece, target: Target, path: &Path) -> Option<Record> {
    serde_json::from_slice(&fs::read(record_path(places, piece, target, path)).ok()?).ok()
}

fn former(record: &Record) -> Result<Option<String>, InstallError> {
    record.backup.as_deref().map_or(Ok(None), read)
}

fn keep_backup(target: Target, before: &str, path: &Path, places: &Places) -> io::Result<PathBuf> {
    let end = path.extension().unwrap_or_default().to_string_lossy().into_owned();
    let name = format!("{}-{}.{end}", target.as_str(), clock::now().as_microsecond());
    let backup = places.state.join("backups").join(name);
    private::write(&backup, before.as_bytes())?;
    Ok(backup)
}

/// Removes the entry from a text that has changed since: exactly the inserted bytes if they can be found, else the
/// entry by its name.
fn cut_out(
    piece: Piece,
    target: Target,
    path: &Path,
    text: &str,
    record: Option<&Record>,
) -> Result<String, InstallError> {
    let has_entry = |text: &str| match (piece, target) {
        (Piece::Hooks, _) => hooks::has_hooks(text),
        (Piece::Instructions, _) => instructions::has_block(text),
        (Piece::Server, Target::Codex) => toml::has_entry(target.container(), text),
        (Piece::Server, _) => json::has_entry(target.container(), text),
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
    let removed = match (piece, target) {
        (Piece::Hooks, _) => hooks::remove(text),
        (Piece::Instructions, _) => instructions::remove(text),
        (Piece::Server, Target::Codex) => toml::remove(target.container(), text, is_container_ours),
        (Piece::Server, _) => json::remove(target.container(), text, is_container_ours),
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
    matches!(plain.as_str(), "" | "{}" | "{\"version\":1}")
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
