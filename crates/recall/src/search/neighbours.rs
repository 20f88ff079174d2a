//! Records that were saved just before and after a record. In a dialogue they speak of the same thing, so their words
//! support it. Only what the caller sees is a neighbour, and only within a day.

use std::borrow::Cow;

use crate::bits::Bits;
use crate::index::WorkspaceIndex;
use crate::records::{NOBODY, Seen};
use crate::simd::wide;

/// How far the marks of neighbours reach, to each side.
const MARKS_REACH: usize = 2;
/// What the words of the first, second … neighbour weigh, in tenths.
const RING: [u32; 5] = [10, 8, 5, 4, 3];
/// The same in the order of saving; the record itself is in the middle.
const RING_BLOCK: [u32; 11] = [3, 4, 5, 8, 10, 0, 10, 8, 5, 4, 3];
/// Records saved further apart than this many seconds are no neighbours.
const APART_MAX: u32 = 86_400;

/// Which records are neighbours, for one caller.
pub(crate) struct Neighbours<'a> {
    /// Slots in the order of saving. Where `seen` or `members` are given, some may be empty or unseen.
    lane: Cow<'a, [u32]>,
    /// By slot: its place in the lane.
    places: Cow<'a, [u32]>,
    saved_at: &'a [u32],
    seen: Option<&'a Seen<'a>>,
    /// Who is seen, where that is not everybody and the order of slots is that of saving.
    members: Option<&'a Bits>,
    /// Whether neighbours have neighbouring slots.
    is_straight: bool,
}

impl<'a> Neighbours<'a> {
    /// All records in one lane, to ask for all neighbours at once.
    pub(crate) fn all(index: &'a WorkspaceIndex, seen: &'a Seen<'a>) -> Self {
        let order = index.records.order();
        let saved_at = index.records.saved_at();
        if is_gapless(index, seen) {
            return Self::of_few(index, seen);
        }
        let is_seen = |&slot: &u32| slot != NOBODY && seen.contains(slot);
        let lane: Vec<u32> = match seen.members() {
            Some(members) if order.is_straight() => members.iter().collect(),
            _ => order.slots().iter().copied().filter(is_seen).collect(),
        };
        let mut places = vec![0; index.records.slots()];
        for (place, &slot) in (0..).zip(&lane) {
            places[slot as usize] = place;
        }
        let (lane, places) = (Cow::Owned(lane), Cow::Owned(places));
        Self { lane, places, saved_at, seen: None, members: None, is_straight: false }
    }

    /// To ask for the neighbours of a few records.
    pub(crate) fn of_few(index: &'a WorkspaceIndex, seen: &'a Seen<'a>) -> Self {
        let order = index.records.order();
        let (lane, places) = (Cow::Borrowed(order.slots()), Cow::Borrowed(order.places()));
        let members = seen.members().filter(|_| order.is_straight());
        let is_straight = seen.is_everyone() && order.is_straight();
        let seen = (members.is_none() && !is_gapless(index, seen)).then_some(seen);
        Self { lane, places, saved_at: index.records.saved_at(), seen, members, is_straight }
    }

    /// The visible records in the order of saving. Only after [`Neighbours::all`].
    pub(crate) fn lane(&self) -> &[u32] {
        debug_assert!(self.seen.is_none() && self.members.is_none(), "this lane has strangers in it");
        &self.lane
    }

    /// Where in the lane a slot is.
    pub(crate) fn place(&self, slot: u32) -> usize {
        self.places[slot as usize] as usize
    }

    /// The marks of a record and its neighbours; `marks` are by slot.
    pub(crate) fn marks_around(&self, slot: u32, marks: &[u32]) -> u32 {
        if let Some((times, marks)) = self.block::<{ 2 * MARKS_REACH + 1 }, u32>(slot, marks) {
            let is_near = |time: u32| u32::from(time.abs_diff(times[MARKS_REACH]) <= APART_MAX).wrapping_neg();
            return times.iter().zip(marks).fold(0, |around, (&time, marks)| around | marks & is_near(time));
        }
        let mut around = marks[slot as usize];
        self.each(slot, MARKS_REACH, |_, other| around |= marks[other as usize]);
        around
    }

    /// The words of the neighbours of a record, weighted; `roots` are by slot.
    pub(crate) fn ring_of(&self, slot: u32, roots: &[u16]) -> u32 {
        if let Some((times, roots)) = self.block::<{ 2 * RING.len() + 1 }, u16>(slot, roots) {
            let is_near = |time: u32| u32::from(time.abs_diff(times[RING.len()]) <= APART_MAX);
            let shares = times.iter().zip(roots).map(|(&time, &root)| is_near(time) * u32::from(root));
            return shares.zip(RING_BLOCK).map(|(root, weight)| root * weight).sum();
        }
        let mut ring = 0;
        self.each(slot, RING.len(), |distance, other| ring += RING[distance] * u32::from(roots[other as usize]));
        ring
    }

    /// A record with its neighbours, where they lie side by side: when each was saved, and its item. Nothing is guessed
    /// there, so a processor is quick.
    #[inline(always)]
    fn block<'b, const RECORDS: usize, T>(
        &self,
        slot: u32,
        items: &'b [T],
    ) -> Option<(&[u32; RECORDS], &'b [T; RECORDS])> {
        let first = (slot as usize).checked_sub(RECORDS / 2).filter(|_| self.is_straight)?;
        Some((self.saved_at.get(first..)?.first_chunk()?, items.get(first..)?.first_chunk()?))
    }

    /// [`Neighbours::marks_around`] for everybody, in the order of the lane.
    pub(crate) fn all_marks_around(&self, marks: &[u32]) -> Vec<u32> {
        let own: Vec<u32> = self.lane().iter().map(|&slot| marks[slot as usize]).collect();
        let times = self.times();
        let mut around = own.clone();
        for distance in 1..=MARKS_REACH.min(own.len().saturating_sub(1)) {
            add_marks(&mut around[distance..], &own, &times[distance..], &times);
            add_marks(&mut around, &own[distance..], &times, &times[distance..]);
        }
        around
    }

    /// [`Neighbours::ring_of`] for everybody, in the order of the lane.
    pub(crate) fn all_rings(&self, roots: &[u16]) -> Vec<u32> {
        let own: Vec<u32> = self.lane().iter().map(|&slot| u32::from(roots[slot as usize])).collect();
        let times = self.times();
        let mut rings = vec![0; own.len()];
        for (distance, weight) in (1..own.len()).zip(RING) {
            add_roots(&mut rings[distance..], &own, weight, &times[distance..], &times);
            add_roots(&mut rings, &own[distance..], weight, &times, &times[distance..]);
        }
        rings
    }

    fn times(&self) -> Vec<u32> {
        self.lane().iter().map(|&slot| self.saved_at[slot as usize]).collect()
    }

    /// Calls `found` with every neighbour, and how many are between.
    #[inline]
    fn each(&self, slot: u32, reach: usize, mut found: impl FnMut(usize, u32)) {
        let saved_at = self.saved_at[slot as usize];
        if let Some(members) = self.members {
            let mut tell = |(distance, other): (usize, u32)| {
                if self.saved_at[other as usize].abs_diff(saved_at) <= APART_MAX {
                    found(distance, other);
                }
            };
            members.before(slot).take(reach).enumerate().for_each(&mut tell);
            return members.after(slot).take(reach).enumerate().for_each(&mut tell);
        }
        let (before, after) = self.lane.split_at(self.place(slot));
        let Some(seen) = self.seen else {
            let is_near = |other: u32| self.saved_at[other as usize].abs_diff(saved_at) <= APART_MAX;
            let mut tell = |(distance, &other): (usize, &u32)| {
                if is_near(other) {
                    found(distance, other);
                }
            };
            before[before.len().saturating_sub(reach)..].iter().rev().enumerate().for_each(&mut tell);
            return after[1..(reach + 1).min(after.len())].iter().enumerate().for_each(&mut tell);
        };
        let is_seen = |slot: &&u32| **slot != NOBODY && seen.contains(**slot);
        let mut tell = |(distance, &other): (usize, &u32)| {
            if self.saved_at[other as usize].abs_diff(saved_at) <= APART_MAX {
                found(distance, other);
            }
        };
        before.iter().rev().filter(is_seen).take(reach).enumerate().for_each(&mut tell);
        after[1..].iter().filter(is_seen).take(reach).enumerate().for_each(&mut tell);
    }
}

wide! {
    /// Adds the marks of others, side by side with them, where both were saved within a day.
    add_marks = add_marks_plain(around: &mut [u32], others: &[u32], times: &[u32], others_times: &[u32])
}

#[inline(always)]
fn add_marks_plain(around: &mut [u32], others: &[u32], times: &[u32], others_times: &[u32]) {
    for (((around, &marks), &time), &other) in around.iter_mut().zip(others).zip(times).zip(others_times) {
        *around |= marks & u32::from(time.abs_diff(other) <= APART_MAX).wrapping_neg();
    }
}

wide! {
    /// Adds the roots of others, weighted, where both were saved within a day.
    add_roots = add_roots_plain(rings: &mut [u32], others: &[u32], weight: u32, times: &[u32], others_times: &[u32])
}

#[inline(always)]
fn add_roots_plain(rings: &mut [u32], others: &[u32], weight: u32, times: &[u32], others_times: &[u32]) {
    for (((ring, &root), &time), &other) in rings.iter_mut().zip(others).zip(times).zip(others_times) {
        *ring += (weight * root) & u32::from(time.abs_diff(other) <= APART_MAX).wrapping_neg();
    }
}

/// Whether the order of saving has only visible records.
fn is_gapless(index: &WorkspaceIndex, seen: &Seen<'_>) -> bool {
    seen.is_everyone() && index.records.order().slots().len() == seen.records as usize
}
