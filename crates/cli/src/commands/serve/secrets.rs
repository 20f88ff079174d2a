//! Keeps what the first start created out of systemd's journal, which keeps everything and which many may read.

use std::io;
use std::path::Path;

use mnemon_agent::private::replace;

/// The name of the file in the data directory.
pub const FILE: &str = "first-start.txt";

/// Whether standard output ends in the journal: systemd names the device and the inode of what it connected.
#[cfg(unix)]
pub fn output_is_journal() -> bool {
    use std::os::fd::AsFd;
    use std::os::unix::fs::MetadataExt;
    let Some(named) = std::env::var_os("JOURNAL_STREAM") else { return false };
    let own = io::stdout().as_fd().try_clone_to_owned().map(std::fs::File::from).and_then(|out| out.metadata());
    own.is_ok_and(|own| named == *format!("{}:{}", own.dev(), own.ino()))
}

/// There is no journal.
#[cfg(windows)]
pub const fn output_is_journal() -> bool {
    false
}

/// Writes a text for the owner alone. With PostgreSQL there may be no data directory yet.
pub fn keep(file: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        mnemon_platform::files::make_folder(folder)?;
    }
    replace(file, text.as_bytes(), Some(0o600))
}
