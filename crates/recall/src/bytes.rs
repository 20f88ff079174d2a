//! The parts of a snapshot: rows of numbers, each with its place, its length and its checksum. What they mean:
//! `snapshot.rs`.

use std::fs::File;

use bytemuck::{Pod, Zeroable};
use mnemon_platform::files;

use crate::mapped_vec::MappedVec;

/// Raise it whenever the layout changes, or what the words of a text are.
pub(crate) const FORMAT: u32 = 9;
/// From here on a part has pages of its own in a file, so that it can be mapped instead of read.
const MAPPED_MIN_BYTES: u64 = 64 << 10;
const PAGE_BYTES: u64 = 4096;
/// Where the parts of a file begin that are read.
const ALIGN_BYTES: u64 = 8;

/// Why a snapshot is not used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SnapshotError {
    /// Not a snapshot at all, or cut short.
    #[error("these bytes are no index snapshot")]
    NotASnapshot,
    /// Written by another version of this crate.
    #[error("the snapshot has format {found}, this version reads {FORMAT}")]
    OtherFormat {
        /// The format it has.
        found: u32,
    },
    /// Its vectors belong to another model.
    #[error("the snapshot was made with another embedding model")]
    OtherModel,
    /// The bytes have changed since they were written.
    #[error("the snapshot's checksum does not fit")]
    Damaged,
}

/// Takes the parts of one group, in order.
#[derive(Default)]
pub(crate) struct Writer {
    parts: Vec<Part>,
}

/// A row of numbers as bytes.
pub(crate) struct Part {
    pub(crate) bytes: Vec<u8>,
    /// Whether it may be wrong without doing harm, and so may be checked after its first use.
    is_checked_later: bool,
}

impl Writer {
    pub(crate) fn number<T: Pod>(&mut self, value: T) {
        self.row(&[value]);
    }

    pub(crate) fn row<T: Pod>(&mut self, items: &[T]) {
        self.part(bytemuck::cast_slice(items).to_vec());
    }

    /// As a row that is made for this.
    pub(crate) fn numbers<T: Pod>(&mut self, items: impl Iterator<Item = T>) {
        self.row(&items.collect::<Vec<T>>());
    }

    /// A row of which no number can lead anywhere: a wrong one only makes an answer a little worse.
    pub(crate) fn harmless_row<T: Pod>(&mut self, items: &[T]) {
        self.row(items);
        self.parts.last_mut().expect("one was just put in").is_checked_later = true;
    }

    pub(crate) fn part(&mut self, bytes: Vec<u8>) {
        self.parts.push(Part { bytes, is_checked_later: false });
    }

    pub(crate) fn into_parts(self) -> Vec<Part> {
        self.parts
    }
}

/// The place of a part, as written in the snapshot.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Entry {
    offset: u64,
    len_bytes: u64,
    checksum: u32,
    is_checked_later: u32,
}

impl Entry {
    /// The entries of parts one right after the other, from a place on.
    pub(crate) fn packed<'a>(parts: impl Iterator<Item = &'a Part>, start: u64) -> Vec<Self> {
        let mut end = start;
        let mut place = |len_bytes: u64| {
            let offset = end;
            end += len_bytes;
            offset
        };
        parts.map(|part| Self::of(part, place(part.bytes.len() as u64))).collect()
    }

    /// The entries of parts in a file, each large one with pages of its own and room behind it; and where the file
    /// ends.
    pub(crate) fn spread<'a>(parts: impl Iterator<Item = &'a Part>, start: u64) -> (Vec<Self>, u64) {
        let mut end = start;
        let mut place = |len_bytes: u64| {
            let align = if len_bytes < MAPPED_MIN_BYTES { ALIGN_BYTES } else { PAGE_BYTES };
            let offset = end.next_multiple_of(align);
            end = offset + len_bytes + room_bytes(len_bytes);
            offset
        };
        let entries = parts.map(|part| Self::of(part, place(part.bytes.len() as u64))).collect();
        (entries, end)
    }

    fn of(part: &Part, offset: u64) -> Self {
        Self {
            offset,
            len_bytes: part.bytes.len() as u64,
            checksum: crc32fast::hash(&part.bytes),
            is_checked_later: u32::from(part.is_checked_later),
        }
    }

    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    pub(crate) fn is_checked_later(&self) -> bool {
        self.is_checked_later != 0
    }

    /// Whether a part of a file is as it was written. It is read, not mapped: what a disk can't deliver is an error
    /// then, and not the end of the process.
    pub(crate) fn is_sound(&self, file: &File) -> bool {
        const STEP_BYTES: u64 = 256 << 10;
        let (mut hasher, mut buffer) = (crc32fast::Hasher::new(), vec![0; STEP_BYTES.min(self.len_bytes) as usize]);
        let mut done = 0;
        while done < self.len_bytes {
            let step = &mut buffer[..(self.len_bytes - done).min(STEP_BYTES) as usize];
            if files::read_exact_at(file, step, self.offset + done).is_err() {
                return false;
            }
            hasher.update(step);
            done += step.len() as u64;
        }
        hasher.finalize() == self.checksum
    }
}

/// The room behind a part that is mapped: an eighth, rounded up to pages. It is a hole in the file and takes no space.
fn room_bytes(len_bytes: u64) -> u64 {
    if len_bytes < MAPPED_MIN_BYTES { 0 } else { (len_bytes + len_bytes / 8).next_multiple_of(PAGE_BYTES) - len_bytes }
}

/// Where the bytes of a snapshot are.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    Memory(&'a [u8]),
    File(&'a File),
}

impl Source<'_> {
    /// Fills a row from a place on.
    pub(crate) fn read<T: Pod>(&self, offset: u64, items: &mut [T]) -> Result<(), SnapshotError> {
        let out: &mut [u8] = bytemuck::cast_slice_mut(items);
        match self {
            Self::Memory(bytes) => {
                let start = usize::try_from(offset).ok();
                let there = start.and_then(|start| bytes.get(start..)?.get(..out.len()));
                out.copy_from_slice(there.ok_or(SnapshotError::NotASnapshot)?);
            }
            Self::File(file) => files::read_exact_at(file, out, offset).map_err(|_| SnapshotError::NotASnapshot)?,
        }
        Ok(())
    }

    fn len_bytes(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File(file) => file.metadata().map_or(0, |file| file.len()),
        }
    }
}

/// Gives the parts of one group back, in order.
pub(crate) struct Reader<'a> {
    pub(crate) source: Source<'a>,
    pub(crate) entries: &'a [Entry],
}

impl Reader<'_> {
    pub(crate) fn number<T: Pod>(&mut self) -> Result<T, SnapshotError> {
        self.row()?.first().copied().ok_or(SnapshotError::NotASnapshot)
    }

    pub(crate) fn row<T: Pod>(&mut self) -> Result<MappedVec<T>, SnapshotError> {
        let (entry, rest) = self.entries.split_first().ok_or(SnapshotError::NotASnapshot)?;
        self.entries = rest;
        let len_bytes = usize::try_from(entry.len_bytes).map_err(|_| SnapshotError::NotASnapshot)?;
        let len = len_bytes / size_of::<T>();
        let is_mapped = matches!(self.source, Source::File(_)) && entry.len_bytes >= MAPPED_MIN_BYTES;
        let room = if is_mapped { room_bytes(entry.len_bytes) } else { 0 };
        let end = entry.offset.checked_add(entry.len_bytes + room).ok_or(SnapshotError::NotASnapshot)?;
        // Touching a page behind the end of a mapped file kills the process.
        if len * size_of::<T>() != len_bytes || end > self.source.len_bytes() {
            return Err(SnapshotError::NotASnapshot);
        }
        match self.source {
            Source::File(file) if is_mapped => {
                if !entry.is_checked_later() && !entry.is_sound(file) {
                    return Err(SnapshotError::Damaged);
                }
                MappedVec::map(file, entry.offset, len, room as usize).map_err(|_| SnapshotError::NotASnapshot)
            }
            source => {
                let mut items = vec![T::zeroed(); len];
                source.read(entry.offset, &mut items)?;
                let is_sound = crc32fast::hash(bytemuck::cast_slice(&items)) == entry.checksum;
                is_sound.then(|| MappedVec::from(items)).ok_or(SnapshotError::Damaged)
            }
        }
    }

    /// As a vector.
    pub(crate) fn numbers<T: Pod>(&mut self) -> Result<Vec<T>, SnapshotError> {
        Ok(self.row()?.to_vec())
    }
}
