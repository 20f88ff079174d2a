//! Which sources are files here: paths relative to the repository's root, paths as they were saved, and `file://` addresses.
//! Only files that a walk of the given folders meets are ever read, so `.gitignore` and `.mnemonignore` hold, and no source
//! leads anywhere else.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};

use anyhow::Context;
use ignore::WalkBuilder;
use percent_encoding::percent_decode_str;

use super::git::{Fate, Repository, follow};

/// A file of ours that lists what is left alone, in the manner of `.gitignore`.
const IGNORE_FILE: &str = ".mnemonignore";

/// The folders that are looked at.
pub struct Tree {
    /// Where relative sources start: the repository's root, or the working directory.
    root: PathBuf,
    working_dir: PathBuf,
    scopes: Vec<PathBuf>,
    files: HashSet<PathBuf>,
    changed: Option<HashSet<PathBuf>>,
    fates: HashMap<String, Fate>,
    pub is_sha256_repository: bool,
}

/// What a source is here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    File(PathBuf),
    /// It was a file and is gone.
    Gone(Fate),
    /// It is a file that is left alone: ignored, unchanged, or outside of the folders asked about.
    LeftAlone,
    /// It is no file here.
    NoFile,
}

impl Tree {
    /// Walks the folders and asks git about them.
    pub fn walk(working_dir: &Path, paths: &[PathBuf], changed_since: Option<&str>) -> anyhow::Result<Self> {
        let working_dir = working_dir.canonicalize().context("can't find the working directory")?;
        let here = [PathBuf::from(".")];
        let paths = if paths.is_empty() { &here } else { paths };
        let absolute = |path: &PathBuf| {
            working_dir.join(path).canonicalize().with_context(|| format!("can't find {}", path.display()))
        };
        let scopes = paths.iter().map(absolute).collect::<anyhow::Result<Vec<_>>>()?;
        let repository = Repository::around(&working_dir);
        let root = repository.as_ref().map_or(working_dir.as_path(), Repository::root).to_owned();
        let changed = match (&repository, changed_since) {
            (Some(repository), Some(revision)) => {
                Some(repository.changed_since(revision)?.iter().map(|name| root.join(name)).collect())
            }
            (None, Some(_)) => anyhow::bail!("--changed-since needs a git repository"),
            (_, None) => None,
        };
        let fates = repository.as_ref().map(Repository::fates).unwrap_or_default();
        let is_sha256_repository = repository.is_some_and(|repository| repository.is_sha256());
        let files = walk(&scopes)?;
        Ok(Self { root, working_dir, scopes, files, changed, fates, is_sha256_repository })
    }

    /// What a source is here.
    pub fn find(&self, source_id: &str) -> Found {
        let candidates = self.candidates(source_id);
        if let Some(file) = candidates.iter().find(|path| self.files.contains(*path)) {
            let is_wanted = self.changed.as_ref().is_none_or(|changed| changed.contains(file));
            return if is_wanted { Found::File(file.clone()) } else { Found::LeftAlone };
        }
        if candidates.iter().any(|path| path.is_file()) {
            return Found::LeftAlone;
        }
        let is_wanted = |path: &&PathBuf| {
            let is_inside = self.scopes.iter().any(|scope| path.starts_with(scope));
            is_inside && self.changed.as_ref().is_none_or(|changed| changed.contains(*path))
        };
        let was_there = candidates.iter().filter(is_wanted).find_map(|path| self.fate(path));
        was_there.map_or(Found::NoFile, Found::Gone)
    }

    /// What git says of a file that is not there. Without a word from git, only an absolute path inside of the folders is
    /// surely a file: a relative one may be the name of anything.
    fn fate(&self, path: &Path) -> Option<Fate> {
        let relative = path.strip_prefix(&self.root).ok()?.to_str()?;
        follow(&self.fates, relative, |path| self.root.join(path).exists()).cloned()
    }

    /// The paths that a source may mean, the likeliest first.
    fn candidates(&self, source_id: &str) -> Vec<PathBuf> {
        let Some(text) = path_text(source_id) else { return Vec::new() };
        let mut texts = vec![text.clone()];
        // `src/main.rs#L10` is a place in a file, unless a file has that name.
        texts.extend(text.split_once('#').map(|(file, _)| file.to_owned()).filter(|file| !file.is_empty()));
        let folders = [&self.root, &self.working_dir];
        let paths = texts.iter().flat_map(|text| folders.map(|folder| plain(&folder.join(text))));
        let mut candidates: Vec<PathBuf> = Vec::new();
        for path in paths.flatten() {
            if !candidates.contains(&path) {
                candidates.push(path);
            }
        }
        candidates
    }
}

/// The path in a source: as it stands, or what a `file:` address means. Other addresses are no paths.
fn path_text(source_id: &str) -> Option<String> {
    if let Some(rest) = source_id.strip_prefix("file:") {
        let path = match rest.strip_prefix("//") {
            Some(after) => &after[after.find('/')?..],
            None => rest,
        };
        return percent_decode_str(path).decode_utf8().ok().map(|path| path.into_owned());
    }
    (!source_id.contains("://") && !source_id.is_empty()).then(|| source_id.to_owned())
}

/// The path without `.` and `..`; none if it leads above everything.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => plain.pop().then_some(())?,
            other => plain.push(other),
        }
    }
    Some(plain)
}

fn walk(scopes: &[PathBuf]) -> anyhow::Result<HashSet<PathBuf>> {
    let mut files = HashSet::new();
    for scope in scopes {
        let mut builder = WalkBuilder::new(scope);
        builder.hidden(false).require_git(false).add_custom_ignore_filename(IGNORE_FILE);
        builder.filter_entry(|entry| entry.file_name() != ".git");
        for entry in builder.build() {
            // What can't be read is as good as not there: its facts are told as left alone.
            let Ok(entry) = entry else { continue };
            if entry.file_type().is_some_and(|kind| kind.is_file()) {
                files.insert(entry.into_path());
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> (tempfile::TempDir, Tree) {
        let folder = tempfile::tempdir().unwrap();
        for name in ["src/a.rs", "b c.md", "secret.env", "target/out.txt", "odd#name"] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, name).unwrap();
        }
        std::fs::write(folder.path().join(".gitignore"), "target/\n").unwrap();
        std::fs::write(folder.path().join(".mnemonignore"), "*.env\n").unwrap();
        let tree = Tree::walk(folder.path(), &[], None).unwrap();
        (folder, tree)
    }

    #[test]
    fn sources_are_found_by_relative_absolute_and_file_paths() {
        let (folder, tree) = tree();
        let root = folder.path().canonicalize().unwrap();
        let file = |name: &str| Found::File(root.join(name));
        let address = format!("file://{}/b%20c.md", root.display());
        for (source, expected) in [
            ("src/a.rs", file("src/a.rs")),
            ("./src/../src/a.rs", file("src/a.rs")),
            ("src/a.rs#L10-L20", file("src/a.rs")),
            ("odd#name", file("odd#name")),
            ("file:src/a.rs", file("src/a.rs")),
            (address.as_str(), file("b c.md")),
            (&root.join("b c.md").display().to_string(), file("b c.md")),
            ("secret.env", Found::LeftAlone),
            ("target/out.txt", Found::LeftAlone),
            ("/etc/hostname/../passwd", Found::LeftAlone),
            ("https://example.com/src/a.rs", Found::NoFile),
            ("ticket 4711", Found::NoFile),
            ("src", Found::NoFile),
        ] {
            assert_eq!(tree.find(source), expected, "{source}");
        }
    }

    #[test]
    fn what_lies_outside_of_the_folders_asked_about_is_left_alone() {
        let (folder, _) = tree();
        let tree = Tree::walk(folder.path(), &[PathBuf::from("src")], None).unwrap();
        assert_eq!(tree.find("b c.md"), Found::LeftAlone);
        assert!(matches!(tree.find("src/a.rs"), Found::File(_)));
        assert!(Tree::walk(folder.path(), &[PathBuf::from("absent")], None).is_err());
    }
}
