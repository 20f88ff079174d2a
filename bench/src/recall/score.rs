//! Whether `score` means something: gold hits against the hits that foreign queries get in the same workspaces. Prints
//! the table of separation, and weights fitted to these data; the service's own are in `recipe.rs`.

use std::borrow::Cow;

use mnemon_recall::{Chance, ExplainedHit, Explanation, Recipe, SearchRequest};
use serde::Serialize;

use crate::figures::{Json, rounded};

use super::data::Set;
use super::rankers::{Arrival, Ours};

/// How many hits of a query are looked at.
const LIMIT: usize = 10;
/// What a fit knows of a hit: share of terms, doubted ones among them, cosine, cosine in deviations, and 1 for the
/// bias.
const FEATURES: usize = 4;
/// Queries are also asked cut down to this many of their longest words.
const SHORT: [usize; 2] = [2, 3];
/// Steps of Newton's method; it converges long before.
const STEPS: usize = 20;
/// A score is the lowest chance down to its rank, which takes from gold hits behind others; the bias is raised by this
/// much for it.
const RAISE: f64 = 0.75;

/// One hit.
struct Sample {
    project: usize,
    /// How many words of the query were asked; `None` for all.
    short: Option<usize>,
    is_gold: bool,
    features: [f64; FEATURES],
    /// The same of every hit down to this one.
    down_to_it: Vec<[f64; FEATURES]>,
    score: f64,
}

#[derive(Serialize)]
struct Figures {
    rows: Vec<Row>,
}

/// How many of each kind score above 0.5, in percent.
#[derive(Serialize)]
struct Row {
    name: String,
    gold: f64,
    gold_hits: usize,
    foreign: f64,
    foreign_hits: usize,
}

pub(crate) fn run(sets: &[Set], json: &Json) -> anyhow::Result<()> {
    let samples: Vec<(String, Vec<Sample>)> =
        sets.iter().map(|set| (set.name.clone(), samples_of(set, sets))).collect();
    let mut rows = Vec::new();
    println!("\nscore above 0.5          gold hits      foreign hits");
    let mut show_row = |name: String, separation: Separation, weights: &str| {
        println!("{name:12}        {separation}{weights}");
        rows.push(separation.row(name));
    };
    for (name, samples) in &samples {
        show_row(name.clone(), Separation::of(whole(samples.iter()).map(|one| (one.is_gold, one.score))), "");
    }
    let memory: Vec<&Sample> =
        samples.iter().filter(|(name, _)| name != "cranfield").flat_map(|(_, samples)| samples).collect();
    for short in lengths() {
        let of_length = memory.iter().filter(|one| one.short == short).map(|one| (one.is_gold, one.score));
        let name = short.map_or("together".to_owned(), |words| format!("{words} words"));
        show_row(name, Separation::of(of_length), "");
    }
    println!("\nfitted on half of the projects, measured on the other half:");
    for half in 0..2 {
        let (fitted_on, others): (Vec<&Sample>, Vec<&Sample>) =
            memory.iter().copied().partition(|sample| sample.project % 2 == half);
        let weights = raised(fit(&fitted_on));
        let measured = whole(others.into_iter()).map(|one| (one.is_gold, score(&weights, one)));
        show_row(format!("half {half}"), Separation::of(measured), &format!("   {}", show(&weights)));
    }
    println!("{:12}        {}", "all, fitted", show(&raised(fit(&memory))));
    let Chance { count, doubted_terms: _, cosine, deviations, bias } = Recipe::FULL.chance;
    println!("{:12}        {}", "the service", show(&[count, cosine, deviations, bias]));
    json.write(&Figures { rows })
}

fn whole<'s>(samples: impl Iterator<Item = &'s Sample>) -> impl Iterator<Item = &'s Sample> {
    samples.filter(|one| one.short.is_none())
}

/// Gold hits of a set's own queries, and every hit of foreign ones: as many of these per project as it has own queries.
fn samples_of(set: &Set, sets: &[Set]) -> Vec<Sample> {
    let is_kin = |other: &Set| other.name[..4] == set.name[..4];
    let foreign: Vec<&str> = sets
        .iter()
        .filter(|other| !is_kin(other))
        .flat_map(|other| &other.projects)
        .flat_map(|project| project.queries.iter().map(|query| query.text.as_str()))
        .collect();
    let mut samples = Vec::new();
    for (number, project) in set.projects.iter().enumerate() {
        let ours = Ours::new(project, Arrival::InOrder);
        let explain = |query: &str| ours.explain(&SearchRequest::new(query, LIMIT));
        for short in lengths() {
            for query in &project.queries {
                let explanation = explain(&cut(&query.text, short));
                let is_gold =
                    |rank: &usize| query.gold.contains(&project.records[explanation.hits[*rank].seq as usize]);
                let gold = (0..explanation.hits.len()).filter(is_gold);
                samples.extend(gold.map(|rank| Sample { short, ..sample(&explanation, rank, number, true) }));
            }
            let stride = (foreign.len() / project.queries.len().max(20)).max(1);
            for query in foreign.iter().skip(number * 7 % stride).step_by(stride) {
                let explanation = explain(&cut(query, short));
                let hits = 0..explanation.hits.len();
                samples.extend(hits.map(|rank| Sample { short, ..sample(&explanation, rank, number, false) }));
            }
        }
    }
    samples
}

fn sample(explanation: &Explanation, rank: usize, project: usize, is_gold: bool) -> Sample {
    let features = |hit: &ExplainedHit| {
        let terms = explanation.words.len() as f64 + Recipe::FULL.chance.doubted_terms;
        [hit.matched.len() as f64 / terms, hit.cosine.unwrap_or(0.0), hit.cosine_share / Recipe::FULL.last.near, 1.0]
    };
    let hit = &explanation.hits[rank];
    let down_to_it = explanation.hits[..=rank].iter().map(features).collect();
    Sample { project, short: None, is_gold, features: features(hit), down_to_it, score: hit.score }
}

/// The whole query, and its short forms.
fn lengths() -> impl Iterator<Item = Option<usize>> {
    std::iter::once(None).chain(SHORT.map(Some))
}

/// The longest words of a query, in its order: what somebody in a hurry types.
fn cut(query: &str, short: Option<usize>) -> Cow<'_, str> {
    let Some(count) = short else { return Cow::Borrowed(query) };
    let words: Vec<&str> = query.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let mut longest: Vec<usize> = (0..words.len()).collect();
    longest.sort_by_key(|&at| std::cmp::Reverse(words[at].chars().count()));
    longest.truncate(count);
    longest.sort_unstable();
    Cow::Owned(longest.into_iter().map(|at| words[at]).collect::<Vec<_>>().join(" "))
}

/// What the score of a hit would be by these weights.
fn score(weights: &[f64; FEATURES], sample: &Sample) -> f64 {
    sample.down_to_it.iter().map(|features| chance(weights, features)).fold(1.0, f64::min)
}

fn raised([count, cosine, deviations, bias]: [f64; FEATURES]) -> [f64; FEATURES] {
    [count, cosine, deviations, bias + RAISE]
}

/// How many of each kind lie above a half.
struct Separation {
    gold: (usize, usize),
    foreign: (usize, usize),
}

impl Separation {
    fn of(scores: impl Iterator<Item = (bool, f64)>) -> Self {
        let mut separation = Self { gold: (0, 0), foreign: (0, 0) };
        for (is_gold, score) in scores {
            let (above, all) = if is_gold { &mut separation.gold } else { &mut separation.foreign };
            *above += usize::from(score > 0.5);
            *all += 1;
        }
        separation
    }
}

impl Separation {
    fn row(&self, name: String) -> Row {
        let share = |(above, all): (usize, usize)| rounded(100.0 * above as f64 / all.max(1) as f64, 1);
        let (gold, foreign) = (share(self.gold), share(self.foreign));
        Row { name, gold, gold_hits: self.gold.1, foreign, foreign_hits: self.foreign.1 }
    }
}

impl std::fmt::Display for Separation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let share = |(above, all): (usize, usize)| 100.0 * above as f64 / all.max(1) as f64;
        let (gold, foreign) = (share(self.gold), share(self.foreign));
        write!(f, "{gold:5.1} % of {:5}   {foreign:5.1} % of {:6}", self.gold.1, self.foreign.1)
    }
}

fn show(weights: &[f64; FEATURES]) -> String {
    let [count, cosine, deviations, bias] = weights;
    format!("count {count:.2}, cosine {cosine:.2}, deviations {deviations:.2}, bias {bias:.2}")
}

fn chance(weights: &[f64; FEATURES], features: &[f64; FEATURES]) -> f64 {
    let odds: f64 = weights.iter().zip(features).map(|(weight, feature)| weight * feature).sum();
    1.0 / (1.0 + (-odds).exp())
}

/// A logistic regression by Newton's method; both classes weigh alike, and a ridge of 1 keeps it from running away.
fn fit(samples: &[&Sample]) -> [f64; FEATURES] {
    let gold = samples.iter().filter(|sample| sample.is_gold).count() as f64;
    let half = samples.len() as f64 / 2.0;
    let mut weights = [0.0; FEATURES];
    for _ in 0..STEPS {
        let mut rows = [[0.0; FEATURES + 1]; FEATURES];
        for sample in samples {
            let class = if sample.is_gold { gold } else { samples.len() as f64 - gold };
            let expected = chance(&weights, &sample.features);
            let slope = half / class * expected * (1.0 - expected);
            let push = half / class * (f64::from(u8::from(sample.is_gold)) - expected);
            for (row, x) in rows.iter_mut().zip(sample.features) {
                row.iter_mut().zip(sample.features).for_each(|(cell, y)| *cell += slope * x * y);
                row[FEATURES] += push * x;
            }
        }
        for (at, row) in rows.iter_mut().enumerate() {
            row[at] += 1.0;
            row[FEATURES] -= weights[at];
        }
        let step = solve(rows);
        weights.iter_mut().zip(step).for_each(|(weight, step)| *weight += step);
    }
    weights
}

/// Solves the equations whose right side is the last column. They are positive definite, so no pivot vanishes.
fn solve(mut rows: [[f64; FEATURES + 1]; FEATURES]) -> [f64; FEATURES] {
    for at in 0..FEATURES {
        let pivot = rows[at];
        for (other, row) in rows.iter_mut().enumerate().filter(|(other, _)| *other != at) {
            let factor = row[at] / pivot[at];
            debug_assert!(factor.is_finite(), "row {other} has no pivot");
            row.iter_mut().zip(pivot).for_each(|(cell, above)| *cell -= factor * above);
        }
    }
    std::array::from_fn(|at| rows[at][FEATURES] / rows[at][at])
}
