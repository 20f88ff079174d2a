//! The files of snapshots, beside the database. A row of the table `snapshot` names its file, and decides: a file that
//! no row names is left over from a crash, or its row is gone, and it is removed.
//!
//! A file is written once, synced, and never changed: another thread may have mapped it. Names are random, so that a
//! row out of a backup never finds the file of another history.

use std::collections::HashSet;
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mnemon_platform::files::{make_folder, open_private, sync_folder};
use parking_lot::Mutex;

use super::files::close_to_others;
use crate::{SnapshotImage, StoreError};

/// The directory of snapshots inside a data directory.
pub(super) const DIRECTORY: &str = "snapshots";

/// The directory of snapshots.
#[derive(Clone)]
pub(super) struct SnapshotFiles {
    dir: PathBuf,
    /// Those that have no row yet.
    unnamed: Arc<Mutex<HashSet<String>>>,
}

impl SnapshotFiles {
    /// Creates the directory in a data directory if it is missing.
    pub(super) fn take(data: &Path) -> Result<Self, StoreError> {
        let files = Self { dir: data.join(DIRECTORY), unnamed: Arc::default() };
        make_folder(&files.dir).map_err(|error| files.failed("can't make", &error))?;
        close_to_others(&files.dir).map_err(|error| files.failed("can't make private", &error))?;
        Ok(files)
    }

    /// Writes a file, which goes again unless it is [kept](Written::keep).
    pub(super) async fn write(&self, image: Arc<dyn SnapshotImage>) -> Result<Written, StoreError> {
        let name = format!("{:016x}", RandomState::new().build_hasher().finish());
        self.unnamed.lock().insert(name.clone());
        let written = Written { files: self.clone(), name, is_kept: false };
        let task = tokio::task::spawn_blocking(move || {
            let files = &written.files;
            files.write_now(&written.name, &*image).map_err(|error| files.failed("can't write to", &error))?;
            Ok(written)
        });
        task.await.map_err(|error| StoreError::Failed(format!("a write ended early: {error}")))?
    }

    /// Opens a file, if it is there.
    pub(super) fn open(&self, name: &str) -> Result<Option<File>, StoreError> {
        let Some(path) = self.path(name) else { return Ok(None) };
        match File::open(path) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed("can't read", &error)),
        }
    }

    /// Removes a file. If that fails, the next sweep tries again.
    pub(super) fn remove(&self, name: &str) {
        let Some(path) = self.path(name) else { return };
        if let Err(error) = fs::remove_file(path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "could not remove an index snapshot that nobody needs any more");
        }
    }

    /// Removes the files that no row names. The rows are read last, so a file whose row was written meanwhile is kept.
    pub(super) fn sweep(
        &self,
        list_named: impl FnOnce() -> Result<HashSet<String>, StoreError>,
    ) -> Result<(), StoreError> {
        let found = fs::read_dir(&self.dir).map_err(|error| self.failed("can't list", &error))?;
        let found: Vec<String> = found.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        let unnamed = self.unnamed.lock().clone();
        let named = list_named()?;
        let is_idle = |name: &&String| !unnamed.contains(*name) && !named.contains(*name);
        found.iter().filter(is_idle).for_each(|name| self.remove(name));
        Ok(())
    }

    /// Where a file is. Names come from the database, which may have been a stranger's backup: anything but 16
    /// hexadecimal digits is none of ours.
    fn path(&self, name: &str) -> Option<PathBuf> {
        let is_ours = name.len() == 16 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        is_ours.then(|| self.dir.join(name))
    }

    fn write_now(&self, name: &str, image: &dyn SnapshotImage) -> io::Result<()> {
        let file = open_private(&self.dir.join(name), File::options().read(true).write(true).create_new(true))?;
        image.write_to(&file)?;
        file.sync_all()?;
        sync_folder(&self.dir)
    }

    fn failed(&self, what: &str, error: &io::Error) -> StoreError {
        StoreError::Failed(format!("{what} {}: {error}", self.dir.display()))
    }
}

/// A file that was written and has no row yet.
pub(super) struct Written {
    files: SnapshotFiles,
    name: String,
    is_kept: bool,
}

impl Written {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// It has its row now.
    pub(super) fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        if !self.is_kept {
            self.files.remove(&self.name);
        }
        self.files.unnamed.lock().remove(&self.name);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const NAMED: &str = "0123456789abcdef";
    const WRITTEN: &str = "00000000000000aa";
    const STRAY: &str = "00000000000000bb";

    #[test]
    fn a_directory_that_others_could_enter_is_closed() {
        let data = tempfile::tempdir().unwrap();
        let dir = data.path().join(DIRECTORY);
        fs::create_dir(&dir).unwrap();
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
        SnapshotFiles::take(data.path()).unwrap();
        assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_sweep_leaves_what_has_a_row_or_waits_for_one() {
        let data = tempfile::tempdir().unwrap();
        let files = SnapshotFiles::take(data.path()).unwrap();
        for name in [NAMED, WRITTEN, STRAY] {
            fs::write(files.dir.join(name), name).unwrap();
        }
        let written = Written { files: files.clone(), name: WRITTEN.into(), is_kept: false };
        files.unnamed.lock().insert(WRITTEN.into());
        files.sweep(|| Ok(HashSet::from([NAMED.to_owned()]))).unwrap();
        let there = |name: &str| files.open(name).unwrap().is_some();
        assert_eq!([NAMED, WRITTEN, STRAY].map(there), [true, true, false]);
        drop(written);
        assert!(!there(WRITTEN), "without a row it goes");
        assert!(files.unnamed.lock().is_empty());
    }

    #[test]
    fn a_name_that_leads_elsewhere_opens_and_removes_nothing() {
        let data = tempfile::tempdir().unwrap();
        let files = SnapshotFiles::take(data.path()).unwrap();
        let victim = data.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        for name in ["../victim", victim.to_str().unwrap(), "", ".", "0123456789ABCDEF", "0123456789abcdef0"] {
            assert!(files.open(name).unwrap().is_none(), "{name}");
            files.remove(name);
        }
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    }
}
