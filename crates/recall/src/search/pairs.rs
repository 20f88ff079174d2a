//! Words of the query that are near each other in a record too: "boiler code" is more than "boiler" and "code".
//!
//! Pairs have no postings: they would be twice as many as the words. A record that has two words of the query is read
//! instead. So the frequency of a pair is unknown; it weighs as much as its two words together, which ranked better
//! than the rarer or the commoner of them alone.

use smallvec::SmallVec;

use crate::index::WorkspaceIndex;
use crate::lexicon::TermNo;
use crate::search::bm25::{Bm25, contribution, factor, saturation};
use crate::search::query::{MASKED_TERMS_MAX, Query};
use crate::words::Stops;

/// How far apart the two words of a pair may be: next to each other, or one word between. Stop words do not count.
const REACH: usize = 2;

/// The pairs of a query.
pub(crate) struct Pairs {
    terms: Vec<TermNo>,
    /// A bit for the low end of each term's number: most words of a record are none of the query's.
    hints: u64,
    /// Per pair the marks of both words. Empty where a query has too many terms to mark them.
    marks: SmallVec<[u32; 16]>,
    /// What each pair weighs, by the numbers of its two words; 0 for no pair.
    factors: Vec<f64>,
    stops: Stops,
}

impl Pairs {
    /// `None` where the query has no pair.
    pub(crate) fn new(query: &Query, index: &WorkspaceIndex, bm25: &Bm25, weight: f32) -> Option<Self> {
        let terms: Vec<TermNo> = query.terms.iter().take(MASKED_TERMS_MAX).filter_map(|known| known.term).collect();
        let factors = vec![0.0; terms.len() * terms.len()];
        let hints = terms.iter().fold(0, |hints, &term| hints | hint(term));
        let mut pairs = Self { factors, hints, marks: SmallVec::new(), terms, stops: query.stops };
        let idf = |term| bm25.idf(index.lexicon.counted(term));
        for (at, &first) in query.sequence.iter().enumerate() {
            for &second in query.sequence.iter().skip(at + 1).take(REACH) {
                if let (Some(first), Some(second)) = (first, second)
                    && let (Some(a), Some(b)) = (pairs.number(first), pairs.number(second))
                    && a != b
                {
                    let pair = pairs.pair(a, b);
                    pairs.factors[pair] += factor(weight, idf(first) + idf(second));
                    if query.is_masked() {
                        pairs.marks.push(query.bit_of(first).unwrap_or(0) | query.bit_of(second).unwrap_or(0));
                    }
                }
            }
        }
        pairs.factors.iter().any(|&factor| factor > 0.0).then_some(pairs)
    }

    /// Whether a record with these marks may have a pair: it needs both words of one.
    pub(crate) fn may_be_in(&self, seen: u32) -> bool {
        seen != 0 && (self.marks.is_empty() || self.marks.iter().any(|&marks| marks & !seen == 0))
    }

    /// What the pairs in one record are worth.
    pub(crate) fn score(&self, index: &WorkspaceIndex, bm25: &Bm25, slot: u32) -> u32 {
        let norm = bm25.norm(index.records.lengths()[slot as usize]);
        let worth = |&(pair, count): &(usize, u32)| contribution(self.factors[pair], saturation(count, norm));
        self.count(index, slot).iter().map(worth).sum()
    }

    /// The pairs of a record, each with its count.
    fn count(&self, index: &WorkspaceIndex, slot: u32) -> SmallVec<[(usize, u32); 8]> {
        let mut counts: SmallVec<[(usize, u32); 8]> = SmallVec::new();
        // The last two words of the query that were met, and where. Places count without stop words, and without a
        // branch: which words are some can't be guessed.
        let mut met: [Option<(u8, usize)>; REACH] = [None; REACH];
        let mut place = 0;
        for form in index.records.running(slot) {
            let (term, is_stop) = index.lexicon.term_and_stop(form, self.stops);
            place += usize::from(!is_stop);
            if self.hints & hint(term) == 0 || is_stop {
                continue;
            }
            let Some(here) = self.number(term) else { continue };
            for (first, at) in met.into_iter().flatten() {
                if place - at > REACH {
                    continue;
                }
                let pair = self.pair(first, here);
                match counts.iter_mut().find(|(known, _)| *known == pair) {
                    Some((_, count)) => *count += 1,
                    None if self.factors[pair] > 0.0 => counts.push((pair, 1)),
                    None => {}
                }
            }
            met = [met[1], Some((here, place))];
        }
        counts
    }

    fn pair(&self, first: u8, second: u8) -> usize {
        usize::from(first) * self.terms.len() + usize::from(second)
    }

    fn number(&self, term: TermNo) -> Option<u8> {
        self.terms.iter().position(|&known| known == term).and_then(|at| u8::try_from(at).ok())
    }
}

fn hint(term: TermNo) -> u64 {
    1 << (term.0 % 64)
}
