//! The pieces of one table, found by their text: greedy longest match, as uncased BERT cuts words.

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::short::{SHORT_MAX, Short};

/// Words longer than this have no pieces, as in the tokeniser the model was trained with.
const WORD_CHARS_MAX: usize = 100;
/// Marks a piece that continues a word.
const CONTINUES: &str = "##";

/// Pieces and their numbers.
pub(super) struct Table {
    starts: Pieces,
    continuations: Pieces,
}

/// Pieces at the same place of a word.
struct Pieces {
    /// Nearly all of them.
    short: FxHashMap<Short, u32>,
    /// Those that are longer than [`SHORT_MAX`].
    long: FxHashMap<Box<str>, u32>,
    /// By the four bytes that pieces begin with: which lengths they have, a bit for each. Other prefixes need no
    /// look-up.
    lengths: Box<[u16]>,
}

/// Among [`Pieces::lengths`]: some are longer than [`SHORT_MAX`].
const IS_LONG: u16 = 1;
/// Pieces shorter than this are looked up in any case.
const BEGINNING: usize = 4;

impl Pieces {
    /// An empty table with room for `count` pieces.
    fn with_room(count: usize) -> Self {
        let (short, long) = (FxHashMap::with_capacity_and_hasher(count, FxBuildHasher), FxHashMap::default());
        Self { short, long, lengths: vec![0; 1 << 16].into() }
    }

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

    fn find(&self, piece: &str) -> Option<u32> {
        if piece.len() > SHORT_MAX { self.long.get(piece).copied() } else { self.short.get(&Short::of(piece)).copied() }
    }

    /// The longest piece that the text begins with, and its length.
    fn longest_match(&self, text: &str) -> Option<(u32, usize)> {
        let beginning = Short::of(text);
        let known = |end: usize| self.short.get(&beginning.up_to(end)).map(|&piece| (piece, end));
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

impl Table {
    /// One piece per line; the first has the number `first`.
    pub(super) fn new(lines: &str, first: u32) -> Self {
        let count = lines.lines().count();
        let continuing = lines.lines().filter(|line| line.starts_with(CONTINUES)).count();
        let (mut starts, mut continuations) = (Pieces::with_room(count - continuing), Pieces::with_room(continuing));
        for (number, piece) in (first..).zip(lines.lines()) {
            match piece.strip_prefix(CONTINUES) {
                Some(rest) if !rest.is_empty() => continuations.insert(rest, number),
                _ => starts.insert(piece, number),
            }
        }
        Self { starts, continuations }
    }

    /// The piece that is this whole word.
    pub(super) fn find(&self, word: &str) -> Option<u32> {
        self.starts.find(word)
    }

    /// The longest piece that a text begins with, and its length.
    pub(super) fn longest_start(&self, text: &str) -> Option<(u32, usize)> {
        self.starts.longest_match(text)
    }

    /// Adds the pieces of a word. Returns `false`, and adds none, if it can't be cut to its end.
    pub(super) fn cut(&self, word: &str, pieces: &mut Vec<u32>) -> bool {
        if word.is_empty() || word.len() > WORD_CHARS_MAX && word.chars().count() > WORD_CHARS_MAX {
            return false;
        }
        let before = pieces.len();
        let mut rest = word;
        while !rest.is_empty() {
            let known = if rest.len() == word.len() { &self.starts } else { &self.continuations };
            let Some((piece, length)) = known.longest_match(rest) else {
                pieces.truncate(before);
                return false;
            };
            pieces.push(piece);
            rest = &rest[length..];
        }
        true
    }
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
        /// Pieces on both sides of the length that is kept as a number, of letters of one, two and three bytes.
        #[test]
        fn words_are_cut_as_by_comparing_texts(
            pieces in prop::collection::btree_set("(##)?([ab]|a{14,18}|[aß]{6,10}|[a漢]{1,7})", 1..12),
            word in "([ab]|a{13,20}|[aß]{5,12}|[ab漢]{1,8}){1,4}",
        ) {
            let pieces: Vec<String> = pieces.into_iter().collect();
            let table = Table::new(&pieces.join("\n"), 0);
            let mut cut = Vec::new();
            table.cut(&word, &mut cut);
            prop_assert_eq!(cut, plainly(&pieces, &word));
        }
    }
}
