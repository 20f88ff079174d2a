//! The threshold, found by cross-validation over families of sources, and the scores it was found with.

use std::collections::BTreeMap;

use mnemon_guard::training::{Specimen, Weights};

use crate::data::{Sample, trainable};
use crate::fit::{Lesson, Settings, fit, score};
use crate::own;

/// The share of core benign texts that may be rejected in cross-validation; 0.5 % is promised.
///
/// A threshold found by dealing single texts to folds drifts threefold on sources never seen (0.5 % became 1.6 % on
/// dev itself). Folds that keep families together hold that drift already, so a fifth is left for chance alone.
pub const FALSE_POSITIVES_AIMED_AT: f64 = 0.004;

/// How many parts the families are dealt into.
const FOLDS: usize = 5;

/// A sample with the score that weights gave it which had not seen its family.
#[derive(Debug)]
pub struct Scored<'s> {
    pub sample: &'s Sample,
    pub score: f32,
}

/// Trains on everything allowed and sets the threshold.
pub fn train(samples: &[Sample], settings: &Settings) -> Weights {
    let lessons = lessons(&trainable(samples));
    let mut weights = fit(&lessons.iter().collect::<Vec<_>>(), settings);
    weights.threshold = threshold(&cross_validate(samples, settings));
    weights
}

/// Scores each sample by weights that saw no sample of its family.
pub fn cross_validate<'s>(samples: &'s [Sample], settings: &Settings) -> Vec<Scored<'s>> {
    let folds = deal_families(samples);
    let allowed = trainable(samples);
    let learned: Vec<(usize, Lesson)> = allowed.iter().map(|s| (folds[s.family()], lesson(s))).collect();
    let own = own::lessons();
    let specimens: Vec<Specimen> = samples.iter().map(|sample| Specimen::of(&sample.text)).collect();
    let mut scored = Vec::new();
    for fold in 0..FOLDS {
        let rest = learned.iter().filter(|(of, _)| *of != fold).map(|(_, lesson)| lesson);
        let weights = fit(&rest.chain(&own).collect::<Vec<_>>(), settings);
        let held_out = samples.iter().zip(&specimens).filter(|(sample, _)| folds[sample.family()] == fold);
        scored.extend(held_out.map(|(sample, specimen)| Scored { sample, score: score(&weights, specimen) }));
    }
    scored
}

/// The lowest threshold that keeps core benign texts below the rate aimed at.
pub fn threshold(scored: &[Scored<'_>]) -> f32 {
    let is_benign = |scored: &&Scored<'_>| !scored.sample.is_malicious() && scored.sample.is_core();
    let mut scores: Vec<f32> = scored.iter().filter(is_benign).map(|scored| scored.score).collect();
    scores.sort_by(|a, b| b.total_cmp(a));
    let may_pass = (scores.len() as f64 * FALSE_POSITIVES_AIMED_AT) as usize;
    scores.get(may_pass).map_or(0.0, |score| score + 1e-3)
}

/// Everything that weights are trained on: the given samples and our own.
fn lessons(samples: &[Sample]) -> Vec<Lesson> {
    samples.iter().map(lesson).chain(own::lessons()).collect()
}

fn lesson(sample: &Sample) -> Lesson {
    // Requests without any mark of an attack can't be told from a user's own words; a little weight keeps their
    // style from being learned as harmless.
    let weight = match sample.kind.as_str() {
        "implicit" | "redteam-request" | "memory-subtle" => 0.1,
        _ => 1.0,
    };
    Lesson { specimen: Specimen::of(&sample.text), is_malicious: sample.is_malicious(), weight }
}

/// Deals families to folds, largest first to the emptiest, benign and malicious apart.
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
