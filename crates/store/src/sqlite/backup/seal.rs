//! The last line of a backup: a SHA-256 of everything before it. Not all that an answer shows has a checksum of its
//! own: names, keys and what is known of sources have none. One file holds both, because two get separated; SQLite
//! ignores what comes after its last page.
//!
//! It proves that nothing was damaged on the way. It proves nothing against somebody who writes a file on purpose.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use mnemon_platform::files::open_private;
use sha2::{Digest, Sha256};

const WORDS: &[u8] = b"\nmnemon backup, sha256 ";
const DIGITS: usize = 64;
const SEAL_BYTES: usize = WORDS.len() + DIGITS + 1;
const PIECE_BYTES: usize = 1 << 20;
const DATABASE_MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The seal that a file has, and how much it covers.
pub(super) struct Seal {
    line: [u8; SEAL_BYTES],
    covered_bytes: u64,
}

/// Puts the seal at the end of a file.
pub(super) fn close(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).append(true).open(path)?;
    let covered_bytes = file.metadata()?.len();
    let hash = pass(&mut file, covered_bytes, &mut io::sink())?;
    file.write_all(&line(&hash))
}

/// The seal of a file, if it ends with one.
pub(super) fn find(mut file: &File) -> io::Result<Option<Seal>> {
    let Some(covered_bytes) = file.metadata()?.len().checked_sub(SEAL_BYTES as u64) else { return Ok(None) };
    let mut line = [0; SEAL_BYTES];
    file.seek(SeekFrom::Start(covered_bytes))?;
    file.read_exact(&mut line)?;
    Ok(line.starts_with(WORDS).then_some(Seal { line, covered_bytes }))
}

/// Whether a file begins as a SQLite database does.
pub(super) fn is_database(mut file: &File) -> bool {
    let mut magic = [0; DATABASE_MAGIC.len()];
    file.seek(SeekFrom::Start(0)).is_ok() && file.read_exact(&mut magic).is_ok() && magic == *DATABASE_MAGIC
}

impl Seal {
    /// Copies what it covers into a new file, and says whether it fits. What is compared is what was copied: the file
    /// may change meanwhile.
    pub(super) fn copy(&self, mut from: &File, to: &Path) -> io::Result<bool> {
        let mut target = open_private(to, OpenOptions::new().write(true).create_new(true))?;
        from.seek(SeekFrom::Start(0))?;
        let hash = pass(&mut from, self.covered_bytes, &mut target)?;
        Ok(line(&hash) == self.line)
    }
}

/// Copies the given number of bytes, and returns their hash.
fn pass(from: &mut impl Read, bytes: u64, to: &mut impl Write) -> io::Result<[u8; 32]> {
    let (mut from, mut hasher) = (from.take(bytes), Sha256::new());
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let read = from.read(&mut piece)?;
        if read == 0 {
            return Ok(hasher.finalize().into());
        }
        hasher.update(&piece[..read]);
        to.write_all(&piece[..read])?;
    }
}

fn line(hash: &[u8; 32]) -> [u8; SEAL_BYTES] {
    let digits: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut line = [b'\n'; SEAL_BYTES];
    line[..WORDS.len()].copy_from_slice(WORDS);
    line[WORDS.len()..WORDS.len() + DIGITS].copy_from_slice(digits.as_bytes());
    line
}
