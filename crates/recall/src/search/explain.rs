//! Why an answer is as it is: the words that matched, each part of each score, and who was held back. Not for speed.

use crate::index::WorkspaceIndex;
use crate::meaning::{self, NO_VECTOR};
use crate::recipe::Recipe;
use crate::search::chance::to_scores;
use crate::search::query::QueryTerm;
use crate::search::ranking::{Candidate, Ranking};
use crate::search::{SearchRequest, bm25, lexical};

/// How many of the records that were held back are named.
const HELD_BACK_MAX: usize = 5;

/// The reasons behind one answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Explanation {
    /// The words of the query that scored, by their stems.
    pub words: Vec<ExplainedWord>,
    /// The words that the best records lent to the query.
    pub lent: Vec<ExplainedWord>,
    /// The answer, best first.
    pub hits: Vec<ExplainedHit>,
    /// Records without any word of the query that came nearest by meaning, but not near enough to be returned.
    pub held_back: Vec<HeldBack>,
    /// Above which cosine a record without any word of the query would have been returned.
    pub cosine_bar: f64,
    /// How much neighbours counted: how far records saved one after the other are about the same thing here, 0 to 1.
    pub locality: f64,
}

/// A word that took part.
#[derive(Debug, Clone, PartialEq)]
pub struct ExplainedWord {
    /// Its stem.
    pub stem: String,
    /// How much it counted; a word typed once has 1.
    pub weight: f64,
    /// In how many of the counted records it occurs.
    pub records: u32,
}

/// A record of the answer, with every part of its score.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ExplainedHit {
    /// Which record.
    pub seq: u64,
    /// As in the answer.
    pub score: f64,
    /// How likely it is an answer by itself. The score is the least of the chances down to this record.
    pub chance: f64,
    /// What the order was made from: shares plus bonuses.
    pub strength: f64,
    /// The query's stems that occur in it. Empty where meaning alone brought it in.
    pub matched: Vec<String>,
    /// BM25 of the query's own words.
    pub words: f64,
    /// BM25 with the lent words.
    pub words_with_lent: f64,
    /// What neighbouring words added.
    pub pairs: f64,
    /// Nearness by meaning; `None` where the record or the query has no vector.
    pub cosine: Option<f64>,
    /// What words and pairs gave to the strength.
    pub words_share: f64,
    /// What the cosine gave.
    pub cosine_share: f64,
    /// What the share of the query's terms gave that it has.
    pub count_share: f64,
    /// What the same share gave, each term weighted by how telling it is.
    pub cover_share: f64,
    /// What the terms gave that only its neighbours have.
    pub around_share: f64,
    /// What the words of its neighbours gave.
    pub ring_share: f64,
    /// What pairs gave once more.
    pub pairs_share: f64,
    /// What lying in the days that the query means gave, or near them.
    pub time_share: f64,
    /// For having every word of the query.
    pub all_words_bonus: f64,
    /// For having them as they were typed.
    pub as_typed_bonus: f64,
    /// Whether it no longer holds.
    pub is_stale: bool,
    /// What it gained by stepping before a stale record of the same thing, or gained and lost because others dispute
    /// its key and the newest of them comes first.
    pub truth_share: f64,
}

/// A record that was not returned although it came near.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldBack {
    /// Which record.
    pub seq: u64,
    /// How near it came: it has no word of the query, and this is not above [`Explanation::cosine_bar`].
    pub cosine: f64,
}

impl WorkspaceIndex {
    /// The answer of [`WorkspaceIndex::search`], with its reasons. The same visibility holds: nothing in it comes from
    /// a record that the caller does not see.
    pub fn explain(&self, request: &SearchRequest<'_>) -> Explanation {
        self.explain_by(&Recipe::FULL, request)
    }

    /// As [`WorkspaceIndex::explain`], by another recipe: for measuring.
    pub fn explain_by(&self, recipe: &Recipe, request: &SearchRequest<'_>) -> Explanation {
        let judge = self.truth.judge(request.knows, request.now);
        let seen = self.seen(request, &judge);
        if request.is_for_everything() {
            let hit = |seq| ExplainedHit { seq, score: 1.0, ..ExplainedHit::default() };
            return Explanation {
                hits: self.newest(&seen, request.limit).map(hit).collect(),
                ..Explanation::default()
            };
        }
        let Some(mut ranking) = Ranking::new(self, recipe, request, &seen, &judge) else {
            return Explanation::default();
        };
        let own_terms = ranking.terms.clone();
        let candidates = ranking.run(request.limit);
        let scores = to_scores(candidates.iter().map(|found| ranking.chance(found)));
        let word = |weighted: &lexical::Weighted| ExplainedWord {
            stem: self.lexicon.stem_text(weighted.term).to_owned(),
            weight: f64::from(weighted.weight),
            records: self.lexicon.counted(weighted.term),
        };
        Explanation {
            words: ranking.query.terms.iter().map(|known| self.explain_own(known)).collect(),
            lent: ranking.terms[own_terms.len()..].iter().map(word).collect(),
            hits: candidates
                .iter()
                .zip(scores)
                .map(|(found, score)| ranking.explain(found, score, &own_terms))
                .collect(),
            held_back: ranking.held_back(),
            cosine_bar: f64::from(ranking.floor) / meaning::ONE,
            locality: ranking.locality,
        }
    }

    fn explain_own(&self, known: &QueryTerm) -> ExplainedWord {
        ExplainedWord {
            stem: known.stem(&self.lexicon).to_owned(),
            weight: f64::from(known.weight),
            records: known.term.map_or(0, |term| self.lexicon.counted(term)),
        }
    }
}

impl Ranking<'_> {
    fn explain(&self, candidate: &Candidate, score: f64, own_terms: &[lexical::Weighted]) -> ExplainedHit {
        let one = f64::from(bm25::ONE);
        let bonus = |is_given: bool, bonus: f64| if is_given { bonus } else { 0.0 };
        let parts = self.parts(&self.recipe.last, candidate);
        ExplainedHit {
            seq: self.index.records.seq(candidate.slot),
            score,
            chance: self.chance(candidate),
            strength: candidate.strength,
            matched: self.matched_stems(candidate.slot),
            words: f64::from(self.own_score(candidate.slot, own_terms)) / one,
            words_with_lent: f64::from(candidate.words) / one,
            pairs: f64::from(candidate.pairs) / one,
            cosine: (candidate.near != NO_VECTOR).then(|| f64::from(candidate.near) / meaning::ONE),
            words_share: parts.words,
            cosine_share: parts.near,
            count_share: parts.count,
            cover_share: parts.cover,
            around_share: parts.around,
            ring_share: parts.ring,
            pairs_share: parts.pairs,
            time_share: candidate.time_share,
            all_words_bonus: bonus(candidate.has_all_words, self.bonuses.all_words),
            as_typed_bonus: bonus(candidate.has_them_as_typed, self.bonuses.as_typed),
            is_stale: candidate.is_stale,
            truth_share: candidate.traded,
        }
    }

    /// What the query's own words alone score in a record.
    fn own_score(&self, slot: u32, own_terms: &[lexical::Weighted]) -> u32 {
        let norm = self.bm25.norm(self.index.records.lengths()[slot as usize]);
        let share = |own: &lexical::Weighted| {
            let lexicon = &self.index.lexicon;
            let posting = lexicon.postings(own.term).iter().find(|posting| posting.slot == slot)?;
            let factor = bm25::factor(own.weight, self.bm25.idf(lexicon.counted(own.term)));
            Some(bm25::contribution(factor, bm25::saturation(posting.count, norm)))
        };
        own_terms.iter().filter_map(share).sum()
    }

    /// Which of the query's stems occur in a record, in the order of the query.
    fn matched_stems(&self, slot: u32) -> Vec<String> {
        let lexicon = &self.index.lexicon;
        let stands_there = |term| self.index.records.all_forms(slot).any(|form| Some(lexicon.term_of(form)) == term);
        let matched = self.query.terms.iter().filter(|known| stands_there(known.term));
        matched.map(|known| known.stem(lexicon).to_owned()).collect()
    }

    fn held_back(&self) -> Vec<HeldBack> {
        let Some(near) = &self.near else { return Vec::new() };
        let bar = f64::from(self.floor);
        let mut nearest: Vec<(i32, u64, u32)> = (0..)
            .zip(self.index.vectors.nearness(near, self.seen))
            .filter(|&(_, nearness)| nearness != NO_VECTOR && f64::from(nearness) <= bar)
            .map(|(slot, nearness)| (nearness, self.index.records.seq(slot), slot))
            .collect();
        nearest.sort_unstable_by(|a, b| b.cmp(a));
        let without_words = nearest.into_iter().filter(|&(_, _, slot)| self.matched_stems(slot).is_empty());
        let held_back = |(near, seq, _): (i32, u64, u32)| HeldBack { seq, cosine: f64::from(near) / meaning::ONE };
        without_words.take(HELD_BACK_MAX).map(held_back).collect()
    }
}
