//! The thresholds, which were chosen by the rates on held-out sources, and cross-validation over families of sources.

use std::collections::BTreeMap;
use std::thread;

use mnemon_guard::training::{Specimen, Thresholds, Weights};

use crate::data::{Sample, trainable};
use crate::examples;
use crate::fit::{Lesson, Settings, fit, score};
use crate::own;
use crate::pages::Page;

/// From which scores on the guard acts.
///
/// They are fixed here rather than computed, so that the asset is made by one fit. `cross_validate` shows what they
/// mean: `mnemon-bench guard` prints the share of harmless texts above each of them. Cross-validation takes whole
/// styles of text away: when the one source of issues is held out, issues are unknown. On unseen sources
/// it was 4 to 20 times too strict, so the rates it shows lie above those promised.
pub const THRESHOLDS: Thresholds = Thresholds {
    caution: -1.1,
    refuse: 0.1,
    // A name has few words, and each of them may mean anything.
    name: 1.5,
    doubling: 0.35,
};

/// Kinds of harmless text that the thresholds are found with.
const POOLED: &[&str] =
    &["agents", "docs", "adr", "commit", "note", "memory", "secdocs", "runbook", "chat", "request", "issue", "docs-ml"];

/// How many parts the families are dealt into.
const FOLDS: usize = 5;

/// A sample with the score that weights gave it which had not seen its family.
#[derive(Debug)]
pub struct Scored<'s> {
    pub sample: &'s Sample,
    pub score: f32,
}

/// Everything that weights are trained on.
#[derive(Debug)]
pub struct Course {
    /// Lessons from samples, by family.
    of_samples: Vec<(String, Lesson)>,
    /// Lessons that every fold has: pages and our own texts.
    common: Vec<Lesson>,
}

impl Course {
    /// Makes all lessons.
    pub fn new(samples: &[Sample], pages: &[Page]) -> Course {
        let mut allowed = trainable(samples);
        allowed.extend(own::planted().into_iter().map(Sample::of_planted));
        let mut common = examples::of_pages(pages);
        common.extend(examples::of_own(&own::texts(), &allowed, pages));
        Course { of_samples: examples::of_samples(&allowed), common }
    }

    fn without(&self, is_left_out: impl Fn(&str) -> bool) -> Vec<&Lesson> {
        let kept = self.of_samples.iter().filter(|(family, _)| !is_left_out(family)).map(|(_, lesson)| lesson);
        kept.chain(&self.common).collect()
    }

    /// Fits weights to all lessons.
    pub fn fit(&self, settings: &Settings) -> Weights {
        Weights { thresholds: THRESHOLDS, ..fit(&self.without(|_| false), settings) }
    }

    /// Scores each sample by weights that saw no sample of its family.
    pub fn cross_validate<'s>(&self, samples: &'s [Sample], settings: &Settings) -> Vec<Scored<'s>> {
        let folds = deal_families(samples);
        let validate = |fold: usize| -> Vec<Scored<'s>> {
            let fitted = fit(&self.without(|family| folds.get(family) == Some(&fold)), settings);
            let weights = Weights { thresholds: THRESHOLDS, ..fitted };
            let held_out = samples.iter().filter(|sample| folds[sample.family()] == fold);
            held_out.map(|sample| Scored { sample, score: score(&weights, &Specimen::of(&sample.text)) }).collect()
        };
        // Two at a time: each fit holds tables of tens of megabytes. The order of results does not depend on timing.
        let mut scored = Vec::new();
        for pair in (0..FOLDS).collect::<Vec<_>>().chunks(2) {
            let parts: Vec<Vec<Scored<'s>>> = thread::scope(|scope| {
                let runs: Vec<_> = pair.iter().map(|fold| scope.spawn(|| validate(*fold))).collect();
                runs.into_iter().map(|run| run.join().unwrap_or_default()).collect()
            });
            scored.extend(parts.into_iter().flatten());
        }
        scored
    }
}

/// The lowest threshold that this share of pooled harmless texts reaches.
pub fn threshold(scored: &[Scored<'_>], share: f64) -> f32 {
    let is_pooled = |one: &&Scored<'_>| !one.sample.is_malicious() && POOLED.contains(&one.sample.kind.as_str());
    let mut scores: Vec<f32> = scored.iter().filter(is_pooled).map(|one| one.score).collect();
    scores.sort_by(|a, b| b.total_cmp(a));
    let may_pass = (scores.len() as f64 * share) as usize;
    scores.get(may_pass).map_or(0.0, |score| score + 1e-3)
}

/// Deals families to folds, largest first to the emptiest, harmless and malicious apart.
fn deal_families(samples: &[Sample]) -> BTreeMap<&str, usize> {
    let mut sizes: BTreeMap<(bool, &str), usize> = BTreeMap::new();
    for sample in samples {
        *sizes.entry((sample.is_malicious(), sample.family())).or_default() += 1;
    }
    let mut families: Vec<_> = sizes.into_iter().collect();
    families.sort_by_key(|(family, size)| (std::cmp::Reverse(*size), *family));
    let mut filled = [[0_usize; FOLDS]; 2];
    let mut folds = BTreeMap::new();
    for ((is_malicious, family), size) in families {
        let side = &mut filled[usize::from(is_malicious)];
        let fold = (0..FOLDS).min_by_key(|fold| side[*fold]).unwrap_or(0);
        side[fold] += size;
        folds.entry(family).or_insert(fold);
    }
    folds
}
