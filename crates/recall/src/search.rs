//! Answering a query: which records, in which order, with which score. Each step has a file in `search/`.

mod lexical;
mod query;

use crate::index::WorkspaceIndex;
use crate::records::AudienceNo;

use lexical::{Bm25, Matched, Weighted};
use query::{MASKED_TERMS_MAX, Query};

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

/// Records with every word of the query go before all that lack one.
const ALL_WORDS_BONUS: f64 = 4.0;

impl WorkspaceIndex {
    /// The best records for a query, best first; of equal ones the newest first.
    pub fn search(&self, request: &SearchRequest<'_>) -> Vec<Hit> {
        let query = Query::parse(request.query, &self.lexicon);
        if !query.has_words() {
            return Vec::new();
        }
        let seen = self.records.seen_by(request.visible);
        let bm25 = Bm25::new(self);
        let matched = lexical::score(self, &bm25, &weighted(&query), &seen);
        let best = matched.iter().map(|record| record.score).max().unwrap_or(0);
        let all_words = AllWords::new(&query);
        let mut ranked: Vec<(f64, u64)> = matched
            .iter()
            .map(|record| {
                let share = f64::from(record.score) / f64::from(best.max(1));
                let bonus = if all_words.are_in(record) { ALL_WORDS_BONUS } else { 0.0 };
                (share + bonus, self.records.seq(record.slot))
            })
            .collect();
        ranked.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
        ranked.truncate(request.limit);
        ranked.into_iter().map(|(strength, seq)| Hit { seq, score: to_score(strength) }).collect()
    }
}

fn weighted(query: &Query) -> Vec<Weighted> {
    let masked = query.terms.len() <= MASKED_TERMS_MAX;
    let mark = |at: usize| if masked { 1 << at } else { 1 };
    query.terms.iter().enumerate().map(|(at, t)| Weighted { term: t.term, weight: t.weight, mark: mark(at) }).collect()
}

/// Any strength becomes a score: 0 is a half, and the order is kept.
fn to_score(strength: f64) -> f64 {
    0.5 + 0.5 * strength / (1.0 + strength.abs())
}

/// Decides from a record's marks whether it has every word of the query.
struct AllWords {
    /// Per word: any of these patterns of marks will do.
    words: Vec<(u32, u32)>,
    /// For queries of very many terms: how many marks make all.
    count: Option<u32>,
    /// Some word is unknown here, so no record has them all.
    is_hopeless: bool,
}

impl AllWords {
    fn new(query: &Query) -> Self {
        let bit = |term| query.bit_of(term).unwrap_or(0);
        let mut all = Self { words: Vec::new(), count: None, is_hopeless: query.units.is_empty() };
        for unit in &query.units {
            let whole = unit.whole.map_or(0, bit);
            let parts_known = !unit.parts.is_empty() && unit.parts.iter().all(Option::is_some);
            let parts = if parts_known { unit.parts.iter().flatten().map(|&term| bit(term)).sum() } else { 0 };
            all.is_hopeless |= unit.whole.is_none() && !parts_known;
            all.words.push((whole, parts));
        }
        if query.terms.len() > MASKED_TERMS_MAX {
            all.count = u32::try_from(query.terms.len()).ok();
        }
        all
    }

    fn are_in(&self, record: &Matched) -> bool {
        let has = |pattern: u32| pattern != 0 && record.seen & pattern == pattern;
        match self.count {
            _ if self.is_hopeless => false,
            Some(count) => record.seen == count,
            None => self.words.iter().all(|&(whole, parts)| has(whole) || has(parts)),
        }
    }
}
