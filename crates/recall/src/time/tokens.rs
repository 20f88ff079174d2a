//! A text in pieces that a date can be made of: words, numbers, marks.

use std::ops::Range;

use crate::words::{fold_into, is_unspaced};

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) at: Range<usize>,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// Folded letters; one letter of a script without spaces.
    Word(String),
    /// Digits: their value and how many there are.
    Number(u32, usize),
    Mark(char),
}

/// Cuts a text; white space separates.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text.char_indices().peekable();
    while let Some((start, first)) = rest.next() {
        let mut end = start + first.len_utf8();
        let is_like: fn(char) -> bool = match first {
            _ if first.is_whitespace() => continue,
            _ if digit(first).is_some() => |c| digit(c).is_some(),
            _ if is_unspaced(first) || !first.is_alphabetic() => |_| false,
            // Marks that follow a letter belong to it.
            _ => |c| c.is_alphabetic() && !is_unspaced(c) || matches!(u32::from(c), 0x0300..=0x036F),
        };
        while let Some((at, c)) = rest.next_if(|&(_, c)| is_like(c)) {
            end = at + c.len_utf8();
        }
        tokens.push(Token { at: start..end, kind: kind(&text[start..end], first) });
    }
    tokens
}

fn kind(piece: &str, first: char) -> Kind {
    if digit(first).is_some() {
        let digits = piece.chars().filter_map(digit);
        let value = digits.clone().take(9).fold(0, |value, digit| value * 10 + digit);
        return Kind::Number(value, digits.count());
    }
    if first.is_alphabetic() {
        let mut folded = String::new();
        fold_into(piece, &mut folded);
        return Kind::Word(folded);
    }
    Kind::Mark(if matches!(first, '–' | '—' | '‑' | '－') { '-' } else { first })
}

/// Western digits, also of full width.
fn digit(c: char) -> Option<u32> {
    match u32::from(c) {
        wide @ 0xFF10..=0xFF19 => Some(wide - 0xFF10),
        _ => c.to_digit(10),
    }
}
