//! Every number of the ranking, in one place. They were chosen on public dialogue-memory sets; `docs/concepts/recall.md`
//! says what each step is worth, and the bench `recall` measures it again.

/// What takes part in the ranking, and how much.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recipe {
    /// Weight of word pairs that stand near each other, against single words.
    pub pairs: f32,
    /// Share of the vectors in the fused strength; 0 leaves them out.
    pub meaning: f64,
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
    /// Above which centred cosine a record without any word of the query is returned.
    pub kindred: f64,
    /// Up to how many visible records every vector is compared; beyond, sign bits choose whom to compare.
    pub exhaustive_records: usize,
    /// How many records sign bits, and the plain word score, choose then.
    pub preselected_records: usize,
}

impl Recipe {
    /// The ranking of the service.
    pub const FULL: Recipe = Recipe {
        pairs: 0.2,
        meaning: 0.5,
        feedback_records: 10,
        feedback_terms: 20,
        feedback: 0.5,
        all_words: 4.0,
        as_typed: 4.0,
        kindred: 0.3,
        exhaustive_records: 5_000,
        preselected_records: 500,
    };
    /// Words alone, with pairs, feedback and the bonus for having all.
    pub const LEXICAL: Recipe = Recipe { meaning: 0.0, ..Recipe::FULL };
    /// The plain probabilistic ranking of words: the yardstick.
    pub const BM25: Recipe =
        Recipe { pairs: 0.0, feedback_records: 0, all_words: 0.0, as_typed: 0.0, ..Recipe::LEXICAL };
}
