//! Where to begin reading a long list: without marks, forgetting one of a million records would read every list that
//! has it from the start.

use super::Postings;

/// Lists up to this long are read from their start.
const LONG: u32 = if cfg!(test) { 32 } else { 4_096 };
/// How many postings lie between two marks at first.
const STEP: usize = if cfg!(test) { 4 } else { 512 };

/// Some places of a list, in order.
#[derive(Clone, Default)]
pub(super) struct Marks {
    marks: Vec<Mark>,
}

/// The place behind a posting.
#[derive(Clone, Copy)]
struct Mark {
    /// Which posting.
    slot: u32,
    /// Where the next one begins.
    at: u32,
}

impl Marks {
    /// The marks of a list, if it is a long one.
    pub(super) fn of(list: &Postings) -> Option<Box<Self>> {
        if list.len() <= LONG || u32::try_from(list.bytes.len()).is_err() {
            return None;
        }
        let mut marks = Vec::with_capacity(list.len() as usize / STEP);
        let mut iter = list.iter();
        while let Some(posting) = iter.nth(STEP - 1) {
            marks.push(Mark { slot: posting.slot, at: u32::try_from(iter.at).ok()? });
        }
        Some(Box::new(Self { marks }))
    }

    /// Where to begin looking for a slot, and the slot before that place.
    pub(super) fn before(&self, slot: u32) -> (usize, u32) {
        let count = self.marks.partition_point(|mark| mark.slot < slot);
        let last = count.checked_sub(1).map(|last| self.marks[last]);
        last.map_or((0, 0), |mark| (mark.at as usize, mark.slot))
    }

    /// Follows a change of the list at a slot, where `old` bytes became `new` ones. A posting that went has no mark.
    pub(super) fn shift(&mut self, slot: u32, old: usize, new: usize) {
        let from = self.marks.partition_point(|mark| mark.slot < slot);
        if self.marks.get(from).is_some_and(|mark| mark.slot == slot) {
            self.marks.remove(from);
        }
        for mark in &mut self.marks[from..] {
            mark.at = mark.at + new as u32 - old as u32;
        }
    }

    /// Whether a mark is too far from what was looked for, by the postings in between.
    pub(super) fn are_far_apart(passed: usize) -> bool {
        passed > 4 * STEP
    }

    pub(super) fn heap_bytes(&self) -> usize {
        size_of::<Self>() + self.marks.capacity() * size_of::<Mark>()
    }
}
