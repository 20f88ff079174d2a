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
    /// The score of the query's own and of the lent words.
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
    pub(crate) bm25: Bm25,
    pub(crate) near: Option<Near>,
    /// The terms that were scored last: the query's own first, then the lent ones.
    pub(crate) terms: Vec<Weighted>,
    pub(crate) scales: Scales,
    pub(crate) bonuses: Bonuses,
    /// By slot; empty where signs choose whom to compare.
    nearness: Vec<i32>,
    /// The slots that are near enough to need no word of the query, in order.
    kindred: Vec<(u32, i32)>,
    /// `None` where the query has no pair.
    pairs: Option<Pairs>,
    /// What was found out of records that have a word of the query, in order of slots. Lent words change nothing in it.
    measured: Vec<Measured>,
}

/// What is asked of a record once, however often its words are scored.
#[derive(Debug, Clone, Copy)]
struct Measured {
    slot: u32,
    near: i32,
    pairs: u32,
}

/// How scores became strengths.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scales {
    pub(crate) words: Scale,
    pub(crate) near: Scale,
    /// The share of nearness in the strength.
    pub(crate) meaning: f64,
}

/// What was added for having the words of the query.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Bonuses {
    pub(crate) all_words: f64,
    pub(crate) as_typed: f64,
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
        let bm25 = Bm25::new(index);
        let pairs = if recipe.pairs > 0.0 { Pairs::new(&query, index, &bm25, recipe.pairs) } else { None };
        Some(Self {
            index,
            recipe,
            seen: index.records.seen_by(request.visible),
            bm25,
            terms: own_terms(&query),
            scales: Scales { words: Scale::default(), near: Scale::default(), meaning },
            near,
            query,
            bonuses: Bonuses::default(),
            nearness: Vec::new(),
            kindred: Vec::new(),
            pairs,
            measured: Vec::new(),
        })
    }

    /// The candidates, best first, at most `limit`.
    pub(crate) fn run(&mut self, limit: usize) -> Vec<Candidate> {
        self.measure_nearness();
        let mut candidates = self.score_words();
        if self.recipe.feedback_records > 0 && !candidates.is_empty() {
            self.lend(&candidates);
            candidates = self.score_words();
        }
        self.reward(&mut candidates);
        candidates.truncate(limit);
        candidates
    }

    /// Whether there are too many records to compare every vector.
    fn is_preselecting(&self) -> bool {
        self.seen.records as usize > self.recipe.exhaustive_records
    }

    /// Finds how near records are: all of them, or those whose signs promise something.
    fn measure_nearness(&mut self) {
        let Some(near) = &self.near else { return };
        let vectors = &self.index.vectors;
        let bar = (self.recipe.kindred * meaning::ONE) as i32;
        let is_kindred = |&(_, nearness): &(u32, i32)| nearness > bar;
        let mut spread = Spread::default();
        if self.is_preselecting() {
            let sample = vectors.sample(&self.index.records, &self.seen);
            spread.add_nearness(&vectors.nearness_at(near, &sample));
            let chosen = vectors.preselect(near, &self.seen, self.recipe.preselected_records);
            let nearness = vectors.nearness_at(near, &chosen);
            self.kindred = chosen.into_iter().zip(nearness).filter(is_kindred).collect();
        } else {
            let mut nearness = vectors.nearness(near);
            if !self.seen.is_everyone {
                let unseen = (0..).zip(&mut nearness).filter(|(slot, _)| !self.seen.contains(*slot));
                unseen.for_each(|(_, nearness)| *nearness = NO_VECTOR);
            }
            spread.add_nearness(&nearness);
            self.kindred = (0..).zip(nearness.iter().copied()).filter(is_kindred).collect();
            self.nearness = nearness;
        }
        self.scales.near = spread.scale();
    }

    /// Everything that has a word of the query, or is near enough in meaning, with its strength.
    fn score_words(&mut self) -> Vec<Candidate> {
        let mut spread = Spread::default();
        let mut matched: Vec<Matched> = Vec::new();
        let mut candidates: Vec<Candidate> = self.kindred.iter().map(|&(slot, near)| by_meaning(slot, near)).collect();
        let mut kindred = candidates.iter_mut().peekable();
        lexical::score(self.index, &self.bm25, &self.terms, &self.seen, |record| {
            while kindred.next_if(|candidate| candidate.slot < record.slot).is_some() {}
            let is_kindred = kindred.peek().is_some_and(|candidate| candidate.slot == record.slot);
            if record.seen != 0 {
                matched.push(record);
            } else {
                // It has lent words only. They raise it, but do not let it in.
                spread.add(i64::from(record.score));
                if is_kindred && let Some(candidate) = kindred.next() {
                    candidate.words = record.score;
                }
            }
        });
        if self.is_preselecting() {
            // Those that go no further still belong to the spread.
            drop_weak(&mut matched, self.recipe.preselected_records, |score| spread.add(i64::from(score)));
        }
        self.add_matched(&mut candidates, &matched, &mut spread);
        spread.add_zeros_up_to(u64::from(self.seen.records));
        self.scales.words = spread.scale();
        for candidate in &mut candidates {
            let (words, near) = self.scales.shares(candidate);
            candidate.strength = words + near;
        }
        candidates
    }

    /// Makes candidates of the records that have a word of the query, in place of those that meaning brought.
    fn add_matched(&mut self, candidates: &mut Vec<Candidate>, matched: &[Matched], spread: &mut Spread) {
        // Both are in order of slots.
        let mut known = matched.iter().map(|record| record.slot).peekable();
        candidates.retain(|candidate| {
            while known.next_if(|&slot| slot < candidate.slot).is_some() {}
            known.peek() != Some(&candidate.slot)
        });
        let all_words = AllWords::new(&self.query);
        self.measure(matched);
        candidates.reserve(matched.len());
        for (record, &Measured { near, pairs, .. }) in matched.iter().zip(&self.measured) {
            spread.add(i64::from(record.score) + i64::from(pairs));
            let has_all_words = all_words.are_in(record);
            candidates.push(Candidate { words: record.score, pairs, has_all_words, ..by_meaning(record.slot, near) });
        }
    }

    /// Finds how near these records are and which pairs they have, where that is not known yet.
    fn measure(&mut self, matched: &[Matched]) {
        let mut earlier = std::mem::take(&mut self.measured).into_iter().peekable();
        let (mut measured, mut fresh) = (Vec::with_capacity(matched.len()), Vec::new());
        for record in matched {
            while earlier.next_if(|known| known.slot < record.slot).is_some() {}
            let known = earlier.next_if(|known| known.slot == record.slot);
            if known.is_none() {
                fresh.push((measured.len(), *record));
            }
            measured.push(known.unwrap_or(Measured { slot: record.slot, near: NO_VECTOR, pairs: 0 }));
        }
        let nearness = self.nearness_of(&fresh);
        for ((at, record), near) in fresh.iter().zip(nearness) {
            let pairs = self.pairs.as_ref().map_or(0, |pairs| pairs.score(self.index, &self.bm25, record));
            measured[*at] = Measured { slot: record.slot, near, pairs };
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

    /// Lets the best records lend words to the query.
    fn lend(&mut self, candidates: &[Candidate]) {
        let best = self.best_of(candidates, self.recipe.feedback_records);
        let lenders: Vec<Lender> =
            best.iter().enumerate().map(|(rank, found)| Lender::new(found.slot, rank, found.strength)).collect();
        let own_total: f32 = self.query.terms.iter().map(|known| known.weight).sum();
        let share = own_total * self.recipe.feedback / (1.0 - self.recipe.feedback);
        let lent = feedback::lent_terms(self.index, &self.bm25, &lenders, self.recipe.feedback_terms);
        feedback::add(&mut self.terms, &lent, f64::from(share));
    }

    /// Records with all words go first; among them those that have them as typed.
    fn reward(&mut self, candidates: &mut [Candidate]) {
        self.bonuses = self.bonuses_for(candidates);
        let complete = candidates.iter_mut().filter(|candidate| candidate.has_all_words);
        complete.for_each(|candidate| candidate.strength += self.bonuses.all_words);
        if self.bonuses.as_typed > 0.0 {
            let read = if self.query.is_keywords() { candidates.len() } else { READ_RECORDS.min(candidates.len()) };
            self.sort_best(candidates, READ_RECORDS);
            let as_typed = AsTyped::new(&self.query);
            for candidate in candidates[..read].iter_mut().filter(|candidate| candidate.has_all_words) {
                candidate.has_them_as_typed = as_typed.are_in(self.index, candidate.slot);
                candidate.strength += f64::from(u8::from(candidate.has_them_as_typed)) * self.bonuses.as_typed;
            }
        }
        self.sort_best(candidates, READ_RECORDS);
    }

    /// Keywords are a demand, a question is not: to keywords the bonus is large enough that nothing outweighs it.
    fn bonuses_for(&self, candidates: &[Candidate]) -> Bonuses {
        let strengths = || candidates.iter().map(|candidate| candidate.strength);
        let reach = strengths().fold(f64::MIN, f64::max) - strengths().fold(f64::MAX, f64::min);
        let at_least = if self.query.is_keywords() && !candidates.is_empty() { reach + 1.0 } else { 0.0 };
        let raise = |bonus: f64| if bonus > 0.0 { bonus.max(at_least) } else { 0.0 };
        Bonuses { all_words: raise(self.recipe.all_words), as_typed: raise(self.recipe.as_typed) }
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

fn by_meaning(slot: u32, near: i32) -> Candidate {
    Candidate { slot, words: 0, pairs: 0, near, has_all_words: false, has_them_as_typed: false, strength: 0.0 }
}
