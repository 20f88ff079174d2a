//! The stem of a word, by its script: Latin is taken as English, Cyrillic as Russian, and so on.
//!
//! No language is guessed from the text: a guess that flips between two saves would part words that belong together.

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};

/// The longest word that is stemmed; what is longer is a hash or a blob, and stemming is not linear.
const STEMMED_BYTES_MAX: usize = 64;

/// The Snowball stemmers in use.
pub(crate) struct Stems {
    english: Stemmer,
    russian: Stemmer,
    greek: Stemmer,
    arabic: Stemmer,
    tamil: Stemmer,
}

impl Stems {
    pub(crate) fn new() -> Self {
        Self {
            english: Stemmer::create(Algorithm::English),
            russian: Stemmer::create(Algorithm::Russian),
            greek: Stemmer::create(Algorithm::Greek),
            arabic: Stemmer::create(Algorithm::Arabic),
            tamil: Stemmer::create(Algorithm::Tamil),
        }
    }

    /// The stem of one folded word. Words with digits or separators are names: they are their own stem.
    pub(crate) fn stem<'w>(&self, word: &'w str) -> Cow<'w, str> {
        match self.stemmer_for(word) {
            Some(stemmer) if word.len() <= STEMMED_BYTES_MAX => match stemmer.stem(word) {
                // A stemmer may eat a short word whole; then the word stands for itself.
                stem if stem.is_empty() => Cow::Borrowed(word),
                stem => stem,
            },
            _ => Cow::Borrowed(word),
        }
    }

    fn stemmer_for(&self, word: &str) -> Option<&Stemmer> {
        if word.is_ascii() {
            return word.bytes().all(|byte| byte.is_ascii_lowercase()).then_some(&self.english);
        }
        match u32::from(word.chars().next()?) {
            0x0400..=0x052F => Some(&self.russian),
            0x0370..=0x03FF | 0x1F00..=0x1FFF => Some(&self.greek),
            0x0600..=0x06FF | 0x0750..=0x077F => Some(&self.arabic),
            0x0B80..=0x0BFF => Some(&self.tamil),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(one: &str, other: &str) {
        let stems = Stems::new();
        assert_eq!(stems.stem(one), stems.stem(other), "{one} and {other} should share a stem");
    }

    #[test]
    fn endings_fall_away_by_script() {
        check("deployed", "deploying");
        check("ключами", "ключ");
        check("серверов", "сервер");
    }

    #[test]
    fn names_keep_their_form() {
        let stems = Stems::new();
        for name in ["lib.rs", "sha256s", "snake_cases", "東京"] {
            assert_eq!(stems.stem(name), name);
        }
    }
}
