//! Which slots have a number, where nearly every number has one slot.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::NONE;
use crate::memory::vec_bytes;

/// Slots by number.
#[derive(Default)]
pub(super) struct Holders {
    /// By number: one of its slots, or [`NONE`].
    first: Vec<u32>,
    /// The other slots of numbers that have several.
    others: HashMap<u32, Vec<u32>, FxBuildHasher>,
}

impl Holders {
    /// Notes that a slot has a number, which may be [`NONE`]. It must not have had one.
    pub(super) fn add(&mut self, number: u32, slot: u32) {
        if number == NONE {
            return;
        }
        let at = number as usize;
        if at >= self.first.len() {
            self.first.resize(at + 1, NONE);
        }
        match self.first[at] {
            NONE => self.first[at] = slot,
            _ => self.others.entry(number).or_default().push(slot),
        }
    }

    /// Notes that a slot has this number no longer.
    pub(super) fn remove(&mut self, number: u32, slot: u32) {
        let Some(first) = self.first.get_mut(number as usize) else { return };
        let mut others = self.others.remove(&number).unwrap_or_default();
        if *first == slot {
            *first = others.pop().unwrap_or(NONE);
        } else {
            others.retain(|other| *other != slot);
        }
        if !others.is_empty() {
            self.others.insert(number, others);
        }
    }

    /// In no particular order.
    pub(super) fn of(&self, number: u32) -> impl Iterator<Item = u32> + '_ {
        let first = self.first.get(number as usize).copied().filter(|&slot| slot != NONE);
        first.into_iter().chain(self.others.get(&number).into_iter().flatten().copied())
    }

    pub(super) fn size_bytes(&self) -> usize {
        let lists: usize = self.others.values().map(vec_bytes).sum();
        vec_bytes(&self.first) + self.others.allocation_size() + lists
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_come_and_go_in_any_order() {
        let mut holders = Holders::default();
        let of = |holders: &Holders, number| {
            let mut slots: Vec<u32> = holders.of(number).collect();
            slots.sort_unstable();
            slots
        };
        for (number, slot) in [(7, 0), (7, 1), (3, 2), (7, 3), (NONE, 4)] {
            holders.add(number, slot);
        }
        assert_eq!([3, 7, 5, NONE].map(|number| of(&holders, number)), [vec![2], vec![0, 1, 3], vec![], vec![]]);
        for (number, slot, left) in [(7, 0, vec![1, 3]), (7, 1, vec![3]), (7, 3, vec![]), (3, 2, vec![])] {
            holders.remove(number, slot);
            assert_eq!(of(&holders, number), left, "{number} {slot}");
        }
        holders.remove(NONE, 4);
        assert!(holders.others.is_empty());
        holders.add(7, 9);
        assert_eq!(of(&holders, 7), [9]);
    }
}
