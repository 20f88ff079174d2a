//! A set of slots, a bit for each.

use crate::memory::vec_bytes;

/// Slots that are in or out. Slots after the end are out.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Bits {
    words: Vec<u64>,
}

impl Bits {
    pub(crate) fn empty(slots: usize) -> Self {
        Self { words: vec![0; slots.div_ceil(64)] }
    }

    /// All of the first `slots`.
    pub(crate) fn full(slots: usize) -> Self {
        let mut words = vec![u64::MAX; slots.div_ceil(64)];
        if !slots.is_multiple_of(64)
            && let Some(last) = words.last_mut()
        {
            *last = !(u64::MAX << (slots % 64));
        }
        Self { words }
    }

    /// The slots whose value passes. Without branches: a processor can't guess which ones pass.
    pub(crate) fn of<T>(values: &[T], passes: impl Fn(&T) -> bool) -> Self {
        let word = |values: &[T]| values.iter().rev().fold(0, |word, value| word << 1 | u64::from(passes(value)));
        Self { words: values.chunks(64).map(word).collect() }
    }

    #[inline]
    pub(crate) fn contains(&self, slot: u32) -> bool {
        self.bit(slot) != 0
    }

    /// 1 for a slot that is in, else 0: to multiply by where a processor could not guess.
    #[inline]
    pub(crate) fn bit(&self, slot: u32) -> u64 {
        self.words.get(slot as usize / 64).map_or(0, |word| word >> (slot % 64) & 1)
    }

    /// A word for each 64 slots, the first in the lowest bit.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// How many are in.
    pub(crate) fn len(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// The members, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..).step_by(64).zip(&self.words).flat_map(|(first, &word)| Ones(word).map(move |at| first + at))
    }

    /// The members after a slot, in order.
    pub(crate) fn after(&self, slot: u32) -> impl Iterator<Item = u32> + '_ {
        let at = slot as usize / 64;
        let own = self.words.get(at).map_or(0, |word| word & (u64::MAX - 1) << (slot % 64));
        let later = self.words.iter().enumerate().skip(at + 1).map(|(at, &word)| (at, word));
        let words = std::iter::once((at, own)).chain(later);
        words.flat_map(|(at, word)| Ones(word).map(move |bit| 64 * at as u32 + bit))
    }

    /// The members before a slot, the nearest first.
    pub(crate) fn before(&self, slot: u32) -> impl Iterator<Item = u32> + '_ {
        let at = (slot as usize / 64).min(self.words.len());
        let own = self.words.get(at).map_or(0, |word| word & !(u64::MAX << (slot % 64)));
        let earlier = self.words[..at].iter().enumerate().rev().map(|(at, &word)| (at, word));
        let words = std::iter::once((at, own)).chain(earlier);
        words.flat_map(|(at, word)| HighOnes(word).map(move |bit| 64 * at as u32 + bit))
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

/// The places of the bits that are set, from the lowest.
struct Ones(u64);

impl Iterator for Ones {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        let at = (self.0 != 0).then(|| self.0.trailing_zeros());
        self.0 &= self.0.wrapping_sub(1);
        at
    }
}

/// The places of the bits that are set, from the highest.
struct HighOnes(u64);

impl Iterator for HighOnes {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        let at = (self.0 != 0).then(|| self.0.ilog2())?;
        self.0 ^= 1 << at;
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_member_is_visited_once_in_each_direction(slots in prop::collection::btree_set(0_u32..300, 0..80), from in 0_u32..320) {
            let mut bits = Bits::default();
            slots.iter().for_each(|&slot| bits.set(slot, true));
            prop_assert_eq!(bits.len() as usize, slots.len());
            prop_assert!(bits.iter().eq(slots.iter().copied()));
            prop_assert!(bits.after(from).eq(slots.iter().copied().filter(|&slot| slot > from)));
            prop_assert!(bits.before(from).eq(slots.iter().rev().copied().filter(|&slot| slot < from)));
            prop_assert!((0..320).all(|slot| bits.contains(slot) == slots.contains(&slot)));
        }
    }
}
