//! Files and directories that only their owner may read: by their mode.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;

/// Creates a directory and its missing parents for the owner alone. An existing one stays as it is.
pub fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(path)
}

/// Opens a file. A new one is the owner's alone.
pub fn open_private(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options.mode(FILE_MODE).open(path)
}

/// Sets who may do what with a file, by its mode.
pub fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    if fs::metadata(path)?.permissions().mode() & 0o777 == mode {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// Gives a file or a directory to its owner alone, and says what it was before if others could reach it.
pub fn close_to_others(path: &Path) -> io::Result<Option<String>> {
    let mode = fs::metadata(path)?.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(None);
    }
    fs::set_permissions(path, Permissions::from_mode(mode & 0o700))?;
    Ok(Some(format!("{:03o}", mode & 0o777)))
}

/// The command by which a person closes files to others.
pub fn how_to_close(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    format!("chmod go-rwx {}", names.join(" "))
}

/// Whether others than the owner may read or write a file.
pub fn is_open_to_others(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}

/// Makes the names in a directory survive a loss of power.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// What says that somebody is at work in a directory, by a lock on it.
pub fn lock_of(folder: &Path) -> io::Result<File> {
    File::open(folder)
}

/// What the disk has left for its owner's processes.
pub fn free_bytes(folder: &Path) -> Option<u64> {
    rustix::fs::statvfs(folder).ok().map(|system| system.f_bavail.saturating_mul(system.f_frsize))
}

/// Reads at a place without moving the file's position.
pub fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    file.read_exact_at(bytes, offset)
}

/// Writes at a place without moving the file's position.
pub fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    file.write_all_at(bytes, offset)
}

/// Whether a path is a link, or something else that leads elsewhere.
pub fn leads_elsewhere(metadata: &fs::Metadata) -> bool {
    metadata.is_symlink()
}

/// Where a path leads, through all links.
pub fn real_path(path: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(path)
}
