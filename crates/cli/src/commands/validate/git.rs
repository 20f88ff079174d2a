//! What git knows about files: where the repository is, what changed, what was deleted or renamed.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

/// A repository's working tree.
pub struct Repository {
    root: PathBuf,
}

/// What became of a file that is no longer there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    Deleted,
    /// Renamed to this path, relative to the root.
    Renamed(String),
}

impl Repository {
    /// The repository that a folder lies in, if any and if git is installed.
    pub fn around(folder: &Path) -> Option<Self> {
        let told = git(folder, &["rev-parse", "--show-toplevel"]).ok()?;
        let root = PathBuf::from(told.trim_end_matches(['\n', '\r'])).canonicalize().ok()?;
        Some(Self { root })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where git looks for hooks: its own folder, or what `core.hooksPath` says.
    pub fn hooks_folder(&self) -> anyhow::Result<PathBuf> {
        self.git_path(&["rev-parse", "--git-path", "hooks"])
    }

    /// The folder of this working tree's own state.
    pub fn git_folder(&self) -> anyhow::Result<PathBuf> {
        self.git_path(&["rev-parse", "--absolute-git-dir"])
    }

    fn git_path(&self, arguments: &[&str]) -> anyhow::Result<PathBuf> {
        Ok(self.root.join(git(&self.root, arguments)?.trim_end_matches(['\n', '\r'])))
    }

    /// Whether its ids are SHA-256.
    pub fn is_sha256(&self) -> bool {
        git(&self.root, &["rev-parse", "--show-object-format"]).is_ok_and(|format| format.trim() == "sha256")
    }

    /// The files that differ between a revision and the working tree, relative to the root; deleted ones too, and both
    /// names of renamed ones.
    pub fn changed_since(&self, revision: &str) -> anyhow::Result<HashSet<String>> {
        // A revision is a word of the caller's: it must not be read as an option.
        if revision.starts_with('-') {
            bail!("'{revision}' is not a revision");
        }
        let differing = git(&self.root, &["diff", "--name-only", "--no-renames", "-z", revision, "--"])
            .with_context(|| format!("git can't compare with '{revision}'"))?;
        let untracked = git(&self.root, &["ls-files", "--others", "--exclude-standard", "-z"])?;
        let names = differing.split('\0').chain(untracked.split('\0'));
        Ok(names.filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }

    /// What became of files that were there once, by their old path. What happened last counts.
    pub fn fates(&self) -> HashMap<String, Fate> {
        let mut fates = HashMap::new();
        // Newest first: first what is not committed yet, then the history. A repository without a commit has neither.
        for arguments in [
            &["diff", "--name-status", "-z", "-M", "--diff-filter=DR", "HEAD", "--"][..],
            &["log", "--format=", "--name-status", "-z", "-M", "--diff-filter=DR", "--no-merges"],
        ] {
            let Ok(told) = git(&self.root, arguments) else { continue };
            for (path, fate) in read_fates(&told) {
                fates.entry(path).or_insert(fate);
            }
        }
        fates
    }
}

/// `D`, path; or `R` with a likeness, old path, new path; each ended by NUL.
fn read_fates(told: &str) -> Vec<(String, Fate)> {
    let mut words = told.split('\0').map(|word| word.trim_start_matches('\n')).filter(|word| !word.is_empty());
    let mut fates = Vec::new();
    while let Some(status) = words.next() {
        let Some(path) = words.next() else { break };
        let fate = if status.starts_with('R') {
            let Some(new) = words.next() else { break };
            Fate::Renamed(new.to_owned())
        } else {
            Fate::Deleted
        };
        fates.push((path.to_owned(), fate));
    }
    fates
}

/// Where a file is now, however often it was renamed.
pub fn follow<'a>(fates: &'a HashMap<String, Fate>, path: &'a str, exists: impl Fn(&str) -> bool) -> Option<&'a Fate> {
    let mut fate = fates.get(path)?;
    // Names can go round in a circle; nobody renames a file more often than this.
    for _ in 0..100 {
        match fate {
            Fate::Renamed(new) if !exists(new) => match fates.get(new) {
                Some(next) => fate = next,
                None => break,
            },
            _ => break,
        }
    }
    Some(fate)
}

fn git(folder: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let mut command = Command::new("git");
    command.arg("-c").arg("core.quotepath=off").args(arguments).current_dir(folder);
    command.stdin(Stdio::null()).env("GIT_OPTIONAL_LOCKS", "0");
    let output = command.output().context("can't run git")?;
    if !output.status.success() {
        bail!("git: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renames_are_followed_to_the_end_and_deletions_end_them() {
        let told = "R100\0a.md\0b.md\0\nR090\0b.md\0c.md\0D\0d.md\0R100\0x\0y\0R100\0y\0x\0";
        let fates: HashMap<String, Fate> = read_fates(told).into_iter().collect();
        let to = |path: &str| Some(Fate::Renamed(path.to_owned()));
        assert_eq!(follow(&fates, "a.md", |path| path == "c.md").cloned(), to("c.md"));
        assert_eq!(follow(&fates, "a.md", |path| path == "b.md").cloned(), to("b.md"));
        assert_eq!(follow(&fates, "d.md", |_| false), Some(&Fate::Deleted));
        assert_eq!(follow(&fates, "absent.md", |_| false), None);
        assert!(follow(&fates, "x", |_| false).is_some(), "a circle ends");
    }
}
