//! The ranking once more, as plainly as it can be written: every record is read anew for every query, nothing is kept.
//! The index must give the same answer to the bit. Shares with it the formulas, none of the structures.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use crate::meaning::{Centre, NO_VECTOR, Near, draws, signs};
use crate::words::{Role, Stems, each_word, is_mostly_latin, is_stop_word};
use crate::{
    AudienceNo, Bounds, Embedding, Filter, Hit, Model, NewDoc, Recipe, SearchRequest, Weights, WorkspaceIndex,
};

use super::bm25::{Bm25, COARSE, coarse_root, contribution, factor, root, saturation};
use super::chance::{Chances, to_scores};
use super::cover;
use super::fuse::{Scale, Spread};
use super::query::fit_weights;
use crate::index::Totals;

#[derive(Debug, Clone)]
struct Doc {
    seq: u64,
    text: String,
    audience: u32,
    counted: bool,
    saved_at: u32,
    updated_at: i64,
    valid_until: Option<i64>,
    source_id: Option<&'static str>,
    source_hash: Option<&'static str>,
    fact_key: Option<&'static str>,
}

/// Somebody has seen a hash of a source.
#[derive(Debug, Clone)]
struct Sighting {
    source_id: &'static str,
    audience: Option<u32>,
    hash: &'static str,
    seq: u64,
}

/// A record, read.
struct Page {
    seq: u64,
    counted: bool,
    is_seen: bool,
    /// Every form.
    forms: BTreeSet<String>,
    /// Stems of every form, with their counts.
    terms: BTreeMap<String, u32>,
    /// Stems of the running content words.
    sequence: Vec<String>,
    length: u16,
    embedding: Option<Embedding>,
    saved_at: u32,
    is_stale: bool,
    fact_key: Option<&'static str>,
}

struct Asked {
    /// Stem and weight, in the order of their first use.
    terms: Vec<(String, f32)>,
    sequence: Vec<String>,
    /// Per word: its stem, and the stems of its parts.
    words: Vec<(String, Vec<String>)>,
    typed: Vec<(String, bool)>,
}

#[derive(Clone)]
struct Scored {
    page: usize,
    strength: f64,
}

struct Oracle<'r> {
    recipe: &'r Recipe,
    pages: Vec<Page>,
    asked: Asked,
    bm25: Bm25,
    /// The pages that the caller sees, in the order of saving.
    seen: Vec<usize>,
    /// Those of them that stand for all where a spread is taken.
    sample: Vec<usize>,
}

/// The scores of words, by page.
struct Words {
    scores: Vec<u32>,
    pairs: Vec<u32>,
    candidates: Vec<usize>,
    /// How many were looked at for pairs, and how many may have one.
    promising: (usize, usize),
}

fn answer(docs: &[Doc], sightings: &[Sighting], recipe: &Recipe, request: &SearchRequest<'_>) -> Vec<Hit> {
    let pages: Vec<Page> = docs.iter().map(|doc| read(doc, sightings, request)).collect();
    let (query, limit) = (request.query, request.limit);
    if query.trim() == "*" {
        let newest = pages.iter().rev().filter(|page| page.is_seen).take(limit);
        return newest.map(|page| Hit { seq: page.seq, score: 1.0 }).collect();
    }
    let asked = ask(query);
    if asked.typed.is_empty() {
        return Vec::new();
    }
    let counted = || pages.iter().filter(|page| page.counted);
    let length: u64 = counted().map(|page| u64::from(page.length)).sum();
    let bm25 = Bm25::new(Totals { records: counted().count() as u32, length });
    let seen: Vec<usize> = (0..pages.len()).filter(|&page| pages[page].is_seen).collect();
    let is_drawn = draws(seen.len() as u32, recipe.bounds.sampled);
    let is_small = seen.len() <= recipe.bounds.exhaustive_records;
    let sample = seen.iter().copied().filter(|&page| is_small || is_drawn(pages[page].seq)).collect();
    Oracle { recipe, pages, asked, bm25, seen, sample }.answer(query, limit)
}

impl Oracle<'_> {
    fn answer(&self, query: &str, limit: usize) -> Vec<Hit> {
        let near = self.nearness(query);
        let near_spread = gather(near.iter().flat_map(|near| self.sample.iter().map(|&page| near[page])));
        let near_scale = near_spread.scale();
        let kindred = near.as_ref().map_or(Vec::new(), |near| self.kindred(query, near));
        let near = near.unwrap_or_else(|| vec![NO_VECTOR; self.pages.len()]);
        let locality = if self.recipe.last.around > 0.0 { self.locality() } else { 0.0 };
        let mut terms = self.asked.terms.clone();
        let mut words = self.words(&terms, &kindred);
        if self.recipe.feedback_records > 0 {
            let first = self.weigh_twice(true, &mut words, &near, near_scale, locality);
            terms = self.expand(&first, self.mean_strength(locality));
            words = self.words(&terms, &kindred);
        }
        let mut scored = self.weigh_twice(false, &mut words, &near, near_scale, locality);
        self.reward(&mut scored);
        self.put_truth_first(&mut scored);
        scored.truncate(limit);
        let chances = Chances::new(self.recipe.chance, &near_spread);
        let scores = to_scores(scored.iter().map(|found| chances.of(self.covers(found.page).0, near[found.page])));
        scored.iter().zip(scores).map(|(found, score)| Hit { seq: self.pages[found.page].seq, score }).collect()
    }

    fn is_preselecting(&self) -> bool {
        self.seen.len() > self.recipe.bounds.exhaustive_records
    }

    fn reward(&self, scored: &mut [Scored]) {
        let strengths = || scored.iter().map(|found| found.strength);
        let reach = strengths().fold(f64::MIN, f64::max) - strengths().fold(f64::MAX, f64::min);
        let is_keywords = self.asked.typed.len() <= 3;
        let bonus = |bonus: f64| match bonus > 0.0 {
            true if is_keywords => bonus.max(reach + 1.0),
            true => bonus,
            false => 0.0,
        };
        let (all_words, as_typed) = (bonus(self.recipe.all_words), bonus(self.recipe.as_typed));
        for found in scored.iter_mut().filter(|found| self.has_all(&self.pages[found.page])) {
            found.strength += all_words;
        }
        self.sort(scored);
        let read = if is_keywords { scored.len() } else { self.recipe.bounds.read.min(scored.len()) };
        for found in &mut scored[..read] {
            let page = &self.pages[found.page];
            if self.has_all(page) && self.has_as_typed(page) {
                found.strength += as_typed;
            }
        }
        self.sort(scored);
    }

    fn put_truth_first(&self, scored: &mut [Scored]) {
        self.sort(scored);
        let read = self.recipe.bounds.read.min(scored.len());
        let key = |found: &Scored| self.pages[found.page].fact_key.filter(|_| !self.pages[found.page].is_stale);
        for disputed in scored[..read].iter().filter_map(key).collect::<BTreeSet<_>>() {
            let places: Vec<usize> = (0..read).filter(|&at| key(&scored[at]) == Some(disputed)).collect();
            let mut pages: Vec<usize> = places.iter().map(|&at| scored[at].page).collect();
            pages.sort_by_key(|&page| std::cmp::Reverse(self.pages[page].seq));
            for (at, page) in places.into_iter().zip(pages) {
                scored[at].page = page;
            }
        }
        self.let_rivals_pass(scored);
    }

    /// Before each stale record steps the one behind it that holds and is under the same key or most alike.
    fn let_rivals_pass(&self, scored: &mut [Scored]) {
        let last = self.recipe.bounds.rivals.min(scored.len());
        let mut moved = BTreeSet::new();
        for at in 0..last {
            let stale = &self.pages[scored[at].page];
            if !stale.is_stale || !moved.insert(stale.seq) {
                continue;
            }
            let alike = |behind: usize| {
                let other = &self.pages[scored[behind].page];
                let has_key = stale.fact_key.is_some() && stale.fact_key == other.fact_key;
                if has_key { f64::INFINITY } else { self.alike(stale, other) }
            };
            let is_rival =
                |&behind: &usize| !self.pages[scored[behind].page].is_stale && alike(behind) >= self.recipe.alike;
            let rivals = (at + 1..last).rev().filter(is_rival);
            let Some(behind) = rivals.max_by(|&a, &b| alike(a).total_cmp(&alike(b))) else { continue };
            let mut rival = scored[behind].clone();
            rival.strength = scored[at].strength;
            for place in (at..behind).rev() {
                scored[place + 1] = scored[place].clone();
            }
            scored[at] = rival;
        }
    }

    fn alike(&self, a: &Page, b: &Page) -> f64 {
        let (Some(a), Some(b)) = (&a.embedding, &b.embedding) else { return 0.0 };
        like(a, b) as f64 / 1_073_741_824.0
    }

    /// The score of everybody's words, and who is a candidate.
    fn words(&self, terms: &[(String, f32)], kindred: &[usize]) -> Words {
        let score = |page: &Page| -> u32 {
            let norm = self.bm25.norm(page.length);
            let share = |(term, weight): &(String, f32)| {
                let count = page.terms.get(term)?;
                Some(contribution(factor(*weight, self.idf(term)), saturation(*count, norm)))
            };
            terms.iter().filter_map(share).sum()
        };
        let scores: Vec<u32> = self.pages.iter().map(score).collect();
        let mut kept: Vec<usize> =
            self.seen.iter().copied().filter(|&page| !self.own_terms(&self.pages[page]).is_empty()).collect();
        if self.is_preselecting() && kept.len() > self.recipe.bounds.by_words {
            let by_words = self.recipe.bounds.by_words;
            let is_keywords = self.asked.typed.len() <= 3;
            let complete_max = if is_keywords { self.recipe.bounds.complete } else { by_words };
            let complete: Vec<usize> = kept.iter().copied().filter(|&page| self.has_all(&self.pages[page])).collect();
            let (bar, complete_bar) = (nth(&scores, &kept, by_words), nth(&scores, &complete, complete_max));
            kept.retain(|page| {
                let is_complete = complete.contains(page) && scores[*page] >= complete_bar;
                scores[*page] >= bar || is_complete || kindred.contains(page)
            });
        }
        let pairs = vec![0; self.pages.len()];
        let only_kindred: Vec<usize> = kindred.iter().copied().filter(|page| !kept.contains(page)).collect();
        Words { scores, pairs, candidates: [kept, only_kindred].concat(), promising: (0, 0) }
    }

    /// The candidates with their strengths, after pairs were looked for in those that looked best without.
    fn weigh_twice(
        &self,
        is_first: bool,
        words: &mut Words,
        near: &[i32],
        near_scale: Scale,
        locality: f64,
    ) -> Vec<Scored> {
        let (weights, paired) = match is_first {
            true => (&self.recipe.first, self.recipe.bounds.paired_first),
            false => (&self.recipe.last, self.recipe.bounds.paired),
        };
        let paired = if self.is_preselecting() { paired } else { 2 * paired };
        let mut promising = self.weigh(weights, words, near, near_scale, locality);
        promising.retain(|found| self.may_have_pair(&self.pages[found.page]));
        let is_keywords = self.asked.typed.len() <= 3;
        let bonus = if is_keywords { f64::INFINITY } else { self.recipe.all_words };
        // Those with all words first where nothing outweighs that; among equals the strongest, then the newest.
        self.sort(&mut promising);
        let promise = |found: &Scored| {
            let is_raised = self.recipe.all_words > 0.0 && self.has_all(&self.pages[found.page]);
            found.strength + if is_raised { bonus } else { 0.0 }
        };
        promising.sort_by(|a, b| promise(b).total_cmp(&promise(a)));
        for found in promising.iter().take(paired) {
            words.pairs[found.page] = self.pairs(found.page);
        }
        words.promising = (paired.min(promising.len()), promising.len());
        self.weigh(weights, words, near, near_scale, locality)
    }

    /// Whether a page has both words of a pair of the query.
    fn may_have_pair(&self, page: &Page) -> bool {
        if self.asked.terms.len() > 32 {
            return !self.own_terms(page).is_empty();
        }
        let has = |term: &String| page.terms.contains_key(term);
        let sequence = &self.asked.sequence;
        let pairs = (0..sequence.len()).flat_map(|at| sequence.iter().skip(at + 1).take(2).map(move |two| (at, two)));
        pairs.into_iter().any(|(at, two)| sequence[at] != *two && has(&sequence[at]) && has(two))
    }

    /// The candidates with their strengths.
    fn weigh(&self, weights: &Weights, words: &Words, near: &[i32], near_scale: Scale, locality: f64) -> Vec<Scored> {
        let with_pairs = |page: usize| words.scores[page] + words.pairs[page];
        let ring = |page: usize| -> u32 {
            let root = |page: usize| u32::from(coarse_root(words.scores[page]));
            let share = |(distance, other): (usize, usize)| [10, 8, 5, 4, 3][distance - 1] * root(other);
            self.neighbours(page, 5).into_iter().map(share).sum()
        };
        let words_scale = spread(self.seen.iter().map(|&page| i32::from(coarse_root(with_pairs(page)))));
        let mut pairs_spread = gather(self.seen.iter().map(|&page| words.pairs[page] as i32));
        pairs_spread.stretch(words.promising.0, words.promising.1);
        let pairs_scale = pairs_spread.scale();
        let ring_scale = spread(self.sample.iter().map(|&page| ring(page) as i32));
        let one = |&page: &usize| {
            let near = if near[page] == NO_VECTOR { 0.0 } else { near_scale.deviations(f64::from(near[page])) };
            let (count, cover, around) = self.covers(page);
            let ring = if locality > 0.0 { ring_scale.deviations(f64::from(ring(page))) } else { 0.0 };
            let rest = weights.near * near
                + weights.count * count
                + weights.cover * cover
                + weights.around * locality * self.share(around)
                + weights.ring * locality * ring;
            let words_part = weights.words * words_scale.deviations(f64::from(root(with_pairs(page))) / COARSE);
            let pairs_part = weights.pairs * pairs_scale.deviations(f64::from(words.pairs[page]));
            Scored { page, strength: rest + (words_part + pairs_part) }
        };
        words.candidates.iter().map(one).collect()
    }

    fn mean_strength(&self, locality: f64) -> f64 {
        let weights = &self.recipe.first;
        let records = self.seen.len().max(1) as f64;
        let own = |page: &usize| self.own_terms(&self.pages[*page]);
        let count: u64 = self.seen.iter().map(|page| own(page).len() as u64).sum();
        let cover: u64 = self.seen.iter().map(|page| self.weight_of(&own(page))).sum();
        let around: u64 = self.sample.iter().map(|&page| self.covers(page).2).sum();
        let around = around as f64 / self.sample.len().max(1) as f64;
        let around = if locality > 0.0 { self.cover_share(around) } else { 0.0 };
        weights.count * (count as f64 / records / self.asked.terms.len() as f64)
            + weights.cover * self.cover_share(cover as f64 / records)
            + weights.around * locality * around
    }

    /// The plain and the weighted share of the query that a page has, and what its neighbours add to the latter.
    fn covers(&self, page: usize) -> (f64, f64, u64) {
        let own = self.own_terms(&self.pages[page]);
        let count = own.len() as f64 / self.asked.terms.len() as f64;
        if self.asked.terms.len() > 32 {
            return (count, count, 0);
        }
        let mut around = own.clone();
        for (_, other) in self.neighbours(page, 2) {
            around.extend(self.own_terms(&self.pages[other]));
        }
        let weight = self.weight_of(&own);
        (count, self.share(weight), self.weight_of(&around) - weight)
    }

    fn share(&self, weight: u64) -> f64 {
        self.cover_share(weight as f64)
    }

    fn cover_share(&self, weight: f64) -> f64 {
        if self.asked.terms.len() > 32 {
            return weight / self.asked.terms.len() as f64;
        }
        let is_met =
            |term: &str| self.pages.iter().any(|page| (page.counted || page.is_seen) && page.terms.contains_key(term));
        let known = self.asked.terms.iter().filter(|(term, _)| is_met(term)).map(|(term, _)| term.as_str());
        match self.weight_of(&known.collect()) {
            0 => 0.0,
            total => weight / total as f64,
        }
    }

    fn weight_of(&self, terms: &BTreeSet<&str>) -> u64 {
        if self.asked.terms.len() > 32 {
            return terms.len() as u64;
        }
        terms.iter().map(|term| u64::from(cover::weight(self.idf(term)))).sum()
    }

    /// The terms of the query that a page has.
    fn own_terms<'p>(&'p self, page: &'p Page) -> BTreeSet<&'p str> {
        let has = |term: &&str| page.terms.contains_key(*term);
        self.asked.terms.iter().map(|(term, _)| term.as_str()).filter(has).collect()
    }

    /// The visible pages next to one, with their distance; within a day.
    fn neighbours(&self, page: usize, reach: usize) -> Vec<(usize, usize)> {
        let place = self.seen.iter().position(|&other| other == page).unwrap();
        let distant = |other: usize| self.seen.iter().position(|&seen| seen == other).unwrap().abs_diff(place);
        let is_near = |other: usize| self.pages[other].saved_at.abs_diff(self.pages[page].saved_at) <= 86_400;
        let others = self.seen.iter().copied().filter(|&other| other != page && is_near(other));
        others.map(|other| (distant(other), other)).filter(|(distance, _)| *distance <= reach).collect()
    }

    /// How alike records are that were saved one after the other.
    fn locality(&self) -> f64 {
        let counted: Vec<&Embedding> =
            self.pages.iter().filter(|page| page.counted).filter_map(|page| page.embedding.as_ref()).collect();
        let counted: Vec<&&Embedding> = counted.iter().filter(|found| Embedding::scale(found.steps()) > 0.0).collect();
        if counted.len() < 2 {
            return 0.0;
        }
        let sum: i64 = counted.windows(2).map(|pair| like(pair[0], pair[1])).sum();
        let (records, pairs) = (counted.len() as f64, counted.len() as f64 - 1.0);
        let mean = self.sums().map(|sum| sum as f64 / 16_777_216.0 / records);
        let at_random: f64 = mean.iter().map(|x| x * x).sum();
        if 1.0 - at_random < 1e-6 {
            return 0.0;
        }
        let alike = sum as f64 / 1_073_741_824.0 / pairs;
        let alike = (alike - at_random) / (1.0 - at_random) * pairs / (pairs + 20.0);
        ((alike - 0.05) / (0.20 - 0.05)).clamp(0.0, 1.0)
    }

    /// Those near enough to need no word of the query.
    fn kindred(&self, query: &str, near: &[i32]) -> Vec<usize> {
        let bar = (self.recipe.kindred * crate::meaning::ONE) as i32;
        let is_kindred = |page: &usize| near[*page] != NO_VECTOR && near[*page] > bar;
        if !self.is_preselecting() {
            return self.seen.iter().copied().filter(is_kindred).collect();
        }
        let model = Model::shipped();
        let asked = signs::of(model.encode_exact(query).into_iter(), model);
        let distance = |page: &usize| -> u32 {
            let empty = [0; crate::DIMENSIONS];
            let steps = self.pages[*page].embedding.as_ref().map_or(&empty, |found| found.steps());
            let scale = Embedding::scale(steps);
            let signs = signs::of(steps.iter().map(|&step| f32::from(step) * scale), model);
            let differing: u32 = signs.iter().zip(asked).map(|(a, b)| (a ^ b).count_ones()).sum();
            differing.min(127)
        };
        let mut distances: Vec<u32> = self.seen.iter().map(distance).collect();
        distances.sort_unstable();
        let reach = distances.get(self.recipe.bounds.by_signs - 1).copied().unwrap_or(127);
        self.seen.iter().copied().filter(|page| distance(page) <= reach).filter(is_kindred).collect()
    }

    fn idf(&self, term: &str) -> f32 {
        let has = self.pages.iter().filter(|page| page.counted && page.terms.contains_key(term));
        self.bm25.idf(has.count() as u32)
    }

    fn pairs(&self, page: usize) -> u32 {
        let page = &self.pages[page];
        let own = |term: &String| self.asked.terms.iter().take(32).any(|(known, _)| known == term);
        let pairs_of = |sequence: &[String]| {
            let mut counts: BTreeMap<(String, String), u32> = BTreeMap::new();
            for (at, first) in sequence.iter().enumerate() {
                for second in
                    sequence.iter().skip(at + 1).take(2).filter(|second| own(first) && own(second) && first != *second)
                {
                    *counts.entry((first.clone(), second.clone())).or_default() += 1;
                }
            }
            counts
        };
        let here = pairs_of(&page.sequence);
        let norm = self.bm25.norm(page.length);
        let mut score = 0;
        for ((first, second), times) in pairs_of(&self.asked.sequence) {
            if let Some(&count) = here.get(&(first.clone(), second.clone())) {
                let once = factor(self.recipe.pairs, self.idf(&first) + self.idf(&second));
                let all = (0..times).fold(0.0, |sum: f64, _| sum + once);
                score += contribution(all, saturation(count, norm));
            }
        }
        if self.recipe.pairs > 0.0 { score } else { 0 }
    }

    fn expand(&self, scored: &[Scored], mean: f64) -> Vec<(String, f32)> {
        let mut best = scored.to_vec();
        self.sort(&mut best);
        best.truncate(self.recipe.feedback_records);
        let mut weights: BTreeMap<&str, f64> = BTreeMap::new();
        for (rank, found) in best.iter().enumerate() {
            let page = &self.pages[found.page];
            let weight = (found.strength - mean).max(0.0) / (rank as f64 + 1.0);
            for term in &page.sequence {
                *weights.entry(term).or_default() += weight / f64::from(page.length.max(1));
            }
        }
        let mut lent: Vec<(&str, f64)> = weights.into_iter().map(|(t, w)| (t, w * f64::from(self.idf(t)))).collect();
        lent.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
        lent.truncate(self.recipe.feedback_terms);
        let mut terms = self.asked.terms.clone();
        let own: f32 = terms.iter().map(|(_, weight)| weight).sum();
        let total: f64 = lent.iter().map(|(_, weight)| weight).sum();
        if total <= 0.0 {
            return terms;
        }
        let share = f64::from(own * self.recipe.feedback / (1.0 - self.recipe.feedback)) / total;
        for (term, weight) in lent {
            match terms.iter_mut().find(|(known, _)| known == term) {
                Some((_, known)) => *known += (share * weight) as f32,
                None => terms.push((term.to_owned(), (share * weight) as f32)),
            }
        }
        terms
    }

    fn nearness(&self, query: &str) -> Option<Vec<i32>> {
        let model = Model::shipped();
        let vector = model.encode_exact(query);
        if self.recipe.last.near == 0.0 || !is_mostly_latin(query) || vector.iter().all(|&x| x == 0.0) {
            return None;
        }
        let counted = self.pages.iter().filter(|page| page.counted).filter_map(|page| page.embedding.as_ref());
        let records = counted.filter(|found| Embedding::scale(found.steps()) > 0.0).count() as f64;
        let sums = self.sums();
        let mean = std::array::from_fn(|at| {
            (sums[at] as f64 / 16_777_216.0 + 20.0 * f64::from(model.mean()[at])) / (records + 20.0)
        });
        let near = Near::new(&vector, &Centre::new(mean), Default::default());
        let one = |page: &Page| match &page.embedding {
            Some(found) => near.measure([(found.steps(), Embedding::scale(found.steps()))].into_iter())[0],
            None => NO_VECTOR,
        };
        Some(self.pages.iter().map(one).collect())
    }

    /// The sum of the vectors of the counted pages.
    fn sums(&self) -> [i64; crate::DIMENSIONS] {
        let mut sums = [0_i64; crate::DIMENSIONS];
        for embedding in self.pages.iter().filter(|page| page.counted).filter_map(|page| page.embedding.as_ref()) {
            let scale = f64::from(Embedding::scale(embedding.steps()));
            for (sum, &step) in sums.iter_mut().zip(embedding.steps()) {
                *sum += (f64::from(step) * (scale * 16_777_216.0)).round() as i64;
            }
        }
        sums
    }

    fn has_all(&self, page: &Page) -> bool {
        if self.asked.terms.len() > 32 {
            return self.own_terms(page).len() == self.asked.terms.len();
        }
        let has = |term: &String| page.terms.contains_key(term);
        self.asked.words.iter().all(|(whole, parts)| has(whole) || !parts.is_empty() && parts.iter().all(has))
    }

    fn has_as_typed(&self, page: &Page) -> bool {
        let is_keywords = self.asked.typed.len() <= 3;
        let asked = self.asked.typed.iter().filter(|(_, is_stop)| is_keywords || !is_stop);
        asked.into_iter().all(|(word, _)| page.forms.contains(word))
    }

    fn sort(&self, scored: &mut [Scored]) {
        let seq = |found: &Scored| self.pages[found.page].seq;
        scored.sort_by(|a, b| b.strength.total_cmp(&a.strength).then(seq(b).cmp(&seq(a))));
    }
}

/// The cosine of two vectors as a whole number.
fn like(a: &Embedding, b: &Embedding) -> i64 {
    let product: i32 = a.steps().iter().zip(b.steps()).map(|(&x, &y)| i32::from(x) * i32::from(y)).sum();
    let scale = |found: &Embedding| f64::from(Embedding::scale(found.steps()));
    (f64::from(product) * scale(a) * scale(b) * 1_073_741_824.0).round() as i64
}

fn gather(scores: impl Iterator<Item = i32>) -> Spread {
    let mut spread = Spread::default();
    scores.filter(|&score| score != NO_VECTOR).for_each(|score| spread.add(i64::from(score)));
    spread
}

fn spread(scores: impl Iterator<Item = i32>) -> Scale {
    gather(scores).scale()
}

/// The score of the one at place `count` among these pages, best first; 0 where there are not so many.
fn nth(scores: &[u32], pages: &[usize], count: usize) -> u32 {
    let mut scores: Vec<u32> = pages.iter().map(|&page| scores[page]).collect();
    scores.sort_unstable_by(|a, b| b.cmp(a));
    if scores.len() > count { scores[count - 1] } else { 0 }
}

/// Whether a record no longer holds for the caller.
fn is_stale(doc: &Doc, sightings: &[Sighting], request: &SearchRequest<'_>) -> bool {
    let known = sightings.iter().filter(|seen| Some(seen.source_id) == doc.source_id);
    let known = known.filter(|seen| seen.audience.is_none_or(|audience| (request.knows)(AudienceNo(audience))));
    let newest = known.max_by_key(|seen| seen.seq).map(|seen| seen.hash);
    let has_moved = doc.source_hash.zip(newest).is_some_and(|(own, newest)| own != newest);
    has_moved || doc.valid_until.is_some_and(|end| end <= request.now)
}

fn is_admitted(doc: &Doc, is_stale: bool, filter: &Filter<'_>) -> bool {
    !(filter.exclude_stale && is_stale)
        && filter.fact_key.is_none_or(|key| doc.fact_key == Some(key))
        && filter.source_id.is_none_or(|id| doc.source_id == Some(id))
        && filter.seqs.is_none_or(|seqs| seqs.contains(&doc.seq))
        && filter.since.is_none_or(|since| doc.updated_at >= since)
        && filter.until.is_none_or(|until| doc.updated_at <= until)
}

fn read(doc: &Doc, sightings: &[Sighting], request: &SearchRequest<'_>) -> Page {
    let stems = Stems::new();
    let is_stale = is_stale(doc, sightings, request);
    let mut page = Page {
        seq: doc.seq,
        counted: doc.counted,
        is_seen: (request.visible)(AudienceNo(doc.audience)) && is_admitted(doc, is_stale, &request.filter),
        forms: BTreeSet::new(),
        terms: BTreeMap::new(),
        sequence: Vec::new(),
        length: 0,
        embedding: is_mostly_latin(&doc.text).then(|| Model::shipped().encode(&doc.text)),
        saved_at: doc.saved_at,
        is_stale,
        fact_key: doc.fact_key,
    };
    for text in [doc.source_id, doc.fact_key].into_iter().flatten() {
        each_word(text, |word, _| {
            page.forms.insert(word.to_owned());
            page.terms.entry(stems.stem(word).into_owned()).or_default();
        });
    }
    each_word(&doc.text, |word, role| {
        let stem = stems.stem(word).into_owned();
        page.forms.insert(word.to_owned());
        *page.terms.entry(stem.clone()).or_default() += 1;
        if role == Role::Running {
            page.length += 1;
            if !is_stop_word(word) {
                page.sequence.push(stem);
            }
        }
    });
    page
}

fn ask(query: &str) -> Asked {
    let stems = Stems::new();
    let mut words = Vec::new();
    each_word(query, |word, role| words.push((word.to_owned(), role)));
    let all_score = !words.iter().any(|(word, role)| *role == Role::Running && !is_stop_word(word));
    let mut asked = Asked { terms: Vec::new(), sequence: Vec::new(), words: Vec::new(), typed: Vec::new() };
    let mut parts_left = 0;
    for (word, role) in words {
        let stem = stems.stem(&word).into_owned();
        let scores = all_score || !is_stop_word(&word);
        match role {
            Role::Aside => continue,
            Role::Whole { parts } => {
                parts_left = parts;
                asked.words.push((stem.clone(), Vec::new()));
            }
            Role::Running => {
                asked.typed.push((word.clone(), is_stop_word(&word)));
                if parts_left > 0 {
                    parts_left -= 1;
                    asked.words.last_mut().unwrap().1.push(stem.clone());
                } else if scores {
                    asked.words.push((stem.clone(), Vec::new()));
                }
                if scores {
                    asked.sequence.push(stem.clone());
                }
            }
        }
        if scores {
            match asked.terms.iter_mut().find(|(known, _)| *known == stem) {
                Some((_, weight)) => *weight += 1.0,
                None => asked.terms.push((stem, 1.0)),
            }
        }
    }
    fit_weights(asked.terms.iter_mut().map(|(_, weight)| weight));
    asked
}

/// Few words, so that records share them; identifiers, stop words and other scripts among them.
fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "the",
        "who",
        "after",
        "boiler",
        "boilers",
        "code",
        "coded",
        "deploy",
        "deployed",
        "deploys",
        "server",
        "release",
        "parseHttpHeader",
        "http",
        "header",
        "lib.rs",
        "v1.2",
        "snake_case",
        "ключ",
        "ключами",
        "東京都",
        "京都",
        "cats",
        "cat",
        "kitten",
        "meeting",
        "friday",
        "didn't",
        "Caroline",
        "4711",
    ])
}

fn text(words: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    prop::collection::vec(word(), words).prop_map(|words| words.join(" "))
}

const SOURCES: [&str; 3] = ["docs/release.md", "server_code", "wiki"];
const HASHES: [&str; 3] = ["h1", "h2", "h3"];
const KEYS: [&str; 3] = ["release.day", "boiler", "4711"];

fn one_of(texts: [&'static str; 3]) -> impl Strategy<Value = Option<&'static str>> {
    prop::sample::select(vec![None, None, Some(texts[0]), Some(texts[1]), Some(texts[2])])
}

fn doc() -> impl Strategy<Value = Doc> {
    // Half a day between one time and the next: some neighbours are within a day and some are not.
    let times = (0_u32..6, 0_i64..6, prop::option::weighted(0.2, 0_i64..6));
    let names = (one_of(SOURCES), one_of(HASHES), one_of(KEYS));
    (text(0..12), 0_u32..4, times, names).prop_map(|(text, audience, times, names)| Doc {
        seq: 0,
        text,
        audience,
        counted: audience == 0,
        saved_at: times.0 * 43_200,
        updated_at: times.1,
        valid_until: times.2,
        source_id: names.0,
        source_hash: names.1,
        fact_key: names.2,
    })
}

fn docs() -> impl Strategy<Value = Vec<Doc>> {
    prop::collection::vec((doc(), 0_u64..40), 0..30).prop_map(|docs| {
        let docs = docs.into_iter().map(|(doc, seq)| (seq, Doc { seq, ..doc }));
        docs.collect::<BTreeMap<u64, Doc>>().into_values().collect()
    })
}

fn sightings() -> impl Strategy<Value = Vec<Sighting>> {
    let names = (prop::sample::select(SOURCES.to_vec()), prop::sample::select(HASHES.to_vec()));
    let one = (names, prop::sample::select(vec![None, None, Some(1), Some(2)]));
    prop::collection::vec(one, 0..8).prop_map(|seen| {
        let sighting = |(seq, ((source_id, hash), audience))| Sighting { source_id, audience, hash, seq };
        (0..).zip(seen).map(sighting).collect()
    })
}

/// What a caller asks for beside the query.
#[derive(Debug, Clone)]
struct Wish {
    exclude_stale: bool,
    fact_key: Option<&'static str>,
    source_id: Option<&'static str>,
    seqs: Option<Vec<u64>>,
    since: Option<i64>,
    until: Option<i64>,
    now: i64,
    seen: u32,
    knows: u32,
    limit: usize,
}

fn wish() -> impl Strategy<Value = Wish> {
    let names = (
        prop::option::weighted(0.15, prop::sample::select(KEYS.to_vec())),
        prop::option::weighted(0.15, prop::sample::select(SOURCES.to_vec())),
    );
    let seqs = prop::option::weighted(0.15, prop::collection::vec(0_u64..40, 0..20));
    let times = (prop::option::weighted(0.2, 0_i64..6), prop::option::weighted(0.2, 0_i64..6), 0_i64..6);
    (any::<bool>(), names, seqs, times, (0_u32..4, 0_u32..4, 1_usize..12)).prop_map(
        |(exclude_stale, (fact_key, source_id), seqs, (since, until, now), (seen, knows, limit))| Wish {
            exclude_stale,
            fact_key,
            source_id,
            seqs,
            since,
            until,
            now,
            seen,
            knows,
            limit,
        },
    )
}

/// A dialogue: every other record is like the one before, so that neighbours count.
fn dialogue() -> impl Strategy<Value = Vec<Doc>> {
    docs().prop_map(|docs| {
        let mut docs: Vec<Doc> = docs.into_iter().map(|doc| Doc { counted: doc.audience < 2, ..doc }).collect();
        for at in (1..docs.len()).filter(|at| at % 3 != 0) {
            docs[at].text = format!("{} {}", docs[at - 1].text, docs[at].text);
        }
        docs
    })
}

/// Every bound low enough to be crossed by a few records.
const CROSSED: Bounds = Bounds {
    exhaustive_records: 3,
    by_signs: 3,
    by_words: 3,
    complete: 3,
    paired: 3,
    paired_first: 2,
    sampled: 3,
    read: 3,
    rivals: 3,
};

fn index_of(docs: &[Doc]) -> WorkspaceIndex {
    let mut index = WorkspaceIndex::new(Model::shipped());
    docs.iter().for_each(|doc| add(&mut index, doc));
    index
}

fn add(index: &mut WorkspaceIndex, doc: &Doc) {
    index.add(NewDoc {
        audience: AudienceNo(doc.audience),
        counted: doc.counted,
        saved_at: i64::from(doc.saved_at),
        updated_at: doc.updated_at,
        valid_until: doc.valid_until,
        source_id: doc.source_id,
        source_hash: doc.source_hash,
        fact_key: doc.fact_key,
        ..NewDoc::new(doc.seq, &doc.text)
    });
}

/// Asks both, by every recipe and with the bounds high and low.
fn check(docs: &[Doc], others: &[Doc], sightings: &[Sighting], query: &str, wish: &Wish) -> Result<(), TestCaseError> {
    // Others come first and go again; some are replaced by the docs of the same number. News comes in any order.
    let mut index = index_of(others);
    let (early, late) = sightings.split_at(sightings.len() / 2);
    let sight = |index: &mut WorkspaceIndex, seen: &Sighting| {
        index.sight(seen.source_id, seen.audience.map(AudienceNo), seen.hash, seen.seq);
    };
    late.iter().for_each(|seen| sight(&mut index, seen));
    docs.iter().rev().for_each(|doc| add(&mut index, doc));
    early.iter().for_each(|seen| sight(&mut index, seen));
    let kept = |seq: u64| docs.iter().any(|doc| doc.seq == seq);
    for other in others.iter().filter(|other| !kept(other.seq)) {
        prop_assert!(index.remove(other.seq));
    }
    let (visible, knows) =
        (|audience: AudienceNo| audience.0 <= wish.seen, |audience: AudienceNo| audience.0 <= wish.knows);
    let filter = Filter {
        exclude_stale: wish.exclude_stale,
        fact_key: wish.fact_key,
        source_id: wish.source_id,
        seqs: wish.seqs.as_deref(),
        since: wish.since,
        until: wish.until,
    };
    let request = SearchRequest { query, limit: wish.limit, visible: &visible, knows: &knows, now: wish.now, filter };
    for recipe in [Recipe::FULL, Recipe::LEXICAL, Recipe::WITHOUT_LOCALITY, Recipe::BM25] {
        for bounds in [recipe.bounds, CROSSED] {
            let recipe = Recipe { bounds, ..recipe };
            prop_assert_eq!(index.search_by(&recipe, &request), answer(docs, sightings, &recipe, &request));
        }
    }
    let judged = |hit: &crate::ExplainedHit| {
        docs.iter().find(|doc| doc.seq == hit.seq).map(|doc| is_stale(doc, sightings, &request))
    };
    prop_assert!(
        query.trim() == "*" || index.explain(&request).hits.iter().all(|hit| judged(hit) == Some(hit.is_stale))
    );
    Ok(())
}

fn query() -> impl Strategy<Value = String> {
    prop_oneof![12 => text(0..6), 1 => Just("*".to_owned())]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_index_answers_as_the_oracle_does(
        docs in docs(), others in docs(), sightings in sightings(), query in query(), wish in wish(),
    ) {
        check(&docs, &others, &sightings, &query, &wish)?;
    }

    #[test]
    fn in_a_dialogue_too(
        docs in dialogue(), others in docs(), sightings in sightings(), query in query(), wish in wish(),
    ) {
        check(&docs, &others, &sightings, &query, &wish)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn with_more_terms_than_can_be_told_apart_too(docs in dialogue(), query in text(40..80), wish in wish()) {
        check(&docs, &[], &[], &query, &wish)?;
    }
}
