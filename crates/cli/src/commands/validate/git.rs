//! Asks git about the repository around a folder. Every call goes through [`Repository::run`], which keeps git from
//! running anything that a repository's own files name: hooks, file-system monitors, pagers, filters, diff programs,
//! downloads.

mod branch;
mod fates;
mod objects;
mod snapshot;

pub use branch::{Branch, Head};
pub use fates::{Fate, fates};
pub use objects::Objects;
pub use snapshot::{Entries, Entry};

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use mnemon_platform::files::real_path;

/// Settings that count before those of the repository. A repository is data from others: its configuration must not
/// decide what runs here. A bare one inside of a clone may come from anybody, so only working trees count.
const SETTINGS: [&str; 7] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.quotepath=off",
    "safe.bareRepository=explicit",
    "log.showSignature=false",
    "log.follow=false",
];

/// Variables that would name another repository, or change what a path means. Git sets some of them for hooks.
const FOREIGN_VARIABLES: [&str; 17] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_PREFIX",
    "GIT_NAMESPACE",
    "GIT_GRAFT_FILE",
    "GIT_SHALLOW_FILE",
    "GIT_REPLACE_REF_BASE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_EXTERNAL_DIFF",
    "GIT_DIFF_OPTS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
];

/// A repository's working tree.
#[derive(Debug)]
pub struct Repository {
    root: PathBuf,
    is_sha256: bool,
}

impl Repository {
    /// The repository that a folder lies in. An error where there is one that git can't use: its files are not to be
    /// read as if there were none.
    pub fn find(folder: &Path) -> anyhow::Result<Option<Self>> {
        if !folder.ancestors().any(|folder| folder.join(".git").symlink_metadata().is_ok()) {
            if folder.ancestors().any(is_bare) {
                bail!("this is a bare git repository, which has no files; go to a working tree of it");
            }
            return Ok(None);
        }
        let told = run(folder, &["rev-parse", "--show-object-format", "--show-toplevel"], b"")?;
        let told = String::from_utf8(told).context("the repository's path is not UTF-8")?;
        let (format, root) = told.split_once('\n').context("can't read git's answer")?;
        let root = real_path(Path::new(root.strip_suffix('\n').unwrap_or(root)))?;
        Ok(Some(Self { root, is_sha256: format == "sha256" }))
    }

    /// The same where a folder that git can't use is as good as one without a repository.
    pub fn around(folder: &Path) -> Option<Self> {
        Self::find(folder).ok().flatten()
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether its ids are SHA-256.
    pub fn is_sha256(&self) -> bool {
        self.is_sha256
    }

    /// Where git looks for hooks: its own folder, or what `core.hooksPath` says. That setting is the person's here, and
    /// nothing runs by asking for it: a hook that is put elsewhere would never run.
    pub fn hooks_folder(&self) -> anyhow::Result<PathBuf> {
        let mut command = Command::new("git");
        settle(&mut command, &self.root, &["core.fsmonitor=false", "safe.bareRepository=explicit"]);
        command.args(["rev-parse", "--git-path", "hooks"]);
        Ok(self.path(&finish(command, b"")?))
    }

    /// The folder of this working tree's own state.
    pub fn git_folder(&self) -> anyhow::Result<PathBuf> {
        Ok(self.path(&self.run(&["rev-parse", "--absolute-git-dir"])?))
    }

    /// The folder that all working trees of the repository share.
    pub fn common_folder(&self) -> anyhow::Result<PathBuf> {
        Ok(self.path(&self.run(&["rev-parse", "--git-common-dir"])?))
    }

    /// Whether the history ends somewhere before its beginning.
    pub fn is_shallow(&self) -> bool {
        self.run(&["rev-parse", "--is-shallow-repository"]).is_ok_and(|told| told.starts_with(b"true"))
    }

    fn path(&self, told: &[u8]) -> PathBuf {
        let told = String::from_utf8_lossy(told);
        self.root.join(told.strip_suffix('\n').unwrap_or(&told))
    }

    /// The commit that a revision names.
    pub fn commit(&self, revision: &str) -> anyhow::Result<String> {
        // A revision is a word of the caller's: it must not be read as an option.
        if revision.starts_with('-') {
            bail!("'{revision}' is not a revision");
        }
        let named = format!("{revision}^{{commit}}");
        let told = self.run(&["rev-parse", "--verify", "--quiet", "--end-of-options", &named]);
        let told = told.with_context(|| format!("git can't compare with '{revision}'"))?;
        Ok(String::from_utf8_lossy(&told).trim().to_owned())
    }

    /// The files that differ between two commits, relative to the root; both names of renamed ones. Without a second
    /// commit the index counts, which is what git tracks here.
    pub fn differing(&self, from: &str, to: Option<&str>) -> anyhow::Result<HashSet<String>> {
        let told = match to {
            Some(to) => self.run(&["diff-tree", "-r", "-z", "--no-renames", "--name-only", from, to, "--"])?,
            None => self.run(&["diff-index", "--cached", "-z", "--no-renames", "--name-only", from, "--"])?,
        };
        Ok(words(&told).map(str::to_owned).collect())
    }

    /// Runs git in the repository's root and returns what it prints.
    fn run(&self, arguments: &[&str]) -> anyhow::Result<Vec<u8>> {
        run(&self.root, arguments, b"")
    }

    fn run_with(&self, arguments: &[&str], input: &[u8]) -> anyhow::Result<Vec<u8>> {
        run(&self.root, arguments, input)
    }

    /// A command to which arguments are still to be added.
    fn command(&self) -> Command {
        let mut command = Command::new("git");
        settle(&mut command, &self.root, &SETTINGS);
        command
    }
}

fn is_bare(folder: &Path) -> bool {
    folder.join("HEAD").is_file() && folder.join("objects").is_dir() && folder.join("refs").is_dir()
}

fn run(folder: &Path, arguments: &[&str], input: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut command = Command::new("git");
    settle(&mut command, folder, &SETTINGS);
    command.args(arguments);
    finish(command, input)
}

fn settle(command: &mut Command, folder: &Path, settings: &[&str]) {
    command.current_dir(folder).arg("--no-pager");
    settings.iter().for_each(|setting| {
        command.args(["-c", setting]);
    });
    FOREIGN_VARIABLES.iter().for_each(|name| {
        command.env_remove(name);
    });
    // A content that a partial clone lacks is not fetched: that would run what the repository names as its remote.
    for (name, value) in [
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_LITERAL_PATHSPECS", "1"),
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_NO_REPLACE_OBJECTS", "1"),
    ] {
        command.env(name, OsStr::new(value));
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
}

fn finish(mut command: Command, input: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut child = command.spawn().map_err(cannot_run)?;
    let mut stdin = child.stdin.take().context("git takes no input")?;
    let output = std::thread::scope(|scope| {
        // In a thread of its own: git may print before it has read everything. If it stops early, its own error says
        // why.
        scope.spawn(move || stdin.write_all(input));
        child.wait_with_output()
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("git: {}", said.lines().next().unwrap_or("failed without a word").trim_start_matches("fatal: "));
    }
    Ok(output.stdout)
}

fn cannot_run(error: std::io::Error) -> anyhow::Error {
    match error.kind() {
        ErrorKind::NotFound => anyhow::anyhow!("this folder is a git repository, but git is not installed"),
        _ => anyhow::Error::from(error).context("can't run git"),
    }
}

/// The parts between NULs. Names that are not UTF-8 can't be sources and are passed over.
fn words(told: &[u8]) -> impl Iterator<Item = &str> {
    told.split(|byte| *byte == 0).filter_map(|word| std::str::from_utf8(word).ok()).filter(|word| !word.is_empty())
}
