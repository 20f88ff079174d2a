//! Sets of characters that secrets are written in, and runs of them.

use std::ops::Range;

/// An alphabet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alphabet {
    /// 0-9 a-f A-F
    Hex,
    /// A-Z 2-7
    Base32,
    /// 0-9 A-Z a-z
    Base62,
    /// 0-9 A-Z a-z - _
    Base64Url,
    /// 0-9 A-Z a-z + / =
    Base64,
    /// 0-9 A-Z a-z - _ .
    Dotted,
}

impl Alphabet {
    pub(super) fn has(self, byte: u8) -> bool {
        match self {
            Alphabet::Hex => byte.is_ascii_hexdigit(),
            Alphabet::Base32 => byte.is_ascii_uppercase() || matches!(byte, b'2'..=b'7'),
            Alphabet::Base62 => byte.is_ascii_alphanumeric(),
            Alphabet::Base64Url => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'),
            Alphabet::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
            Alphabet::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'),
        }
    }
}

/// The longest stretch of one alphabet that starts at `start`, cut off at `longest` + 1 so that a caller sees "too
/// long" without reading on.
pub(super) fn run(text: &str, start: usize, alphabet: Alphabet, longest: usize) -> Range<usize> {
    let rest = text.as_bytes().get(start..).unwrap_or_default();
    let length = rest.iter().take(longest.saturating_add(1)).take_while(|byte| alphabet.has(**byte)).count();
    start..start + length
}

/// As [`run`], backwards from `end`.
pub(super) fn run_before(text: &str, end: usize, alphabet: Alphabet, longest: usize) -> Range<usize> {
    let rest = text.as_bytes().get(..end).unwrap_or_default();
    let length = rest.iter().rev().take(longest.saturating_add(1)).take_while(|byte| alphabet.has(**byte)).count();
    end - length..end
}

/// Does a word go on to the left of `at`? Then what starts there is the middle of something else.
pub(super) fn is_inside_word(text: &str, at: usize) -> bool {
    at.checked_sub(1)
        .and_then(|before| text.as_bytes().get(before))
        .is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_')
}

/// The byte at `at`, if there is one.
pub(super) fn byte_at(text: &str, at: usize) -> Option<u8> {
    text.as_bytes().get(at).copied()
}
