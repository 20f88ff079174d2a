//! What sources are compared with: the newest commit of a branch, the tracked files of a working tree, or, outside of
//! any repository, the files of a folder. In a repository nothing is read because a record names it unless git tracks
//! it.

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use mnemon_platform::files::real_path;
use mnemon_protocol::admin::SourceJson;

use super::files::{self, OnDisk};
use super::git::{Branch, Entries, Entry, Fate, Head, Objects, Repository, fates};
use super::ignoring::Ignoring;
use super::kinds::{self, Look};
use crate::arguments::Validate;

/// What sources are compared with.
pub enum Basis {
    /// The files of a folder that is no repository.
    Folder,
    /// The tracked files of a working tree, as they are.
    WorkingTree,
    /// What everybody gets.
    Branch(Branch),
    /// The commit that is checked out, because no branch is known to count. Nothing is reported about it.
    Head,
}

/// The files that sources may be.
pub struct Ground {
    pub basis: Basis,
    pub repository: Option<Repository>,
    pub(super) root: PathBuf,
    pub(super) entries: Entries,
    objects: Option<RefCell<Objects>>,
    fates: HashMap<String, Fate>,
    scopes: Vec<String>,
    changed: Option<HashSet<String>>,
    ignoring: Ignoring,
    pub(super) head: Head,
    pub(super) head_entries: OnceCell<Entries>,
    pub(super) index: OnceCell<Entries>,
    /// What a person has to know about it.
    pub remarks: Vec<String>,
}

/// What a source is here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A file, by its path from the root.
    File(String),
    /// It was a file and is gone.
    Gone(String, Fate),
    /// It is a file that is left alone: not tracked, ignored, unchanged, or outside of the folders asked about.
    LeftAlone,
    /// It is no file here.
    NoFile,
}

/// What git said about files that are gone, for the next look at the same commit.
#[derive(Default)]
pub struct Memory {
    commit: String,
    staged: HashMap<String, Fate>,
    fates: HashMap<String, Option<Fate>>,
}

impl Ground {
    /// Looks around, and asks git about the sources that are no files.
    pub fn open(
        working_dir: &Path,
        validate: &Validate,
        sources: &[SourceJson],
        memory: &mut Memory,
    ) -> anyhow::Result<Self> {
        let working_dir = real_path(working_dir).context("can't find the working directory")?;
        let Some(repository) = Repository::find(&working_dir)? else {
            return Self::of_folder(working_dir, validate);
        };
        let head = repository.head();
        let basis = match validate.any_branch {
            true => Basis::WorkingTree,
            false => repository.branch(validate.branch.as_deref())?.map_or(Basis::Head, Basis::Branch),
        };
        let commit = match &basis {
            Basis::Branch(branch) => Some(branch.commit.clone()),
            _ => head.commit.clone(),
        };
        let is_tree = matches!(basis, Basis::WorkingTree);
        let entries = match &commit {
            _ if is_tree => repository.entries_here()?,
            Some(commit) => repository.entries_of(commit)?,
            None => Entries::new(),
        };
        let changed = match (&validate.changed_since, &commit) {
            (Some(revision), Some(commit)) => {
                let to = if is_tree { None } else { Some(commit.as_str()) };
                Some(repository.differing(&repository.commit(revision)?, to)?)
            }
            (Some(_), None) => bail!("--changed-since needs a commit, and this repository has none yet"),
            (None, _) => None,
        };
        let is_known = |path: &str| entries.keys().any(|known| known == path || files::is_beneath(known, path));
        let mut ground = Self {
            scopes: files::scopes(repository.root(), &working_dir, &validate.paths, is_known)?,
            root: repository.root().to_owned(),
            objects: Some(RefCell::new(Objects::open(&repository)?)),
            entries,
            changed,
            head,
            ..Self::empty(basis)
        };
        if let Some(commit) = commit {
            ground.ask_for_fates(&repository, &commit, sources, memory);
        }
        ground.remarks.extend(ground.remark());
        ground.repository = Some(repository);
        Ok(ground)
    }

    fn of_folder(working_dir: PathBuf, validate: &Validate) -> anyhow::Result<Self> {
        for (is_given, option) in
            [(validate.changed_since.is_some(), "--changed-since"), (validate.branch.is_some(), "--branch")]
        {
            if is_given {
                bail!("{option} needs a git repository");
            }
        }
        let scopes = files::scopes(&working_dir, &working_dir, &validate.paths, |_| false)?;
        let entries = files::walk(&working_dir, &scopes);
        Ok(Self { root: working_dir, entries, scopes, ..Self::empty(Basis::Folder) })
    }

    fn empty(basis: Basis) -> Self {
        Self {
            basis,
            repository: None,
            root: PathBuf::new(),
            entries: Entries::new(),
            objects: None,
            fates: HashMap::new(),
            scopes: Vec::new(),
            changed: None,
            ignoring: Ignoring::default(),
            head: Head::default(),
            head_entries: OnceCell::new(),
            index: OnceCell::new(),
            remarks: Vec::new(),
        }
    }

    fn remark(&self) -> Option<String> {
        let text = match (&self.basis, &self.head.commit) {
            (Basis::Head, None) => "This repository has no commit yet, so the service was told nothing.",
            (Basis::Head, Some(_)) => {
                "This clone has no origin/HEAD, main or master, so the service was told nothing. Name the branch that counts \
                 with --branch."
            }
            _ => return None,
        };
        Some(text.to_owned())
    }

    /// What became of the sources that are no files. The history is read once for all of them.
    fn ask_for_fates(&mut self, repository: &Repository, commit: &str, sources: &[SourceJson], memory: &mut Memory) {
        let staged = if matches!(self.basis, Basis::WorkingTree) { repository.staged_fates() } else { HashMap::new() };
        if memory.commit != commit || memory.staged != staged {
            *memory = Memory { commit: commit.to_owned(), staged, fates: HashMap::new() };
        }
        let missing: HashSet<String> = sources.iter().flat_map(|source| self.missing(&source.source_id)).collect();
        let new: HashSet<String> = missing.iter().filter(|path| !memory.fates.contains_key(*path)).cloned().collect();
        let exists = |path: &str| self.entries.contains_key(path);
        let mut told = match fates(repository, commit, &new, &memory.staged, exists) {
            Ok(told) => told,
            // A partial clone may lack the history of its folders; what is there can be compared all the same.
            Err(error) => {
                self.remarks.push(format!("Deleted and renamed files are not known here: {error:#}"));
                return;
            }
        };
        memory.fates.extend(new.into_iter().map(|path| {
            let fate = told.remove(&path);
            (path, fate)
        }));
        let known = |path: &String| Some((path.clone(), memory.fates.get(path)?.clone()?));
        self.fates = missing.iter().filter_map(known).collect();
        if self.fates.len() < missing.len() && repository.is_shallow() {
            let text =
                "This clone is shallow: files that were deleted before its first commit are not known to be gone.";
            self.remarks.push(text.to_owned());
        }
    }

    /// The paths of a source that is no file here and may have been one.
    fn missing(&self, source_id: &str) -> Vec<String> {
        let paths = files::paths_of(&self.root, source_id);
        if paths.iter().any(|path| self.entry(path).is_some()) {
            return Vec::new();
        }
        paths.into_iter().filter(|path| files::is_inside(&self.scopes, path) && !self.is_ignored(path)).collect()
    }

    /// What is at a path. Everything behind a link or in a submodule is something else.
    fn entry(&self, path: &str) -> Option<&Entry> {
        let mut above = path.match_indices('/').map(|(at, _)| &path[..at]);
        let is_other = |folder: &str| self.entries.get(folder).filter(|entry| **entry == Entry::Other);
        self.entries.get(path).or_else(|| above.find_map(is_other))
    }

    /// What a source is here.
    pub fn find(&self, source_id: &str) -> Found {
        let paths = files::paths_of(&self.root, source_id);
        for path in &paths {
            match self.entry(path) {
                None => {}
                Some(Entry::File(id)) if self.is_wanted(path, Some(id)) => return self.find_file(path),
                Some(_) => return Found::LeftAlone,
            }
        }
        if let Some((path, fate)) = paths.iter().find_map(|path| self.fates.get_key_value(path)) {
            let is_wanted = self.is_wanted(path, None);
            return if is_wanted { Found::Gone(path.clone(), fate.clone()) } else { Found::LeftAlone };
        }
        let is_there = |path: &String| self.root.join(path).symlink_metadata().is_ok_and(|about| !about.is_dir());
        if paths.iter().any(is_there) { Found::LeftAlone } else { Found::NoFile }
    }

    fn find_file(&self, path: &str) -> Found {
        if matches!(self.basis, Basis::WorkingTree) && files::read(&self.root, path) == OnDisk::Missing {
            return Found::Gone(path.to_owned(), Fate::Deleted);
        }
        Found::File(path.to_owned())
    }

    fn is_wanted(&self, path: &str, id: Option<&String>) -> bool {
        files::is_inside(&self.scopes, path) && !self.is_ignored(path) && self.is_changed(path, id)
    }

    fn is_ignored(&self, path: &str) -> bool {
        self.ignoring.covers(&self.root.join(path))
    }

    fn is_changed(&self, path: &str, id: Option<&String>) -> bool {
        let Some(changed) = &self.changed else { return true };
        // The index says what was staged; the rest differs on disk alone.
        let is_edited = || match (&self.basis, id.map(|id| self.object(id))) {
            (Basis::WorkingTree, Some(Ok(content))) => self.differs_on_disk(path, &content),
            _ => false,
        };
        changed.contains(path) || is_edited()
    }

    fn differs_on_disk(&self, path: &str, content: &[u8]) -> bool {
        match files::read(&self.root, path) {
            OnDisk::File(on_disk) => !kinds::is_checked_out(&on_disk, content),
            OnDisk::Missing | OnDisk::Other => true,
        }
    }

    /// Compares a file with the hashes that its facts were saved with. With the content that counts, if it is git's.
    pub fn look(&self, path: &str, saved: &[String]) -> anyhow::Result<(Look, Option<Vec<u8>>)> {
        let is_sha256 = self.repository.as_ref().is_some_and(Repository::is_sha256);
        let id = match self.entries.get(path) {
            Some(Entry::File(id)) => id,
            _ => bail!("not a file"),
        };
        match self.basis {
            Basis::Folder => Ok((kinds::look_at_file(&self.root.join(path), saved, is_sha256)?, None)),
            Basis::WorkingTree => match files::read(&self.root, path) {
                OnDisk::File(content) => Ok((kinds::look_at_content(&content, saved, is_sha256), None)),
                OnDisk::Missing | OnDisk::Other => bail!("it can't be read as a file here"),
            },
            Basis::Branch(_) | Basis::Head => {
                let content = self.object(id)?;
                Ok((kinds::look_at_content(&content, saved, is_sha256), Some(content)))
            }
        }
    }

    fn object(&self, id: &str) -> anyhow::Result<Vec<u8>> {
        self.objects.as_ref().context("there is no repository")?.borrow_mut().read(id)
    }

    /// The files whose change is worth another look: what sources may be here, and where git keeps its branches.
    pub fn watched(&self, sources: &[SourceJson]) -> anyhow::Result<Vec<PathBuf>> {
        let paths = sources.iter().flat_map(|source| files::paths_of(&self.root, &source.source_id));
        let mut watched: Vec<PathBuf> = paths.map(|path| self.root.join(path)).collect();
        if let Some(repository) = &self.repository {
            let branch = if let Basis::Branch(branch) = &self.basis { Some(branch) } else { None };
            watched.extend(repository.files_of_branches(branch)?);
        }
        Ok(watched)
    }

    /// Whether only some of the files are looked at.
    pub fn is_narrowed(&self) -> bool {
        self.changed.is_some() || !self.scopes.is_empty()
    }
}
