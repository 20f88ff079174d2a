//! Counting what was found.

use std::fmt;

use mnemon_recall::{SearchRequest, WorkspaceIndex};
use serde::Serialize;

use super::LIMIT;

/// What a question found.
pub(super) struct Answer {
    /// The rank of the right fact, 0 for the first.
    pub(super) rank: Option<usize>,
    pub(super) is_empty: bool,
}

/// How many questions there are, and of how many the right fact is first, among five, or nothing is found.
#[derive(Default, Clone, Copy, Serialize)]
pub(super) struct Tally {
    questions: f64,
    first: f64,
    in_five: f64,
    empty: f64,
}

impl Tally {
    pub(super) fn add(&mut self, answer: &Answer) {
        let within = |places: usize| f64::from(u8::from(answer.rank.is_some_and(|rank| rank < places)));
        self.questions += 1.0;
        self.first += within(1);
        self.in_five += within(5);
        self.empty += f64::from(u8::from(answer.is_empty));
    }

    pub(super) fn found_in_five(&self) -> f64 {
        self.share(self.in_five)
    }

    fn share(&self, count: f64) -> f64 {
        100.0 * count / self.questions.max(1.0)
    }
}

/// The mean over languages: those with fewer questions count as much.
pub(super) fn mean<'t>(tallies: impl Iterator<Item = &'t Tally>) -> Tally {
    let mut mean = Tally::default();
    for tally in tallies {
        mean.questions += 1.0;
        mean.first += tally.share(tally.first) / 100.0;
        mean.in_five += tally.share(tally.in_five) / 100.0;
        mean.empty += tally.share(tally.empty) / 100.0;
    }
    mean
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, in_five, empty] = [self.first, self.in_five, self.empty].map(|count| self.share(count));
        write!(f, "{first:3.0} /{in_five:3.0}  {empty:3.0}")
    }
}

/// Questions that nothing in a workspace answers.
#[derive(Default, Serialize)]
pub(super) struct Unrelated {
    questions: u32,
    by_meaning: u32,
    above: u32,
}

impl Unrelated {
    pub(super) fn add(&mut self, index: &WorkspaceIndex, question: &str) {
        let hits = index.explain(&SearchRequest::new(question, LIMIT)).hits;
        self.questions += 1;
        self.by_meaning += u32::from(hits.iter().any(|hit| hit.matched.is_empty()));
        self.above += u32::from(hits.iter().any(|hit| hit.score > 0.5));
    }

    pub(super) fn join(&mut self, other: &Self) {
        self.questions += other.questions;
        self.by_meaning += other.by_meaning;
        self.above += other.above;
    }

    pub(super) fn by_meaning(&self) -> f64 {
        share(self.by_meaning, self.questions)
    }

    pub(super) fn above(&self) -> f64 {
        share(self.above, self.questions)
    }
}

impl fmt::Display for Unrelated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:3.0}  {:3.0}", self.by_meaning(), self.above())
    }
}

/// What scores say of hits: how many are right of those above 0.5 and below 0.3, and how many of the right ones are
/// above 0.5; each with the total.
#[derive(Default, Serialize)]
pub(super) struct Scores {
    above: (u32, u32),
    below: (u32, u32),
    gold: (u32, u32),
}

impl Scores {
    pub(super) fn add(&mut self, score: f64, is_gold: bool) {
        let right = u32::from(is_gold);
        if score > 0.5 {
            self.above = (self.above.0 + right, self.above.1 + 1);
        }
        if score < 0.3 {
            self.below = (self.below.0 + right, self.below.1 + 1);
        }
        self.gold = (self.gold.0 + u32::from(is_gold && score > 0.5), self.gold.1 + right);
    }

    pub(super) fn join(&mut self, other: &Self) {
        let sum = |(a, b): (u32, u32), (c, d): (u32, u32)| (a + c, b + d);
        self.above = sum(self.above, other.above);
        self.below = sum(self.below, other.below);
        self.gold = sum(self.gold, other.gold);
    }
}

impl fmt::Display for Scores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |(right, all): (u32, u32)| format!("{:3.0} % of {all:4}", share(right, all));
        let [above, below, gold] = [self.above, self.below, self.gold].map(part);
        write!(f, "above 0.5: {above}   below 0.3: {below}   right ones above 0.5: {gold}")
    }
}

fn share(count: u32, all: u32) -> f64 {
    100.0 * f64::from(count) / f64::from(all.max(1))
}
