//! Reads a transcript: whole lines in, uploadable lines out, and a position to resume from after every raw line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use mnemon_protocol::hex::to_hex;
use sha2::{Digest, Sha256};

use crate::discover::SessionFile;
use crate::ignoring::IgnoreRules;
use crate::state::Cursor;
use crate::transcript::{Deriver, Memory, cwd_of};

/// Longer lines are skipped: no message is that long, but images are.
const RAW_LINE_MAX: usize = 32 << 20;
/// How much output is collected before it is handed out.
const BATCH_BYTES: usize = 256 * 1024;
/// How much is read before a pause, even without output.
const BATCH_RAW_BYTES: u64 = 8 << 20;
/// How far to look for the session's folder.
const HEAD_LINES: usize = 200;
/// How many bytes before a cursor are compared.
const TAIL_BYTES: u64 = 512;

/// Some converted lines.
pub(crate) struct Batch {
    pub(crate) text: Vec<u8>,
    pub(crate) end: Cursor,
}

/// One transcript being read.
pub(crate) struct Reader {
    input: BufReader<File>,
    deriver: Deriver,
    cursor: Cursor,
}

impl Reader {
    /// Opens a transcript at a position. It first finds the session's folder, because paths are made relative to it.
    pub(crate) fn open(session: &SessionFile, home: &Path, cursor: Cursor) -> io::Result<Self> {
        let mut file = File::open(&session.path)?;
        let mut memory: Memory = cursor.memory.clone();
        if cursor.raw_offset == 0 {
            memory.cwd = find_cwd(session, &file)?;
        }
        file.seek(SeekFrom::Start(cursor.raw_offset))?;
        let deriver = Deriver::new(session.client, &session.name, home, memory);
        Ok(Self { input: BufReader::with_capacity(64 * 1024, file), deriver, cursor })
    }

    pub(crate) fn rules(&self) -> &IgnoreRules {
        self.deriver.rules()
    }

    /// The next lines; `None` when no complete line is left.
    pub(crate) fn batch(&mut self) -> io::Result<Option<Batch>> {
        let began = self.cursor.raw_offset;
        let mut text = Vec::new();
        while text.len() < BATCH_BYTES && self.cursor.raw_offset - began < BATCH_RAW_BYTES {
            let Some((line, size)) = next_line(&mut self.input)? else { break };
            self.cursor.raw_offset += size;
            if let Some(line) = line {
                self.deriver.derive(&line, &mut text);
            }
        }
        if self.cursor.raw_offset == began {
            return Ok(None);
        }
        self.cursor.sent += text.len() as u64;
        self.cursor.chain = self.cursor.chain().after_all(&text).to_hex();
        self.cursor.memory = self.deriver.memory.clone();
        Ok(Some(Batch { text, end: self.cursor.clone() }))
    }
}

/// A whole line and its size with the newline; the line is absent if it is too long. `None` at the end, or if the last
/// line is still being written.
fn next_line(input: &mut impl BufRead) -> io::Result<Option<(Option<Vec<u8>>, u64)>> {
    let (mut line, mut size) = (Vec::new(), 0);
    loop {
        let seen = input.fill_buf()?;
        if seen.is_empty() {
            return Ok(None);
        }
        let end = seen.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(seen.len(), |at| at + 1);
        if size as usize + used <= RAW_LINE_MAX {
            line.extend_from_slice(&seen[..used]);
        }
        size += used as u64;
        input.consume(used);
        if end.is_some() {
            return Ok(Some(((size as usize <= RAW_LINE_MAX).then_some(line), size)));
        }
    }
}

fn find_cwd(session: &SessionFile, file: &File) -> io::Result<Option<std::path::PathBuf>> {
    let mut input = BufReader::new(file);
    for _ in 0..HEAD_LINES {
        match next_line(&mut input)? {
            Some((Some(line), _)) => {
                if let Some(cwd) = cwd_of(session.client, &line) {
                    return Ok(Some(cwd));
                }
            }
            Some((None, _)) => {}
            None => break,
        }
    }
    Ok(None)
}

/// A hash over the last bytes before a position; `None` if the file is shorter.
pub(crate) fn tail_hash(session: &SessionFile, raw_offset: u64) -> io::Result<Option<String>> {
    let mut file = File::open(&session.path)?;
    if file.metadata()?.len() < raw_offset {
        return Ok(None);
    }
    let start = raw_offset.saturating_sub(TAIL_BYTES);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(raw_offset - start).read_to_end(&mut bytes)?;
    Ok(Some(to_hex(&Sha256::digest(&bytes)[..16])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_still_being_written_waits() {
        let mut input = &b"one\ntwo\nthr"[..];
        let mut lines = Vec::new();
        while let Some((line, size)) = next_line(&mut input).unwrap() {
            lines.push((line.unwrap(), size));
        }
        assert_eq!(lines, [(b"one\n".to_vec(), 4), (b"two\n".to_vec(), 4)]);
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over_and_counted() {
        let fits = [vec![b'a'; RAW_LINE_MAX - 1], vec![b'\n']].concat();
        let (line, size) = next_line(&mut &fits[..]).unwrap().unwrap();
        assert_eq!((line.unwrap().len(), size as usize), (RAW_LINE_MAX, RAW_LINE_MAX));
        let long = [vec![b'a'; RAW_LINE_MAX], vec![b'\n']].concat();
        let (line, size) = next_line(&mut BufReader::with_capacity(4_096, &long[..])).unwrap().unwrap();
        assert_eq!((line, size as usize), (None, RAW_LINE_MAX + 1));
    }
}
