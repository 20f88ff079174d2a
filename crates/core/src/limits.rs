//! Limits on input. Each is an error that states its number.

/// The longest content of a record, in bytes of UTF-8.
pub const CONTENT_BYTES_MAX: usize = 16 * 1024;
/// The longest query, in bytes of UTF-8.
pub const QUERY_BYTES_MAX: usize = 4 * 1024;
/// The longest fact key, in characters.
pub const FACT_KEY_CHARS_MAX: usize = 128;
/// How many records one save may name to supersede.
pub const SUPERSEDES_MAX: usize = 20;
/// The longest `source` and `source_id`, in characters each.
pub const SOURCE_CHARS_MAX: usize = 512;
/// The longest `source_hash`, `source_revision` and `current_source_hash`, in characters each.
pub const HASH_CHARS_MAX: usize = 256;
/// How many tags a record may have, and how many a search may ask for.
pub const TAGS_MAX: usize = 16;
/// The longest tag, in characters.
pub const TAG_CHARS_MAX: usize = 64;
/// The largest request body, in bytes.
pub const REQUEST_BYTES_MAX: usize = 1024 * 1024;
/// How deep the JSON of a request may be nested.
pub const JSON_DEPTH_MAX: usize = 64;
/// How many values a request may have, counting members and items of every level.
pub const JSON_VALUES_MAX: usize = 16_384;
/// Maximum number of results of one search.
pub const SEARCH_LIMIT_MAX: usize = 50;
/// Maximum number of ids that a search is narrowed to.
pub const SEARCH_IDS_MAX: usize = 50;
/// Number of results when a search names no limit.
pub const SEARCH_LIMIT_DEFAULT: usize = 10;
/// The longest idempotency key, in characters.
pub const IDEMPOTENCY_KEY_CHARS_MAX: usize = 128;

/// Why a text is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidText {
    /// Nothing but whitespace.
    #[error("{field} must not be empty")]
    Empty { field: &'static str },
    /// Over a limit counted in bytes.
    #[error("{field} is {size_bytes} bytes long; the limit is {size_bytes_max}")]
    TooManyBytes { field: &'static str, size_bytes: usize, size_bytes_max: usize },
    /// Over a limit counted in characters.
    #[error("{field} is {chars} characters long; the limit is {chars_max}")]
    TooManyChars { field: &'static str, chars: usize, chars_max: usize },
    /// A list over its limit.
    #[error("{field} lists {count} items; the limit is {count_max}")]
    TooMany { field: &'static str, count: usize, count_max: usize },
    /// PostgreSQL can't store this character, and a record must come back byte for byte from either engine.
    #[error("{field} must not contain the NUL character")]
    Nul { field: &'static str },
    /// Line ends, tabs and terminal commands have no place in a name.
    #[error("{field} must not contain control characters")]
    Control { field: &'static str },
    /// Other callers read hashes and revisions, so these have no room for sentences.
    #[error("{field} may contain only A-Z a-z 0-9 : + / = . _ - \"")]
    NotHash { field: &'static str },
}

pub fn check_content(content: &str) -> Result<(), InvalidText> {
    let field = "content";
    if content.trim().is_empty() {
        return Err(InvalidText::Empty { field });
    }
    if content.len() > CONTENT_BYTES_MAX {
        return Err(InvalidText::TooManyBytes { field, size_bytes: content.len(), size_bytes_max: CONTENT_BYTES_MAX });
    }
    check_no_nul(field, content)
}

/// Checks `source` or `source_id`.
pub fn check_source_text(field: &'static str, text: &str) -> Result<(), InvalidText> {
    check_chars(field, text, SOURCE_CHARS_MAX)?;
    check_no_control(field, text)
}

/// Checks a hash or a revision.
pub fn check_hash_text(field: &'static str, text: &str) -> Result<(), InvalidText> {
    check_chars(field, text, HASH_CHARS_MAX)?;
    let is_hash = |byte: u8| byte.is_ascii_alphanumeric() || b":+/=._-\"".contains(&byte);
    if text.bytes().all(is_hash) { Ok(()) } else { Err(InvalidText::NotHash { field }) }
}

pub(crate) fn check_chars(field: &'static str, text: &str, chars_max: usize) -> Result<(), InvalidText> {
    // A text has at most as many characters as bytes, so only long ones need counting.
    if text.len() > chars_max {
        let chars = text.chars().count();
        if chars > chars_max {
            return Err(InvalidText::TooManyChars { field, chars, chars_max });
        }
    }
    Ok(())
}

pub(crate) fn check_no_control(field: &'static str, text: &str) -> Result<(), InvalidText> {
    check_no_nul(field, text)?;
    if text.chars().any(char::is_control) { Err(InvalidText::Control { field }) } else { Ok(()) }
}

pub(crate) fn check_no_nul(field: &'static str, text: &str) -> Result<(), InvalidText> {
    if text.contains('\0') { Err(InvalidText::Nul { field }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_bounded_at_sixteen_kibibytes() {
        assert_eq!(check_content(&"a".repeat(CONTENT_BYTES_MAX)), Ok(()));
        let error = check_content(&"a".repeat(CONTENT_BYTES_MAX + 1)).unwrap_err();
        assert_eq!(error.to_string(), "content is 16385 bytes long; the limit is 16384");
    }

    #[test]
    fn blank_content_is_empty_content() {
        for blank in ["", " ", "\n\t ", "\u{a0}\u{2003}"] {
            assert_eq!(check_content(blank).unwrap_err().to_string(), "content must not be empty");
        }
    }

    #[test]
    fn source_texts_are_bounded_in_characters_not_bytes() {
        assert_eq!(check_source_text("source_id", &"ж".repeat(512)), Ok(()));
        let error = check_source_text("source_id", &"ж".repeat(513)).unwrap_err();
        assert_eq!(error.to_string(), "source_id is 513 characters long; the limit is 512");
    }

    #[test]
    fn source_texts_have_no_control_characters() {
        for text in ["a\nb", "a\tb", "a\u{1b}[2Jb", "a\u{85}b"] {
            let error = check_source_text("source", text).unwrap_err();
            assert_eq!(error.to_string(), "source must not contain control characters", "{text:?}");
        }
    }

    #[test]
    fn hashes_are_bounded_and_have_no_room_for_sentences() {
        for hash in ["sha256:9f86d081", "W/\"33a64df5\"", "aGVsbG8+d29ybGQ=", "v1.2.3-rc_1"] {
            assert_eq!(check_hash_text("source_hash", hash), Ok(()), "{hash}");
        }
        assert_eq!(check_hash_text("source_hash", &"a".repeat(256)), Ok(()));
        let error = check_hash_text("source_hash", &"a".repeat(257)).unwrap_err();
        assert_eq!(error.to_string(), "source_hash is 257 characters long; the limit is 256");
        for text in ["two words", "ж", "a\nb", "a\u{200b}b", "<b>", "a;b"] {
            let error = check_hash_text("source_revision", text).unwrap_err();
            let expected = "source_revision may contain only A-Z a-z 0-9 : + / = . _ - \"";
            assert_eq!(error.to_string(), expected, "{text:?}");
        }
    }

    #[test]
    fn nul_is_named() {
        assert_eq!(check_content("a\0b").unwrap_err().to_string(), "content must not contain the NUL character");
    }
}
