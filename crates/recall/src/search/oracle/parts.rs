//! The parts that a strength is made of: cover, neighbours, pairs, nearness, lent words.

use std::collections::{BTreeMap, BTreeSet};

use crate::meaning::{Centre, NO_VECTOR, Near, signs};
use crate::search::bm25::{contribution, factor, saturation};
use crate::search::cover;
use crate::search::fuse::Spread;
use crate::words::is_understood;
use crate::{Embedding, Model};

use super::{Oracle, Page, Scored, like};

impl Oracle<'_> {
    /// The plain and the weighted share of the query that a page has, and what its neighbours add to the latter.
    pub(super) fn covers(&self, page: usize) -> (f64, f64, u64) {
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

    pub(super) fn share(&self, weight: u64) -> f64 {
        self.cover_share(weight as f64)
    }

    pub(super) fn cover_share(&self, weight: f64) -> f64 {
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

    pub(super) fn weight_of(&self, terms: &BTreeSet<&str>) -> u64 {
        if self.asked.terms.len() > 32 {
            return terms.len() as u64;
        }
        terms.iter().map(|term| u64::from(cover::weight(self.idf(term)))).sum()
    }

    /// The terms of the query that a page has.
    pub(super) fn own_terms<'p>(&'p self, page: &'p Page) -> BTreeSet<&'p str> {
        let has = |term: &&str| page.terms.contains_key(*term);
        self.asked.terms.iter().map(|(term, _)| term.as_str()).filter(has).collect()
    }

    /// The visible pages next to one, with their distance; within a day.
    pub(super) fn neighbours(&self, page: usize, reach: usize) -> Vec<(usize, usize)> {
        let place = self.seen.iter().position(|&other| other == page).unwrap();
        let distant = |other: usize| self.seen.iter().position(|&seen| seen == other).unwrap().abs_diff(place);
        let is_near = |other: usize| self.pages[other].saved_at.abs_diff(self.pages[page].saved_at) <= 86_400;
        let others = self.seen.iter().copied().filter(|&other| other != page && is_near(other));
        others.map(|other| (distant(other), other)).filter(|(distance, _)| *distance <= reach).collect()
    }

    /// How alike records are that were saved one after the other.
    pub(super) fn locality(&self) -> f64 {
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
    pub(super) fn kindred(&self, query: &str, near: &[i32], spread: &Spread) -> Vec<usize> {
        let near_enough = |chosen: Vec<usize>| -> Vec<usize> {
            let nearest = chosen.iter().map(|&page| near[page]).max().unwrap_or(NO_VECTOR);
            let (measured, mean, _) = spread.moments();
            let floor = self.recipe.gate.floor(self.seen.len() as u32, nearest, measured, mean);
            let is_near = |page: &usize| near[*page] != NO_VECTOR && near[*page] > floor;
            let mut kindred: Vec<usize> = chosen.into_iter().filter(is_near).collect();
            let mut order: Vec<i32> = kindred.iter().map(|&page| near[page]).collect();
            order.sort_unstable_by(|a, b| b.cmp(a));
            let company = self.recipe.bounds.company;
            kindred.retain(|&page| order.len() <= company || near[page] >= order[company - 1]);
            kindred
        };
        if !self.is_preselecting() {
            return near_enough(self.seen.clone());
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
        near_enough(self.seen.iter().copied().filter(|page| distance(page) <= reach).collect())
    }

    pub(super) fn idf(&self, term: &str) -> f32 {
        self.bm25.idf(self.holders(term))
    }

    fn holders(&self, term: &str) -> u32 {
        self.pages.iter().filter(|page| page.counted && page.terms.contains_key(term)).count() as u32
    }

    fn is_lent(&self, term: &str) -> bool {
        let counted = self.pages.iter().filter(|page| page.counted).count() as u32;
        !self.is_preselecting() || self.holders(term) <= counted / self.recipe.bounds.lent_to
    }

    pub(super) fn pairs(&self, page: usize) -> u32 {
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

    pub(super) fn expand(&self, scored: &[Scored], mean: f64) -> Vec<(String, f32)> {
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
        weights.retain(|term, _| self.is_lent(term));
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

    pub(super) fn nearness(&self, query: &str) -> Option<Vec<i32>> {
        let model = Model::shipped();
        let vector = model.encode_exact(query);
        if self.recipe.last.near == 0.0 || !is_understood(query) || vector.iter().all(|&x| x == 0.0) {
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
    pub(super) fn sums(&self) -> [i64; crate::DIMENSIONS] {
        let mut sums = [0_i64; crate::DIMENSIONS];
        for embedding in self.pages.iter().filter(|page| page.counted).filter_map(|page| page.embedding.as_ref()) {
            let scale = f64::from(Embedding::scale(embedding.steps()));
            for (sum, &step) in sums.iter_mut().zip(embedding.steps()) {
                *sum += (f64::from(step) * (scale * 16_777_216.0)).round() as i64;
            }
        }
        sums
    }

    pub(super) fn has_all(&self, page: &Page) -> bool {
        if self.asked.terms.len() > 32 {
            return self.own_terms(page).len() == self.asked.terms.len();
        }
        let has = |term: &String| page.terms.contains_key(term);
        self.asked.words.iter().all(|(whole, parts)| has(whole) || !parts.is_empty() && parts.iter().all(has))
    }

    pub(super) fn has_as_typed(&self, page: &Page) -> bool {
        let is_keywords = self.asked.typed.len() <= 3;
        let asked = self.asked.typed.iter().filter(|(_, is_stop)| is_keywords || !is_stop);
        asked.into_iter().all(|(word, _)| page.forms.contains(word))
    }

    pub(super) fn sort(&self, scored: &mut [Scored]) {
        let seq = |found: &Scored| self.pages[found.page].seq;
        scored.sort_by(|a, b| b.strength.total_cmp(&a.strength).then(seq(b).cmp(&seq(a))));
    }
}
