//! Which paths sources mean, and the files outside of any repository. Only files found by walking the folder are ever
//! read there, so `.gitignore` and `.mnemonignore` hold, and no source leads anywhere else.

use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, bail};
use ignore::WalkBuilder;
use mnemon_platform::files::real_path;
use percent_encoding::percent_decode_str;

use super::git::{Entries, Entry};
use super::ignoring::IGNORE_FILE;

/// A larger file of a working tree is not compared.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// The paths from the root that a source may mean, the likeliest first. What leads outside of the root means none.
pub fn paths_of(root: &Path, source_id: &str) -> Vec<String> {
    let Some(text) = path_text(source_id) else { return Vec::new() };
    // `src/main.rs#L10` is a place in a file, unless a file has that name.
    let before = text.split_once('#').map(|(file, _)| file.to_owned()).filter(|file| !file.is_empty());
    let texts = std::iter::once(text).chain(before);
    texts.filter_map(|text| relative(root, &plain(&root.join(text))?)).filter(|path| !path.is_empty()).collect()
}

/// The path in a source: verbatim, or from a `file:` address. Other addresses are no paths.
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

/// A path from the root, with the separators of git; none outside of it.
fn relative(root: &Path, path: &Path) -> Option<String> {
    let parts = path.strip_prefix(root).ok()?.components().map(|part| part.as_os_str().to_str());
    Some(parts.collect::<Option<Vec<_>>>()?.join("/"))
}

/// The files and folders that were asked for, from the root; empty for everything. `is_known` says
/// whether a path that is not on disk exists all the same.
pub fn scopes(
    root: &Path,
    working_dir: &Path,
    paths: &[PathBuf],
    is_known: impl Fn(&str) -> bool,
) -> anyhow::Result<Vec<String>> {
    let scope = |path: &PathBuf| {
        let typed = working_dir.join(path);
        let on_disk = real_path(&typed).ok();
        let is_on_disk = on_disk.is_some();
        let inside = on_disk.or_else(|| plain(&typed)).and_then(|path| relative(root, &path));
        match inside {
            None if is_on_disk => bail!("{} lies outside of {}", path.display(), root.display()),
            Some(scope) if is_on_disk || is_known(&scope) => Ok(scope),
            _ => bail!("can't find {}", path.display()),
        }
    };
    paths.iter().map(scope).collect()
}

/// Whether a path is one of the scopes, or lies in one.
pub fn is_inside(scopes: &[String], path: &str) -> bool {
    let is_in = |scope: &String| scope.is_empty() || path == scope || is_beneath(path, scope);
    scopes.is_empty() || scopes.iter().any(is_in)
}

pub fn is_beneath(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// The files of a folder that is no repository.
pub fn walk(root: &Path, scopes: &[String]) -> Entries {
    let everything = [String::new()];
    let scopes = if scopes.is_empty() { &everything } else { scopes };
    let mut files = Entries::new();
    for scope in scopes {
        let mut builder = WalkBuilder::new(root.join(scope));
        builder.hidden(false).require_git(false).add_custom_ignore_filename(IGNORE_FILE);
        builder.filter_entry(|entry| entry.file_name() != ".git");
        // An unreadable path is treated as absent: its facts are shown as left alone.
        for entry in builder.build().flatten().filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file())) {
            if let Some(path) = relative(root, entry.path()) {
                files.insert(path, Entry::File(String::new()));
            }
        }
    }
    files
}

/// What lies at a path of a working tree.
#[derive(Debug, PartialEq, Eq)]
pub enum OnDisk {
    File(Vec<u8>),
    Missing,
    /// A folder, a link or something behind one, a very large file, or what can't be read.
    Other,
}

/// Reads a file, unless a link leads there.
pub fn read(root: &Path, path: &str) -> OnDisk {
    let mut at = root.to_owned();
    for part in path.split('/') {
        at.push(part);
        match fs::symlink_metadata(&at) {
            Ok(about) if about.is_dir() => {}
            Ok(about) if about.is_file() && about.len() <= FILE_BYTES_MAX => {}
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return OnDisk::Missing;
            }
            Ok(_) | Err(_) => return OnDisk::Other,
        }
    }
    if at.is_dir() { OnDisk::Other } else { fs::read(&at).map_or(OnDisk::Other, OnDisk::File) }
}

/// A file that is to be written in a folder of git's. A link that lies in its place is not followed.
pub fn open_own(path: &Path) -> anyhow::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true);
    let opened = match fs::symlink_metadata(path) {
        Ok(about) if about.is_file() => options.open(path),
        Ok(_) => bail!("{} is not a plain file", path.display()),
        Err(_) => options.create_new(true).open(path),
    };
    opened.with_context(|| format!("can't write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_means_a_path_from_the_root_or_none() {
        let root = Path::new("/srv/shop");
        for (source, expected) in [
            ("src/a.rs", &["src/a.rs"][..]),
            ("./src/../src/a.rs", &["src/a.rs"]),
            ("src/a.rs#L10-L20", &["src/a.rs#L10-L20", "src/a.rs"]),
            ("file:src/a.rs", &["src/a.rs"]),
            ("file:///srv/shop/b%20c.md", &["b c.md"]),
            ("file://host/srv/shop/b.md", &["b.md"]),
            ("/srv/shop/b c.md", &["b c.md"]),
            ("../shop/b.md", &["b.md"]),
            ("-dash \"é\".md", &["-dash \"é\".md"]),
            ("../other/b.md", &[]),
            ("/srv/shop/../../etc/passwd", &[]),
            ("../../../../etc/passwd", &[]),
            ("/etc/passwd", &[]),
            ("https://example.com/src/a.rs", &[]),
            ("ticket 4711", &["ticket 4711"]),
            (".", &[]),
            ("", &[]),
        ] {
            assert_eq!(paths_of(root, source), expected, "{source}");
        }
    }

    #[test]
    fn only_files_that_a_walk_finds_are_there() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["src/a.rs", "b c.md", "secret.env", "target/out.txt"] {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), name).unwrap();
        }
        fs::write(root.join(".gitignore"), "target/\n").unwrap();
        fs::write(root.join(".mnemonignore"), "*.env\n").unwrap();
        let names = |scopes: &[String]| {
            let mut names: Vec<String> = walk(&root, scopes).into_keys().collect();
            names.sort_unstable();
            names
        };
        assert_eq!(names(&[]), [".gitignore", ".mnemonignore", "b c.md", "src/a.rs"]);
        let scopes = |path: &str| scopes(&root, &root, &[PathBuf::from(path)], |path| path == "gone.md");
        assert_eq!(names(&scopes("src").unwrap()), ["src/a.rs"]);
        assert_eq!(scopes("gone.md").unwrap(), ["gone.md"]);
        assert!(scopes("absent").unwrap_err().to_string().contains("can't find absent"));
        assert!(scopes("..").unwrap_err().to_string().contains("lies outside of"));
        assert!(is_inside(&["src".to_owned()], "src/a.rs") && !is_inside(&["src".to_owned()], "src2/a.rs"));
    }

    #[cfg(unix)]
    #[test]
    fn nothing_behind_a_link_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        fs::create_dir_all(root.join("own")).unwrap();
        fs::write(root.join("own/a"), "a").unwrap();
        fs::write(folder.path().join("outside"), "secret").unwrap();
        std::os::unix::fs::symlink("../outside", root.join("link")).unwrap();
        std::os::unix::fs::symlink("..", root.join("up")).unwrap();
        assert_eq!(read(&root, "own/a"), OnDisk::File(b"a".to_vec()));
        for path in ["link", "up/outside", "own"] {
            assert_eq!(read(&root, path), OnDisk::Other, "{path}");
        }
        for path in ["absent", "own/a/b"] {
            assert_eq!(read(&root, path), OnDisk::Missing, "{path}");
        }
        assert!(open_own(&root.join("link")).is_err());
        assert!(open_own(&root.join("new")).is_ok());
    }
}
