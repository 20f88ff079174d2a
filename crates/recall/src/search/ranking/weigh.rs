//! From scores to one strength: each part of it, with its weight.

use crate::meaning::NO_VECTOR;
use crate::recipe::Weights;
use crate::search::bm25::{COARSE, coarse_root, root};
use crate::search::fuse::Spread;
use crate::search::pairs::Pairs;

use super::{Candidate, Ranking};

/// The parts of a strength, each with its weight.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Parts {
    pub(crate) words: f64,
    pub(crate) near: f64,
    pub(crate) count: f64,
    pub(crate) cover: f64,
    pub(crate) around: f64,
    pub(crate) ring: f64,
    pub(crate) pairs: f64,
}

impl Parts {
    /// All but words and pairs.
    fn rest(&self) -> f64 {
        self.near + self.count + self.cover + self.around + self.ring
    }
}

impl Ranking<'_> {
    /// Gives candidates their strengths, before bonuses. Pairs are looked for in at most `paired` of them; `spread` is
    /// that of the roots of all visible records' words.
    pub(super) fn weigh(&mut self, weights: &Weights, paired: usize, candidates: &mut [Candidate], spread: Spread) {
        self.scales.words = spread.scale();
        self.scales.pairs = Spread::default().scale();
        for candidate in candidates.iter_mut() {
            let parts = self.parts(weights, candidate);
            candidate.rest = parts.rest();
            candidate.strength = candidate.rest + (parts.words + parts.pairs);
        }
        self.add_pairs(weights, paired, candidates, spread);
    }

    /// Looks for pairs in the most promising candidates: to read them all would take longer than all the rest. Those
    /// who have some raise the mean and the deviation for everybody.
    fn add_pairs(&mut self, weights: &Weights, count: usize, candidates: &mut [Candidate], mut spread: Spread) {
        let Some(pairs) = &self.pairs else { return };
        let mut promising = self.promises(pairs, candidates);
        let all = promising.len();
        self.keep_best(&mut promising, candidates, count);
        let mut pairs_spread = Spread::default();
        for &(_, at) in &promising {
            let candidate = &mut candidates[at as usize];
            let slot = candidate.slot;
            candidate.pairs = *self.paired.entry(slot).or_insert_with(|| pairs.score(self.index, self.bm25, slot));
            if candidate.pairs > 0 {
                let with_pairs = candidate.words.saturating_add(candidate.pairs);
                spread.replace(i64::from(coarse_root(candidate.words)), i64::from(coarse_root(with_pairs)));
                pairs_spread.add(i64::from(candidate.pairs));
            }
        }
        // Those that were not read are taken to have as many.
        pairs_spread.stretch(promising.len(), all);
        pairs_spread.add_zeros_up_to(u64::from(self.seen.records));
        self.scales.words = spread.scale();
        self.scales.pairs = pairs_spread.scale();
        for candidate in candidates {
            candidate.strength = candidate.rest + self.of_words(weights, candidate);
        }
    }

    /// The candidates that may have a pair, by their places: how strong each is, with the bonus for all words.
    fn promises(&self, pairs: &Pairs, candidates: &[Candidate]) -> Vec<(f64, u32)> {
        let bonus = match self.query.is_keywords() {
            _ if self.recipe.all_words == 0.0 => 0.0,
            true => f64::INFINITY,
            false => self.recipe.all_words,
        };
        let promise = |found: &Candidate| found.strength + if found.has_all_words { bonus } else { 0.0 };
        let may_have_one = (0..).zip(candidates).filter(|(_, found)| pairs.may_be_in(found.marks));
        may_have_one.map(|(at, found)| (promise(found), at)).collect()
    }

    fn keep_best(&self, promises: &mut Vec<(f64, u32)>, candidates: &[Candidate], count: usize) {
        if promises.len() <= count || count == 0 {
            return;
        }
        let candidate = |at: u32| &candidates[at as usize];
        let order = |a: &(f64, u32), b: &(f64, u32)| {
            b.0.total_cmp(&a.0).then_with(|| self.order(candidate(a.1), candidate(b.1)))
        };
        promises.select_nth_unstable_by(count - 1, order);
        promises.truncate(count);
    }

    /// What makes up the strength of a candidate, but for bonuses.
    pub(crate) fn parts(&self, weights: &Weights, candidate: &Candidate) -> Parts {
        let (own, around) = (self.cover.weight(candidate.marks), self.cover.weight(candidate.around));
        // Without a vector a record is as near as the average one.
        let near =
            if candidate.near == NO_VECTOR { 0.0 } else { self.scales.near.deviations(f64::from(candidate.near)) };
        let (words, pairs) = self.words_and_pairs(weights, candidate);
        Parts {
            words,
            near: weights.near * near,
            count: weights.count * self.cover.count_share(f64::from(self.cover.count(candidate.marks))),
            cover: weights.cover * self.cover.weight_share(f64::from(own)),
            around: weights.around * self.locality * self.cover.weight_share(f64::from(around - own)),
            ring: weights.ring * self.locality * self.scales.ring.deviations(f64::from(candidate.ring)),
            pairs,
        }
    }

    fn of_words(&self, weights: &Weights, candidate: &Candidate) -> f64 {
        let (words, pairs) = self.words_and_pairs(weights, candidate);
        words + pairs
    }

    fn words_and_pairs(&self, weights: &Weights, candidate: &Candidate) -> (f64, f64) {
        let words = f64::from(root(candidate.words.saturating_add(candidate.pairs))) / COARSE;
        let pairs = self.scales.pairs.deviations(f64::from(candidate.pairs));
        (weights.words * self.scales.words.deviations(words), weights.pairs * pairs)
    }

    /// The mean over all visible records of the strength by which lenders are chosen.
    pub(super) fn mean_strength(&self) -> f64 {
        let weights = &self.recipe.first;
        // What is counted in deviations has a mean of 0.
        let records = f64::from(self.seen.records.max(1));
        let (count, weight) = self.cover.totals();
        weights.count * self.cover.count_share(count as f64 / records)
            + weights.cover * self.cover.weight_share(weight as f64 / records)
            + weights.around * self.locality * self.cover.weight_share(self.mean_around())
    }

    /// What neighbours add to the cover of a record, on average over the visible ones.
    fn mean_around(&self) -> f64 {
        let Some(neighbours) = self.neighbours.as_ref().filter(|_| self.cover.knows_terms()) else { return 0.0 };
        let more = |slot: u32, around: u32| self.cover.weight(around) - self.cover.weight(self.marks[slot as usize]);
        let (total, records): (u64, usize) = if self.is_preselecting() {
            let around = |&slot: &u32| u64::from(more(slot, neighbours.marks_around(slot, &self.marks)));
            (self.sample.iter().map(around).sum(), self.sample.len())
        } else {
            let lane = neighbours.lane();
            let around = lane.iter().zip(&self.all_around).map(|(&slot, &around)| u64::from(more(slot, around)));
            (around.sum(), lane.len())
        };
        total as f64 / records.max(1) as f64
    }

    /// Finds what the words of neighbours are worth.
    pub(super) fn find_rings(&mut self, candidates: &mut [Candidate]) {
        let Some(neighbours) = self.neighbours.as_ref().filter(|_| self.recipe.last.ring > 0.0) else { return };
        let mut spread = Spread::default();
        if self.is_preselecting() {
            self.sample.iter().for_each(|&slot| spread.add(i64::from(neighbours.ring_of(slot, &self.roots))));
            for candidate in candidates {
                candidate.ring = neighbours.ring_of(candidate.slot, &self.roots);
            }
        } else {
            let rings = neighbours.all_rings(&self.roots);
            rings.iter().for_each(|&ring| spread.add(i64::from(ring)));
            for candidate in candidates {
                candidate.ring = rings[neighbours.place(candidate.slot)];
            }
        }
        self.scales.ring = spread.scale();
    }
}
