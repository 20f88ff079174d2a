//! How much of the query a record covers: the share of its terms, plain and weighted by how telling they are.

use crate::index::WorkspaceIndex;
use crate::search::lexical::{Bm25, ONE};
use crate::search::query::Query;

/// Weighs the marks of records. Whole numbers, so that sums over records have no order.
pub(crate) struct Cover {
    /// What each term weighs, in the order of the query. Empty where marks only count.
    weights: Vec<u32>,
    /// Sums of the weights for every pattern of eight marks, one table per eight terms.
    sums: Vec<[u32; 256]>,
    /// The weight of all terms that are known here.
    total: u64,
    /// How many terms the query has, known or not.
    terms: u32,
}

impl Cover {
    /// `met` are the marks that some visible record has: a term that nobody sees is not known.
    pub(crate) fn new(query: &Query, index: &WorkspaceIndex, bm25: &Bm25, met: u32) -> Self {
        let terms = query.terms.len() as u32;
        if !query.is_masked() {
            return Self { weights: Vec::new(), sums: Vec::new(), total: 0, terms };
        }
        let weigh = |(at, known): (usize, &crate::search::query::QueryTerm)| {
            let counted = known.term.map_or(0, |term| index.lexicon.term(term).counted);
            let is_known = counted > 0 || met & 1 << at != 0;
            if is_known { weight(bm25.idf(counted)) } else { 0 }
        };
        let weights: Vec<u32> = query.terms.iter().enumerate().map(weigh).collect();
        let total = weights.iter().map(|&weight| u64::from(weight)).sum();
        let sums = weights.chunks(8).map(sums_of).collect();
        Self { weights, sums, total, terms }
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
