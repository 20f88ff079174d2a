//! The significant words of a text, split and stemmed here: the ranker under measurement must not decide whether a hit
//! shares a word with its query.

use std::collections::HashSet;
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};

static STOP_WORDS: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| include_str!("../../../crates/recall/assets/stopwords.txt").split_whitespace().collect());
static STEMMER: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::create(Algorithm::English));

/// The words as written, in lower case.
pub(crate) fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    let parts = text.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’');
    parts.map(bare).filter(|word| !word.is_empty())
}

/// Without quotes around it and without a possessive's end.
fn bare(part: &str) -> String {
    let word = part.replace('’', "'").to_lowercase();
    let word = word.trim_matches('\'');
    word.strip_suffix("'s").unwrap_or(word).to_owned()
}

pub(crate) fn is_content(word: &str) -> bool {
    word.chars().count() > 1 && !STOP_WORDS.contains(word)
}

pub(crate) fn stem(word: &str) -> String {
    STEMMER.stem(word).into_owned()
}

/// The stems of the significant words, or of all words if none is significant.
pub(crate) fn stems(text: &str) -> HashSet<String> {
    let content: HashSet<String> = words(text).filter(|word| is_content(word)).map(|word| stem(&word)).collect();
    if content.is_empty() { words(text).map(|word| stem(&word)).collect() } else { content }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_possessive_and_a_plural_have_the_stem_of_their_word() {
        assert_eq!(stems("Caroline's paintings"), stems("caroline painting"));
        assert_eq!(stems("to be or not"), HashSet::from(["to", "be", "or", "not"].map(str::to_owned)));
    }
}
