//! Answering a query: which records, in which order, with which score. Each step has a file in `search/`.

mod all_words;
mod best;
pub(crate) mod bm25;
mod chance;
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
mod sums;

use crate::index::WorkspaceIndex;
use crate::recipe::Recipe;
use crate::records::{AudienceNo, NOBODY, Seen};
use crate::time::TimePhrase;
use crate::truth::{Judge, Narrowing};

use chance::to_scores;
pub use explain::{ExplainedHit, ExplainedWord, Explanation, HeldBack};
use ranking::Ranking;

/// The query for everything.
const EVERYTHING: &str = "*";

/// A question to a workspace.
#[derive(Clone, Copy)]
pub struct SearchRequest<'a> {
    /// What is looked for, in the caller's words.
    pub query: &'a str,
    /// How many hits at most.
    pub limit: usize,
    /// Who is seen by the caller. Asked once per audience. Records outside of it change nothing in the answer.
    pub visible: &'a dyn Fn(AudienceNo) -> bool,
    /// Whose sightings of sources the caller knows.
    pub knows: &'a dyn Fn(AudienceNo) -> bool,
    /// The moment of asking, in microseconds since 1970: what ended before no longer holds.
    pub now: i64,
    /// What the query says about time, by [`crate::time_phrase`]; its words do not count then.
    pub time: Option<&'a TimePhrase>,
    /// Which records take part. The others are as if they did not exist, but for the statistics of words.
    pub filter: Filter<'a>,
}

/// Which records a caller asks for. All that is given must fit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Filter<'a> {
    /// Only those that still hold.
    pub exclude_stale: bool,
    /// Only those under this key, which a caller chose.
    pub fact_key: Option<&'a str>,
    /// Only those of this source.
    pub source_id: Option<&'a str>,
    /// Only those that have all of these, as they are compared.
    pub tags: &'a [String],
    /// Only these.
    pub seqs: Option<&'a [u64]>,
    /// Only those whose time is this second since 1970, or later.
    pub since: Option<i64>,
    /// Only those whose time is this second since 1970, or earlier.
    pub until: Option<i64>,
}

impl<'a> SearchRequest<'a> {
    /// By a caller who sees and knows everything, at the beginning of time.
    pub fn new(query: &'a str, limit: usize) -> Self {
        Self {
            query,
            limit,
            visible: &|_| true,
            knows: &|_| true,
            now: i64::MIN,
            time: None,
            filter: Filter::default(),
        }
    }

    fn is_for_everything(&self) -> bool {
        self.query.trim() == EVERYTHING
    }
}

/// One record of the answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Which record.
    pub seq: u64,
    /// How likely it is an answer, in (0, 1] and in two decimals; never rises from hit to hit.
    pub score: f64,
    /// Whether it lies in the days that the query means.
    pub is_in_time: bool,
}

impl WorkspaceIndex {
    /// The best records for a query, best first; of equal ones the newest first.
    pub fn search(&self, request: &SearchRequest<'_>) -> Vec<Hit> {
        self.search_by(&Recipe::FULL, request)
    }

    /// As [`WorkspaceIndex::search`], by another recipe: for measuring.
    pub fn search_by(&self, recipe: &Recipe, request: &SearchRequest<'_>) -> Vec<Hit> {
        let judge = self.truth.judge(request.knows, request.now);
        let seen = self.seen(request, &judge);
        if request.is_for_everything() {
            return self.newest(&seen, request.limit).map(|seq| Hit { seq, score: 1.0, is_in_time: false }).collect();
        }
        let Some(mut ranking) = Ranking::new(self, recipe, request, &seen, &judge) else { return Vec::new() };
        let candidates = ranking.run(request.limit);
        let scores = to_scores(candidates.iter().map(|found| ranking.chance(found)));
        let hit = |(found, score): (&ranking::Candidate, f64)| Hit {
            seq: self.records.seq(found.slot),
            score,
            is_in_time: found.is_in_time,
        };
        candidates.iter().zip(scores).map(hit).collect()
    }

    /// The records that take part.
    fn seen(&self, request: &SearchRequest<'_>, judge: &Judge<'_>) -> Seen<'_> {
        let seen = self.records.seen_by(request.visible);
        if request.filter == Filter::default() {
            return seen;
        }
        let filter = &request.filter;
        let slots: Option<Vec<u32>> =
            filter.seqs.map(|seqs| seqs.iter().filter_map(|&seq| self.records.find(seq)).collect());
        let narrowing = Narrowing {
            exclude_stale: filter.exclude_stale,
            fact_key: filter.fact_key,
            source_id: filter.source_id,
            tags: filter.tags,
            slots: slots.as_deref(),
            since: filter.since,
            until: filter.until,
        };
        seen.narrow(judge.admit(&narrowing, self.records.slots()))
    }

    /// The visible records, newest first.
    fn newest<'s>(&'s self, seen: &'s Seen<'_>, limit: usize) -> impl Iterator<Item = u64> + 's {
        let slots = self.records.order().slots().iter().rev().copied();
        slots.filter(|&slot| slot != NOBODY && seen.contains(slot)).take(limit).map(|slot| self.records.seq(slot))
    }
}
