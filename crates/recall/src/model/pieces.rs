//! Cutting a text into the model's word pieces: the normalisation of uncased BERT, then greedy longest match.
//! These pieces serve the vectors alone; the words that are searched for come from `words.rs`.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{canonical_combining_class, is_combining_mark};

use super::short::{SHORT_MAX, Short, ShortPieces};
use crate::wide::fetch;

/// Words longer than this have no pieces, as in the tokeniser the model was trained with.
const WORD_CHARS_MAX: usize = 100;
/// About how long a piece of a text is, with the space behind it.
const BYTES_PER_PIECE: usize = 4;
/// So many words are looked up together: what is known of them lies anywhere in a megabyte, and word by word it would be
/// waited for.
const WORDS_AHEAD: usize = 32;
/// Marks a piece that continues a word.
const CONTINUES: &str = "##";

/// The pieces and their numbers.
pub(crate) struct Vocabulary {
    starts: Pieces,
    continuations: Pieces,
    len: usize,
}

/// Pieces that stand at the same place of a word.
struct Pieces {
    /// Nearly all of them.
    short: ShortPieces,
    /// Those that are longer than [`SHORT_MAX`].
    long: FxHashMap<Box<str>, u32>,
    /// By the four bytes that pieces begin with: which lengths they have, a bit for each. Other prefixes need no look-up.
    lengths: Box<[u16]>,
}

/// Among [`Pieces::lengths`]: some are longer than [`SHORT_MAX`].
const IS_LONG: u16 = 1;
/// Pieces shorter than this are looked up in any case.
const BEGINNING: usize = 4;

impl Default for Pieces {
    fn default() -> Self {
        Self { short: ShortPieces::default(), long: FxHashMap::default(), lengths: vec![0; 1 << 16].into() }
    }
}

impl Pieces {
    fn insert(&mut self, piece: &str, number: u32) {
        let lengths = &mut self.lengths[Short::of(piece).place()];
        if piece.len() > SHORT_MAX {
            *lengths |= IS_LONG;
            self.long.insert(piece.into(), number);
            return;
        }
        if piece.len() >= BEGINNING {
            *lengths |= 1 << (piece.len() - 1);
        }
        self.short.insert(Short::of(piece), number);
    }

    /// The longest piece that the text begins with, and its length.
    fn longest_match(&self, text: &str) -> Option<(u32, usize)> {
        let beginning = Short::of(text);
        let known = |end: usize| self.short.find(beginning.up_to(end)).map(|piece| (piece, end));
        if text.len() >= BEGINNING {
            let lengths = self.lengths[beginning.place()];
            if lengths & IS_LONG != 0
                && let Some(found) = self.longest_long(text)
            {
                return Some(found);
            }
            let mut left = lengths & fitting(text);
            while left != 0 {
                let end = (u16::BITS - left.leading_zeros()) as usize;
                if let Some(found) = known(end) {
                    return Some(found);
                }
                left &= !(1 << (end - 1));
            }
        }
        (1..=text.len().min(BEGINNING - 1)).rev().find_map(known)
    }

    /// Asks for what [`Pieces::longest_match`] looks at first: here the lengths that pieces of such a beginning have.
    #[inline]
    fn fetch_lengths(&self, text: &str) {
        if text.len() >= BEGINNING {
            let place = Short::of(text).place();
            fetch(&self.lengths[place..=place]);
        }
    }

    /// And here, with the lengths at hand, the longest piece that may be the one.
    #[inline]
    fn fetch_piece(&self, text: &str) {
        let beginning = Short::of(text);
        let end = match text.len() {
            len @ 0..BEGINNING => len,
            _ => (u16::BITS - (self.lengths[beginning.place()] & fitting(text)).leading_zeros()) as usize,
        };
        self.short.fetch(beginning.up_to(end));
    }

    fn longest_long(&self, text: &str) -> Option<(u32, usize)> {
        let mut ends = (SHORT_MAX + 1..=text.len()).rev().filter(|end| text.is_char_boundary(*end));
        ends.find_map(|end| Some((*self.long.get(&text[..end])?, end)))
    }
}

/// Which lengths of short pieces a text has room for.
#[inline]
fn fitting(text: &str) -> u16 {
    let fitting = if text.len() < SHORT_MAX { (1 << text.len()) - 1 } else { u16::MAX };
    fitting & !IS_LONG
}

impl Vocabulary {
    pub(crate) fn new(lines: Cow<'static, str>) -> Self {
        let (mut starts, mut continuations) = (Pieces::default(), Pieces::default());
        let mut len = 0;
        for (number, piece) in (0_u32..).zip(lines.lines()) {
            match piece.strip_prefix(CONTINUES) {
                Some(rest) if !rest.is_empty() => continuations.insert(rest, number),
                _ => starts.insert(piece, number),
            }
            len += 1;
        }
        Self { starts, continuations, len }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The number of every piece, in reading order.
    pub(crate) fn pieces(&self, text: &str) -> Vec<u32> {
        let normal = normalise(text);
        let mut pieces = Vec::with_capacity(normal.len() / BYTES_PER_PIECE + 1);
        let mut words: SmallVec<[&str; WORDS_AHEAD]> = SmallVec::new();
        each_word(&normal, |word| {
            words.push(word);
            self.starts.fetch_lengths(word);
            if words.len() == WORDS_AHEAD {
                self.cut_words(&words, &mut pieces);
                words.clear();
            }
        });
        self.cut_words(&words, &mut pieces);
        pieces
    }

    fn cut_words(&self, words: &[&str], pieces: &mut Vec<u32>) {
        words.iter().for_each(|word| self.starts.fetch_piece(word));
        words.iter().for_each(|word| self.cut_word(word, pieces));
    }

    /// A word that cannot be cut to its end has no pieces at all.
    fn cut_word(&self, word: &str, pieces: &mut Vec<u32>) {
        if word.is_empty() || word.len() > WORD_CHARS_MAX && word.chars().count() > WORD_CHARS_MAX {
            return;
        }
        let before = pieces.len();
        let mut rest = word;
        while !rest.is_empty() {
            let known = if rest.len() == word.len() { &self.starts } else { &self.continuations };
            let Some((piece, length)) = known.longest_match(rest) else {
                pieces.truncate(before);
                return;
            };
            pieces.push(piece);
            rest = &rest[length..];
        }
    }
}

/// Calls `found` with every word and every punctuation mark.
fn each_word<'t>(normal: &'t str, found: impl FnMut(&'t str)) {
    if normal.is_ascii() { each_ascii_word(normal, found) } else { each_word_of_any(normal, found) }
}

fn each_word_of_any<'t>(normal: &'t str, mut found: impl FnMut(&'t str)) {
    for word in normal.split_whitespace() {
        let mut start = 0;
        for (at, c) in word.char_indices().filter(|&(_, c)| is_punctuation(c)) {
            if start < at {
                found(&word[start..at]);
            }
            start = at + c.len_utf8();
            found(&word[at..start]);
        }
        if start < word.len() {
            found(&word[start..]);
        }
    }
}

/// The same for ASCII, where every byte is a character: what is no letter, digit or punctuation is a space.
fn each_ascii_word<'t>(normal: &'t str, mut found: impl FnMut(&'t str)) {
    let mut start = 0;
    for (at, byte) in normal.bytes().enumerate().filter(|(_, byte)| !byte.is_ascii_alphanumeric()) {
        if start < at {
            found(&normal[start..at]);
        }
        start = at + 1;
        if byte.is_ascii_punctuation() {
            found(&normal[at..start]);
        }
    }
    if start < normal.len() {
        found(&normal[start..]);
    }
}

/// Control characters out, ideographs apart, lower case, no accents.
fn normalise(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return normalise_ascii(text);
    }
    let mut spaced = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\0' | '\u{FFFD}' => {}
            c if c.is_whitespace() => spaced.push(' '),
            c if is_control(c) => {}
            c if is_ideograph(c) => spaced.extend([' ', c, ' ']),
            c => spaced.push(c),
        }
    }
    let bare = spaced.nfd().filter(|&c| !is_nonspacing_mark(c));
    Cow::Owned(bare.flat_map(char::to_lowercase).collect())
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

/// Category Mn. Every mark with a combining class is one, and so are the others that NFD sets free from letters.
fn is_nonspacing_mark(c: char) -> bool {
    canonical_combining_class(c) != 0 || (is_combining_mark(c) && matches!(u32::from(c), 0x0300..=0x036F))
}

/// Format and private characters vanish, as the original does with category C.
fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(u32::from(c), 0xAD | 0x600..=0x605 | 0x61C | 0x200B..=0x200F | 0x202A..=0x202E | 0x2060..=0x206F
            | 0xE000..=0xF8FF | 0xFEFF | 0xFFF9..=0xFFFB | 0xE0000..=0xE007F | 0xF0000..=0x10FFFF)
}

/// The blocks that BERT sets apart by spaces: Han alone, no kana and no hangul.
fn is_ideograph(c: char) -> bool {
    matches!(u32::from(c), 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x2A6DF | 0x2A700..=0x2CEAF
        | 0x2F800..=0x2FA1F)
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

    /// The longest piece first, by comparing texts.
    fn plainly(vocabulary: &[String], word: &str) -> Vec<u32> {
        let (mut pieces, mut rest) = (Vec::new(), word);
        while !rest.is_empty() {
            let mark = if rest.len() == word.len() { "" } else { CONTINUES };
            let ends = (1..=rest.len()).rev().filter(|end| rest.is_char_boundary(*end));
            let mut known = ends.filter_map(|end| {
                let piece = format!("{mark}{}", &rest[..end]);
                Some((vocabulary.iter().position(|own| *own == piece)?, end))
            });
            let Some((piece, end)) = known.next() else { return Vec::new() };
            pieces.push(piece as u32);
            rest = &rest[end..];
        }
        pieces
    }

    proptest! {
        #[test]
        fn words_of_ascii_are_found_as_those_of_any_text(text in "[ -~\t\r\n]{0,80}") {
            let normal = normalise(&text);
            let (mut quickly, mut plainly) = (Vec::new(), Vec::new());
            each_ascii_word(&normal, |word| quickly.push(word));
            each_word_of_any(&normal, |word| plainly.push(word));
            prop_assert_eq!(quickly, plainly);
        }

        /// Pieces on both sides of the length that is kept as a number, of letters of one, two and three bytes.
        #[test]
        fn words_are_cut_as_by_comparing_texts(
            pieces in prop::collection::btree_set("(##)?([ab]|a{14,18}|[aß]{6,10}|[a漢]{1,7})", 1..12),
            word in "([ab]|a{13,20}|[aß]{5,12}|[ab漢]{1,8}){1,4}",
        ) {
            let pieces: Vec<String> = pieces.into_iter().collect();
            let vocabulary = Vocabulary::new(Cow::Owned(pieces.join("\n")));
            let mut cut = Vec::new();
            vocabulary.cut_word(&word, &mut cut);
            prop_assert_eq!(cut, plainly(&pieces, &word));
        }
    }
}
