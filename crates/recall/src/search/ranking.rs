//! The whole way of one query: words, pairs, vectors, fusion, feedback, bonuses. Everything a hit or an explanation
//! needs is left in the candidates.

use std::cmp::Ordering;

use crate::index::WorkspaceIndex;
use crate::meaning::{self, NO_VECTOR, Near};
use crate::recipe::Recipe;
use crate::records::Seen;
use crate::search::SearchRequest;
use crate::search::all_words::{AllWords, AsTyped};
use crate::search::feedback::{self, Lender};
use crate::search::fuse::{Scale, Spread};
use crate::search::lexical::{self, Bm25, Matched, Weighted};
use crate::search::pairs::Pairs;
use crate::search::query::Query;
use crate::words::is_mostly_latin;

/// So many of the best are read to see whether they have the words as typed. More than any caller asks for, so that
/// the first ten are the same whether ten or fifty are wanted.
const READ_RECORDS: usize = 128;

/// A record that may be returned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate {
    pub(crate) slot: u32,
    /// The score of the query's own words.
    pub(crate) own_words: u32,
    /// The score of own and lent words; equal to `own_words` without feedback.
    pub(crate) words: u32,
    pub(crate) pairs: u32,
    /// `NO_VECTOR` where either side has none.
    pub(crate) near: i32,
    pub(crate) has_all_words: bool,
    pub(crate) has_them_as_typed: bool,
    pub(crate) strength: f64,
}

/// One query under way.
pub(crate) struct Ranking<'a> {
    pub(crate) index: &'a WorkspaceIndex,
    pub(crate) recipe: &'a Recipe,
    pub(crate) query: Query,
    pub(crate) seen: Seen<'a>,
    bm25: Bm25,
    pub(crate) near: Option<Near>,
    /// The terms that were scored last: the query's own first, then the lent ones.
    pub(crate) terms: Vec<Weighted>,
    pub(crate) scales: Scales,
}

/// How scores became strengths.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scales {
    pub(crate) words: Scale,
    pub(crate) near: Scale,
    /// The share of nearness in the strength.
    pub(crate) meaning: f64,
}

impl Scales {
    /// What words and nearness give to the strength of a candidate.
    pub(crate) fn shares(&self, candidate: &Candidate) -> (f64, f64) {
        let words = self.words.deviations(i64::from(candidate.words) + i64::from(candidate.pairs));
        // Without a vector a record is as near as the average one.
        let near = if candidate.near == NO_VECTOR { 0.0 } else { self.near.deviations(i64::from(candidate.near)) };
        ((1.0 - self.meaning) * words, self.meaning * near)
    }
}

impl<'a> Ranking<'a> {
    /// `None` where the query has no word.
    pub(crate) fn new(index: &'a WorkspaceIndex, recipe: &'a Recipe, request: &SearchRequest<'a>) -> Option<Self> {
        let query = Query::parse(request.query, &index.lexicon);
        if !query.has_words() {
            return None;
        }
        let near = if recipe.meaning > 0.0 && is_mostly_latin(request.query) {
            index.vectors.aim(index.model, request.query)
        } else {
            None
        };
        let meaning = if near.is_some() { recipe.meaning } else { 0.0 };
        Some(Self {
            index,
            recipe,
            seen: index.records.seen_by(request.visible),
            bm25: Bm25::new(index),
            terms: own_terms(&query),
            scales: Scales { words: Scale::default(), near: Scale::default(), meaning },
            near,
            query,
        })
    }

    /// The candidates, best first, at most `limit`.
    pub(crate) fn run(&mut self, limit: usize) -> Vec<Candidate> {
        let mut candidates = self.collect();
        self.fuse(&mut candidates);
        if self.recipe.feedback_records > 0 {
            self.lend(&mut candidates);
        }
        self.reward(&mut candidates);
        candidates.truncate(limit);
        candidates
    }

    /// Whether there are too many records to compare every vector.
    fn is_preselecting(&self) -> bool {
        self.seen.records as usize > self.recipe.exhaustive_records
    }

    /// Everything that has a word of the query, or is near enough in meaning; in order of slots.
    fn collect(&mut self) -> Vec<Candidate> {
        let mut matched = Vec::new();
        let mut spread = Spread::default();
        lexical::score(self.index, &self.bm25, &self.terms, &self.seen, |record| matched.push(record));
        if self.is_preselecting() {
            // Those that go no further still belong to the spread.
            drop_weak(&mut matched, self.recipe.preselected_records, |score| spread.add(i64::from(score)));
        }
        let mut candidates = self.with_pairs(&matched);
        candidates.iter().for_each(|found| spread.add(i64::from(found.words) + i64::from(found.pairs)));
        spread.add_zeros_up_to(u64::from(self.seen.records));
        self.scales.words = spread.scale();
        if self.near.is_some() {
            candidates = self.with_nearness(candidates);
        }
        candidates
    }

    fn with_pairs(&self, matched: &[Matched]) -> Vec<Candidate> {
        let (index, bm25) = (self.index, &self.bm25);
        let pairs =
            if self.recipe.pairs > 0.0 { Pairs::new(&self.query, index, bm25, self.recipe.pairs) } else { None };
        let all_words = AllWords::new(&self.query);
        let candidate = |record: &Matched| Candidate {
            slot: record.slot,
            own_words: record.score,
            words: record.score,
            pairs: pairs.as_ref().map_or(0, |pairs| pairs.score(index, bm25, record)),
            near: NO_VECTOR,
            has_all_words: all_words.are_in(record),
            has_them_as_typed: false,
            strength: 0.0,
        };
        matched.iter().map(candidate).collect()
    }

    /// Adds the nearness of the candidates, and the records that are candidates by nearness alone.
    fn with_nearness(&mut self, candidates: Vec<Candidate>) -> Vec<Candidate> {
        let Some(near) = &self.near else { return candidates };
        let bar = (self.recipe.kindred * meaning::ONE) as i32;
        let vectors = &self.index.vectors;
        let mut spread = Spread::default();
        let mut kindred = Vec::new();
        let mut candidates = candidates;
        if self.is_preselecting() {
            let chosen = vectors.preselect(near, &self.seen, self.recipe.preselected_records);
            vectors.sample(near, &self.index.records, &self.seen, |nearness| spread.add(i64::from(nearness)));
            candidates.iter_mut().for_each(|found| found.near = vectors.nearness_of(near, found.slot));
            kindred.extend(chosen.into_iter().map(|slot| (slot, vectors.nearness_of(near, slot))));
            kindred.retain(|&(_, nearness)| nearness > bar);
        } else {
            let mut nearness = vectors.nearness(near);
            if !self.seen.is_everyone {
                let unseen = (0..).zip(&mut nearness).filter(|(slot, _)| !self.seen.contains(*slot));
                unseen.for_each(|(_, nearness)| *nearness = NO_VECTOR);
            }
            spread.add_nearness(&nearness);
            kindred.extend((0..).zip(nearness.iter().copied()).filter(|&(_, nearness)| nearness > bar));
            candidates.iter_mut().for_each(|found| found.near = nearness[found.slot as usize]);
        }
        self.scales.near = spread.scale();
        merge_by_slot(candidates, &kindred)
    }

    fn fuse(&self, candidates: &mut [Candidate]) {
        for candidate in candidates {
            let (words, near) = self.scales.shares(candidate);
            candidate.strength = words + near;
        }
    }

    /// Lets the best records lend words, and scores the candidates anew.
    fn lend(&mut self, candidates: &mut [Candidate]) {
        let best = self.best_of(candidates, self.recipe.feedback_records);
        let lenders: Vec<Lender> =
            best.iter().enumerate().map(|(rank, found)| Lender::new(found.slot, rank, found.strength)).collect();
        if lenders.is_empty() {
            return;
        }
        let own_total: f32 = self.query.terms.iter().map(|known| known.weight).sum();
        let share = own_total * self.recipe.feedback / (1.0 - self.recipe.feedback);
        let lent = feedback::lent_terms(self.index, &self.bm25, &lenders, self.recipe.feedback_terms);
        feedback::add(&mut self.terms, &lent, f64::from(share));
        let mut spread = Spread::default();
        let mut left = candidates.iter_mut().peekable();
        lexical::score(self.index, &self.bm25, &self.terms, &self.seen, |record| {
            while left.next_if(|candidate| candidate.slot < record.slot).is_some() {}
            let mut pairs = 0;
            if let Some(candidate) = left.next_if(|candidate| candidate.slot == record.slot) {
                candidate.words = record.score;
                pairs = candidate.pairs;
            }
            spread.add(i64::from(record.score) + i64::from(pairs));
        });
        spread.add_zeros_up_to(u64::from(self.seen.records));
        self.scales.words = spread.scale();
        self.fuse(candidates);
    }

    /// Records with all words go first; among them those that have them as typed.
    fn reward(&self, candidates: &mut [Candidate]) {
        for candidate in candidates.iter_mut().filter(|candidate| candidate.has_all_words) {
            candidate.strength += self.recipe.all_words;
        }
        self.sort_best(candidates, READ_RECORDS);
        if self.recipe.as_typed > 0.0 {
            let as_typed = AsTyped::new(&self.query);
            let read = candidates.len().min(READ_RECORDS);
            for candidate in candidates[..read].iter_mut().filter(|candidate| candidate.has_all_words) {
                candidate.has_them_as_typed = as_typed.are_in(self.index, candidate.slot);
                candidate.strength += f64::from(u8::from(candidate.has_them_as_typed)) * self.recipe.as_typed;
            }
            self.sort_best(candidates, READ_RECORDS);
        }
    }

    /// The best `count`, best first.
    fn best_of(&self, candidates: &[Candidate], count: usize) -> Vec<Candidate> {
        let mut best: Vec<Candidate> = Vec::with_capacity(count + 1);
        for candidate in candidates {
            if best.len() == count && best.last().is_some_and(|last| self.order(last, candidate).is_lt()) {
                continue;
            }
            let place = best.partition_point(|known| self.order(known, candidate).is_lt());
            best.insert(place, *candidate);
            best.truncate(count);
        }
        best
    }

    /// Brings the best `count` to the front, best first.
    fn sort_best(&self, candidates: &mut [Candidate], count: usize) {
        let mut front = candidates;
        if front.len() > count && count > 0 {
            front.select_nth_unstable_by(count - 1, |a, b| self.order(a, b));
            front = &mut front[..count];
        }
        front.sort_unstable_by(|a, b| self.order(a, b));
    }

    /// The better one is less; of equals the newer one.
    fn order(&self, a: &Candidate, b: &Candidate) -> Ordering {
        let seq = |candidate: &Candidate| self.index.records.seq(candidate.slot);
        b.strength.total_cmp(&a.strength).then_with(|| seq(b).cmp(&seq(a)))
    }
}

fn own_terms(query: &Query) -> Vec<Weighted> {
    let mark = |at: usize| if query.is_masked() { 1 << at } else { 1 };
    let own = query.terms.iter().enumerate();
    own.filter_map(|(at, known)| Some(Weighted { term: known.term?, weight: known.weight, mark: mark(at) })).collect()
}

/// Keeps the `count` best by plain word score, and every record that equals the last of them: which of two equals
/// came first must not matter. Stays in order of slots; tells the scores of the others.
fn drop_weak(matched: &mut Vec<Matched>, count: usize, mut dropped: impl FnMut(u32)) {
    if matched.len() <= count {
        return;
    }
    let mut scores: Vec<u32> = matched.iter().map(|record| record.score).collect();
    let (_, &mut last, _) = scores.select_nth_unstable_by(count - 1, |a, b| b.cmp(a));
    matched.retain(|record| {
        if record.score < last {
            dropped(record.score);
        }
        record.score >= last
    });
}

/// Adds records that are candidates by nearness alone. Both sides are in order of slots, and so is the result.
fn merge_by_slot(candidates: Vec<Candidate>, kindred: &[(u32, i32)]) -> Vec<Candidate> {
    let mut merged = Vec::with_capacity(candidates.len() + kindred.len());
    let mut found = candidates.into_iter().peekable();
    for &(slot, near) in kindred {
        while let Some(candidate) = found.next_if(|candidate| candidate.slot < slot) {
            merged.push(candidate);
        }
        if found.peek().is_none_or(|candidate| candidate.slot != slot) {
            merged.push(by_meaning(slot, near));
        }
    }
    merged.extend(found);
    merged
}

fn by_meaning(slot: u32, near: i32) -> Candidate {
    Candidate {
        slot,
        own_words: 0,
        words: 0,
        pairs: 0,
        near,
        has_all_words: false,
        has_them_as_typed: false,
        strength: 0.0,
    }
}
