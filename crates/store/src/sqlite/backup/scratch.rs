//! Where a copy grows until it is whole: a directory of its own beside its final place, which only its owner may enter.
//! SQLite's journals are in there too, so one removal takes everything; and no other user can plant a link in it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use mnemon_platform::files::{close_to_others, free_bytes, lock_of, sync_folder};
use tempfile::TempDir;

use super::super::files::DATABASE;
use super::BackupError;

const PREFIX: &str = ".mnemon-backup-";
const SUFFIX: &str = ".partial";
const MB: u64 = 1_000_000;

/// Removed with everything in it, unless the process is killed: then the next one removes it.
pub(super) struct Scratch {
    /// Says that somebody is at work. It goes first: some systems remove nothing that is open.
    _lock: File,
    dir: TempDir,
}

impl Scratch {
    /// Makes one in a folder, and removes those that killed runs left there.
    pub(super) fn new(folder: &Path) -> io::Result<Self> {
        sweep(folder);
        let mut builder = tempfile::Builder::new();
        let dir = builder.prefix(PREFIX).suffix(SUFFIX).rand_bytes(16).tempdir_in(folder)?;
        close_to_others(dir.path())?;
        let lock = lock_of(dir.path())?;
        lock.lock()?;
        Ok(Self { _lock: lock, dir })
    }

    /// The file that grows.
    pub(super) fn database(&self) -> PathBuf {
        self.dir.path().join(DATABASE)
    }

    /// Syncs the file, closes it to others and gives it its name. Returns its size.
    pub(super) fn keep_as(self, to: &Path) -> io::Result<u64> {
        close_to_others(&self.database())?;
        // Some systems sync only what is open for writing, and rename nothing that is open.
        let file = File::options().write(true).open(self.database())?;
        file.sync_all()?;
        let bytes = file.metadata()?.len();
        drop(file);
        fs::rename(self.database(), to)?;
        let folder = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        sync_folder(folder)?;
        Ok(bytes)
    }
}

/// Whether a directory can take a restored database: it is absent, or has nothing but what a killed restore left.
pub(super) fn is_free(dir: &Path) -> bool {
    fs::read_dir(dir).map_or(!dir.exists(), |entries| entries.flatten().all(|entry| is_scratch(&entry)))
}

/// Removes what killed runs left. Whatever fails here is only untidy.
fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten().filter(is_scratch) {
        // A running backup or restore holds the lock.
        if lock_of(&entry.path()).is_ok_and(|dir| dir.try_lock().is_ok()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_scratch(entry: &fs::DirEntry) -> bool {
    let name = entry.file_name();
    let name = name.to_string_lossy();
    name.starts_with(PREFIX) && name.ends_with(SUFFIX) && entry.file_type().is_ok_and(|kind| kind.is_dir())
}

/// Refuses to begin what can't be finished.
pub(super) fn check_room(folder: &Path, needed_bytes: u64) -> Result<(), BackupError> {
    let Some(free_bytes) = free_bytes(folder) else { return Ok(()) };
    if free_bytes >= needed_bytes {
        return Ok(());
    }
    let megabytes = |bytes: u64| bytes.div_ceil(MB);
    Err(BackupError::Refused(format!(
        "{} has room for {} MB, and the copy takes {} MB; make room for {} MB more, or choose another place",
        folder.display(),
        megabytes(free_bytes),
        megabytes(needed_bytes),
        megabytes(needed_bytes - free_bytes),
    )))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_a_killed_run_left_goes_and_what_is_at_work_stays() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(format!("{PREFIX}left{SUFFIX}"));
        fs::create_dir(&left).unwrap();
        fs::write(left.join(DATABASE), "half").unwrap();
        fs::write(folder.path().join("mine.partial"), "mine").unwrap();
        let at_work = Scratch::new(folder.path()).unwrap();
        assert!(!left.exists());
        assert_eq!(fs::metadata(at_work.dir.path()).unwrap().permissions().mode() & 0o777, 0o700);
        let second = Scratch::new(folder.path()).unwrap();
        assert!(at_work.dir.path().exists() && folder.path().join("mine.partial").exists());
        drop((at_work, second));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "a failed run leaves nothing");
    }

    #[test]
    fn a_link_with_such_a_name_is_left_alone() {
        let (folder, precious) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(precious.path().join("file"), "mine").unwrap();
        let link = folder.path().join(format!("{PREFIX}left{SUFFIX}"));
        std::os::unix::fs::symlink(precious.path(), &link).unwrap();
        assert!(!is_free(folder.path()), "it is none of ours");
        drop(Scratch::new(folder.path()).unwrap());
        assert_eq!(fs::read_to_string(precious.path().join("file")).unwrap(), "mine");
    }

    #[test]
    fn what_does_not_fit_is_refused_with_what_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        check_room(folder.path(), 1).unwrap();
        let refused = check_room(folder.path(), u64::MAX / 2).unwrap_err().to_string();
        assert!(refused.contains("and the copy takes 9223372036855 MB; make room for "), "{refused}");
    }
}
