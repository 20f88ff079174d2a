//! How the working copy of a file differs from the commit that counts. That is shown to the person who works here, and
//! never reported to the service.

use super::files::{self, OnDisk};
use super::git::Entry;
use super::ground::{Basis, Ground};
use super::kinds;

impl Ground {
    /// A note for a person, if a file is not here what it is on the branch. `content` is what the branch has; none if
    /// it has nothing.
    pub fn note(&self, path: &str, content: Option<&[u8]>) -> Option<String> {
        let Basis::Branch(branch) = &self.basis else { return None };
        let verb = match (files::read(&self.root, path), content) {
            (OnDisk::File(_), None) => "still",
            (_, None) => return None,
            (OnDisk::File(on_disk), Some(content)) if kinds::is_checked_out(&on_disk, content) => return None,
            (OnDisk::Missing, Some(_)) if self.is_left_out(path) => return None,
            (OnDisk::Missing, Some(_)) => "deleted",
            (_, Some(_)) => "differs",
        };
        let place = match self.place(path) {
            Place::NotCommitted => "here, not committed".to_owned(),
            Place::Branch(name) => format!("on branch {name}"),
            Place::Commit => "in the commit that is checked out".to_owned(),
        };
        Some(format!("{verb} {place}; {} counts", branch.name))
    }

    /// What makes the difference: an edit, or what is checked out.
    fn place(&self, path: &str) -> Place {
        let (Some(repository), Some(commit)) = (&self.repository, &self.head.commit) else {
            return Place::NotCommitted;
        };
        let is_same_commit = matches!(&self.basis, Basis::Branch(branch) if branch.commit == *commit);
        let entries = || self.head_entries.get_or_init(|| repository.entries_of(commit).unwrap_or_default());
        if is_same_commit || entries().get(path) == self.entries.get(path) {
            return Place::NotCommitted;
        }
        self.head.branch.clone().map_or(Place::Commit, Place::Branch)
    }

    /// Whether a file is not checked out on purpose.
    fn is_left_out(&self, path: &str) -> bool {
        let read =
            || self.repository.as_ref().and_then(|repository| repository.entries_here().ok()).unwrap_or_default();
        self.index.get_or_init(read).get(path) == Some(&Entry::Other)
    }
}

enum Place {
    NotCommitted,
    Branch(String),
    Commit,
}
