//! Files and directories that only their owner may read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Creates a directory and its parents for the owner alone. An existing one is closed to others.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)?;
    close(path, 0o700)
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
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Replaces a file's content atomically: a reader sees either the old or the new bytes, and a kill loses neither.
/// Without a mode, the file keeps the one it had.
pub(crate) fn replace(path: &Path, bytes: &[u8], mode: Option<u32>) -> io::Result<()> {
    let name = path.file_name().ok_or_else(|| io::Error::other("a file has a name"))?.to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&beside).and_then(|mut file| {
        file.write_all(bytes)?;
        match (mode, fs::metadata(path)) {
            (None, Ok(before)) => file.set_permissions(before.permissions())?,
            _ => close(&beside, mode.unwrap_or(0o600))?,
        }
        file.sync_all()?;
        fs::rename(&beside, path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

#[cfg(unix)]
fn close(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if fs::metadata(path)?.permissions().mode() & 0o777 == mode {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn close(_: &Path, _: u32) -> io::Result<()> {
    Ok(())
}

/// Whether others than the owner may read a file.
#[cfg(unix)]
pub(crate) fn is_open_to_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}

/// Whether others than the owner may read a file.
#[cfg(not(unix))]
pub(crate) fn is_open_to_others(_: &Path) -> bool {
    false
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
}
