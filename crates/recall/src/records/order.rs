//! The order in which records were saved. It is that of the slots as long as no record comes late.

use crate::bits::Bits;
use crate::memory::{push_tight, vec_bytes};

/// In the place of a record that was removed.
pub(crate) const NOBODY: u32 = u32::MAX;

/// Slots by rising `seq`.
#[derive(Default)]
pub(crate) struct Order {
    /// `NOBODY` where a record has gone: closing the gap at once would move every later record.
    slots: Vec<u32>,
    /// By slot: its place in `slots`.
    places: Vec<u32>,
    gaps: usize,
    /// Whether a record is not at the place of its slot's number.
    is_bent: bool,
}

impl Order {
    /// Puts a slot where its `seq` belongs: nearly always at the end. `seqs` are by slot.
    pub(super) fn insert(&mut self, slot: u32, seqs: &[u64]) {
        let at = slot as usize;
        if at >= self.places.len() {
            push_tight(&mut self.places, 0);
        }
        if !self.is_bent && self.slots.get(at) == Some(&NOBODY) {
            // It comes back.
            self.gaps -= 1;
            self.slots[at] = slot;
            self.places[at] = slot;
            return;
        }
        let seq = seqs[at];
        let newest = self.slots.iter().rev().find(|&&other| other != NOBODY);
        if newest.is_none_or(|&newest| seqs[newest as usize] < seq) {
            self.places[at] = self.slots.len() as u32;
            // Even those who have gone are in order, as long as nothing is bent.
            self.is_bent |= self.slots.len() != at || at > 0 && seqs[at - 1] > seq;
            push_tight(&mut self.slots, slot);
            return;
        }
        self.is_bent = true;
        let place = self.place_for(seq, seqs);
        if place > 0 && self.slots[place - 1] == NOBODY {
            self.gaps -= 1;
            self.slots[place - 1] = slot;
            self.places[at] = place as u32 - 1;
        } else {
            self.slots.insert(place, slot);
            self.number_from(place);
        }
    }

    /// Leaves a gap where the slot was.
    pub(super) fn remove(&mut self, slot: u32) {
        const WORTH_CLOSING: usize = 256;
        let place = self.places[slot as usize] as usize;
        self.slots[place] = NOBODY;
        self.gaps += 1;
        if self.is_bent && self.gaps > WORTH_CLOSING && self.gaps * 2 > self.slots.len() {
            self.slots.retain(|&slot| slot != NOBODY);
            self.gaps = 0;
            self.number_from(0);
        }
    }

    /// The slot of the record with this `seq`.
    pub(super) fn find(&self, seq: u64, seqs: &[u64]) -> Option<u32> {
        if seqs.last().is_none_or(|&last| last < seq) && !self.is_bent {
            return None;
        }
        if !self.is_bent {
            let at = seqs.binary_search(&seq).ok()?;
            return Some(self.slots[at]).filter(|&slot| slot != NOBODY);
        }
        let before = &self.slots[..self.place_for(seq, seqs)];
        let last = before.iter().rev().copied().find(|&slot| slot != NOBODY)?;
        (seqs[last as usize] == seq).then_some(last)
    }

    /// In order of saving; `NOBODY` where a record has gone.
    pub(crate) fn slots(&self) -> &[u32] {
        &self.slots
    }

    /// By slot: its place in [`Order::slots`]. Meaningless for a free slot.
    pub(crate) fn places(&self) -> &[u32] {
        &self.places
    }

    /// Whether every record is at the place of its slot's number: none came late.
    pub(crate) fn is_straight(&self) -> bool {
        !self.is_bent
    }

    /// From the slots in use.
    pub(super) fn of(live: &Bits, seqs: &[u64]) -> Self {
        let mut order = Self { places: vec![0; seqs.len()], ..Self::default() };
        if seqs.is_sorted() {
            order.slots = (0..seqs.len() as u32).map(|slot| if live.contains(slot) { slot } else { NOBODY }).collect();
            order.gaps = seqs.len() - live.len() as usize;
        } else {
            order.is_bent = true;
            order.slots = live.iter().collect();
            order.slots.sort_unstable_by_key(|&slot| seqs[slot as usize]);
        }
        order.number_from(0);
        order
    }

    pub(super) fn size_bytes(&self) -> usize {
        vec_bytes(&self.slots) + vec_bytes(&self.places)
    }

    /// The first place behind every record older than `seq`.
    fn place_for(&self, seq: u64, seqs: &[u64]) -> usize {
        let (mut low, mut high) = (0, self.slots.len());
        while low < high {
            let middle = low.midpoint(high);
            // A gap has no age: the record before it speaks for it.
            let known = (low..=middle).rev().find(|&at| self.slots[at] != NOBODY);
            match known {
                Some(at) if seqs[self.slots[at] as usize] > seq => high = at,
                _ => low = middle + 1,
            }
        }
        low
    }

    fn number_from(&mut self, start: usize) {
        for (place, &slot) in self.slots.iter().enumerate().skip(start) {
            if slot != NOBODY {
                self.places[slot as usize] = place as u32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn slots_stand_by_rising_seq_whatever_came_and_went(steps in prop::collection::vec((0_usize..600, any::<bool>()), 0..1500)) {
            // The seq of a slot never changes here; a real one does when the slot is given again, after its removal.
            let seqs: Vec<u64> = (0..600_u64).map(|slot| slot * 7919 % 600).collect();
            let mut order = Order::default();
            let (mut live, mut known) = (BTreeSet::new(), 0);
            for (slot, stays) in steps {
                let slot = slot.min(known);
                known = known.max(slot + 1);
                if live.remove(&slot) {
                    order.remove(slot as u32);
                }
                if stays {
                    order.insert(slot as u32, &seqs);
                    live.insert(slot);
                } else if slot + 1 == known && order.places.len() < known {
                    known -= 1;
                }
            }
            let mut expected: Vec<u32> = live.iter().map(|&slot| slot as u32).collect();
            expected.sort_by_key(|&slot| seqs[slot as usize]);
            let found: Vec<u32> = order.slots().iter().copied().filter(|&slot| slot != NOBODY).collect();
            prop_assert_eq!(&found, &expected);
            prop_assert!(!order.is_straight() || (0..).zip(order.slots()).all(|(place, slot)| [place, NOBODY].contains(slot)));
            let known = &seqs[..order.places.len()];
            prop_assert!((0..600).all(|seq| order.find(seq, known) == found.iter().copied().find(|&slot| seqs[slot as usize] == seq)));
            prop_assert!(found.iter().all(|&slot| order.slots()[order.places()[slot as usize] as usize] == slot));
        }
    }
}
