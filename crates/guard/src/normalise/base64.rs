//! Readable text inside runs of base64. Images, hashes and keys decode to noise and are passed over.

use std::borrow::Cow;
use std::ops::Range;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::stretches::stretches;

/// Shorter runs are words, names and hashes.
const RUN_BYTES_MIN: usize = 24;
/// What a run must hold to count as text; below this, chance produces it.
const TEXT_BYTES_MIN: usize = 12;

/// How often base64 inside base64 is decoded.
const DEPTH_MAX: usize = 2;

/// A run of base64 that holds text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// Its place in the text.
    pub(super) place: Range<usize>,
    pub(super) text: String,
}

/// All runs of base64 that hold text, in both alphabets; base64 of base64 is decoded twice.
pub(super) fn readable_runs(text: &str) -> Vec<Run> {
    let bytes = text.as_bytes();
    let places = stretches(bytes, RUN_BYTES_MIN, is_base64);
    places.filter_map(|place| readable(&bytes[place.clone()], DEPTH_MAX).map(|text| Run { place, text })).collect()
}

/// The text without these runs: what they hold is read in their place, and their own letters say nothing more.
pub(super) fn without<'t>(text: &'t str, runs: &[Run]) -> Cow<'t, str> {
    if runs.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut rest = String::with_capacity(text.len());
    let mut start = 0;
    for Run { place, .. } in runs {
        rest.push_str(&text[start..place.start]);
        start = place.end;
    }
    rest.push_str(&text[start..]);
    Cow::Owned(rest)
}

fn readable(run: &[u8], depth: usize) -> Option<String> {
    // A path or a word of prose is also a run of these letters; decoding its head shows that at little cost.
    if !decode(&run[..RUN_BYTES_MIN]).iter().all(|b| is_text_byte(*b)) {
        return None;
    }
    let text = String::from_utf8(decode(run)).ok()?;
    let inner = text.trim().trim_end_matches('=').as_bytes();
    if depth > 1 && inner.len() >= RUN_BYTES_MIN && inner.iter().copied().all(is_base64) {
        return readable(inner, depth - 1);
    }
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let is_prose = text.contains(' ') && letters * 10 >= text.chars().count() * 6;
    (text.len() >= TEXT_BYTES_MIN && is_prose && text.bytes().all(is_text_byte)).then_some(text)
}

fn is_text_byte(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~' | 0x80..)
}

/// Runs are cut out of texts, so nothing is promised about how they end.
fn decode(run: &[u8]) -> Vec<u8> {
    const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone);
    const ENGINE: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
    let whole = run.len() - usize::from(run.len() % 4 == 1);
    let standard = |byte: &u8| match byte {
        b'-' => b'+',
        b'_' => b'/',
        other => *other,
    };
    let run: Vec<u8> = run[..whole].iter().map(standard).collect();
    ENGINE.decode(run).unwrap_or_default()
}

/// Of both alphabets.
fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        readable_runs(text).into_iter().map(|run| run.text).collect()
    }

    #[test]
    fn readable_text_is_found_in_both_alphabets() {
        assert_eq!(texts("x dGhlIHJlbGVhc2UgaXMgb24gTW9uZGF5Pz8_ y"), ["the release is on Monday???"]);
        assert_eq!(texts("dGhlIHJlbGVhc2UgaXMgb24gTW9uZGF5Pz8/"), ["the release is on Monday???"]);
    }

    #[test]
    fn what_is_around_the_runs_stays() {
        let text = "é: dGhlIHJlbGVhc2UgaXMgb24gTW9uZGF5Pz8_ and dGhlIHJlbGVhc2UgaXMgb24gTW9uZGF5Pz8/";
        assert_eq!(without(text, &readable_runs(text)), "é:  and ");
        assert_eq!(without("no run", &[]), "no run");
    }

    #[test]
    fn base64_of_base64_is_read_twice() {
        let twice = "ZEdobElISmxiR1ZoYzJVZ2FYTWdiMjRnVFc5dVpHRjVQejgv";
        assert_eq!(texts(twice), ["the release is on Monday???"]);
    }

    #[test]
    fn hashes_images_and_paths_are_passed_over() {
        let none: [String; 0] = [];
        for text in [
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
            "crates/guard/src/normalise/confusables",
            "thisisaverylongidentifierwithoutanybreak",
        ] {
            assert_eq!(texts(text), none, "{text}");
        }
    }
}
