//! How good an answer is, against the records that should have been found.

use std::collections::HashSet;
use std::fmt;

use serde::Serialize;

use crate::figures::rounded;

#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Quality {
    queries: u32,
    /// The share of gold records among the first 1, 5, 10, 20.
    pub(crate) recall: [f64; 4],
    /// One over the rank of the first gold record, if within 10.
    pub(crate) mrr: f64,
    /// Gain discounted by rank, of the best possible.
    pub(crate) ndcg: f64,
}

/// The same in percent, as it is printed.
#[derive(Serialize)]
pub(crate) struct Percent {
    at_1: f64,
    at_5: f64,
    at_10: f64,
    at_20: f64,
    mrr: f64,
    ndcg: f64,
}

const CUTS: [usize; 4] = [1, 5, 10, 20];
const DEPTH: usize = 10;

impl Quality {
    pub(crate) const HEADINGS: &str = "  R@1   R@5  R@10  R@20   MRR  nDCG";

    pub(crate) fn of(found: &[usize], gold: &HashSet<usize>) -> Self {
        // A record found twice (by two of its texts) counts once here.
        let hits_within = |cut: usize| {
            let distinct: HashSet<_> = found.iter().take(cut).filter(|record| gold.contains(record)).collect();
            distinct.len()
        };
        let discount = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
        let top =
            || found.iter().take(DEPTH).enumerate().filter(|(_, record)| gold.contains(record)).map(|(rank, _)| rank);
        let ideal: f64 = (0..gold.len().min(DEPTH)).map(discount).sum();
        Self {
            queries: 1,
            recall: CUTS.map(|cut| hits_within(cut) as f64 / gold.len() as f64),
            mrr: top().next().map_or(0.0, |rank| 1.0 / (rank as f64 + 1.0)),
            ndcg: top().map(discount).sum::<f64>() / ideal,
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.queries += other.queries;
        for (sum, value) in self.recall.iter_mut().zip(other.recall) {
            *sum += value;
        }
        self.mrr += other.mrr;
        self.ndcg += other.ndcg;
    }

    pub(crate) fn questions(&self) -> u32 {
        self.queries
    }

    pub(crate) fn percent(&self) -> Percent {
        let [at_1, at_5, at_10, at_20] = self.recall.map(|share| rounded(100.0 * share, 1));
        Percent { at_1, at_5, at_10, at_20, mrr: rounded(100.0 * self.mrr, 1), ndcg: rounded(100.0 * self.ndcg, 1) }
    }

    pub(crate) fn mean(&self) -> Self {
        let queries = f64::from(self.queries.max(1));
        Self {
            queries: 1,
            recall: self.recall.map(|sum| sum / queries),
            mrr: self.mrr / queries,
            ndcg: self.ndcg / queries,
        }
    }
}

impl fmt::Display for Quality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for value in self.recall.iter().chain([&self.mrr, &self.ndcg]) {
            write!(f, "{:5.1} ", 100.0 * value)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gold_record_on_second_rank_counts_half_for_mrr() {
        let quality = Quality::of(&[7, 3], &HashSet::from([3]));
        assert_eq!(quality.recall, [0.0, 1.0, 1.0, 1.0]);
        assert_eq!(quality.mrr, 0.5);
        assert!((quality.ndcg - 1.0 / 3_f64.log2()).abs() < 1e-12);
    }
}
