//! Keeps what the first start created out of systemd's journal, which keeps everything and which many may read.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

use mnemon_agent::private::replace;

/// The name of the file in the data directory.
pub const FILE: &str = "first-start.txt";

/// Whether standard output ends in the journal: systemd names the device and the inode of what it connected.
pub fn output_is_journal() -> bool {
    let Some(named) = std::env::var_os("JOURNAL_STREAM") else { return false };
    let own = std::io::stdout().as_fd().try_clone_to_owned().map(File::from).and_then(|out| out.metadata());
    own.is_ok_and(|own| named == *format!("{}:{}", own.dev(), own.ino()))
}

/// Writes a text for the owner alone. With PostgreSQL there may be no data directory yet.
pub fn keep(file: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    replace(file, text.as_bytes(), Some(0o600))
}
