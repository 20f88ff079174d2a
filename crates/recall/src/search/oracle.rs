//! The ranking once more, as plainly as it can be written: every record is read again for every query, nothing is kept.
//! The index must give the same answer to the bit. Shares with it the formulas, none of the structures.
//!
//! `reading.rs` says what a record and a query are, `parts.rs` what a strength is made of, and `stories.rs` compares.

mod parts;
mod reading;
mod stories;

use std::collections::{BTreeMap, BTreeSet};

use crate::meaning::{NO_VECTOR, draws};
use crate::words::{Language, are_foreign};
use crate::{Days, Embedding, Hit, Recipe, SearchRequest, Weights};

use self::reading::{ask, read};
use super::bm25::{Bm25, COARSE, Totals, coarse_root, contribution, factor, root, saturation};
use super::chance::{Chances, to_scores};
use super::fuse::{Scale, Spread};
use super::query::telling_count;
use super::ranking::timely::{Wanted, distance, with_time, without_phrase};

#[derive(Debug, Clone)]
struct Doc {
    seq: u64,
    text: String,
    audience: u32,
    counted: bool,
    saved_at: u32,
    time: i64,
    occurred: Option<Days>,
    valid_until: Option<i64>,
    source_id: Option<&'static str>,
    source_hash: Option<&'static str>,
    fact_key: Option<&'static str>,
    tags: Vec<String>,
}

/// Somebody has seen a hash of a source, or that it is gone.
#[derive(Debug, Clone)]
struct Sighting {
    source_id: &'static str,
    audience: Option<u32>,
    hash: Option<&'static str>,
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
    time: i64,
    dates: Vec<Days>,
    is_stale: bool,
    fact_key: Option<&'static str>,
    language: Option<Language>,
}

struct OracleQuery {
    /// Stem and weight, in the order of their first use.
    terms: Vec<(String, f32)>,
    sequence: Vec<String>,
    /// Per word: its stem, and the stems of its parts.
    words: Vec<(String, Vec<String>)>,
    typed: Vec<(String, bool)>,
    language: Option<Language>,
    is_syllabic: bool,
    is_empty_of_content: bool,
    wanted: Option<Wanted>,
    days: Option<Days>,
}

#[derive(Clone)]
struct Scored {
    page: usize,
    strength: f64,
}

struct Oracle<'r> {
    recipe: &'r Recipe,
    pages: Vec<Page>,
    asked: OracleQuery,
    bm25: Bm25,
    /// The pages that the caller sees, in the order of saving.
    seen: Vec<usize>,
    /// The sample of them from which a spread is taken.
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
        return newest.map(|page| Hit { seq: page.seq, score: 1.0, is_in_time: false }).collect();
    }
    let rest = without_phrase(request);
    let mut asked = ask(&rest);
    let wanted = request.time.map(|phrase| Wanted::new(recipe, phrase, asked.is_empty_of_content));
    if asked.typed.is_empty() && wanted.is_some() {
        asked = ask(query);
    }
    (asked.wanted, asked.days) = (wanted, request.time.map(|phrase| phrase.days));
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
    Oracle { recipe, pages, asked, bm25, seen, sample }.answer(&rest, limit)
}

impl Oracle<'_> {
    fn answer(&self, query: &str, limit: usize) -> Vec<Hit> {
        let near = self.nearness(query);
        let near_spread = gather(near.iter().flat_map(|near| self.sample.iter().map(|&page| near[page])));
        let near_scale = near_spread.scale();
        let mut kindred = near.as_ref().map_or(Vec::new(), |near| self.kindred(query, near, &near_spread));
        self.let_in_timely(&mut kindred);
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
        scored.iter_mut().for_each(|found| found.strength += self.gain(found.page));
        self.reward(&mut scored);
        self.put_truth_first(&mut scored);
        scored.truncate(limit);
        let chances = Chances::new(self.recipe, self.seen.len() as u32, &near_spread);
        let chance = |found: &Scored| {
            let count = self.own_terms(&self.pages[found.page]).len() as u32;
            let page = &self.pages[found.page];
            let near = near[found.page];
            if count == 0 && near != NO_VECTOR && are_foreign(self.asked.language, page.language) {
                return chances.across(near);
            }
            let count = telling_count(self.asked.is_syllabic, count, words.pairs[found.page] > 0);
            let terms = self.asked.terms.len() as u32;
            let (count, terms) = with_time(self.asked.wanted, count, terms, self.distance(found.page) == Some(0));
            chances.of(count, terms, near)
        };
        let scores = to_scores(scored.iter().map(chance));
        let hit = |(found, score): (&Scored, f64)| {
            let is_in_time = self.distance(found.page) == Some(0);
            Hit { seq: self.pages[found.page].seq, score, is_in_time }
        };
        scored.iter().zip(scores).map(hit).collect()
    }

    /// How many days a page is away from what the query means.
    fn distance(&self, page: usize) -> Option<i64> {
        let page = &self.pages[page];
        Some(distance(self.asked.days?, page.time, page.dates.iter().copied()))
    }

    fn gain(&self, page: usize) -> f64 {
        self.asked.wanted.zip(self.distance(page)).map_or(0.0, |(wanted, distance)| wanted.gain(distance))
    }

    fn let_in_timely(&self, kindred: &mut Vec<usize>) {
        if self.asked.wanted.is_some_and(|wanted| wanted.is_all()) {
            let timely = self.seen.iter().rev().copied().filter(|&page| self.distance(page) == Some(0));
            let timely: Vec<usize> = timely.take(self.recipe.bounds.company).collect();
            kindred.extend(timely.into_iter().filter(|page| !kindred.contains(page)).collect::<Vec<_>>());
            kindred.sort_unstable();
        }
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
                let is_further = self.own_terms(other).is_empty() && !self.own_terms(stale).is_empty();
                match has_key {
                    true => f64::INFINITY,
                    false if is_further => f64::NEG_INFINITY,
                    false => self.alike(stale, other),
                }
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
        let bounds = &self.recipe.bounds;
        let by_words = if self.is_preselecting() { bounds.by_words } else { bounds.by_words_of_few };
        if kept.len() > by_words {
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
        let paired = if self.is_preselecting() { paired } else { 3 * paired };
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

/// The score of the one at place `count` among these pages, best first; 0 if there are fewer.
fn nth(scores: &[u32], pages: &[usize], count: usize) -> u32 {
    let mut scores: Vec<u32> = pages.iter().map(|&page| scores[page]).collect();
    scores.sort_unstable_by(|a, b| b.cmp(a));
    if scores.len() > count { scores[count - 1] } else { 0 }
}
