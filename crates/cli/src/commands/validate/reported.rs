//! Which commits this clone has reported to the service. A clone that has not been updated for a while must not undo
//! newer reports of others, so automatic checks report a commit once.

use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;

use mnemon_agent::private::replace;
use ring::digest::{SHA256, digest};

use super::git::{Branch, Repository};

/// In the folder that all working trees of the clone share. Each line has a key (service, workspace and branch) and a
/// commit.
const FILE: &str = "mnemon-reported";
/// How many lines are kept.
const LINES_MAX: usize = 100;

/// What was reported about the branches of a clone to one workspace of one service.
pub struct Reported {
    /// Of the service, project and workspace.
    place: String,
    /// The branch and commit that this process has reported.
    latest: RefCell<Option<Branch>>,
}

impl Reported {
    pub fn new(url: &str, project: &str, workspace: &str) -> Self {
        Self { place: format!("{url}\n{project}\n{workspace}"), latest: RefCell::default() }
    }

    pub fn has(&self, repository: &Repository, branch: &Branch) -> bool {
        let line = format!("{} {}", self.key(branch), branch.commit);
        self.latest.borrow().as_ref() == Some(branch) || read(repository).contains(&line)
    }

    /// Notes a commit. Later processes rely on it only if all sources were reported.
    pub fn note(&self, repository: &Repository, branch: &Branch, is_all: bool) -> anyhow::Result<()> {
        *self.latest.borrow_mut() = Some(branch.clone());
        if !is_all {
            return Ok(());
        }
        let key = self.key(branch);
        let mut lines = read(repository);
        let line = format!("{key} {}", branch.commit);
        if lines.last() == Some(&line) {
            return Ok(());
        }
        lines.retain(|known| known.split(' ').next() != Some(key.as_str()));
        lines.push(line);
        let text: String = lines.iter().rev().take(LINES_MAX).rev().map(|line| format!("{line}\n")).collect();
        // Replaced whole in one step; a link in its place is replaced, not followed.
        Ok(replace(&file(repository)?, text.as_bytes(), None)?)
    }

    fn key(&self, branch: &Branch) -> String {
        let text = format!("{}\n{}", self.place, branch.reference);
        mnemon_core::to_hex(&digest(&SHA256, text.as_bytes()).as_ref()[..16])
    }
}

fn file(repository: &Repository) -> anyhow::Result<PathBuf> {
    Ok(repository.common_folder()?.join(FILE))
}

fn read(repository: &Repository) -> Vec<String> {
    let path = file(repository).ok().filter(|path| path.symlink_metadata().is_ok_and(|about| about.is_file()));
    let text = path.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}
