//! Words so common that they say nothing of a record. They are indexed, but score only where a query has no others.

use std::sync::LazyLock;

use rustc_hash::FxHashSet;

static STOP_WORDS: LazyLock<FxHashSet<&'static str>> =
    LazyLock::new(|| include_str!("../../assets/stopwords.txt").split_whitespace().collect());

/// Whether a folded word is a stop word.
pub(crate) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.contains(word)
}
