//! A number per slot, where most workspaces have none at all: such a column takes no memory.

use crate::bits::Bits;
use crate::bytes::{Reader, SnapshotError, Writer};
use crate::mapped_vec::MappedVec;

/// Means: no number.
pub(crate) const NONE: u32 = u32::MAX;

/// Numbers by slot.
#[derive(Default)]
pub(super) struct Column {
    /// Slots behind the end have no number.
    numbers: MappedVec<u32>,
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
            self.numbers.extend(&vec![NONE; missing]);
        }
        self.numbers[at] = number;
    }

    /// Calls `found` with every slot that has the number.
    pub(super) fn each(&self, number: u32, found: impl FnMut(u32)) {
        (0..).zip(&*self.numbers).filter(|(_, other)| **other == number).map(|(slot, _)| slot).for_each(found);
    }

    /// The slots whose number passes.
    pub(super) fn having(&self, passes: impl Fn(u32) -> bool) -> Bits {
        Bits::of(&self.numbers, |&number| passes(number))
    }

    /// The numbers that some slot has.
    pub(super) fn numbers(&self) -> Bits {
        let mut numbers = Bits::default();
        self.numbers.iter().filter(|&&number| number != NONE).for_each(|&number| numbers.set(number, true));
        numbers
    }

    pub(super) fn size_bytes(&self) -> usize {
        self.numbers.size_bytes()
    }

    pub(super) fn save(&self, out: &mut Writer) {
        out.row(&self.numbers);
    }

    /// Every number must be below `bound`.
    pub(super) fn load(input: &mut Reader<'_>, bound: usize) -> Result<Self, SnapshotError> {
        let numbers = input.row::<u32>()?;
        let fits = numbers.iter().all(|&number| number == NONE || (number as usize) < bound);
        fits.then_some(Self { numbers }).ok_or(SnapshotError::NotASnapshot)
    }
}
