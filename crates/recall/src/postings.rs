//! In which records a term occurs, and how often: slots in rising order, as differences, packed into bytes.
//!
//! A posting is one byte where the slot is near and the term occurs there once, which is the common case. A term that
//! is only beside the text, in a record's source or key, has a count of 0. A deleted record's postings are cut out
//! at once, so a list never holds anything but the truth. `postings/marks.rs` finds the place.
//!
//! The lists of a snapshot stay where they are, one behind the other, until they change.

mod marks;

use smallvec::SmallVec;

use crate::varint;
use marks::Marks;

/// The records of one term.
#[derive(Default, Clone)]
pub(crate) struct Postings {
    /// Per posting: `difference << 1 | other`, then the count where it is `other` than 1. Short lists live inline. Of a
    /// list that is `KEPT`: where it begins among the lists of the snapshot, and its length.
    bytes: SmallVec<[u8; 16]>,
    /// The highest slot of the list; meaningless while it is empty.
    last: u32,
    /// How many records there are in the list; and `KEPT` where the snapshot still has it.
    len: u32,
    /// Places to start reading from, once a long list was changed in its midst. Boxed: nearly all lists are short.
    marks: Option<Box<Marks>>,
}

/// Marks the length of a list that the snapshot has.
const KEPT: u32 = 1 << 31;

/// A list to be read.
#[derive(Clone, Copy)]
pub(crate) struct List<'a> {
    bytes: &'a [u8],
    len: u32,
}

impl<'a> List<'a> {
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    pub(crate) fn iter(&self) -> Iter<'a> {
        Iter { bytes: self.bytes, at: 0, previous: 0 }
    }
}

/// One record of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Posting {
    pub(crate) slot: u32,
    pub(crate) count: u32,
}

impl Postings {
    pub(crate) fn len(&self) -> u32 {
        self.len & !KEPT
    }

    /// The list; `kept` are those of the snapshot.
    #[inline]
    pub(crate) fn list<'a>(&'a self, kept: &'a [u8]) -> List<'a> {
        let bytes = match self.place() {
            Some((start, len_bytes)) => &kept[start..start + len_bytes],
            None => &*self.bytes,
        };
        List { bytes, len: self.len() }
    }

    /// Where a snapshot has the list.
    #[inline]
    fn place(&self) -> Option<(usize, usize)> {
        let (start, rest) = self.bytes.split_first_chunk()?;
        let (len_bytes, _) = rest.split_first_chunk()?;
        let is_kept = self.len & KEPT != 0;
        is_kept.then(|| (usize::from_ne_bytes(*start), u32::from_ne_bytes(*len_bytes) as usize))
    }

    /// Takes the list out of the snapshot's, to change it.
    pub(crate) fn own(&mut self, kept: &[u8]) {
        if self.len & KEPT != 0 {
            let bytes = SmallVec::from_slice(self.list(kept).bytes);
            self.bytes = bytes;
            self.len &= !KEPT;
        }
    }

    fn iter(&self) -> Iter<'_> {
        self.iter_from(0, 0)
    }

    /// From a place on: behind the posting of `previous`, or at the start.
    fn iter_from(&self, at: usize, previous: u32) -> Iter<'_> {
        Iter { bytes: &self.bytes, at, previous }
    }

    /// Puts a record in. The slot must not be in the list yet, and the list must be its [own](Self::own).
    pub(crate) fn insert(&mut self, slot: u32, count: u32) {
        debug_assert!(self.len & KEPT == 0, "a list that changes has its own bytes");
        if self.len == 0 || slot > self.last {
            let difference = if self.len == 0 { slot } else { slot - self.last };
            self.make_room();
            encode(&mut self.bytes, difference, count);
            self.last = slot;
        } else {
            self.splice(slot, Some(count));
        }
        self.len += 1;
    }

    /// Cuts a record out. The slot must be in the list, and the list must be its [own](Self::own).
    pub(crate) fn remove(&mut self, slot: u32) {
        debug_assert!(self.len & KEPT == 0, "a list that changes has its own bytes");
        self.splice(slot, None);
        self.len -= 1;
        if self.len == 0 {
            *self = Self::default();
        }
    }

    /// Bytes on the heap. An inline list has none.
    pub(crate) fn heap_bytes(&self) -> usize {
        let list = if self.bytes.spilled() { self.bytes.capacity() } else { 0 };
        list + self.marks.as_ref().map_or(0, |marks| marks.heap_bytes())
    }

    /// The list as a snapshot keeps it: its bytes, its highest slot, how many records it has.
    pub(crate) fn to_parts<'a>(&'a self, kept: &'a [u8]) -> (&'a [u8], u32, u32) {
        (self.list(kept).bytes, self.last, self.len())
    }

    /// A list that begins at a place among those of a snapshot.
    pub(crate) fn of_kept(start: usize, len_bytes: u32, last: u32, len: u32) -> Self {
        if len == 0 {
            return Self::default();
        }
        let mut bytes = SmallVec::from_slice(&start.to_ne_bytes());
        bytes.extend_from_slice(&len_bytes.to_ne_bytes());
        Self { bytes, last, len: len | KEPT, marks: None }
    }

    /// Rewrites the neighbourhood of `slot`: with a count it comes in, without one it goes.
    fn splice(&mut self, slot: u32, count: Option<u32>) {
        let mut marks = self.marks.take().or_else(|| Marks::of(self));
        let (mut start, mut before) = marks.as_ref().map_or((0, 0), |marks| marks.before(slot));
        let mut iter = self.iter_from(start, before);
        let mut passed = 0;
        let mut here = iter.next();
        while let Some(posting) = here
            && posting.slot < slot
        {
            (start, before) = (iter.at, posting.slot);
            here = iter.next();
            passed += 1;
        }
        let mut fresh: SmallVec<[u8; 24]> = SmallVec::new();
        let mut previous = before;
        if let Some(count) = count {
            encode(&mut fresh, slot - previous, count);
            previous = slot;
        } else {
            debug_assert_eq!(here.map(|posting| posting.slot), Some(slot), "only present postings are removed");
            here = iter.next();
        }
        let end = iter.at;
        match here {
            Some(next) => encode(&mut fresh, next.slot - previous, next.count),
            None => self.last = previous,
        }
        self.replace(start, end, &fresh);
        if let Some(marks) = &mut marks {
            marks.shift(slot, end - start, fresh.len());
        }
        // Where many came to one place it is time for other marks; the next change makes them.
        self.marks = marks.filter(|_| !Marks::are_far_apart(passed));
    }

    fn replace(&mut self, start: usize, end: usize, fresh: &[u8]) {
        let tail = self.bytes.len() - end;
        let grown_len = start + fresh.len() + tail;
        if grown_len > self.bytes.len() {
            self.make_room();
            self.bytes.resize(grown_len.max(self.bytes.len()), 0);
        }
        self.bytes.copy_within(end..end + tail, start + fresh.len());
        self.bytes[start..start + fresh.len()].copy_from_slice(fresh);
        self.bytes.truncate(grown_len);
    }

    /// Grows by a quarter where doubling would waste; the list of a common word is long.
    fn make_room(&mut self) {
        const POSTING_BYTES_MAX: usize = 10;
        let free = self.bytes.capacity() - self.bytes.len();
        if free < POSTING_BYTES_MAX && self.bytes.len() >= 64 {
            self.bytes.reserve_exact(POSTING_BYTES_MAX.max(self.bytes.len() / 4));
        }
    }
}

/// Reads a list from its start.
#[derive(Clone)]
pub(crate) struct Iter<'a> {
    bytes: &'a [u8],
    at: usize,
    previous: u32,
}

impl Iterator for Iter<'_> {
    type Item = Posting;

    #[inline(always)]
    fn next(&mut self) -> Option<Posting> {
        let head = varint::read(self.bytes, &mut self.at)?;
        self.previous += head >> 1;
        let count = if head & 1 == 0 { 1 } else { varint::read(self.bytes, &mut self.at)? };
        Some(Posting { slot: self.previous, count })
    }
}

impl Iter<'_> {
    /// Calls `found` with the slot and the count of `next` and of everything behind it, up to a slot. Returns the first
    /// posting from there on.
    #[inline(always)]
    pub(crate) fn each_before(
        &mut self,
        end: u32,
        next: Option<Posting>,
        mut found: impl FnMut(u32, u32),
    ) -> Option<Posting> {
        let first = next?;
        if first.slot >= end {
            return next;
        }
        found(first.slot, first.count);
        // Copies stay in registers.
        let (bytes, mut at, mut slot) = (self.bytes, self.at, self.previous);
        let next = loop {
            let Some(head) = varint::read(bytes, &mut at) else { break None };
            slot += head >> 1;
            if head & 1 == 0 {
                if slot >= end {
                    break Some(Posting { slot, count: 1 });
                }
                found(slot, 1);
            } else {
                let Some(count) = varint::read(bytes, &mut at) else { break None };
                if slot >= end {
                    break Some(Posting { slot, count });
                }
                found(slot, count);
            }
        };
        (self.at, self.previous) = (at, slot);
        next
    }
}

fn encode(out: &mut impl Extend<u8>, difference: u32, count: u32) {
    varint::write(out, difference << 1 | u32::from(count != 1));
    if count != 1 {
        varint::write(out, count);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_list_holds_what_was_put_in_and_not_taken_out(
            first in 0_u32..400,
            steps in prop::collection::vec((0_u32..400, 0_u32..300), 0..300),
        ) {
            let mut list = Postings::default();
            let mut truth: BTreeMap<u32, u32> = BTreeMap::new();
            let all_at_first = (0..first).map(|slot| (slot, slot % 3));
            for (slot, count) in all_at_first.chain(steps) {
                if truth.remove(&slot).is_some() {
                    list.remove(slot);
                } else {
                    truth.insert(slot, count);
                    list.insert(slot, count);
                }
            }
            let read: Vec<_> = list.list(&[]).iter().map(|posting| (posting.slot, posting.count)).collect();
            prop_assert_eq!(read, truth.into_iter().collect::<Vec<_>>());
        }
    }
}
