//! Answering a query: which records, in which order, with which score. Each step has a file in `search/`.

mod all_words;
mod cover;
mod explain;
mod feedback;
mod fuse;
mod lexical;
mod neighbours;
#[cfg(test)]
mod oracle;
mod pairs;
mod query;
mod ranking;

use crate::index::WorkspaceIndex;
use crate::recipe::Recipe;
use crate::records::AudienceNo;

pub use explain::{ExplainedHit, ExplainedWord, Explanation, HeldBack};
use ranking::Ranking;

/// A question to a workspace.
#[derive(Clone, Copy)]
pub struct SearchRequest<'a> {
    /// What is looked for, in the words of whoever asks.
    pub query: &'a str,
    /// How many hits at most.
    pub limit: usize,
    /// Who is seen by the caller. Asked once per audience. Records outside of it change nothing in the answer.
    pub visible: &'a dyn Fn(AudienceNo) -> bool,
}

/// One record of the answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Which record.
    pub seq: u64,
    /// How good, in (0, 1]; falls from hit to hit.
    pub score: f64,
}

impl WorkspaceIndex {
    /// The best records for a query, best first; of equal ones the newest first.
    pub fn search(&self, request: &SearchRequest<'_>) -> Vec<Hit> {
        self.search_by(&Recipe::FULL, request)
    }

    /// As [`WorkspaceIndex::search`], by another recipe: for measuring.
    pub fn search_by(&self, recipe: &Recipe, request: &SearchRequest<'_>) -> Vec<Hit> {
        let seen = self.records.seen_by(request.visible);
        let Some(mut ranking) = Ranking::new(self, recipe, request, &seen) else { return Vec::new() };
        let candidates = ranking.run(request.limit);
        let hit =
            |found: &ranking::Candidate| Hit { seq: self.records.seq(found.slot), score: to_score(found.strength) };
        candidates.iter().map(hit).collect()
    }
}

/// Any strength becomes a score: 0 is a half, and the order is kept.
fn to_score(strength: f64) -> f64 {
    let strength = strength / 2.0;
    0.5 + 0.5 * strength / (1.0 + strength.abs())
}
