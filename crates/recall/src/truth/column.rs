//! A number per slot, where most workspaces have none at all: such a column takes no memory.

use crate::bytes::{Reader, Writer};
use crate::memory::vec_bytes;

/// Stands for no number.
pub(crate) const NONE: u32 = u32::MAX;

/// Numbers by slot.
#[derive(Default)]
pub(super) struct Column {
    /// Slots behind the end have no number.
    numbers: Vec<u32>,
}

impl Column {
    #[inline]
    pub(super) fn get(&self, slot: u32) -> u32 {
        self.numbers.get(slot as usize).copied().unwrap_or(NONE)
    }

    pub(super) fn set(&mut self, slot: u32, number: u32) {
        let at = slot as usize;
        if at >= self.numbers.len() {
            if number == NONE {
                return;
            }
            let missing = at + 1 - self.numbers.len();
            if at >= self.numbers.capacity() {
                self.numbers.reserve_exact(missing.max(self.numbers.len() / 8));
            }
            self.numbers.resize(at + 1, NONE);
        }
        self.numbers[at] = number;
    }

    /// Calls `found` with every slot that has the number.
    pub(super) fn each(&self, number: u32, found: impl FnMut(u32)) {
        (0..).zip(&self.numbers).filter(|(_, other)| **other == number).map(|(slot, _)| slot).for_each(found);
    }

    pub(super) fn size_bytes(&self) -> usize {
        vec_bytes(&self.numbers)
    }

    pub(super) fn save(&self, out: &mut Writer) {
        out.numbers(self.numbers.iter().map(|number| number.to_le_bytes()));
    }

    /// `None` where a number is not below `bound`.
    pub(super) fn load(input: &mut Reader<'_>, bound: usize) -> Option<Self> {
        let numbers: Vec<u32> = input.numbers()?.iter().map(|&number| u32::from_le_bytes(number)).collect();
        let fits = numbers.iter().all(|&number| number == NONE || (number as usize) < bound);
        fits.then_some(Self { numbers })
    }
}
