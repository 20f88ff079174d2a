//! Strings to dense numbers and back: one byte arena, one hash table of numbers. Nothing is ever taken out of it;
//! an index that has forgotten much is rebuilt instead (`index.rs`).

use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;
use std::ops::Range;

use crate::bits::Bits;
use crate::bytes::{Reader, SnapshotError, Writer};
use crate::mapped_vec::MappedVec;
use crate::table::Table;

/// A set of strings, each with the number of its arrival.
#[derive(Default)]
pub(crate) struct Interner {
    numbers: Table,
    bytes: MappedVec<u8>,
    /// Where each string ends in `bytes`; it starts where the one before it ends.
    ends: MappedVec<u32>,
}

impl Interner {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn find(&self, text: &str) -> Option<u32> {
        self.find_hashed(text, hash(text.as_bytes()))
    }

    fn find_hashed(&self, text: &str, hash: u64) -> Option<u32> {
        let Self { numbers, bytes, ends } = self;
        numbers.find(hash, |number| slice(bytes, ends, number) == text.as_bytes())
    }

    /// The number of `text`, and whether it is new.
    pub(crate) fn intern(&mut self, text: &str) -> (u32, bool) {
        let hash = hash(text.as_bytes());
        if let Some(number) = self.find_hashed(text, hash) {
            return (number, false);
        }
        let number = u32::try_from(self.ends.len()).expect("a workspace has fewer than 2^32 distinct words");
        self.bytes.extend(text.as_bytes());
        self.ends.push(u32::try_from(self.bytes.len()).expect("the words of a workspace take under 4 GiB"));
        let Self { numbers, bytes, ends } = self;
        numbers.insert(hash, number, |other| self::hash(slice(bytes, ends, other)));
        (number, true)
    }

    pub(crate) fn text(&self, number: u32) -> &str {
        std::str::from_utf8(self.bytes(number)).expect("only whole strings are interned")
    }

    pub(crate) fn bytes(&self, number: u32) -> &[u8] {
        slice(&self.bytes, &self.ends, number)
    }

    /// Leaves out the texts that are no longer used: in their place there is nothing to read, and no text finds
    /// them.
    pub(crate) fn save(&self, out: &mut Writer, used: Option<&Bits>) {
        let mut bytes = self.bytes.to_vec();
        if let Some(used) = used {
            let unused = (0..self.len() as u32).filter(|&number| !used.contains(number));
            unused.for_each(|number| bytes[range(&self.ends, number)].fill(0));
        }
        out.part(bytes);
        out.row(&self.ends);
        self.numbers.save(out);
    }

    pub(crate) fn load(input: &mut Reader<'_>) -> Result<Self, SnapshotError> {
        let (bytes, ends) = (input.row::<u8>()?, input.row::<u32>()?);
        let numbers = Table::load(input, ends.len())?;
        let fits = ends.is_sorted() && ends.last().map_or(0, |&end| end as usize) == bytes.len();
        fits.then_some(Self { numbers, bytes, ends }).ok_or(SnapshotError::NotASnapshot)
    }

    pub(crate) fn size_bytes(&self) -> usize {
        self.numbers.size_bytes() + self.bytes.size_bytes() + self.ends.size_bytes()
    }
}

fn slice<'a>(bytes: &'a [u8], ends: &[u32], number: u32) -> &'a [u8] {
    &bytes[range(ends, number)]
}

fn range(ends: &[u32], number: u32) -> Range<usize> {
    let at = number as usize;
    let start = if at == 0 { 0 } else { ends[at - 1] as usize };
    start..ends[at] as usize
}

fn hash(text: &[u8]) -> u64 {
    FxBuildHasher.hash_one(text)
}
