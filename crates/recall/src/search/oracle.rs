//! The ranking once more, as plainly as it can be written: every record is read anew for every query, nothing is kept.
//! The index must give the same answer to the bit. Shares with it the formulas, none of the structures.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use crate::meaning::{NO_VECTOR, Near};
use crate::words::{Role, Stems, each_word, is_mostly_latin, is_stop_word};
use crate::{AudienceNo, Embedding, Hit, Model, NewDoc, Recipe, SearchRequest, WorkspaceIndex};

use super::fuse::{Scale, Spread};
use super::lexical::{Bm25, contribution, factor, saturation};

#[derive(Debug, Clone)]
struct Doc {
    seq: u64,
    text: String,
    audience: u32,
    counted: bool,
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
}

fn answer(docs: &[Doc], recipe: &Recipe, query: &str, limit: usize, visible: &dyn Fn(AudienceNo) -> bool) -> Vec<Hit> {
    let pages: Vec<Page> = docs.iter().map(|doc| read(doc, visible)).collect();
    let asked = ask(query);
    if asked.typed.is_empty() {
        return Vec::new();
    }
    let counted = || pages.iter().filter(|page| page.counted);
    let length: u64 = counted().map(|page| u64::from(page.length)).sum();
    let bm25 = Bm25::of(counted().count() as u32, length);
    Oracle { recipe, pages, asked, bm25 }.answer(query, limit)
}

impl Oracle<'_> {
    fn answer(&self, query: &str, limit: usize) -> Vec<Hit> {
        let near = self.nearness(query);
        let meaning = if near.is_some() { self.recipe.meaning } else { 0.0 };
        let near_scale = self.spread(|page| near.as_ref().map(|near| near[page]).filter(|&n| n != NO_VECTOR));
        let mut terms = self.asked.terms.clone();
        let mut scored = self.score(&terms, near.as_deref(), meaning, near_scale);
        if self.recipe.feedback_records > 0 {
            terms = self.expand(&scored);
            scored = self.score(&terms, near.as_deref(), meaning, near_scale);
        }
        let strengths = || scored.iter().map(|found| found.strength);
        let reach = strengths().fold(f64::MIN, f64::max) - strengths().fold(f64::MAX, f64::min);
        let at_least = if self.asked.typed.len() <= 3 { reach + 1.0 } else { 0.0 };
        let bonus = |bonus: f64| if bonus > 0.0 { bonus.max(at_least) } else { 0.0 };
        for found in &mut scored {
            let page = &self.pages[found.page];
            if self.has_all(page) {
                found.strength += bonus(self.recipe.all_words);
                if self.has_as_typed(page) {
                    found.strength += bonus(self.recipe.as_typed);
                }
            }
        }
        self.sort(&mut scored);
        scored.truncate(limit);
        let hit = |found: &Scored| Hit { seq: self.pages[found.page].seq, score: super::to_score(found.strength) };
        scored.iter().map(hit).collect()
    }

    fn spread(&self, score: impl Fn(usize) -> Option<i32>) -> Scale {
        let mut spread = Spread::default();
        let seen = (0..self.pages.len()).filter(|&page| self.pages[page].is_seen);
        seen.filter_map(score).for_each(|score| spread.add(i64::from(score)));
        spread.scale()
    }

    fn score(&self, terms: &[(String, f32)], near: Option<&[i32]>, meaning: f64, near_scale: Scale) -> Vec<Scored> {
        let words = |page: usize| -> u32 {
            let page = &self.pages[page];
            let norm = self.bm25.norm(page.length);
            let share = |(term, weight): &(String, f32)| {
                let count = page.terms.get(term)?;
                Some(contribution(factor(*weight, self.idf(term)), saturation(*count, norm)))
            };
            terms.iter().filter_map(share).sum()
        };
        let total = |page: usize| (words(page) + self.pairs(page)) as i32;
        let word_scale = self.spread(|page| Some(total(page)));
        let mut scored = Vec::new();
        for (at, page) in self.pages.iter().enumerate().filter(|(_, page)| page.is_seen) {
            let near = near.map_or(NO_VECTOR, |near| near[at]);
            let has_word = self.asked.terms.iter().any(|(term, _)| page.terms.contains_key(term));
            let bar = (self.recipe.kindred * crate::meaning::ONE) as i32;
            if !has_word && (near == NO_VECTOR || near <= bar) {
                continue;
            }
            let deviations = if near == NO_VECTOR { 0.0 } else { near_scale.deviations(i64::from(near)) };
            let strength = (1.0 - meaning) * word_scale.deviations(i64::from(total(at))) + meaning * deviations;
            scored.push(Scored { page: at, strength });
        }
        scored
    }

    fn idf(&self, term: &str) -> f32 {
        let has = self.pages.iter().filter(|page| page.counted && page.terms.contains_key(term));
        self.bm25.idf(has.count() as u32)
    }

    fn pairs(&self, page: usize) -> u32 {
        let page = &self.pages[page];
        let own = |term: &String| self.asked.terms.iter().any(|(known, _)| known == term);
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

    fn expand(&self, scored: &[Scored]) -> Vec<(String, f32)> {
        let mut best = scored.to_vec();
        self.sort(&mut best);
        best.truncate(self.recipe.feedback_records);
        let mut weights: BTreeMap<&str, f64> = BTreeMap::new();
        for (rank, found) in best.iter().enumerate() {
            let page = &self.pages[found.page];
            let weight = found.strength.max(0.0) / (rank as f64 + 1.0);
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
        if self.recipe.meaning == 0.0 || !is_mostly_latin(query) || vector.iter().all(|&x| x == 0.0) {
            return None;
        }
        let mut sums = [0_i64; crate::DIMENSIONS];
        let mut records = 0.0;
        for embedding in self.pages.iter().filter(|page| page.counted).filter_map(|page| page.embedding.as_ref()) {
            let scale = f64::from(Embedding::scale(embedding.steps()));
            records += if scale > 0.0 { 1.0 } else { 0.0 };
            for (sum, &step) in sums.iter_mut().zip(embedding.steps()) {
                *sum += (f64::from(step) * (scale * 16_777_216.0)).round() as i64;
            }
        }
        let mean = std::array::from_fn(|at| {
            (sums[at] as f64 / 16_777_216.0 + 20.0 * f64::from(model.mean()[at])) / (records + 20.0)
        });
        let near = Near::new(&vector, &mean, Default::default());
        let one = |page: &Page| match &page.embedding {
            Some(found) => near.measure([(found.steps(), Embedding::scale(found.steps()))].into_iter())[0],
            None => NO_VECTOR,
        };
        Some(self.pages.iter().map(one).collect())
    }

    fn has_all(&self, page: &Page) -> bool {
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

fn read(doc: &Doc, visible: &dyn Fn(AudienceNo) -> bool) -> Page {
    let stems = Stems::new();
    let mut page = Page {
        seq: doc.seq,
        counted: doc.counted,
        is_seen: visible(AudienceNo(doc.audience)),
        forms: BTreeSet::new(),
        terms: BTreeMap::new(),
        sequence: Vec::new(),
        length: 0,
        embedding: is_mostly_latin(&doc.text).then(|| Model::shipped().encode(&doc.text)),
    };
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

fn docs() -> impl Strategy<Value = Vec<Doc>> {
    let doc = (text(0..12), 0_u32..4).prop_map(|(text, audience)| (text, audience, audience == 0));
    prop::collection::vec((doc, 0_u64..40), 0..30).prop_map(|docs| {
        let latest: BTreeMap<u64, Doc> = docs
            .into_iter()
            .map(|((text, audience, counted), seq)| (seq, Doc { seq, text, audience, counted }))
            .collect();
        latest.into_values().collect()
    })
}

fn index_of(docs: &[Doc]) -> WorkspaceIndex {
    let mut index = WorkspaceIndex::new(Model::shipped());
    docs.iter().for_each(|doc| add(&mut index, doc));
    index
}

fn add(index: &mut WorkspaceIndex, doc: &Doc) {
    let audience = AudienceNo(doc.audience);
    index.add(NewDoc { seq: doc.seq, text: &doc.text, audience, counted: doc.counted, embedding: None });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_index_answers_as_the_oracle_does(
        docs in docs(), others in docs(), query in text(0..6), seen in 0_u32..4, limit in 1_usize..12,
    ) {
        // Others come first and go again; some are replaced by the docs of the same number.
        let mut index = index_of(&others);
        docs.iter().rev().for_each(|doc| add(&mut index, doc));
        let kept = |seq: u64| docs.iter().any(|doc| doc.seq == seq);
        for other in others.iter().filter(|other| !kept(other.seq)) {
            prop_assert!(index.remove(other.seq));
        }
        let visible = |audience: AudienceNo| audience.0 <= seen;
        let request = SearchRequest { query: &query, limit, visible: &visible };
        for recipe in [Recipe::FULL, Recipe::LEXICAL, Recipe::BM25] {
            prop_assert_eq!(index.search_by(&recipe, &request), answer(&docs, &recipe, &query, limit, &visible));
        }
    }

    #[test]
    fn preselection_that_spares_nobody_changes_nothing(docs in docs(), query in text(1..6)) {
        let index = index_of(&docs);
        let request = SearchRequest { query: &query, limit: 20, visible: &|_| true };
        let preselecting = Recipe { exhaustive_records: 0, ..Recipe::FULL };
        prop_assert_eq!(index.search_by(&preselecting, &request), index.search(&request));
    }
}
