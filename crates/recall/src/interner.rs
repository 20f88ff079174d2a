//! Strings to dense numbers and back: one byte arena, one hash table of numbers. Nothing is ever taken out of it;
//! an index that has forgotten much is rebuilt instead (`index.rs`).

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

use crate::bytes::{Reader, Writer};
use crate::memory::{self, push_tight};

/// A set of strings, each with the number of its arrival.
#[derive(Default)]
pub(crate) struct Interner {
    numbers: HashTable<u32>,
    bytes: Vec<u8>,
    /// Where each string ends in `bytes`; it starts where the one before it ends.
    ends: Vec<u32>,
}

impl Interner {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn find(&self, text: &str) -> Option<u32> {
        let Self { numbers, bytes, ends } = self;
        numbers.find(hash(text.as_bytes()), |&number| slice(bytes, ends, number) == text.as_bytes()).copied()
    }

    /// The number of `text`, and whether it is new.
    pub(crate) fn intern(&mut self, text: &str) -> (u32, bool) {
        if let Some(number) = self.find(text) {
            return (number, false);
        }
        let number = u32::try_from(self.ends.len()).expect("a workspace has fewer than 2^32 distinct words");
        memory::extend_tight(&mut self.bytes, text.as_bytes());
        push_tight(&mut self.ends, u32::try_from(self.bytes.len()).expect("the words of a workspace take under 4 GiB"));
        let Self { numbers, bytes, ends } = self;
        numbers.insert_unique(hash(text.as_bytes()), number, |&other| hash(slice(bytes, ends, other)));
        (number, true)
    }

    pub(crate) fn text(&self, number: u32) -> &str {
        std::str::from_utf8(self.bytes(number)).expect("only whole strings are interned")
    }

    pub(crate) fn bytes(&self, number: u32) -> &[u8] {
        slice(&self.bytes, &self.ends, number)
    }

    pub(crate) fn save(&self, out: &mut Writer) {
        out.run(&self.bytes);
        out.numbers(self.ends.iter().map(|end| end.to_le_bytes()));
    }

    pub(crate) fn load(input: &mut Reader<'_>) -> Option<Self> {
        let bytes = input.run()?.to_vec();
        let ends: Vec<u32> = input.numbers()?.iter().map(|&end| u32::from_le_bytes(end)).collect();
        let text = std::str::from_utf8(&bytes).ok()?;
        let fits = ends.is_sorted() && ends.iter().all(|&end| text.is_char_boundary(end as usize));
        if !fits || ends.last().map_or(0, |&end| end as usize) != bytes.len() {
            return None;
        }
        let mut numbers = HashTable::with_capacity(ends.len());
        for number in 0..u32::try_from(ends.len()).ok()? {
            let hash_of = |&other: &u32| hash(slice(&bytes, &ends, other));
            numbers.insert_unique(hash_of(&number), number, hash_of);
        }
        Some(Self { numbers, bytes, ends })
    }

    pub(crate) fn size_bytes(&self) -> usize {
        self.numbers.allocation_size() + self.bytes.capacity() + memory::vec_bytes(&self.ends)
    }
}

fn slice<'a>(bytes: &'a [u8], ends: &[u32], number: u32) -> &'a [u8] {
    let at = number as usize;
    let start = if at == 0 { 0 } else { ends[at - 1] as usize };
    &bytes[start..ends[at] as usize]
}

fn hash(text: &[u8]) -> u64 {
    FxBuildHasher.hash_one(text)
}
