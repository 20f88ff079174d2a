//! Finds a string's number: an open table of numbers, each with a byte of its hash. It is two rows of plain
//! numbers, so that a snapshot keeps it as it is, and nothing has to be hashed again.

use crate::bytes::{Reader, SnapshotError, Writer};
use crate::mapped_vec::MappedVec;

/// Numbers by hash. The numbers are those of strings that only the caller knows.
#[derive(Default)]
pub(crate) struct Table {
    /// By place: a byte of the hash, or `EMPTY`.
    tags: MappedVec<u8>,
    /// By place.
    numbers: MappedVec<u32>,
    len: usize,
}

const EMPTY: u8 = 0;
/// Places in a table that is made for its first number.
const PLACES_MIN: usize = 8;

impl Table {
    /// The number under a hash that `is_it`.
    #[inline]
    pub(crate) fn find(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let (tags, numbers) = (&*self.tags, &*self.numbers);
        let tag = tag_of(hash);
        let mut at = place_of(hash, tags.len());
        // There is always an empty place, but in a table without any.
        loop {
            match *tags.get(at)? {
                EMPTY => return None,
                other if other == tag && is_it(numbers[at]) => return Some(numbers[at]),
                _ => at = if at + 1 == tags.len() { 0 } else { at + 1 },
            }
        }
    }

    /// Puts a number in that is not there yet. `hash_of` gives the hashes of those that are.
    pub(crate) fn insert(&mut self, hash: u64, number: u32, hash_of: impl Fn(u32) -> u64) {
        // Three quarters full at most: beyond that, looking for what is not there takes many steps.
        if (self.len + 1) * 4 > self.tags.len() * 3 {
            self.grow(hash_of);
        }
        self.put(hash, number);
        self.len += 1;
    }

    pub(crate) fn size_bytes(&self) -> usize {
        self.tags.size_bytes() + self.numbers.size_bytes()
    }

    pub(crate) fn save(&self, out: &mut Writer) {
        out.row(&self.tags);
        out.row(&self.numbers);
    }

    /// A table of `len` numbers.
    pub(crate) fn load(input: &mut Reader<'_>, len: usize) -> Result<Self, SnapshotError> {
        let (tags, numbers) = (input.row::<u8>()?, input.row::<u32>()?);
        let fits = tags.len() == numbers.len() && (len < tags.len() || len == 0);
        fits.then_some(Self { tags, numbers, len }).ok_or(SnapshotError::NotASnapshot)
    }

    fn put(&mut self, hash: u64, number: u32) {
        let tags = &mut *self.tags;
        let mut at = place_of(hash, tags.len());
        while tags[at] != EMPTY {
            at = if at + 1 == tags.len() { 0 } else { at + 1 };
        }
        tags[at] = tag_of(hash);
        self.numbers[at] = number;
    }

    fn grow(&mut self, hash_of: impl Fn(u32) -> u64) {
        let places = (self.tags.len() + self.tags.len() / 2).max(PLACES_MIN);
        let fresh = Self { tags: vec![EMPTY; places].into(), numbers: vec![0; places].into(), len: self.len };
        let old = std::mem::replace(self, fresh);
        for (&tag, &number) in old.tags.iter().zip(&*old.numbers) {
            if tag != EMPTY {
                self.put(hash_of(number), number);
            }
        }
    }
}

/// Never `EMPTY`.
fn tag_of(hash: u64) -> u8 {
    hash as u8 | 0x80
}

/// The upper half of the hash as a share of the table.
fn place_of(hash: u64, places: usize) -> usize {
    (((hash >> 32) * places as u64) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Few hashes for many numbers: they get in each other's way.
        #[test]
        fn whatever_was_put_in_is_found(hashes in prop::collection::vec(0_u64..40, 0..300)) {
            let hash = |number: u32| hashes[number as usize].wrapping_mul(0x0666_6666_0000_0011);
            let mut table = Table::default();
            for number in 0..hashes.len() as u32 {
                prop_assert_eq!(table.find(hash(number), |other| other == number), None);
                table.insert(hash(number), number, hash);
            }
            for number in 0..hashes.len() as u32 {
                prop_assert_eq!(table.find(hash(number), |other| other == number), Some(number));
            }
        }
    }
}
