//! The best records lend words to the query (RM3): what they share is likely what was meant.

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::index::WorkspaceIndex;
use crate::lexicon::TermNo;
use crate::search::bm25::Bm25;
use crate::search::lexical::Weighted;
use crate::words::Stops;

/// Ten records rarely have more different words; room for them from the start.
const USUAL_TERMS: usize = 448;

/// A record that lends its words, with its weight.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lender {
    pub(crate) slot: u32,
    pub(crate) weight: f64,
}

impl Lender {
    /// The stronger and the higher in rank, the more its words count. Rank alone, strength alone and equal weights
    /// were tried: all rank worse.
    pub(crate) fn new(slot: u32, rank: usize, strength: f64) -> Self {
        Self { slot, weight: strength.max(0.0) / (rank as f64 + 1.0) }
    }
}

/// Adds lent terms to those of the query, `share` among them all.
pub(crate) fn add(terms: &mut Vec<Weighted>, lent: &[(TermNo, f64)], share: f64) {
    let total: f64 = lent.iter().map(|(_, weight)| weight).sum();
    if total <= 0.0 {
        return;
    }
    let share = share / total;
    for &(term, weight) in lent {
        let weight = (share * weight) as f32;
        match terms.iter_mut().find(|known| known.term == term) {
            Some(known) => known.weight += weight,
            None => terms.push(Weighted { term, weight, mark: 0 }),
        }
    }
}

/// The most telling content words of the lenders, at most `count`; none that more than `common` counted records have.
pub(crate) fn lent_terms(
    index: &WorkspaceIndex,
    bm25: &Bm25,
    lenders: &[Lender],
    stops: Stops,
    count: usize,
    common: u32,
) -> Vec<(TermNo, f64)> {
    let mut weights: FxHashMap<TermNo, f64> = FxHashMap::with_capacity_and_hasher(USUAL_TERMS, FxBuildHasher);
    for lender in lenders {
        let length = f64::from(index.records.lengths()[lender.slot as usize].max(1));
        for form in index.records.running(lender.slot).filter(|&form| !index.lexicon.is_stop(form, stops)) {
            *weights.entry(index.lexicon.term_of(form)).or_default() += lender.weight / length;
        }
    }
    let telling = |(term, weight): (TermNo, f64)| {
        let counted = index.lexicon.counted(term);
        (counted <= common).then(|| (term, weight * f64::from(bm25.idf(counted))))
    };
    let mut lent: Vec<(TermNo, f64)> = weights.into_iter().filter_map(telling).collect();
    // Of equal weights the spelling decides: the numbers of terms depend on the order of arrival.
    let order = |a: &(TermNo, f64), b: &(TermNo, f64)| {
        b.1.total_cmp(&a.1).then_with(|| index.lexicon.stem_bytes(a.0).cmp(index.lexicon.stem_bytes(b.0)))
    };
    if lent.len() > count && count > 0 {
        lent.select_nth_unstable_by(count - 1, order);
        lent.truncate(count);
    }
    lent.sort_unstable_by(order);
    lent
}
