//! The best records lend words to the query (RM3): what they share is likely what was meant.

use rustc_hash::FxHashMap;

use crate::index::WorkspaceIndex;
use crate::lexicon::TermNo;
use crate::recipe::Recipe;
use crate::search::lexical::{Bm25, Weighted};

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

/// The query's own terms together with those that the best records lend.
pub(crate) fn expand(
    index: &WorkspaceIndex,
    bm25: &Bm25,
    recipe: &Recipe,
    own: &[Weighted],
    lenders: &[Lender],
) -> Vec<Weighted> {
    let mut lent = lent_terms(index, bm25, lenders);
    lent.truncate(recipe.feedback_terms);
    let own_total: f32 = own.iter().map(|weighted| weighted.weight).sum();
    let lent_total: f64 = lent.iter().map(|(_, weight)| weight).sum();
    let mut terms = own.to_vec();
    if lent_total <= 0.0 {
        return terms;
    }
    let share = f64::from(own_total * recipe.feedback / (1.0 - recipe.feedback)) / lent_total;
    for (term, weight) in lent {
        let weight = (share * weight) as f32;
        match terms.iter_mut().find(|known| known.term == term) {
            Some(known) => known.weight += weight,
            None => terms.push(Weighted { term, weight, mark: 0 }),
        }
    }
    terms
}

/// The content words of the lenders, most telling first.
fn lent_terms(index: &WorkspaceIndex, bm25: &Bm25, lenders: &[Lender]) -> Vec<(TermNo, f64)> {
    let mut weights: FxHashMap<TermNo, f64> = FxHashMap::default();
    for lender in lenders {
        let length = f64::from(index.records.lengths()[lender.slot as usize].max(1));
        for form in index.records.running(lender.slot).filter(|&form| !index.lexicon.is_stop(form)) {
            *weights.entry(index.lexicon.term_of(form)).or_default() += lender.weight / length;
        }
    }
    let idf = |term| f64::from(bm25.idf(index.lexicon.term(term).counted));
    let mut lent: Vec<(TermNo, f64)> = weights.into_iter().map(|(term, weight)| (term, weight * idf(term))).collect();
    // Of equal weights the spelling decides: the numbers of terms depend on the order of arrival.
    lent.sort_unstable_by(|a, b| {
        b.1.total_cmp(&a.1).then_with(|| index.lexicon.stem_text(a.0).cmp(index.lexicon.stem_text(b.0)))
    });
    lent
}
