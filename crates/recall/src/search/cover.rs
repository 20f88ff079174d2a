//! How much of the query a record covers: the share of its terms, plain and weighted by how telling they are.

use crate::index::WorkspaceIndex;
use crate::search::bm25::{Bm25, ONE};
use crate::search::lexical::Weighted;
use crate::search::query::{MASKED_TERMS_MAX, Query, QueryTerm};

/// Weighs the marks of records. Whole numbers, so that sums over records have no order.
#[derive(Default)]
pub(crate) struct Cover {
    /// What each term weighs, in the order of the query. Empty where marks only count.
    weights: Vec<u32>,
    /// Sums of the weights for every pattern of eight marks, one table per eight terms.
    sums: Vec<[u32; 256]>,
    /// The weight of all terms that are known here.
    total: u64,
    /// How many terms the query has, known or not.
    terms: u32,
    /// Sums over the visible records of what their marks are worth: plain and weighted.
    totals: (u64, u64),
}

impl Cover {
    /// A term that is counted nowhere and that no visible record has is not known.
    pub(crate) fn new(query: &Query, index: &WorkspaceIndex, bm25: &Bm25, holders: &Holders) -> Self {
        let terms = query.terms.len() as u32;
        if !query.is_masked() {
            return Self { terms, totals: (holders.marks, holders.marks), ..Self::default() };
        }
        let weigh = |(known, &holders): (&QueryTerm, &u64)| {
            let counted = known.term.map_or(0, |term| index.lexicon.counted(term));
            let is_known = counted > 0 || holders > 0;
            if is_known { weight(bm25.idf(counted)) } else { 0 }
        };
        let weights: Vec<u32> = query.terms.iter().zip(&holders.of_terms).map(weigh).collect();
        let total = weights.iter().map(|&weight| u64::from(weight)).sum();
        let sums = weights.chunks(8).map(sums_of).collect();
        let weighted =
            weights.iter().zip(&holders.of_terms).map(|(&weight, holders)| u64::from(weight) * holders).sum();
        Self { weights, sums, total, terms, totals: (holders.of_terms.iter().sum(), weighted) }
    }

    /// Sums over the visible records of what [`Cover::count`] and [`Cover::weight`] give for their marks.
    pub(crate) fn totals(&self) -> (u64, u64) {
        self.totals
    }

    /// How many terms the query has, known or not.
    pub(crate) fn terms(&self) -> u32 {
        self.terms
    }

    /// The plain share: how many of the query's terms these marks are.
    #[inline]
    pub(crate) fn count(&self, marks: u32) -> u32 {
        if self.weights.is_empty() { marks } else { marks.count_ones() }
    }

    /// The weighted share.
    #[inline]
    pub(crate) fn weight(&self, marks: u32) -> u32 {
        if self.weights.is_empty() {
            return marks;
        }
        let parts = self.sums.iter().zip(marks.to_le_bytes());
        parts.map(|(sums, byte)| sums[usize::from(byte)]).sum()
    }

    /// From what [`Cover::count`] gave to a share of the query.
    pub(crate) fn count_share(&self, count: f64) -> f64 {
        count / f64::from(self.terms.max(1))
    }

    /// From what [`Cover::weight`] gave to a share of what is known.
    pub(crate) fn weight_share(&self, weight: f64) -> f64 {
        match (self.weights.is_empty(), self.total) {
            (true, _) => self.count_share(weight),
            (false, 0) => 0.0,
            (false, total) => weight / total as f64,
        }
    }

    /// Whether it is known which terms a record has, so that neighbours can add others.
    pub(crate) fn knows_terms(&self) -> bool {
        !self.weights.is_empty()
    }
}

/// How many visible records have each term of a query.
pub(crate) struct Holders {
    /// In the order of the query. All 0 where the query has too many terms to distinguish them.
    of_terms: [u64; MASKED_TERMS_MAX],
    /// The marks of all records, where they only count.
    marks: u64,
}

impl Holders {
    /// From the query's own terms, each with the number of visible records that have it.
    pub(crate) fn new(query: &Query, terms: &[Weighted], holders: &[u32]) -> Self {
        let mut found = Self { of_terms: [0; _], marks: 0 };
        for (term, &holders) in terms.iter().zip(holders) {
            if query.is_masked() {
                found.of_terms[term.mark.trailing_zeros() as usize] = u64::from(holders);
            } else {
                found.marks += u64::from(term.mark) * u64::from(holders);
            }
        }
        found
    }
}

/// What a term weighs.
pub(crate) fn weight(idf: f32) -> u32 {
    (f64::from(idf) * f64::from(ONE)).round() as u32
}

fn sums_of(weights: &[u32]) -> [u32; 256] {
    let mut sums = [0; 256];
    for (bit, &weight) in weights.iter().enumerate() {
        for pattern in 0..1 << bit {
            sums[pattern | 1 << bit] = sums[pattern] + weight;
        }
    }
    sums
}
