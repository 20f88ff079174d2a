//! Every number of the ranking, in one place. They were chosen on public dialogue-memory sets;
//! `docs/concepts/recall.md` says what each step is worth, and the bench `recall` measures it again.

use crate::meaning::{NO_VECTOR, ONE};

/// What takes part in the ranking, and how much.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recipe {
    /// What pairs of words that are near each other add to the score of words.
    pub pairs: f32,
    /// How the records that lend words are chosen.
    pub first: Weights,
    /// How the answer is ranked.
    pub last: Weights,
    /// How many of the best records lend their words to the query; 0 leaves the feedback out.
    pub feedback_records: usize,
    /// How many words they lend.
    pub feedback_terms: usize,
    /// Weight of all lent words together; the query's own have the rest to 1.
    pub feedback: f32,
    /// Added to the strength of a record that has every word of the query.
    pub all_words: f64,
    /// Added again where it has them as they were typed, not only by their stems.
    pub as_typed: f64,
    /// From which cosine on a record speaks of the same thing as one that no longer holds, and steps before it.
    pub alike: f64,
    /// What a phrase of time in the query does.
    pub time: Timing,
    /// How likely a record is an answer.
    pub chance: Chance,
    /// The same where query and record are of different languages and share no word.
    pub chance_across: ChanceAcross,
    /// From where on meaning alone brings a record in.
    pub gate: Gate,
    /// What is looked at where looking at everything would take too long.
    pub bounds: Bounds,
}

/// What each part of a strength weighs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// The root of the score of words and pairs, in deviations over the visible records.
    pub words: f64,
    /// The cosine, in deviations.
    pub near: f64,
    /// The share of the query's terms that the record has.
    pub count: f64,
    /// The same share, each term weighted by how telling it is.
    pub cover: f64,
    /// What the records saved just before and after add to that share, as far as neighbours belong together here.
    pub around: f64,
    /// The words of the neighbours, in deviations; as far as neighbours belong together.
    pub ring: f64,
    /// The pairs once more, in deviations.
    pub pairs: f64,
}

/// What records gain by their time, where the query names one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    /// Added to the strength of a record whose time, or a date in whose text, lies in the days that are meant.
    pub inside: f64,
    /// Added just outside of them; less and less, down to nothing where the reach ends.
    pub near: f64,
    /// The fewest and the most days that the reach may have; between them it is as long as the days that are meant.
    pub reach_days: (i64, i64),
}

/// The odds that a record is an answer, as a logarithm: a sum of what is known in absolute terms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chance {
    /// Weight of the share of the query's terms that the record has.
    pub count: f64,
    /// Added to the query's number of terms, as terms that no record has: one word of two says less than four of
    /// eight.
    pub doubted_terms: f64,
    /// Weight of the centred cosine.
    pub cosine: f64,
    /// Weight of the same cosine in deviations over the visible records: where many are near, being near says less.
    pub deviations: f64,
    pub bias: f64,
}

/// The same odds between two languages. Missing words say nothing there, so the cosine decides, measured from
/// the bar of the gate: what comes near by chance does in every language.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChanceAcross {
    /// Weight of the centred cosine above the bar.
    pub cosine: f64,
    pub bias: f64,
}

/// The bar on the centred cosine of records that have no word of the query. The query is judged by the nearest record:
/// of many that have nothing to do with it, the nearest comes nearer by chance than that of a few, by the root of the
/// logarithm of their number. If it passes, the others come along that are about as near.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gate {
    /// The bar where that number is 1.
    pub base: f64,
    /// How much it rises.
    pub rise: f64,
    /// The upper bound: a record this near is about the same thing, however many others there are.
    pub most: f64,
    /// The share of the nearest cosine that the others need.
    pub share: f64,
    /// By how much the mean cosine of the other records lowers the bar, or raises it where it is negative: a question
    /// about the workspace's subjects is nearer to all of its records than one about something else.
    pub lean: f64,
}

impl Gate {
    /// The bar in a workspace with this many visible records.
    pub fn bar(&self, records: u32) -> f64 {
        /// Fewer make no easier gate: too few facts say nothing about chance.
        const RECORDS_MIN: u32 = 20;
        // libm, not the platform's: logarithms differ between systems in the last bit.
        let risen = self.base + self.rise * libm::log(f64::from(records.max(RECORDS_MIN))).sqrt();
        risen.min(self.most)
    }

    /// The nearness above which a record needs no word of the query. `nearest` is the largest of the visible ones,
    /// `measured` and `mean` are how many of them were measured and their mean.
    pub(crate) fn floor(&self, records: u32, nearest: i32, measured: f64, mean: f64) -> i32 {
        /// A small workspace counts as if it had this many more records of mean 0: a few say little about its subjects.
        const PRIOR_RECORDS: f64 = 20.0;
        let bar = self.bar(records) * ONE;
        if nearest == NO_VECTOR {
            return bar as i32;
        }
        let others = (measured * mean - f64::from(nearest)) / (measured - 1.0 + PRIOR_RECORDS);
        let bar = (bar - self.lean * others) as i32;
        if nearest > bar { (f64::from(nearest) * self.share) as i32 } else { bar }
    }
}

/// The lowest of the `count` largest, where there are more: those below are left out.
pub(crate) fn lowest_of_best(count: usize, nearness: impl Iterator<Item = i32>) -> Option<i32> {
    let mut nearness: Vec<i32> = nearness.collect();
    (0 < count && count < nearness.len()).then(|| *nearness.select_nth_unstable_by(count - 1, |a, b| b.cmp(a)).1)
}

/// How much is looked at. A larger number costs time and changes answers little.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Up to how many visible records the meaning and the neighbours of all are looked at; beyond, signs choose who may
    /// be near, and a sample is enough.
    pub exhaustive_records: usize,
    /// How many records the plain score of words chooses up to there.
    pub by_words_of_few: usize,
    /// How many records the signs of the vectors choose then.
    pub by_signs: usize,
    /// How many records come by meaning alone, the nearest; more where several are equally near.
    pub company: usize,
    /// How many the plain score of words chooses then.
    pub by_words: usize,
    /// How many records with all the words of a keyword query are compared in any case.
    pub complete: usize,
    /// In how many of the most promising records pairs are looked for; in three times as many where everything is
    /// compared.
    pub paired: usize,
    /// In how many of them to find those that lend words.
    pub paired_first: usize,
    /// A word that more than one in this many counted records have is not lent then: its list is long and says little.
    pub lent_to: u32,
    /// About how many records are sampled where a spread is taken: at least this many, at most twice as many.
    pub sampled: u32,
    /// How many of the best are read to see whether they have the words of a question as typed. More than any caller
    /// asks for, so that the first ten are the same whether ten or fifty are wanted. Among these, the newest
    /// of records that dispute a key comes first.
    pub read: usize,
    /// Among how many of the best a record that holds steps before a stale one of the same thing.
    pub rivals: usize,
}

impl Weights {
    const NONE: Weights = Weights { words: 0.0, near: 0.0, count: 0.0, cover: 0.0, around: 0.0, ring: 0.0, pairs: 0.0 };
}

impl Recipe {
    /// The ranking of the service.
    pub const FULL: Recipe = Recipe {
        pairs: 0.2,
        first: Weights { words: 0.5, near: 0.7, count: 2.0, cover: 1.5, around: 1.5, ..Weights::NONE },
        last: Weights { words: 0.18, near: 0.65, count: 2.4, cover: 1.45, around: 2.45, ring: 0.23, pairs: 0.04 },
        feedback_records: 10,
        feedback_terms: 20,
        feedback: 0.5,
        all_words: 4.0,
        as_typed: 4.0,
        alike: 0.45,
        time: Timing { inside: 3.0, near: 1.0, reach_days: (3, 31) },
        chance: Chance { count: 16.9, doubted_terms: 3.0, cosine: 19.3, deviations: -1.3, bias: -4.3 },
        chance_across: ChanceAcross { cosine: 25.0, bias: -3.5 },
        gate: Gate { base: -0.15, rise: 0.2, most: 0.35, share: 0.5, lean: 6.0 },
        bounds: Bounds {
            exhaustive_records: 4_000,
            by_words_of_few: 512,
            by_signs: 128,
            company: 32,
            by_words: 192,
            complete: 5_000,
            paired: 48,
            paired_first: 24,
            lent_to: 16,
            sampled: 128,
            read: 128,
            rivals: 32,
        },
    };
    /// As if no record had a neighbour.
    pub const WITHOUT_LOCALITY: Recipe = Recipe {
        first: Weights { around: 0.0, ..Recipe::FULL.first },
        last: Weights { around: 0.0, ring: 0.0, ..Recipe::FULL.last },
        ..Recipe::FULL
    };
    /// Without vectors, but for the question whether neighbours belong together.
    pub const LEXICAL: Recipe = Recipe {
        first: Weights { near: 0.0, ..Recipe::FULL.first },
        last: Weights { near: 0.0, ..Recipe::FULL.last },
        ..Recipe::FULL
    };
    /// The plain probabilistic ranking of words: the yardstick.
    pub const BM25: Recipe = Recipe {
        pairs: 0.0,
        last: Weights { words: 1.0, ..Weights::NONE },
        feedback_records: 0,
        all_words: 0.0,
        as_typed: 0.0,
        time: Timing { inside: 0.0, near: 0.0, ..Recipe::FULL.time },
        ..Recipe::FULL
    };

    /// Whether vectors are compared at all.
    pub(crate) fn has_meaning(&self) -> bool {
        self.last.near > 0.0
    }

    /// Whether neighbours count at all.
    pub(crate) fn has_neighbours(&self) -> bool {
        self.last.around > 0.0 || self.last.ring > 0.0
    }
}
