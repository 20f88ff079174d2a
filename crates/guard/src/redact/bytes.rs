//! Sets of characters that secrets are written in, and runs of them.

use std::ops::Range;

/// An alphabet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alphabet {
    /// 0-9
    Digits,
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
    /// Base64 of either sort, and percent codes in it
    Encoded,
}

impl Alphabet {
    pub(super) fn has(self, byte: u8) -> bool {
        match self {
            Alphabet::Digits => byte.is_ascii_digit(),
            Alphabet::Hex => byte.is_ascii_hexdigit(),
            Alphabet::Base32 => byte.is_ascii_uppercase() || matches!(byte, b'2'..=b'7'),
            Alphabet::Base62 => byte.is_ascii_alphanumeric(),
            Alphabet::Base64Url => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'),
            Alphabet::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
            Alphabet::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'),
            Alphabet::Encoded => byte.is_ascii_alphanumeric() || b"-_+/=%".contains(&byte),
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

/// The last `longest` characters of one alphabet before `end`, or fewer. The text before them may be of the same
/// alphabet: the letter of an escape, a digit.
pub(super) fn run_before(text: &str, end: usize, alphabet: Alphabet, longest: usize) -> Range<usize> {
    let rest = text.as_bytes().get(..end).unwrap_or_default();
    let length = rest.iter().rev().take(longest).take_while(|byte| alphabet.has(**byte)).count();
    end - length..end
}

/// The byte at `at`, if there is one.
pub(super) fn byte_at(text: &str, at: usize) -> Option<u8> {
    text.as_bytes().get(at).copied()
}

/// The bytes that a text in base64 stands for, padded or not; of short texts only.
pub(super) fn from_base64(text: &str) -> Option<Vec<u8>> {
    let (mut bits, mut held, mut out) = (0_u32, 0_u32, Vec::with_capacity(text.len()));
    for byte in text.trim_end_matches('=').bytes() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(digit);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_with_and_without_padding() {
        assert_eq!(from_base64("YW5hOng="), Some(b"ana:x".to_vec()));
        assert_eq!(from_base64("YW5hOng"), Some(b"ana:x".to_vec()));
        assert_eq!(from_base64("a b"), None);
    }
}
