//! Files and directories that only their owner may read, and files that are replaced as a whole.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use mnemon_platform::files;
pub(crate) use mnemon_platform::files::is_open_to_others;

/// Creates a directory and its parents for the owner alone. An existing one is closed to others.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    files::make_folder(path)?;
    files::set_mode(path, 0o700)
}

/// Writes a file for the owner alone: completely or not at all.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    replace(path, bytes, Some(0o600))
}

/// Opens a file for the owner alone, for reading and writing, and creates it if it is missing.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    files::open_private(path, File::options().read(true).write(true).create(true).truncate(false))
}

/// Replaces a file's content atomically: a reader sees either the old or the new bytes, and a kill loses neither.
/// Without a mode, the file keeps the one it had, and a new one is the owner's alone.
///
/// The folder may belong to a stranger's repository: the file beside it has a name that can't be guessed, and is never
/// opened through a link. A link at `path` itself is replaced by the file.
pub fn replace(path: &Path, bytes: &[u8], mode: Option<u32>) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut beside = tempfile::Builder::new().prefix(".mnemon-").tempfile_in(folder)?;
    beside.write_all(bytes)?;
    match (mode, fs::symlink_metadata(path)) {
        (None, Ok(before)) if before.is_file() => beside.as_file().set_permissions(before.permissions())?,
        _ => files::set_mode(beside.path(), mode.unwrap_or(0o600))?,
    }
    beside.as_file().sync_all()?;
    beside.persist(path)?;
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("it is there").permissions().mode() & 0o777
    }

    #[test]
    fn what_is_private_is_closed_to_others() {
        let ground = tempfile::tempdir().unwrap();
        let file = ground.path().join("a/b/secret");
        write(&file, b"one").unwrap();
        assert_eq!((mode(&file), mode(&ground.path().join("a/b"))), (0o600, 0o700));
        fs::set_permissions(ground.path().join("a/b"), fs::Permissions::from_mode(0o755)).unwrap();
        write(&file, b"two").unwrap();
        assert_eq!(mode(&ground.path().join("a/b")), 0o700);
        assert_eq!(fs::read(&file).unwrap(), b"two");
        assert_eq!(fs::read_dir(ground.path().join("a/b")).unwrap().count(), 1, "nothing is left beside it");
        assert!(!is_open_to_others(&file));
    }

    #[test]
    fn replacing_keeps_the_mode() {
        let ground = tempfile::tempdir().unwrap();
        let file = ground.path().join("config");
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        replace(&file, b"new", None).unwrap();
        assert_eq!((mode(&file), fs::read(&file).unwrap().as_slice()), (0o640, &b"new"[..]));
        assert!(is_open_to_others(&file));
    }

    #[test]
    fn a_link_is_replaced_and_never_written_through() {
        let ground = tempfile::tempdir().unwrap();
        let (precious, link) = (ground.path().join("precious"), ground.path().join("link"));
        fs::write(&precious, "mine").unwrap();
        std::os::unix::fs::symlink(&precious, &link).unwrap();
        // What an earlier version would have opened.
        let beside = ground.path().join(format!(".link.{}.tmp", std::process::id()));
        std::os::unix::fs::symlink(&precious, beside).unwrap();
        replace(&link, b"ours", None).unwrap();
        assert_eq!((fs::read(&precious).unwrap(), fs::read(&link).unwrap()), (b"mine".to_vec(), b"ours".to_vec()));
        assert!(!fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
