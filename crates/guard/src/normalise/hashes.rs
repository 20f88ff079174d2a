//! Removes hashes, and long numbers in lone names: they say nothing, and by chance their characters look like words.
//!
//! Hex that spells readable text stays. That is no hash, and somebody may have hidden words in it. Long numbers within
//! sentences stay as well: see `numbers`.

use super::stretches::{count, stretches};

/// This many hex digits in a row are a hash, an id or a key's fingerprint. The longest English word of these letters
/// alone is shorter, and a run without any digit is a word.
pub(super) const HEX_MIN: usize = 12;
/// This many digits in a row are not read as words.
const DIGITS_MIN: usize = 8;
/// The digits of the largest exponent of a floating-point number.
const EXPONENT_DIGITS_MAX: usize = 3;
/// The lengths of the parts of a UUID.
const UUID_PARTS: [usize; 5] = [8, 4, 4, 4, 12];

/// Takes hashes and UUIDs out of a text in lower case, and long numbers out of one that is a single name.
pub(super) fn remove(text: String) -> String {
    let bytes = text.as_bytes();
    let has_long_run = count(bytes, |before, byte, _| before.is_ascii_digit() & byte.is_ascii_digit()) > 0;
    if !has_long_run {
        return text;
    }
    let is_name = !text.trim().contains(char::is_whitespace);
    let (mut out, mut kept) = (String::new(), 0);
    // Everything that is removed begins with at least this many letters and digits.
    for word in stretches(bytes, UUID_PARTS[0], |byte| byte.is_ascii_alphanumeric()) {
        if word.start < kept || readable_hex(&bytes[word.start..]) > 0 {
            continue;
        }
        match opaque_length(&bytes[word.start..]) {
            0 if is_name => {
                for number in stretches(&bytes[word.clone()], DIGITS_MIN, |byte| byte.is_ascii_digit()) {
                    out.push_str(&text[kept..word.start + number.start]);
                    kept = word.start + number.end;
                }
            }
            0 => {}
            length => {
                out.push_str(&text[kept..word.start]);
                kept = word.start + length;
            }
        }
    }
    if kept == 0 {
        return text;
    }
    out.push_str(&text[kept..]);
    out
}

/// How many letters and digits the bytes begin with.
fn word_length(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count()
}

/// The length of the UUID or hash that the bytes begin with, or 0.
fn opaque_length(bytes: &[u8]) -> usize {
    let uuid = uuid_length(bytes);
    if uuid > 0 {
        return uuid;
    }
    let word = word_length(bytes);
    let hex = &bytes[..word];
    let has_both = hex.iter().any(u8::is_ascii_digit) && hex.iter().any(u8::is_ascii_alphabetic);
    let is_hash = word >= HEX_MIN && has_both && hex.iter().all(u8::is_ascii_hexdigit);
    if is_hash { word } else { 0 }
}

fn uuid_length(bytes: &[u8]) -> usize {
    let mut at = 0;
    for (part, length) in UUID_PARTS.into_iter().enumerate() {
        if part > 0 {
            if bytes.get(at) != Some(&b'-') {
                return 0;
            }
            at += 1;
        }
        let is_part = bytes.get(at..at + length).is_some_and(|part| part.iter().all(u8::is_ascii_hexdigit));
        if !is_part {
            return 0;
        }
        at += length;
    }
    if bytes.get(at).is_some_and(u8::is_ascii_alphanumeric) { 0 } else { at }
}

/// The length of the hex word that the bytes begin with, if it spells text; or 0. A number is no such word, with an
/// exponent or without: two of its digits nearly always make a sign that can be printed.
pub(super) fn readable_hex(bytes: &[u8]) -> usize {
    let length = word_length(bytes);
    if length < HEX_MIN {
        return 0;
    }
    let (word, rest) = bytes.split_at(length);
    let is_hex = word.iter().all(u8::is_ascii_hexdigit) && word.iter().any(u8::is_ascii_alphabetic);
    let is_text = is_hex && !has_exponent(word, rest) && is_readable(word);
    if is_text { length } else { 0 }
}

/// Whether a word is a number with an exponent: `4105854851772e21`, or `4105854851772e` where `-16` follows.
fn has_exponent(word: &[u8], rest: &[u8]) -> bool {
    let Some(mark) = word.iter().position(|byte| !byte.is_ascii_digit()) else { return false };
    let exponent = match &word[mark + 1..] {
        [] => rest.strip_prefix(b"-").or(rest.strip_prefix(b"+")).unwrap_or_default(),
        within => within,
    };
    let digits = exponent.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_whole = exponent.get(digits).is_none_or(|byte| !byte.is_ascii_alphanumeric());
    word[mark] == b'e' && (1..=EXPONENT_DIGITS_MAX).contains(&digits) && is_whole
}

/// Whether hex digits, two by two, spell text.
fn is_readable(hex: &[u8]) -> bool {
    let value = |digit: u8| (digit as char).to_digit(16).unwrap_or(0) as u8;
    let (pairs, _) = hex.as_chunks::<2>();
    pairs
        .iter()
        .map(|&[high, low]| value(high) << 4 | value(low))
        .all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_uuids_and_long_numbers_go_and_words_stay() {
        let check = |text: &str, expected: &str| assert_eq!(remove(text.to_owned()), expected, "{text}");
        check("5fb34833a1e1707f1898025370acd69815915176", "");
        check("commit 5fb34833a1e1707f1898025370acd69815915176 is live", "commit  is live");
        check("sha256:e3a0464b70d521a61ebd149133822265645e06c68be31f6111e4e1abdfe1211f", "sha256:");
        check("94027094-0943-454b-b7cf-6599df503650", "");
        check("notes/zqstory490184932982.md", "notes/zqstory.md");
        check("call +4915112345678 or 0049", "call +4915112345678 or 0049");
        check("item-4915112345678", "item-");
        check("port 5433, year 2026, 1234567", "port 5433, year 2026, 1234567");
        check("defaced facade 12ab", "defaced facade 12ab");
        check("5fb34833a1e17", "");
        check("5fb34833a1e", "5fb34833a1e");
        // "ignore previous" in hex.
        check("69676e6f72652070726576696f7573", "69676e6f72652070726576696f7573");
        check("ж12345678ж", "жж");
    }

    #[test]
    fn a_number_with_an_exponent_spells_nothing() {
        // Each of them is printable when read as hex.
        for number in ["6646273336796e-45", "6646273336796e+4", "664627333679e204", "664627333679e20"] {
            assert_eq!(readable_hex(number.as_bytes()), 0, "{number}");
        }
        // "hidden", "hiding it", and words with more letters than an exponent leaves them.
        for word in
            ["68696464656e", "686964696e67206974", "6646273336796e-4567", "6646273336796e-4x", "6646273336796f-45"]
        {
            assert!(readable_hex(word.as_bytes()) >= HEX_MIN, "{word}");
        }
    }
}
