//! Who takes part: the records that have words of the query, and those that are near in meaning.

use std::iter::Peekable;
use std::slice;

use crate::meaning::NO_VECTOR;
use crate::search::best::Best;
use crate::search::cover::{Cover, Holders};
use crate::search::fuse::Spread;
use crate::search::lexical::{self, Matched, WINDOW};
use crate::search::sums::{self, Kept, Wanted};

use super::{Candidate, Ranking};

/// What is asked of a record once, however often its words are scored.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    slot: u32,
    near: i32,
    around: u32,
}

impl Ranking<'_> {
    /// Everything that has a word of the query, or is near enough in meaning, with the score of its words; and the
    /// spread of the roots of such scores over all visible records.
    pub(super) fn gather(&mut self, is_first: bool, is_last: bool) -> (Vec<Candidate>, Spread) {
        let slots = self.index.records.slots();
        let has_neighbours = self.neighbours.is_some();
        let mut marks = if is_first && has_neighbours { vec![0; slots] } else { Vec::new() };
        let keeps_roots = is_last && has_neighbours && self.recipe.last.ring > 0.0;
        let mut roots = vec![0; if keeps_roots { slots } else { 0 }];
        let mut candidates: Vec<Candidate> = self.kindred.iter().map(|&(slot, near)| by_meaning(slot, near)).collect();
        let mut kindred = candidates.iter_mut().peekable();
        let mut spread = Spread::default();
        let mut sieve = Sieve::new(self);
        let holders = lexical::score(self.index, self.bm25, &self.terms, self.seen, |start, window| {
            let end = start + window.len();
            let moments = sieve.look(
                start,
                window,
                marks.get_mut(start..end).unwrap_or_default(),
                roots.get_mut(start..end).unwrap_or_default(),
            );
            spread.add_moments(moments);
            // Words raise records that meaning brings in, even words that bring in none by themselves. Windows without
            // words are not shown.
            while kindred.next_if(|candidate| (candidate.slot as usize) < start).is_some() {}
            while let Some(candidate) = kindred.next_if(|candidate| (candidate.slot as usize) < end) {
                let sum = window[candidate.slot as usize - start];
                (candidate.words, candidate.marks) = (sum as u32, (sum >> 32) as u32);
            }
        });
        let (matched, words_bar) = sieve.finish();
        self.words_bar = words_bar;
        spread.add_zeros_up_to(u64::from(self.seen.records));
        if keeps_roots {
            self.roots = roots;
        }
        if is_first {
            self.note_marks(marks, &Holders::new(&self.query, &self.terms, &holders));
        }
        self.add_matched(&mut candidates, &matched);
        (candidates, spread)
    }

    /// Keeps which record has which terms of the query, and how many have each.
    fn note_marks(&mut self, marks: Vec<u32>, holders: &Holders) {
        self.cover = Cover::new(&self.query, self.index, self.bm25, holders);
        if let Some(neighbours) = &self.neighbours
            && self.cover.knows_terms()
            && !self.is_preselecting()
        {
            self.all_around = neighbours.all_marks_around(&marks);
        }
        self.marks = marks;
    }

    /// Makes candidates of the records that have a word of the query, in place of those that meaning brought.
    fn add_matched(&mut self, candidates: &mut Vec<Candidate>, matched: &[Matched]) {
        // Both are in order of slots.
        let mut known = matched.iter().map(|record| record.slot).peekable();
        candidates.retain(|candidate| {
            while known.next_if(|&slot| slot < candidate.slot).is_some() {}
            known.peek() != Some(&candidate.slot)
        });
        for candidate in candidates.iter_mut() {
            candidate.around = self.marks_around(candidate.slot, candidate.marks);
        }
        self.measure(matched);
        let candidate = |(record, measured): (&Matched, &Measured)| Candidate {
            words: record.score,
            marks: record.seen,
            around: measured.around,
            ..by_meaning(record.slot, measured.near)
        };
        candidates.extend(matched.iter().zip(&self.measured).map(candidate));
        for candidate in candidates {
            candidate.has_all_words = self.all_words.are_in(candidate.marks);
        }
    }

    fn marks_around(&self, slot: u32, own: u32) -> u32 {
        match &self.neighbours {
            Some(_) if !self.cover.knows_terms() => own,
            Some(neighbours) if self.is_preselecting() => neighbours.marks_around(slot, &self.marks),
            Some(neighbours) => self.all_around[neighbours.place(slot)],
            None => own,
        }
    }

    /// Finds how near these records are and which marks are around them, where that is not known yet.
    fn measure(&mut self, matched: &[Matched]) {
        let mut earlier = std::mem::take(&mut self.measured).into_iter().peekable();
        let (mut measured, mut fresh) = (Vec::with_capacity(matched.len()), Vec::new());
        for record in matched {
            while earlier.next_if(|known| known.slot < record.slot).is_some() {}
            let known = earlier.next_if(|known| known.slot == record.slot);
            if known.is_none() {
                fresh.push((measured.len(), *record));
            }
            measured.push(known.unwrap_or(Measured { slot: record.slot, near: NO_VECTOR, around: 0 }));
        }
        let nearness = self.nearness_of(&fresh);
        for ((at, record), near) in fresh.iter().zip(nearness) {
            measured[*at] = Measured { slot: record.slot, near, around: self.marks_around(record.slot, record.seen) };
        }
        self.measured = measured;
    }

    fn nearness_of(&self, fresh: &[(usize, Matched)]) -> Vec<i32> {
        match &self.near {
            None => vec![NO_VECTOR; fresh.len()],
            Some(near) if self.is_preselecting() => {
                let slots: Vec<u32> = fresh.iter().map(|(_, record)| record.slot).collect();
                self.index.vectors.nearness_at(near, &slots)
            }
            Some(_) => fresh.iter().map(|(_, record)| self.nearness[record.slot as usize]).collect(),
        }
    }
}

/// Lets through who has a word of the query: everybody, or where there are too many the best by plain score of words
/// and those that have all words.
struct Sieve<'a> {
    all_words: &'a super::AllWords,
    best: Best,
    /// A list of keywords is a demand: records that meet it are compared, however weak its words look.
    complete: Option<Best>,
    /// The marks that a record with all words has.
    required: u32,
    wanted: Vec<u64>,
}

impl<'a> Sieve<'a> {
    fn new(ranking: &'a Ranking<'_>) -> Self {
        let bounds = &ranking.recipe.bounds;
        let wanted = vec![0; WINDOW.div_ceil(u64::BITS as usize)];
        let all_words = &ranking.all_words;
        let by_words = if ranking.is_preselecting() { bounds.by_words } else { bounds.by_words_of_few };
        let complete_max = if ranking.query.is_keywords() { bounds.complete } else { by_words };
        let required = all_words.required();
        Self {
            all_words,
            best: Best::new(by_words, ranking.words_bar),
            complete: required.map(|_| Best::new(complete_max, 0)),
            required: required.unwrap_or(u32::MAX),
            wanted,
        }
    }

    /// Takes the wanted records of a window, and keeps marks and roots where there is room for them. Returns the sum of
    /// the roots and the sum of their squares.
    fn look(&mut self, start: usize, window: &[u64], marks: &mut [u32], roots: &mut [u16]) -> (u64, u64) {
        let wanted = Wanted { bar: self.best.bar(), required: self.required };
        let moments = sums::look_at(window, wanted, &mut Kept { marks, roots, wanted: &mut self.wanted });
        let groups = window.len().div_ceil(u64::BITS as usize);
        for (group, &wanted) in self.wanted[..groups].iter().enumerate() {
            let mut left = wanted;
            while left != 0 {
                let at = group * u64::BITS as usize + left.trailing_zeros() as usize;
                left &= left - 1;
                let sum = window[at];
                let record = Matched { slot: (start + at) as u32, score: sum as u32, seen: (sum >> 32) as u32 };
                self.best.offer(record);
                if let Some(complete) = &mut self.complete
                    && record.seen & self.required == self.required
                    && self.all_words.are_in(record.seen)
                {
                    complete.offer(record);
                }
            }
        }
        moments
    }

    /// In order of slots; and the bar of the best.
    fn finish(self) -> (Vec<Matched>, u32) {
        let (best, bar) = self.best.finish();
        let complete = self.complete.map_or(Vec::new(), |complete| complete.finish().0);
        (if complete.is_empty() { best } else { merge(&best, &complete) }, bar)
    }
}

/// Both lists in order, each record once.
fn merge(one: &[Matched], other: &[Matched]) -> Vec<Matched> {
    let mut merged = Vec::with_capacity(one.len() + other.len());
    let (mut one, mut other): (Peekable<slice::Iter<'_, _>>, _) = (one.iter().peekable(), other.iter().peekable());
    while let Some(&&next) = one.peek() {
        while let Some(&before) = other.next_if(|record| record.slot < next.slot) {
            merged.push(before);
        }
        other.next_if(|record| record.slot == next.slot);
        merged.push(next);
        one.next();
    }
    merged.extend(other);
    merged
}

fn by_meaning(slot: u32, near: i32) -> Candidate {
    Candidate {
        slot,
        words: 0,
        pairs: 0,
        near,
        marks: 0,
        around: 0,
        ring: 0,
        has_all_words: false,
        has_them_as_typed: false,
        is_in_time: false,
        time_share: 0.0,
        is_stale: false,
        rest: 0.0,
        traded: 0.0,
        strength: 0.0,
    }
}
