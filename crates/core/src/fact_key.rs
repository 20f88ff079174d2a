//! Short keys that name a fact: given by the caller, or generated from the content.

use crate::RecordId;
use crate::hex::to_hex;
use crate::limits::{FACT_KEY_CHARS_MAX, InvalidText, check_chars, check_no_control};

/// A record's fact key. Only keys given by the caller take part in conflicts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactKey {
    pub text: String,
    /// Whether the caller chose it.
    pub is_given: bool,
}

impl FactKey {
    /// Checks a key given by the caller.
    pub fn given(text: &str) -> Result<Self, InvalidText> {
        let text = text.trim();
        if text.is_empty() {
            return Err(InvalidText::Empty { field: "fact_key" });
        }
        check_chars("fact_key", text, FACT_KEY_CHARS_MAX)?;
        check_no_control("fact_key", text)?;
        Ok(Self { text: text.to_owned(), is_given: true })
    }

    /// Generates a key from the content.
    pub fn made(content: &str, id: RecordId) -> Self {
        Self { text: made_fact_key(content, id), is_given: false }
    }

    /// The key, if the caller chose it.
    pub fn chosen(&self) -> Option<&str> {
        self.is_given.then_some(self.text.as_str())
    }
}

/// How many words a generated key uses.
const WORDS_MAX: usize = 5;
/// The longest slug before its suffix, in characters.
const SLUG_CHARS_MAX: usize = 48;
/// Words that name nothing. A short list is enough: the key is for people, not for matching.
const EMPTY_WORDS: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "has", "have", "in", "is", "it", "of", "on", "or",
    "our", "that", "the", "this", "to", "was", "we", "were", "will", "with", "you", "your",
];

/// A slug of the first significant words, and a suffix from the record's id that makes it unique.
pub fn made_fact_key(content: &str, id: RecordId) -> String {
    let words = content.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut slug = String::with_capacity(SLUG_CHARS_MAX);
    let mut count = 0;
    let mut lower = String::new();
    for word in words {
        let word = lower_case(word, &mut lower);
        if EMPTY_WORDS.contains(&word) {
            continue;
        }
        let grown = slug.chars().count() + word.chars().count() + 1;
        if count == WORDS_MAX || (count > 0 && grown > SLUG_CHARS_MAX) {
            break;
        }
        if count > 0 {
            slug.push('-');
        }
        slug.extend(word.chars().take(SLUG_CHARS_MAX));
        count += 1;
    }
    if slug.is_empty() {
        slug.push_str("fact");
    }
    // The last bytes of a UUIDv7 are random; the first are time and would repeat within a batch.
    let tail = &id.to_bytes()[12..];
    slug.push('-');
    slug.push_str(&to_hex(tail));
    slug
}

/// A word in lower case, kept in `lower`. Most words are ASCII, and then it takes no memory of its own.
fn lower_case<'a>(word: &str, lower: &'a mut String) -> &'a str {
    if word.is_ascii() {
        lower.clear();
        lower.push_str(word);
        lower.make_ascii_lowercase();
    } else {
        *lower = word.to_lowercase();
    }
    lower
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> RecordId {
        RecordId::from_bytes([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0xde, 0xad, 0xbe, 0xef])
    }

    #[test]
    fn generated_keys_use_the_first_significant_words() {
        let check = |content: &str, expected: &str| assert_eq!(made_fact_key(content, id()), expected);
        check("The deploy of the API is on Tuesdays at ten", "deploy-api-tuesdays-ten-deadbeef");
        check("PostgreSQL 15 is the minimum version for us all", "postgresql-15-minimum-version-us-deadbeef");
        check("Релиз по вторникам", "релиз-по-вторникам-deadbeef");
        check("API für DEN Ärger ΟΔΟΣ", "api-für-den-ärger-οδος-deadbeef");
        check("!!! ---", "fact-deadbeef");
        check("the of a", "fact-deadbeef");
    }

    #[test]
    fn generated_keys_stay_within_the_limit() {
        let key = made_fact_key(&"ß".repeat(5000), id());
        assert!(key.chars().count() <= FACT_KEY_CHARS_MAX, "{}", key.chars().count());
    }

    #[test]
    fn given_keys_are_bounded() {
        assert!(FactKey::given(&"k".repeat(128)).is_ok());
        let error = FactKey::given(&"k".repeat(129)).unwrap_err();
        assert_eq!(error.to_string(), "fact_key is 129 characters long; the limit is 128");
        let error = FactKey::given("deploy\nday").unwrap_err();
        assert_eq!(error.to_string(), "fact_key must not contain control characters");
    }
}
