//! What must be known of a script: whether it is written without spaces, and how its letters are folded.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// A language, or several that can't be distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    English,
    OtherLatin,
    Cyrillic,
    Arabic,
    Han,
    Hangul,
}

/// Scripts whose words have no visible border: Han, Kana, Hangul, Thai, Lao, Khmer, Myanmar.
///
/// Hangul has spaces, but its particles cling to the noun; pairs find the noun where whole words would not.
pub(crate) fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c),
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1100..=0x11FF | 0x1780..=0x17FF | 0x3005..=0x3007 | 0x3040..=0x30FF
        | 0x3130..=0x318F | 0x31F0..=0x31FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF
        | 0x20000..=0x3FFFF)
}

/// Whether the shipped embedding model can make sense of a text. It has pieces for the letters of further scripts, but
/// their sums mean nothing, and all texts of such a script would look alike.
pub(crate) fn is_understood(text: &str) -> bool {
    if text.is_ascii() {
        return true;
    }
    let letters = text.chars().filter(|c| c.is_alphabetic());
    let (known, other) =
        letters.fold((0_usize, 0_usize), |(known, other), c| match is_latin(c) || language_of(c).is_some() {
            true => (known + 1, other),
            false => (known, other + 1),
        });
    known >= other
}

/// Whether a text is written syllable by syllable: Vietnamese, by the letters that only it has.
pub(crate) fn is_syllabic(text: &str) -> bool {
    const LETTERS_MIN: usize = 2;
    let is_vietnamese = |c: &char| matches!(u32::from(*c), 0x01A0 | 0x01A1 | 0x01AF | 0x01B0 | 0x1EA0..=0x1EF9);
    !text.is_ascii() && text.chars().filter(is_vietnamese).take(LETTERS_MIN).count() == LETTERS_MIN
}

/// What a letter's script says of the language of its text. Latin says nothing.
pub(crate) fn language_of(c: char) -> Option<Language> {
    match u32::from(c) {
        0x0400..=0x052F => Some(Language::Cyrillic),
        0x0600..=0x06FF | 0x0750..=0x077F | 0xFB50..=0xFDFF | 0xFE70..=0xFEFC => Some(Language::Arabic),
        0x3005..=0x3007 | 0x3040..=0x30FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF => {
            Some(Language::Han)
        }
        0xAC00..=0xD7AF => Some(Language::Hangul),
        _ => None,
    }
}

/// Latin letters, with or without marks.
fn is_latin(c: char) -> bool {
    c.is_ascii_alphabetic() || matches!(u32::from(c), 0x00C0..=0x024F | 0x1E00..=0x1EFF)
}

/// Writes the folded form of `word` into `out`: lower case, Latin and Cyrillic letters without their marks.
///
/// People type `cafe` and `все`; the text says `café` and `всё`. In other scripts marks carry the vowels and stay, and
/// so does Cyrillic `й`, which is a letter of its own.
pub(crate) fn fold_into(word: &str, out: &mut String) {
    out.clear();
    if word.is_ascii() {
        out.push_str(word);
        out.make_ascii_lowercase();
        return;
    }
    for c in word.chars().flat_map(char::to_lowercase) {
        if is_latin(c) {
            out.extend(std::iter::once(c).nfd().filter(|&part| !is_combining_mark(part)));
        } else if c == 'ё' {
            out.push('е');
        } else if !is_stray_mark(c) {
            out.push(c);
        }
    }
}

/// The combining diacritics of the Latin block, left over where a mark had no composed letter.
fn is_stray_mark(c: char) -> bool {
    matches!(u32::from(c), 0x0300..=0x036F)
}
