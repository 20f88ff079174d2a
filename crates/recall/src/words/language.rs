//! In which language a text is written, as far as the model shows: English, another of Latin letters, or by its script.
//! Texts of different languages share no words, and then missing words say nothing.

use super::scripts::{self, Language};
use crate::model::Model;

/// What one word says of the language of its text: up to 60, how much more it is used in other languages than in
/// English; above, its script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hint(pub(crate) i8);

const BY_SCRIPT: [(i8, Language); 4] =
    [(100, Language::Cyrillic), (101, Language::Arabic), (102, Language::Han), (103, Language::Hangul)];

impl Hint {
    /// Of a folded word.
    pub(crate) fn of(word: &str) -> Self {
        let Some(first) = word.chars().next() else { return Self(0) };
        match scripts::language_of(first) {
            Some(language) => Self(BY_SCRIPT.iter().find(|(_, own)| *own == language).map_or(0, |(code, _)| *code)),
            None => Self(Model::shipped().lean_of(word)),
        }
    }
}

/// Counts the hints of a text.
#[derive(Debug, Default)]
pub(crate) struct Ballot {
    by_script: [u32; BY_SCRIPT.len()],
    latin: u32,
    lean: i32,
}

impl Ballot {
    #[inline]
    pub(crate) fn add(&mut self, hint: Hint) {
        match usize::try_from(i32::from(hint.0) - i32::from(BY_SCRIPT[0].0)) {
            Ok(script) => self.by_script[script.min(BY_SCRIPT.len() - 1)] += 1,
            Err(_) => {
                self.latin += u32::from(hint.0 != 0);
                self.lean += i32::from(hint.0);
            }
        }
    }

    /// `None` without any evidence.
    pub(crate) fn verdict(&self) -> Option<Language> {
        let (count, language) = (self.by_script.iter().zip(BY_SCRIPT))
            .map(|(&count, (_, own))| (count, own))
            .max_by_key(|found| found.0)?;
        match self.lean {
            _ if count > self.latin => Some(language),
            1.. => Some(Language::OtherLatin),
            0 => None,
            _ => Some(Language::English),
        }
    }
}

/// Whether two texts are known to be of different languages.
pub(crate) fn are_foreign(one: Option<Language>, other: Option<Language>) -> bool {
    matches!((one, other), (Some(one), Some(other)) if one != other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::each_word;

    fn language(text: &str) -> Option<Language> {
        let mut ballot = Ballot::default();
        each_word(text, |word, _| ballot.add(Hint::of(word)));
        ballot.verdict()
    }

    #[test]
    fn texts_tell_their_language() {
        assert_eq!(language("Backups are kept for ninety days"), Some(Language::English));
        assert_eq!(language("Wann werden die Testdaten gelöscht?"), Some(Language::OtherLatin));
        assert_eq!(language("¿Cuándo se borran los datos?"), Some(Language::OtherLatin));
        assert_eq!(language("Postgres переключается вручную"), Some(Language::Cyrillic));
        assert_eq!(language("متى تُحذف بيانات الاختبار؟"), Some(Language::Arabic));
        assert_eq!(language("Cookieを消す"), Some(Language::Han));
        assert_eq!(language("운영 환경 배포"), Some(Language::Hangul));
        assert_eq!(language("4711"), None);
    }

    #[test]
    fn what_is_not_known_is_not_foreign() {
        assert!(are_foreign(Some(Language::English), Some(Language::Han)));
        assert!(!are_foreign(Some(Language::English), Some(Language::English)));
        assert!(!are_foreign(Some(Language::English), None));
    }
}
