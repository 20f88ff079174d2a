//! The whole way of one query: words, pairs, vectors, neighbours, feedback, bonuses. Everything a hit or an explanation
//! needs is left in the candidates. `ranking/` has the steps that take more than a few lines.

mod gather;
mod reward;
pub(crate) mod timely;
mod truth_first;
mod weigh;

use std::borrow::Cow;
use std::cmp::Ordering;

use rustc_hash::FxHashMap;

use crate::index::WorkspaceIndex;
use crate::meaning::{NO_VECTOR, Near};
use crate::recipe::{Recipe, lowest_of_best};
use crate::records::Seen;
use crate::search::SearchRequest;
use crate::search::all_words::AllWords;
use crate::search::bm25::Bm25;
use crate::search::chance::Chances;
use crate::search::cover::Cover;
use crate::search::feedback::{self, Lender};
use crate::search::fuse::{Scale, Spread};
use crate::search::lexical::Weighted;
use crate::search::neighbours::Neighbours;
use crate::search::pairs::Pairs;
use crate::search::query::Query;
use crate::truth::Judge;
use crate::words::{Stops, are_foreign, is_understood};

use gather::Measured;
pub(crate) use reward::Bonuses;
use timely::Wanted;

/// A record that may be returned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate {
    pub(crate) slot: u32,
    /// The score of the query's own and of the lent words.
    pub(crate) words: u32,
    /// What its pairs are worth; 0 also where they were not looked for.
    pub(crate) pairs: u32,
    /// `NO_VECTOR` where either side has none.
    pub(crate) near: i32,
    /// Which terms of the query it has; how many of them, where there are too many to distinguish them.
    pub(crate) marks: u32,
    /// Which terms it has together with its neighbours.
    pub(crate) around: u32,
    /// The words of its neighbours.
    pub(crate) ring: u32,
    pub(crate) has_all_words: bool,
    pub(crate) has_them_as_typed: bool,
    /// Whether it lies in the days that the query means.
    pub(crate) is_in_time: bool,
    /// What that gave.
    pub(crate) time_share: f64,
    /// Whether it no longer holds.
    pub(crate) is_stale: bool,
    /// Its strength, but for words and pairs.
    rest: f64,
    /// What it gained or lost because others dispute its key, and what it gained by stepping before a stale one.
    pub(crate) traded: f64,
    pub(crate) strength: f64,
}

/// One query under way.
pub(crate) struct Ranking<'a> {
    pub(crate) index: &'a WorkspaceIndex,
    pub(crate) recipe: &'a Recipe,
    pub(crate) query: Query,
    pub(crate) seen: &'a Seen<'a>,
    judge: &'a Judge<'a>,
    pub(crate) bm25: &'a Bm25,
    pub(crate) near: Option<Near>,
    /// The terms that were scored last: the query's own first, then the lent ones.
    pub(crate) terms: Vec<Weighted>,
    /// The days that the query means.
    wanted: Option<Wanted>,
    all_words: AllWords,
    pub(crate) cover: Cover,
    /// How much neighbours count here, from 0 to 1.
    pub(crate) locality: f64,
    scales: Scales,
    chances: Chances,
    pub(crate) bonuses: Bonuses,
    /// The sample from which a spread is taken; empty where all are looked at.
    sample: Cow<'a, [u32]>,
    /// By slot; empty where signs choose whom to compare.
    nearness: Vec<i32>,
    /// Above which nearness a record needs no word of the query.
    pub(crate) floor: i32,
    /// The slots that are near enough to need none, in order.
    kindred: Vec<(u32, i32)>,
    /// `None` where the query has no pair.
    pairs: Option<Pairs>,
    /// By slot: what pairs are worth where they were looked for. Lent words change nothing in it.
    paired: FxHashMap<u32, u32>,
    /// What was found out of records that have a word of the query, in order of slots. Lent words change nothing in it.
    measured: Vec<Measured>,
    /// What the last of the best scored when words were scored before. Lent words only add to it.
    words_bar: u32,
    /// `None` where neighbours do not count.
    neighbours: Option<Neighbours<'a>>,
    /// By slot, where neighbours count: which terms of the query each visible record has.
    marks: Vec<u32>,
    /// By place in the lane, where all neighbours are looked at: marks of each record with its neighbours.
    all_around: Vec<u32>,
    /// By slot, where neighbours count: the coarse root of the last score of words.
    roots: Vec<u16>,
}

/// How scores became strengths.
#[derive(Debug, Default, Clone, Copy)]
struct Scales {
    words: Scale,
    near: Scale,
    ring: Scale,
    pairs: Scale,
}

impl<'a> Ranking<'a> {
    /// `None` where the query has no word.
    pub(crate) fn new(
        index: &'a WorkspaceIndex,
        recipe: &'a Recipe,
        request: &SearchRequest<'a>,
        seen: &'a Seen<'a>,
        judge: &'a Judge<'a>,
    ) -> Option<Self> {
        let asked = timely::without_phrase(request);
        let (is_english, vector) = index.model.read(&asked);
        let stops = if is_english { Stops::ENGLISH } else { Stops::ALL };
        let mut query = Query::parse(&asked, stops, &index.lexicon);
        let wanted = request.time.map(|phrase| Wanted::new(recipe, phrase, query.is_empty_of_content));
        if !query.has_words() && wanted.is_some() {
            query = Query::parse(request.query, stops, &index.lexicon);
        }
        if !query.has_words() {
            return None;
        }
        let has_meaning = recipe.has_meaning() && is_understood(&asked);
        let near = if has_meaning { index.vectors.aim(index.model, &vector) } else { None };
        let bm25 = index.bm25();
        let pairs = if recipe.pairs > 0.0 { Pairs::new(&query, index, bm25, recipe.pairs) } else { None };
        let mut ranking = Self {
            index,
            recipe,
            seen,
            judge,
            terms: query.known_terms(),
            wanted,
            all_words: AllWords::new(&query),
            cover: Cover::default(),
            locality: if recipe.has_neighbours() { index.vectors.locality() } else { 0.0 },
            bm25,
            near,
            query,
            scales: Scales::default(),
            chances: Chances::new(recipe, seen.records, &Spread::default()),
            bonuses: Bonuses::default(),
            sample: Cow::Borrowed(&[]),
            nearness: Vec::new(),
            floor: 0,
            kindred: Vec::new(),
            pairs,
            paired: FxHashMap::default(),
            measured: Vec::new(),
            words_bar: 0,
            neighbours: None,
            marks: Vec::new(),
            all_around: Vec::new(),
            roots: Vec::new(),
        };
        let few = ranking.is_preselecting();
        if ranking.locality > 0.0 {
            ranking.neighbours = Some(if few { Neighbours::of_few(index, seen) } else { Neighbours::all(index, seen) });
        }
        if few {
            ranking.sample = index.vectors.sample(&index.records, seen, recipe.bounds.sampled);
        }
        Some(ranking)
    }

    /// The candidates, best first, at most `limit`.
    pub(crate) fn run(&mut self, limit: usize) -> Vec<Candidate> {
        self.measure_nearness();
        self.let_in_timely();
        let lends = self.recipe.feedback_records > 0;
        let (mut candidates, mut spread) = self.gather(true, !lends);
        if candidates.is_empty() {
            return candidates;
        }
        if lends {
            self.weigh(&self.recipe.first, self.paired(self.recipe.bounds.paired_first), &mut candidates, spread);
            self.lend(&candidates, self.mean_strength());
            (candidates, spread) = self.gather(false, true);
        }
        self.find_rings(&mut candidates);
        self.weigh(&self.recipe.last, self.paired(self.recipe.bounds.paired), &mut candidates, spread);
        self.add_time(&mut candidates);
        self.reward(&mut candidates);
        self.put_truth_first(&mut candidates, limit);
        candidates.truncate(limit);
        candidates
    }

    /// Whether there are too many records to compare them all.
    fn is_preselecting(&self) -> bool {
        self.seen.records as usize > self.recipe.bounds.exhaustive_records
    }

    /// In how many records pairs are looked for: in three times as many where everything is compared.
    fn paired(&self, bound: usize) -> usize {
        if self.is_preselecting() { bound } else { 3 * bound }
    }

    /// Finds how near records are: all of them, or those whose signs promise something.
    fn measure_nearness(&mut self) {
        let Some(near) = &self.near else { return };
        let vectors = &self.index.vectors;
        let mut spread = Spread::default();
        let (kindred, floor) = if self.is_preselecting() {
            spread.add_nearness(&vectors.nearness_at(near, &self.sample));
            let chosen = vectors.preselect(near, self.seen, self.recipe.bounds.by_signs);
            let nearness = vectors.nearness_at(near, &chosen);
            let nearest = nearness.iter().copied().max();
            self.let_in(&spread, nearest, chosen.into_iter().zip(nearness))
        } else {
            let nearness = vectors.nearness(near, self.seen);
            spread.add_nearness(&nearness);
            // Of the slice, so that many are compared at once.
            let nearest = nearness.iter().copied().max();
            let let_in = self.let_in(&spread, nearest, (0..).zip(nearness.iter().copied()));
            self.nearness = nearness;
            let_in
        };
        (self.kindred, self.floor) = (kindred, floor);
        self.scales.near = spread.scale();
        self.chances = Chances::new(self.recipe, self.seen.records, &spread);
    }

    /// Those that are near enough to need no word of the query, and above which nearness they are.
    fn let_in(
        &self,
        spread: &Spread,
        nearest: Option<i32>,
        found: impl Iterator<Item = (u32, i32)>,
    ) -> (Vec<(u32, i32)>, i32) {
        let (measured, mean, _) = spread.moments();
        let floor = self.recipe.gate.floor(self.seen.records, nearest.unwrap_or(NO_VECTOR), measured, mean);
        let mut kindred: Vec<(u32, i32)> = found.filter(|(_, nearness)| *nearness > floor).collect();
        let lowest = lowest_of_best(self.recipe.bounds.company, kindred.iter().map(|(_, nearness)| *nearness));
        kindred.retain(|(_, nearness)| lowest.is_none_or(|lowest| *nearness >= lowest));
        (kindred, lowest.map_or(floor, |lowest| lowest - 1))
    }

    /// How likely a candidate is an answer.
    pub(crate) fn chance(&self, candidate: &Candidate) -> f64 {
        let count = self.cover.count(candidate.marks);
        let language = || self.index.lexicon.language(self.index.records.running(candidate.slot));
        if count == 0 && candidate.near != NO_VECTOR && are_foreign(self.query.language, language()) {
            return self.chances.across(candidate.near);
        }
        let count = self.query.telling_count(count, candidate.pairs > 0);
        let (count, terms) = timely::with_time(self.wanted, count, self.cover.terms(), candidate.is_in_time);
        self.chances.of(count, terms, candidate.near)
    }

    /// Lets the best records lend words to the query, each by how far it is above the mean.
    fn lend(&mut self, candidates: &[Candidate], mean: f64) {
        let best = self.best_of(candidates, self.recipe.feedback_records);
        let lender = |(rank, found): (usize, &Candidate)| Lender::new(found.slot, rank, found.strength - mean);
        let lenders: Vec<Lender> = best.iter().enumerate().map(lender).collect();
        let own_total: f32 = self.query.terms.iter().map(|known| known.weight).sum();
        let share = own_total * self.recipe.feedback / (1.0 - self.recipe.feedback);
        let common = if self.is_preselecting() { self.bm25.records() / self.recipe.bounds.lent_to } else { u32::MAX };
        let lent =
            feedback::lent_terms(self.index, self.bm25, &lenders, self.query.stops, self.recipe.feedback_terms, common);
        feedback::add(&mut self.terms, &lent, f64::from(share));
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
        let front = self.select_best(candidates, count);
        front.sort_unstable_by(|a, b| self.order(a, b));
    }

    /// Brings the best `count` to the front, in any order.
    fn select_best<'c>(&self, candidates: &'c mut [Candidate], count: usize) -> &'c mut [Candidate] {
        if candidates.len() <= count || count == 0 {
            return candidates;
        }
        candidates.select_nth_unstable_by(count - 1, |a, b| self.order(a, b));
        &mut candidates[..count]
    }

    /// The better one is less; of equals the newer one.
    fn order(&self, a: &Candidate, b: &Candidate) -> Ordering {
        let seq = |candidate: &Candidate| self.index.records.seq(candidate.slot);
        b.strength.total_cmp(&a.strength).then_with(|| seq(b).cmp(&seq(a)))
    }
}
