//! A text as the model's pieces are cut from it: in a normal form, and as words. These words serve the vectors alone;
//! those that are searched for come from `words.rs`.

use std::borrow::Cow;

use unicode_normalization::char::{canonical_combining_class, decompose_canonical, is_combining_mark};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// The first letter beyond those of the Latin script.
const BEYOND_LATIN: char = '\u{250}';
/// How much each letter with a mark counts against English, and how many of them count.
const MARK_WEIGHT: i32 = 4;
const MARKS_MAX: usize = 6;

/// What a word of a normal text is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A single mark.
    Punctuation,
    /// Han and kana, which have no spaces between words.
    Run,
    /// Anything else.
    Plain,
}

/// Calls `found` with every word and every punctuation mark.
pub(super) fn each_word<'t>(normal: &'t str, found: impl FnMut(Kind, &'t str)) {
    if normal.is_ascii() { each_ascii_word(normal, found) } else { each_word_of_any(normal, found) }
}

fn each_word_of_any<'t>(normal: &'t str, mut found: impl FnMut(Kind, &'t str)) {
    for spaced in normal.split_whitespace() {
        let mut start = 0;
        let mut kind = None;
        for (at, c) in spaced.char_indices() {
            let own = kind_of(c);
            if let Some(before) = kind.filter(|before| *before != own || own == Kind::Punctuation) {
                found(before, &spaced[start..at]);
                start = at;
            }
            kind = Some(own);
        }
        if let Some(kind) = kind {
            found(kind, &spaced[start..]);
        }
    }
}

/// The same for ASCII, where every byte is a character: what is no letter, digit or punctuation is a space.
fn each_ascii_word<'t>(normal: &'t str, mut found: impl FnMut(Kind, &'t str)) {
    let mut start = 0;
    for (at, byte) in normal.bytes().enumerate().filter(|(_, byte)| !byte.is_ascii_alphanumeric()) {
        if start < at {
            found(Kind::Plain, &normal[start..at]);
        }
        start = at + 1;
        if byte.is_ascii_punctuation() {
            found(Kind::Punctuation, &normal[at..start]);
        }
    }
    if start < normal.len() {
        found(Kind::Plain, &normal[start..]);
    }
}

/// What is met most is asked for first.
fn kind_of(c: char) -> Kind {
    match c {
        c if c.is_ascii_alphanumeric() || is_cyrillic(c) || is_hangul(c) => Kind::Plain,
        c if is_unspaced(c) => Kind::Run,
        c if is_punctuation(c) => Kind::Punctuation,
        _ => Kind::Plain,
    }
}

/// Whether a plain word has no letter of another script.
pub(super) fn is_latin(word: &str) -> bool {
    word.is_ascii() || word.chars().all(|c| c < BEYOND_LATIN || !is_letter(c))
}

/// What the marked letters of a text as it was written say against English: `ö`, `ł`, `ệ`.
pub(super) fn weight_of_marks(text: &str) -> i32 {
    if text.is_ascii() {
        return 0;
    }
    let is_marked = |c: &char| matches!(u32::from(*c), 0x00C0..=0x024F | 0x1E00..=0x1EFE);
    MARK_WEIGHT * text.chars().filter(is_marked).take(MARKS_MAX).count() as i32
}

/// Control characters out, lower case, no accents. Han, kana and Hangul stay as they are: there, marks make other
/// letters.
pub(crate) fn normalise(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return normalise_ascii(text);
    }
    let mut normal = String::with_capacity(text.len());
    if is_composed(text) {
        text.chars().for_each(|c| push_normal(c, &mut normal));
    } else {
        text.nfc().for_each(|c| push_normal(c, &mut normal));
    }
    Cow::Owned(normal)
}

/// Whether a text is in NFC. Letters that always are take no look at the tables, which would be a tenth of all the
/// work.
fn is_composed(text: &str) -> bool {
    let is_plain = |c: char| {
        matches!(u32::from(c), 0..=0x2FF | 0x400..=0x481 | 0x2010..=0x2027 | 0x3001..=0x3029 | 0x3041..=0x3096
            | 0x30A1..=0x30FF | 0x4E00..=0x9FFF | 0xAC00..=0xD7A3 | 0xFF01..=0xFF60)
    };
    text.chars().all(is_plain) || is_nfc_quick(text.chars()) == IsNormalized::Yes
}

fn push_normal(c: char, normal: &mut String) {
    match full_width(c) {
        c if is_unspaced(c) || is_hangul(c) => normal.push(c),
        '\0' | '\u{FFFD}' => {}
        c if c.is_whitespace() => normal.push(' '),
        c if is_control(c) => {}
        c if c.is_ascii() => normal.push(c.to_ascii_lowercase()),
        'а'..='и' | 'к'..='я' => normal.push(c),
        c => decompose_canonical(c, |part| {
            if !is_nonspacing_mark(part) {
                normal.extend(part.to_lowercase());
            }
        }),
    }
}

/// The ASCII character that a full-width form stands for.
fn full_width(c: char) -> char {
    match u32::from(c) {
        code @ 0xFF01..=0xFF5E => char::from_u32(code - 0xFEE0).unwrap_or(c),
        _ => c,
    }
}

fn normalise_ascii(text: &str) -> Cow<'_, str> {
    let is_dropped = |byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
    if text.bytes().any(|byte| is_dropped(&byte)) {
        let kept = text.chars().filter(|c| !is_dropped(&(*c as u8)));
        return Cow::Owned(kept.map(|c| c.to_ascii_lowercase()).collect());
    }
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Cow::Owned(text.to_ascii_lowercase());
    }
    Cow::Borrowed(text)
}

/// Category L. Letters within circles and Roman numbers are alphabetic, but no letters.
fn is_letter(c: char) -> bool {
    let is_no_letter = || matches!(u32::from(c), 0x2160..=0x2188 | 0x24B6..=0x24E9 | 0x1F130..=0x1F189);
    is_cyrillic(c) || is_hangul(c) || c.is_alphabetic() && !is_no_letter()
}

/// Category Mn. Every mark with a combining class is one, and so are the others that NFD sets free from letters, and
/// those that choose the look of the character before them.
fn is_nonspacing_mark(c: char) -> bool {
    canonical_combining_class(c) != 0
        || (is_combining_mark(c) && matches!(u32::from(c), 0x0300..=0x036F | 0xFE00..=0xFE0F))
}

/// Format and private characters vanish, as the original does with category C.
fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(u32::from(c), 0xAD | 0x600..=0x605 | 0x61C | 0x200B..=0x200F | 0x202A..=0x202E | 0x2060..=0x206F
            | 0xE000..=0xF8FF | 0xFEFF | 0xFFF9..=0xFFFB | 0xE0000..=0xE007F | 0xF0000..=0x10FFFF)
}

/// Han and kana.
fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c), 0x3005..=0x3007 | 0x3041..=0x309F | 0x30A1..=0x30FA | 0x30FC..=0x30FF | 0x3400..=0x4DBF
        | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x2A6DF | 0x2A700..=0x2CEAF | 0x2F800..=0x2FA1F)
}

fn is_cyrillic(c: char) -> bool {
    matches!(u32::from(c), 0x0400..=0x0481)
}

fn is_hangul(c: char) -> bool {
    matches!(u32::from(c), 0xAC00..=0xD7A3)
}

/// Everything printable in ASCII that is no letter or digit, and Unicode's category P outside it.
fn is_punctuation(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_punctuation();
    }
    matches!(u32::from(c), 0xA1 | 0xA7 | 0xAB | 0xB6 | 0xB7 | 0xBB | 0xBF | 0x37E | 0x387 | 0x55A..=0x55F | 0x589 | 0x58A
        | 0x5BE | 0x5C0 | 0x5C3 | 0x5C6 | 0x5F3 | 0x5F4 | 0x60C | 0x60D | 0x61B | 0x61E | 0x61F | 0x66A..=0x66D | 0x6D4
        | 0x964 | 0x965 | 0xE4F | 0x2010..=0x2027 | 0x2030..=0x205E | 0x207D | 0x207E | 0x208D | 0x208E | 0x2308..=0x230B
        | 0x2329 | 0x232A | 0x2768..=0x2775 | 0x27C5 | 0x27C6 | 0x27E6..=0x27EF | 0x2983..=0x2998 | 0x29D8..=0x29DB
        | 0x29FC | 0x29FD | 0x2E00..=0x2E5D | 0x3001..=0x3003 | 0x3008..=0x3011 | 0x3014..=0x301F | 0x3030 | 0x303D
        | 0x30A0 | 0x30FB | 0xFE10..=0xFE19 | 0xFE30..=0xFE52 | 0xFE54..=0xFE61 | 0xFE63 | 0xFE68 | 0xFE6A | 0xFE6B
        | 0xFF01..=0xFF03 | 0xFF05..=0xFF0A | 0xFF0C..=0xFF0F | 0xFF1A | 0xFF1B | 0xFF1F | 0xFF20 | 0xFF3B..=0xFF3D
        | 0xFF3F | 0xFF5B | 0xFF5D | 0xFF5F..=0xFF65)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn words_of_ascii_are_found_as_those_of_any_text(text in "[ -~\t\r\n]{0,80}") {
            let normal = normalise(&text);
            let (mut quickly, mut plainly) = (Vec::new(), Vec::new());
            each_ascii_word(&normal, |kind, word| quickly.push((kind, word)));
            each_word_of_any(&normal, |kind, word| plainly.push((kind, word)));
            prop_assert_eq!(quickly, plainly);
        }
    }

    #[test]
    fn words_end_where_the_kind_changes() {
        let normal = normalise("Cookieを消す（ＡＢＣ）, İstanbul ｡");
        let mut words = Vec::new();
        each_word(&normal, |kind, word| words.push((kind, word)));
        let (plain, run, mark) = (Kind::Plain, Kind::Run, Kind::Punctuation);
        let expected = [(plain, "cookie"), (run, "を消す"), (mark, "("), (plain, "abc"), (mark, ")"), (mark, ",")];
        assert_eq!(words, [expected.as_slice(), &[(plain, "istanbul"), (mark, "｡")]].concat());
    }

    #[test]
    fn letters_of_other_scripts_and_marks_speak_against_english() {
        assert!(is_latin("größe") && is_latin("x⅓") && is_latin("ⅳ") && !is_latin("прод"));
        assert_eq!(weight_of_marks("naïve café"), 8);
        assert_eq!(weight_of_marks("ö".repeat(40).as_str()), 24);
        assert_eq!(weight_of_marks("plain"), 0);
    }
}
