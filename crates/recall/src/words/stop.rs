//! Words so common that they say nothing of a record. They are indexed, but score only where a query has no others.

use std::sync::LazyLock;

use rustc_hash::FxHashSet;

use crate::model::normalise;

static STOP_WORDS: LazyLock<FxHashSet<&'static str>> =
    LazyLock::new(|| include_str!("../../assets/stopwords.txt").split_whitespace().collect());
/// Those of the other languages that the model knows, as it writes them; `tools/recall-model` finds them in its table.
static FUNCTION_WORDS: LazyLock<FxHashSet<&'static str>> =
    LazyLock::new(|| include_str!("../../assets/function_words.txt").split_whitespace().collect());

/// Which words say nothing. English texts are read by English stop words alone: `die` is a word there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stops(u32);

impl Stops {
    pub(crate) const ENGLISH: Stops = Stops(1);
    /// English ones among them: technical texts of every language are full of English.
    pub(crate) const ALL: Stops = Stops(3);
    /// How many bits a word has for the languages in which it says nothing.
    pub(crate) const BITS: u32 = 2;

    /// Where a folded word says nothing.
    pub(crate) fn that_have(word: &str) -> Self {
        Self(u32::from(STOP_WORDS.contains(word)) | u32::from(is_function_word(word)) << 1)
    }

    pub(crate) fn bits(self) -> u32 {
        self.0
    }

    /// Whether a word with these bits says nothing here.
    #[inline]
    pub(crate) fn include(self, bits: u32) -> bool {
        self.0 & bits != 0
    }

    /// Whether a folded word says nothing here.
    pub(crate) fn has(self, word: &str) -> bool {
        self.include(Self::that_have(word).0)
    }
}

fn is_function_word(word: &str) -> bool {
    let is_hiragana = |c: char| matches!(u32::from(c), 0x3041..=0x309F);
    FUNCTION_WORDS.contains(&*normalise(word)) || !word.is_ascii() && word.chars().all(is_hiragana)
}
