//! An index as bytes and back. A snapshot is a convenience, never the truth: it says which format and which model it
//! was written by, carries checksums, and a reader that doubts it uses the change log instead.
//!
//! It has a head, a list of its parts, and the parts. In memory the parts follow each other; in a file the large ones
//! have pages of their own, so that an index of a million records is mapped and not read. The numbers are those of this
//! machine: on one with another order of bytes the format is another one.

use std::fs::File;
use std::io;
use std::thread;

use bytemuck::{Pod, Zeroable};
use mnemon_platform::files;

use crate::bytes::{Entry, FORMAT, Part, Reader, SnapshotError, Source, Writer};
use crate::index::WorkspaceIndex;
use crate::lexicon::Lexicon;
use crate::meaning::Vectors;
use crate::model::Model;
use crate::records::Records;
use crate::search::bm25::Totals;
use crate::truth::Truth;

const MAGIC: [u8; 4] = *b"mnRX";
/// The totals and the caller's note, lexicon, records, vectors, truth.
const GROUPS: usize = 5;

/// How a snapshot begins. The list of its parts follows.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Head {
    magic: [u8; 4],
    format: u32,
    model: u32,
    /// Of the rest of the head and of the list.
    checksum: u32,
    /// How many parts each group has.
    parts: [u32; GROUPS],
    unused: u32,
}

/// Where the checksum begins to count.
const CHECKED_FROM: usize = 16;

impl Head {
    fn new(model: u32, parts: [u32; GROUPS], entries: &[Entry]) -> Self {
        let mut head = Self { magic: MAGIC, format: FORMAT, model, checksum: 0, parts, unused: 0 };
        head.checksum = head.checksum_with(entries);
        head
    }

    fn checksum_with(&self, entries: &[Entry]) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&bytemuck::bytes_of(self)[CHECKED_FROM..]);
        hasher.update(bytemuck::cast_slice(entries));
        hasher.finalize()
    }

    /// Reads the head and the list of parts.
    fn read(model: &Model, source: Source<'_>) -> Result<(Self, Vec<Entry>), SnapshotError> {
        const PARTS_MAX: usize = 1_000;
        let mut head = [Self::zeroed()];
        source.read(0, &mut head)?;
        let [head] = head;
        if head.magic != MAGIC {
            return Err(SnapshotError::NotASnapshot);
        }
        if head.format != FORMAT {
            return Err(SnapshotError::OtherFormat { found: head.format });
        }
        if head.model != model.fingerprint() {
            return Err(SnapshotError::OtherModel);
        }
        let parts = head.parts.iter().fold(0_usize, |sum, &parts| sum.saturating_add(parts as usize));
        if parts > PARTS_MAX {
            return Err(SnapshotError::Damaged);
        }
        let mut entries = vec![Entry::zeroed(); parts];
        source.read(size_of::<Self>() as u64, &mut entries)?;
        if head.checksum != head.checksum_with(&entries) {
            return Err(SnapshotError::Damaged);
        }
        Ok((head, entries))
    }
}

/// A snapshot that is to be written.
pub struct Image {
    model: u32,
    groups: [Vec<Part>; GROUPS],
}

impl Image {
    /// How many bytes it has in memory. In a file there are gaps between its parts.
    pub fn size_bytes(&self) -> usize {
        self.start() as usize + self.parts().map(|part| part.bytes.len()).sum::<usize>()
    }

    /// The snapshot in memory, to be read by [`WorkspaceIndex::from_snapshot`].
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.size_bytes());
        bytes.extend(self.beginning(&Entry::packed(self.parts(), self.start())));
        self.parts().for_each(|part| bytes.extend_from_slice(&part.bytes));
        bytes
    }

    /// Writes it to a new file, to be read by [`WorkspaceIndex::from_snapshot_file`].
    pub fn write_to(&self, file: &File) -> io::Result<()> {
        let (entries, end) = Entry::spread(self.parts(), self.start());
        files::write_all_at(file, &self.beginning(&entries), 0)?;
        for (entry, part) in entries.iter().zip(self.parts()) {
            files::write_all_at(file, &part.bytes, entry.offset())?;
        }
        file.set_len(end)
    }

    fn beginning(&self, entries: &[Entry]) -> Vec<u8> {
        let counts = self.groups.each_ref().map(|parts| parts.len() as u32);
        let head = Head::new(self.model, counts, entries);
        [bytemuck::bytes_of(&head), bytemuck::cast_slice(entries)].concat()
    }

    fn parts(&self) -> impl Iterator<Item = &Part> {
        self.groups.iter().flatten()
    }

    /// Where the first part begins.
    fn start(&self) -> u64 {
        (size_of::<Head>() + self.parts().count() * size_of::<Entry>()) as u64
    }
}

impl WorkspaceIndex {
    /// The index as a snapshot, with a note of the caller's.
    pub fn to_snapshot(&self, note: &[u8]) -> Image {
        let group = |save: &dyn Fn(&mut Writer)| {
            let mut out = Writer::default();
            save(&mut out);
            out.into_parts()
        };
        let beginning = |out: &mut Writer| {
            out.row(note);
            out.number(self.totals.records);
            out.number(self.totals.length);
        };
        // Words of removed records are left out: a purged record must be in no file.
        let used = self.records.used_forms();
        let groups = [
            group(&beginning),
            group(&|out| self.lexicon.save(out, used.as_ref())),
            group(&|out| self.records.save(out)),
            group(&|out| self.vectors.save(out)),
            group(&|out| self.truth.save(out, used.is_some())),
        ];
        Image { model: self.model.fingerprint(), groups }
    }

    /// The index from bytes, with the caller's note; anything odd is an error, and the caller builds it from the
    /// records.
    pub fn from_snapshot(model: &'static Model, bytes: &[u8]) -> Result<(Vec<u8>, Self), SnapshotError> {
        Self::load(model, Source::Memory(bytes))
    }

    /// The index from a file, as [`Self::from_snapshot`]. The file stays mapped as long as the index uses it: it may be
    /// deleted, but never be changed. Vectors are not checked: [`Self::is_sound_file`] does that, and takes longer.
    pub fn from_snapshot_file(model: &'static Model, file: &File) -> Result<(Vec<u8>, Self), SnapshotError> {
        Self::load(model, Source::File(file))
    }

    /// Whether the parts of a file that [`Self::from_snapshot_file`] takes on trust are as they were written.
    pub fn is_sound_file(model: &'static Model, file: &File) -> bool {
        let entries = Head::read(model, Source::File(file)).map(|(_, entries)| entries);
        entries.is_ok_and(|entries| {
            entries.iter().filter(|entry| entry.is_checked_later()).all(|entry| entry.is_sound(file))
        })
    }

    fn load(model: &'static Model, source: Source<'_>) -> Result<(Vec<u8>, Self), SnapshotError> {
        let (head, entries) = Head::read(model, source)?;
        let mut rest = &*entries;
        let [mut beginning, mut lexicon, mut records, mut vectors, mut truth] = head.parts.map(|parts| {
            let (entries, behind) = rest.split_at(parts as usize);
            rest = behind;
            Reader { source, entries }
        });
        let note = beginning.numbers()?;
        let totals = Totals { records: beginning.number()?, length: beginning.number()? };
        // Most of the time goes into checksums: two do it in little more than half of the time.
        let (words, others) = thread::scope(|scope| {
            let words = scope.spawn(|| Ok((Lexicon::load(&mut lexicon)?, Truth::load(&mut truth)?)));
            let others = Records::load(&mut records).and_then(|records| Ok((records, Vectors::load(&mut vectors)?)));
            (words.join().unwrap_or(Err(SnapshotError::NotASnapshot)), others)
        });
        let ((lexicon, truth), (records, vectors)) = (words?, others?);
        let fits = [vectors.slots(), truth.slots()] == [records.slots(); 2];
        let index = fits.then(|| Self::of(model, (lexicon, records, vectors, truth), totals));
        Ok((note, index.ok_or(SnapshotError::NotASnapshot)?))
    }
}
