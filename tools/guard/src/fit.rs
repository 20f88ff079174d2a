//! Logistic regression on the worst unit of each text, by AdaGrad, averaged over the last epochs.
//!
//! The guard rejects by the worst window, so that is what is fitted: after a first pass on whole texts, each step
//! moves the weights of the window that scores highest at that moment.

use mnemon_guard::training::{Specimen, Unit, Weights};

use crate::chance::Chance;

/// One text to learn from.
#[derive(Debug, Clone)]
pub struct Lesson {
    /// The text, taken apart.
    pub specimen: Specimen,
    /// Should it be rejected?
    pub is_malicious: bool,
    /// How much it counts.
    pub weight: f32,
}

/// How to fit.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where the order of lessons starts from.
    pub seed: u64,
    /// How many orders of lessons are averaged.
    pub rounds: u64,
    /// How often every lesson is seen in each.
    pub epochs: usize,
    /// First step size of each weight.
    pub rate: f32,
    /// The share of every weight that is taken away after each epoch, so that rarely seen grams stay small.
    pub shrink: f32,
    /// How much more a benign text counts than a malicious one.
    pub benign_weight: f32,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { seed: 20_260_101, rounds: 5, epochs: 16, rate: 1.6, shrink: 0.65, benign_weight: 1.0 }
    }
}

/// Epochs in which whole texts are learned before the worst window is.
const WARM_UP: usize = 4;

/// Learns weights; the threshold is left at zero, see [`crate::calibrate`].
///
/// The order of lessons moves recall by a point either way, so the mean of several orders is taken.
pub fn fit(lessons: &[&Lesson], settings: &Settings) -> Weights {
    let mut mean = Weights::zero();
    for round in 0..settings.rounds {
        add(&mut mean, &fit_once(lessons, settings, settings.seed + round));
    }
    scale(&mut mean, 1.0 / settings.rounds.max(1) as f32);
    mean
}

fn fit_once(lessons: &[&Lesson], settings: &Settings, seed: u64) -> Weights {
    let mut learner = Learner { weights: Weights::zero(), squares: Weights::zero(), settings: settings.clone() };
    let mut average = Weights::zero();
    let mut averaged = 0;
    let mut order: Vec<usize> = (0..lessons.len()).collect();
    let mut chance = Chance::with_seed(seed);
    for epoch in 0..settings.epochs {
        chance.shuffle(&mut order);
        for index in &order {
            learner.study(lessons[*index], epoch < WARM_UP);
        }
        scale(&mut learner.weights, 1.0 - settings.shrink);
        if epoch >= settings.epochs / 2 {
            averaged += 1;
            add(&mut average, &learner.weights);
        }
    }
    scale(&mut average, 1.0 / averaged.max(1) as f32);
    average
}

/// The score of the worst unit.
pub fn score(weights: &Weights, specimen: &Specimen) -> f32 {
    if specimen.is_hiding {
        return f32::MAX;
    }
    worst(weights, specimen).map_or(f32::MIN, |(_, score)| score)
}

fn worst<'s>(weights: &Weights, specimen: &'s Specimen) -> Option<(&'s Unit, f32)> {
    let disguises: f32 = specimen.disguises.iter().map(|slot| weights.disguises[*slot as usize]).sum();
    let sums: Vec<(f32, f32)> =
        specimen.sentences.iter().map(|s| (sum(&weights.letters, &s.letters), sum(&weights.words, &s.words))).collect();
    specimen
        .units
        .iter()
        .map(|unit| {
            let (letter_value, word_value, rule_value) = specimen.values(unit);
            let grams = sums[unit.sentences.clone()].iter().fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
            let rules = sum(&weights.rules, &unit.rules) * rule_value;
            (unit, weights.bias + disguises + grams.0 * letter_value + grams.1 * word_value + rules)
        })
        .max_by(|a, b| a.1.total_cmp(&b.1))
}

fn sum(weights: &[f32], slots: &[u32]) -> f32 {
    slots.iter().map(|slot| weights[*slot as usize]).sum()
}

struct Learner {
    weights: Weights,
    /// Sums of squared gradients, by which AdaGrad shortens the steps of often-seen weights.
    squares: Weights,
    settings: Settings,
}

impl Learner {
    fn study(&mut self, lesson: &Lesson, is_warm_up: bool) {
        let Some((mut unit, mut score)) = worst(&self.weights, &lesson.specimen) else { return };
        if is_warm_up && lesson.is_malicious {
            // In the beginning the highest window is a matter of chance; the whole text is a safer guess.
            if let Some(whole) = lesson.specimen.units.last() {
                unit = whole;
                score = score.min(0.0);
            }
        }
        let target = if lesson.is_malicious { 1.0 } else { 0.0 };
        let side = if lesson.is_malicious { 1.0 } else { self.settings.benign_weight };
        let error = (1.0 / (1.0 + (-score).exp()) - target) * lesson.weight * side;
        if error.abs() > 1e-4 {
            self.step(&lesson.specimen, unit, error);
        }
    }

    fn step(&mut self, specimen: &Specimen, unit: &Unit, error: f32) {
        let (letter_value, word_value, rule_value) = specimen.values(unit);
        let Learner { weights, squares, settings } = self;
        for sentence in &specimen.sentences[unit.sentences.clone()] {
            for slot in &sentence.letters {
                nudge(&mut weights.letters, &mut squares.letters, *slot, error * letter_value, settings);
            }
            for slot in &sentence.words {
                nudge(&mut weights.words, &mut squares.words, *slot, error * word_value, settings);
            }
        }
        for slot in &unit.rules {
            nudge(&mut weights.rules, &mut squares.rules, *slot, error * rule_value, settings);
        }
        for slot in &specimen.disguises {
            nudge(&mut weights.disguises, &mut squares.disguises, *slot, error, settings);
        }
        squares.bias += error * error;
        weights.bias -= settings.rate * error / (squares.bias + 1.0).sqrt();
    }
}

fn nudge(weights: &mut [f32], squares: &mut [f32], slot: u32, gradient: f32, settings: &Settings) {
    let slot = slot as usize;
    squares[slot] += gradient * gradient;
    weights[slot] -= settings.rate * gradient / (squares[slot] + 1e-3).sqrt();
}

fn add(total: &mut Weights, other: &Weights) {
    for (into, from) in tables(total).into_iter().zip([&other.letters, &other.words, &other.rules, &other.disguises]) {
        into.iter_mut().zip(from).for_each(|(sum, weight)| *sum += weight);
    }
    total.bias += other.bias;
}

fn scale(total: &mut Weights, factor: f32) {
    tables(total).into_iter().flatten().for_each(|weight| *weight *= factor);
    total.bias *= factor;
}

fn tables(weights: &mut Weights) -> [&mut Vec<f32>; 4] {
    [&mut weights.letters, &mut weights.words, &mut weights.rules, &mut weights.disguises]
}
