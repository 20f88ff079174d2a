//! The whole way of one query: words, pairs, vectors, neighbours, feedback, bonuses. Everything a hit or an explanation
//! needs is left in the candidates.

use std::cmp::Ordering;

use crate::index::WorkspaceIndex;
use crate::meaning::{self, NO_VECTOR, Near};
use crate::recipe::{Recipe, Weights};
use crate::records::Seen;
use crate::search::SearchRequest;
use crate::search::all_words::{AllWords, AsTyped};
use crate::search::chance::Chances;
use crate::search::cover::Cover;
use crate::search::feedback::{self, Lender};
use crate::search::fuse::{Scale, Spread};
use crate::search::lexical::{self, Bm25, Matched, Weighted, root};
use crate::search::neighbours::Neighbours;
use crate::search::pairs::Pairs;
use crate::search::query::Query;
use crate::truth::Judge;
use crate::words::is_mostly_latin;

/// A record that may be returned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate {
    pub(crate) slot: u32,
    /// The score of the query's own and of the lent words.
    pub(crate) words: u32,
    pub(crate) pairs: u32,
    /// `NO_VECTOR` where either side has none.
    pub(crate) near: i32,
    /// Which terms of the query it has; how many of them, where there are too many to tell them apart.
    pub(crate) marks: u32,
    /// Which terms it has together with its neighbours.
    pub(crate) around: u32,
    /// The words of its neighbours.
    pub(crate) ring: u32,
    pub(crate) has_all_words: bool,
    pub(crate) has_them_as_typed: bool,
    /// Whether it no longer holds.
    pub(crate) is_stale: bool,
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
    pub(crate) bm25: Bm25,
    pub(crate) near: Option<Near>,
    /// The terms that were scored last: the query's own first, then the lent ones.
    pub(crate) terms: Vec<Weighted>,
    pub(crate) cover: Cover,
    /// How much neighbours count here, from 0 to 1.
    pub(crate) locality: f64,
    pub(crate) scales: Scales,
    chances: Chances,
    pub(crate) bonuses: Bonuses,
    /// By slot; empty where signs choose whom to compare.
    nearness: Vec<i32>,
    /// The slots that are near enough to need no word of the query, in order.
    kindred: Vec<(u32, i32)>,
    /// `None` where the query has no pair.
    pairs: Option<Pairs>,
    /// What was found out of records that have a word of the query, in order of slots. Lent words change nothing in it.
    measured: Vec<Measured>,
    /// `None` where neighbours do not count.
    neighbours: Option<Neighbours<'a>>,
    /// By slot: which terms of the query each visible record has. Filled when words are scored first.
    marks: Vec<u32>,
    /// Sums over the visible records of what their marks are worth: plain and weighted.
    marks_total: (u64, u64),
    /// By place in the lane, where all neighbours are looked at: marks of each record with its neighbours.
    all_around: Vec<u32>,
    /// By slot: the root of the last score of words and pairs.
    roots: Vec<u32>,
}

/// What is asked of a record once, however often its words are scored.
#[derive(Debug, Clone, Copy)]
struct Measured {
    slot: u32,
    near: i32,
    pairs: u32,
}

/// How scores became strengths.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Scales {
    words: Scale,
    near: Scale,
    ring: Scale,
    pairs: Scale,
}

/// What was added for having the words of the query.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Bonuses {
    pub(crate) all_words: f64,
    pub(crate) as_typed: f64,
}

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
    pub(crate) fn sum(&self) -> f64 {
        self.words + self.near + self.count + self.cover + self.around + self.ring + self.pairs
    }
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
        let query = Query::parse(request.query, &index.lexicon);
        if !query.has_words() {
            return None;
        }
        let is_understood = recipe.has_meaning() && is_mostly_latin(request.query);
        let near = if is_understood { index.vectors.aim(index.model, request.query) } else { None };
        let bm25 = Bm25::new(index);
        let pairs = if recipe.pairs > 0.0 { Pairs::new(&query, index, &bm25, recipe.pairs) } else { None };
        let mut ranking = Self {
            index,
            recipe,
            seen,
            judge,
            terms: own_terms(&query),
            cover: Cover::new(&query, index, &bm25, 0),
            locality: if recipe.has_neighbours() { index.vectors.locality() } else { 0.0 },
            bm25,
            near,
            query,
            scales: Scales::default(),
            chances: Chances::new(recipe.chance, &Spread::default()),
            bonuses: Bonuses::default(),
            nearness: Vec::new(),
            kindred: Vec::new(),
            pairs,
            measured: Vec::new(),
            neighbours: None,
            marks: Vec::new(),
            marks_total: (0, 0),
            all_around: Vec::new(),
            roots: Vec::new(),
        };
        if ranking.locality > 0.0 {
            let few = ranking.is_preselecting();
            ranking.neighbours = Some(if few { Neighbours::of_few(index, seen) } else { Neighbours::all(index, seen) });
        }
        Some(ranking)
    }

    /// The candidates, best first, at most `limit`.
    pub(crate) fn run(&mut self, limit: usize) -> Vec<Candidate> {
        self.measure_nearness();
        let mut candidates = self.score_words();
        if self.recipe.feedback_records > 0 && !candidates.is_empty() {
            let mean = self.weigh_first(&mut candidates);
            self.lend(&candidates, mean);
            candidates = self.score_words();
        }
        self.weigh_last(&mut candidates);
        self.reward(&mut candidates);
        self.put_truth_first(&mut candidates, limit);
        candidates.truncate(limit);
        candidates
    }

    /// Whether there are too many records to compare them all.
    fn is_preselecting(&self) -> bool {
        self.seen.records as usize > self.recipe.bounds.exhaustive_records
    }

    /// Finds how near records are: all of them, or those whose signs promise something.
    fn measure_nearness(&mut self) {
        let Some(near) = &self.near else { return };
        let vectors = &self.index.vectors;
        let mut spread = Spread::default();
        if self.is_preselecting() {
            let sample = vectors.sample(&self.index.records, self.seen, self.recipe.bounds.sampled);
            spread.add_nearness(&vectors.nearness_at(near, &sample));
            let bar = self.nearness_bar();
            let chosen = vectors.preselect(near, self.seen, self.recipe.bounds.by_signs);
            let nearness = vectors.nearness_at(near, &chosen);
            self.kindred = chosen.into_iter().zip(nearness).filter(|(_, nearness)| *nearness > bar).collect();
        } else {
            let mut nearness = vectors.nearness(near);
            if !self.seen.is_everyone {
                let unseen = (0..).zip(&mut nearness).filter(|(slot, _)| !self.seen.contains(*slot));
                unseen.for_each(|(_, nearness)| *nearness = NO_VECTOR);
            }
            spread.add_nearness(&nearness);
            let bar = self.nearness_bar();
            self.kindred = (0..).zip(nearness.iter().copied()).filter(|(_, nearness)| *nearness > bar).collect();
            self.nearness = nearness;
        }
        self.scales.near = spread.scale();
        self.chances = Chances::new(self.recipe.chance, &spread);
    }

    /// Above which nearness a record needs no word of the query.
    pub(crate) fn nearness_bar(&self) -> i32 {
        (self.recipe.kindred * meaning::ONE) as i32
    }

    /// How likely a candidate is an answer.
    pub(crate) fn chance(&self, candidate: &Candidate) -> f64 {
        let share = self.cover.count_share(f64::from(self.cover.count(candidate.marks)));
        self.chances.of(share, candidate.near)
    }

    /// Everything that has a word of the query, or is near enough in meaning, with the score of its words.
    fn score_words(&mut self) -> Vec<Candidate> {
        let mut spread = Spread::default();
        let mut matched: Vec<Matched> = Vec::new();
        let mut candidates: Vec<Candidate> = self.kindred.iter().map(|&(slot, near)| by_meaning(slot, near)).collect();
        let mut kindred = candidates.iter_mut().peekable();
        let mut roots = std::mem::take(&mut self.roots);
        roots.clear();
        roots.resize(self.index.records.slots(), 0);
        lexical::score(self.index, &self.bm25, &self.terms, self.seen, |record| {
            let root = root(record.score);
            roots[record.slot as usize] = root;
            if record.seen != 0 {
                matched.push(record);
                return;
            }
            // It has lent words only. They raise it, but do not let it in.
            spread.add(i64::from(root));
            while kindred.next_if(|candidate| candidate.slot < record.slot).is_some() {}
            if let Some(candidate) = kindred.next_if(|candidate| candidate.slot == record.slot) {
                candidate.words = record.score;
            }
        });
        self.roots = roots;
        if self.marks.is_empty() {
            self.note_marks(&matched);
        }
        if self.is_preselecting() {
            // Those that go no further still belong to the spread.
            let roots = &self.roots;
            self.drop_weak(&mut matched, |slot| spread.add(i64::from(roots[slot as usize])));
        }
        self.add_matched(&mut candidates, &matched, &mut spread);
        spread.add_zeros_up_to(u64::from(self.seen.records));
        self.scales.words = spread.scale();
        candidates
    }

    /// Keeps which record has which terms of the query, and what they are worth together.
    fn note_marks(&mut self, matched: &[Matched]) {
        let mut marks = vec![0; self.index.records.slots()];
        let met = matched.iter().fold(0, |met, record| met | record.seen);
        let cover = Cover::new(&self.query, self.index, &self.bm25, met);
        for record in matched {
            marks[record.slot as usize] = record.seen;
            self.marks_total.0 += u64::from(cover.count(record.seen));
            self.marks_total.1 += u64::from(cover.weight(record.seen));
        }
        if let Some(neighbours) = &self.neighbours
            && cover.knows_terms()
            && !self.is_preselecting()
        {
            self.all_around = neighbours.all_marks_around(&marks);
        }
        self.marks = marks;
        self.cover = cover;
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
        let mut pairs_spread = Spread::default();
        candidates.reserve(matched.len());
        for (record, &Measured { near, pairs, .. }) in matched.iter().zip(&self.measured) {
            let root = root(record.score.saturating_add(pairs));
            self.roots[record.slot as usize] = root;
            spread.add(i64::from(root));
            if pairs > 0 {
                pairs_spread.add(i64::from(pairs));
            }
            let has_all_words = all_words.are_in(record);
            let marks = record.seen;
            candidates.push(Candidate {
                words: record.score,
                pairs,
                marks,
                has_all_words,
                ..by_meaning(record.slot, near)
            });
        }
        pairs_spread.add_zeros_up_to(u64::from(self.seen.records));
        self.scales.pairs = pairs_spread.scale();
        for candidate in candidates {
            candidate.around = self.marks_around(candidate);
        }
    }

    fn marks_around(&self, candidate: &Candidate) -> u32 {
        match &self.neighbours {
            Some(_) if !self.cover.knows_terms() => candidate.marks,
            Some(neighbours) if self.is_preselecting() => neighbours.marks_around(candidate.slot, &self.marks),
            Some(neighbours) => self.all_around[neighbours.place(candidate.slot)],
            None => candidate.marks,
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

    /// The strengths by which lenders are chosen; tells their mean over all visible records.
    fn weigh_first(&self, candidates: &mut [Candidate]) -> f64 {
        let weights = &self.recipe.first;
        for candidate in candidates.iter_mut() {
            candidate.strength = self.parts(weights, candidate).sum();
        }
        // What is counted in deviations has a mean of 0.
        let records = f64::from(self.seen.records.max(1));
        let (count, weight) = self.marks_total;
        weights.count * self.cover.count_share(count as f64 / records)
            + weights.cover * self.cover.weight_share(weight as f64 / records)
            + weights.around * self.locality * self.cover.weight_share(self.mean_around())
    }

    /// What neighbours add to the cover of a record, on average over the visible ones.
    fn mean_around(&self) -> f64 {
        let Some(neighbours) = self.neighbours.as_ref().filter(|_| self.cover.knows_terms()) else { return 0.0 };
        let more = |slot: u32, around: u32| self.cover.weight(around) - self.cover.weight(self.marks[slot as usize]);
        let (total, records): (u64, usize) = if self.is_preselecting() {
            let sample = self.index.vectors.sample(&self.index.records, self.seen, self.recipe.bounds.sampled);
            let around = |&slot: &u32| u64::from(more(slot, neighbours.marks_around(slot, &self.marks)));
            (sample.iter().map(around).sum(), sample.len())
        } else {
            let lane = neighbours.lane();
            let around = lane.iter().zip(&self.all_around).map(|(&slot, &around)| u64::from(more(slot, around)));
            (around.sum(), lane.len())
        };
        total as f64 / records.max(1) as f64
    }

    /// The strengths by which the answer is ranked, before bonuses.
    fn weigh_last(&mut self, candidates: &mut [Candidate]) {
        self.find_rings(candidates);
        for candidate in candidates {
            candidate.strength = self.parts(&self.recipe.last, candidate).sum();
        }
    }

    fn find_rings(&mut self, candidates: &mut [Candidate]) {
        let Some(neighbours) = self.neighbours.as_ref().filter(|_| self.recipe.last.ring > 0.0) else { return };
        let mut spread = Spread::default();
        if self.is_preselecting() {
            let sample = self.index.vectors.sample(&self.index.records, self.seen, self.recipe.bounds.sampled);
            sample.iter().for_each(|&slot| spread.add(i64::from(neighbours.ring_of(slot, &self.roots))));
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

    /// What makes up the strength of a candidate, but for bonuses.
    pub(crate) fn parts(&self, weights: &Weights, candidate: &Candidate) -> Parts {
        let words = root(candidate.words.saturating_add(candidate.pairs));
        let (own, around) = (self.cover.weight(candidate.marks), self.cover.weight(candidate.around));
        // Without a vector a record is as near as the average one.
        let near =
            if candidate.near == NO_VECTOR { 0.0 } else { self.scales.near.deviations(i64::from(candidate.near)) };
        Parts {
            words: weights.words * self.scales.words.deviations(i64::from(words)),
            near: weights.near * near,
            count: weights.count * self.cover.count_share(f64::from(self.cover.count(candidate.marks))),
            cover: weights.cover * self.cover.weight_share(f64::from(own)),
            around: weights.around * self.locality * self.cover.weight_share(f64::from(around - own)),
            ring: weights.ring * self.locality * self.scales.ring.deviations(i64::from(candidate.ring)),
            pairs: weights.pairs * self.scales.pairs.deviations(i64::from(candidate.pairs)),
        }
    }

    /// Lets the best records lend words to the query, each by how far it stands above the mean.
    fn lend(&mut self, candidates: &[Candidate], mean: f64) {
        let best = self.best_of(candidates, self.recipe.feedback_records);
        let lender = |(rank, found): (usize, &Candidate)| Lender::new(found.slot, rank, found.strength - mean);
        let lenders: Vec<Lender> = best.iter().enumerate().map(lender).collect();
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
            let all = candidates.len();
            let read = if self.query.is_keywords() { all } else { self.recipe.bounds.read.min(all) };
            self.sort_best(candidates, read);
            let as_typed = AsTyped::new(&self.query);
            for candidate in candidates[..read].iter_mut().filter(|candidate| candidate.has_all_words) {
                candidate.has_them_as_typed = as_typed.are_in(self.index, candidate.slot);
                candidate.strength += f64::from(u8::from(candidate.has_them_as_typed)) * self.bonuses.as_typed;
            }
        }
    }

    /// What no longer holds stands behind what holds and speaks of the same thing. Of those that dispute a key the newest
    /// is first: they trade places among themselves, and with nobody else.
    fn put_truth_first(&self, candidates: &mut [Candidate], limit: usize) {
        for candidate in candidates.iter_mut() {
            candidate.is_stale = self.judge.is_stale(candidate.slot);
        }
        let read = self.recipe.bounds.read.min(candidates.len());
        self.sort_best(candidates, limit.max(read));
        let key_of = |candidate: &Candidate| self.index.truth.key_of(candidate.slot).filter(|_| !candidate.is_stale);
        let mut keyed: Vec<(u32, usize)> =
            candidates[..read].iter().enumerate().filter_map(|(at, found)| Some((key_of(found)?, at))).collect();
        keyed.sort_unstable();
        for rivals in keyed.chunk_by(|a, b| a.0 == b.0).filter(|rivals| rivals.len() > 1) {
            // Places come best first; whoever is newest takes the best.
            let mut newest_first: Vec<Candidate> = rivals.iter().map(|&(_, at)| candidates[at]).collect();
            newest_first.sort_unstable_by_key(|rival| std::cmp::Reverse(self.index.records.seq(rival.slot)));
            for (&(_, at), rival) in rivals.iter().zip(newest_first) {
                let strength = candidates[at].strength;
                candidates[at] = Candidate { traded: strength - rival.strength, strength, ..rival };
            }
        }
        let front = limit.max(read).min(candidates.len());
        let rivals = self.recipe.bounds.rivals.min(front);
        self.let_rivals_pass(&mut candidates[..rivals]);
    }

    /// Before each stale record steps one behind it that holds and speaks of the same thing. A penalty on what is stale
    /// was tried: where it was large enough for updates, other records passed what is stale and has no update.
    fn let_rivals_pass(&self, best: &mut [Candidate]) {
        let mut at = 0;
        while at < best.len() {
            if best[at].is_stale
                && let Some(behind) = self.rival_of(&best[at], &best[at + 1..])
            {
                let strength = best[at].strength;
                best[at..=at + 1 + behind].rotate_right(1);
                best[at].traded += strength - best[at].strength;
                best[at].strength = strength;
                at += 1;
            }
            at += 1;
        }
    }

    /// Of the records that hold and speak of the same thing as a stale one, the one that does so most: under the same key
    /// if there is such a one, otherwise in much the same words.
    fn rival_of(&self, stale: &Candidate, others: &[Candidate]) -> Option<usize> {
        let key = self.index.truth.key_of(stale.slot);
        let alike = |other: &Candidate| {
            let has_key = key.is_some() && key == self.index.truth.key_of(other.slot);
            if has_key { f64::INFINITY } else { self.index.vectors.cosine(stale.slot, other.slot) }
        };
        let mut most = None;
        for (at, other) in others.iter().enumerate().filter(|(_, other)| !other.is_stale) {
            let alike = alike(other);
            if alike >= self.recipe.alike && most.is_none_or(|(_, most)| alike > most) {
                most = Some((at, alike));
            }
        }
        most.map(|(at, _)| at)
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

    /// Keeps the best by plain word score, those that have all words, and those that meaning brings in anyway. Whoever
    /// equals the last one kept is kept too: which of two equals came first must not matter. Stays in order of slots.
    fn drop_weak(&self, matched: &mut Vec<Matched>, mut dropped: impl FnMut(u32)) {
        let bounds = &self.recipe.bounds;
        if matched.len() <= bounds.by_words {
            return;
        }
        let all_words = AllWords::new(&self.query);
        let bar = score_at(matched.iter().map(|record| record.score), bounds.by_words);
        // A list of keywords is a demand: what meets it is compared, however weak its words look.
        let complete_max = if self.query.is_keywords() { bounds.complete } else { bounds.by_words };
        let complete = matched.iter().filter(|record| all_words.are_in(record));
        let complete_bar = score_at(complete.map(|record| record.score), complete_max);
        let mut kindred = self.kindred.iter().map(|&(slot, _)| slot).peekable();
        matched.retain(|record| {
            while kindred.next_if(|&slot| slot < record.slot).is_some() {}
            let is_kept = record.score >= bar
                || kindred.peek() == Some(&record.slot)
                || record.score >= complete_bar && all_words.are_in(record);
            if !is_kept {
                dropped(record.slot);
            }
            is_kept
        });
    }
}

/// The score of the one at place `count`, best first; 0 where there are not so many.
fn score_at(scores: impl Iterator<Item = u32>, count: usize) -> u32 {
    let mut scores: Vec<u32> = scores.collect();
    if scores.len() <= count || count == 0 {
        return 0;
    }
    *scores.select_nth_unstable_by(count - 1, |a, b| b.cmp(a)).1
}

fn own_terms(query: &Query) -> Vec<Weighted> {
    let mark = |at: usize| if query.is_masked() { 1 << at } else { 1 };
    let own = query.terms.iter().enumerate();
    own.filter_map(|(at, known)| Some(Weighted { term: known.term?, weight: known.weight, mark: mark(at) })).collect()
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
        is_stale: false,
        traded: 0.0,
        strength: 0.0,
    }
}
