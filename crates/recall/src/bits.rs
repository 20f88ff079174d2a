//! A set of slots, a bit for each.

use crate::memory::vec_bytes;

/// Slots that are in or out. Behind the end nobody is in.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Bits {
    words: Vec<u64>,
}

impl Bits {
    pub(crate) fn empty(slots: usize) -> Self {
        Self { words: vec![0; slots.div_ceil(64)] }
    }

    /// All of the first `slots`; what lies behind them in the last word does not matter to anybody.
    pub(crate) fn full(slots: usize) -> Self {
        Self { words: vec![u64::MAX; slots.div_ceil(64)] }
    }

    #[inline]
    pub(crate) fn contains(&self, slot: u32) -> bool {
        self.words.get(slot as usize / 64).is_some_and(|word| word & 1 << (slot % 64) != 0)
    }

    pub(crate) fn set(&mut self, slot: u32, is_in: bool) {
        let at = slot as usize / 64;
        if at >= self.words.len() {
            if !is_in {
                return;
            }
            self.words.resize(at + 1, 0);
        }
        let bit = 1 << (slot % 64);
        self.words[at] = if is_in { self.words[at] | bit } else { self.words[at] & !bit };
    }

    pub(crate) fn keep_only(&mut self, others: &Self) {
        let others = others.words.iter().copied().chain(std::iter::repeat(0));
        self.words.iter_mut().zip(others).for_each(|(word, other)| *word &= other);
    }

    pub(crate) fn remove_all(&mut self, others: &Self) {
        self.words.iter_mut().zip(&others.words).for_each(|(word, other)| *word &= !other);
    }

    pub(crate) fn size_bytes(&self) -> usize {
        vec_bytes(&self.words)
    }
}
