//! The value after a name: past quotes, signs and spaces, to its end. Whether it is a secret is decided elsewhere.

use std::ops::Range;

use super::bytes::byte_at;
use super::view::View;

/// What was given to a name.
pub(super) struct Value<'t> {
    pub(super) text: &'t str,
    pub(super) start: usize,
    pub(super) is_quoted: bool,
    /// The byte right after it.
    pub(super) next: Option<u8>,
    /// Does ` =` follow? Then it is the type in `name: Type = value`.
    pub(super) is_annotated: bool,
}

/// How far a value is followed.
const VALUE_BYTES_MAX: usize = 512;
/// How far a header of cookies is followed.
const COOKIES_BYTES_MAX: usize = 1_024;
/// JSON in JSON in JSON has seven.
const BACKSLASHES_MAX: usize = 8;

/// A quote as it was opened: inside JSON strings each has backslashes before it, and only its like closes it.
#[derive(Clone, Copy)]
struct Quote {
    byte: u8,
    backslashes: usize,
}

/// The value after the name from `name` to `at`: an optional quote, a sign, an optional quote, the value.
pub(super) fn value_after<'t>(text: &'t View<'_>, name: usize, at: usize) -> Option<Value<'t>> {
    let after_name = after_quote(text, at).map_or(at, |(end, _)| end);
    let after_name = after_name + usize::from(byte_at(text, after_name) == Some(b']'));
    let spaced = skip_spaces(text, after_name);
    let signed = match after_sign(text, spaced) {
        Some(end) => end,
        None if spaced > at && is_flag(text, name) => spaced,
        None => return None,
    };
    let at = skip_spaces(text, signed);
    let (start, quote) = after_quote(text, at).map_or((at, None), |(end, quote)| (end, Some(quote)));
    let end = start + quote.map_or_else(|| bare_length(text, start), |quote| quoted_length(text, start, quote));
    let whole = text.get(start..end)?;
    let value = if quote.is_some() { whole } else { first_parameter(whole) };
    let end = start + value.len();
    let is_annotated = text.as_bytes()[end..].starts_with(b" = ");
    Some(Value { text: value, start, is_quoted: quote.is_some(), next: byte_at(text, end), is_annotated })
}

/// The pairs of a cookie header, in a request, in code or in JSON: to the end of the line or the quote.
pub(super) fn cookies_after(text: &View<'_>, at: usize) -> Option<Range<usize>> {
    let at = after_quote(text, at).map_or(at, |(end, _)| end);
    let at = skip_spaces(text, after_sign(text, skip_spaces(text, at))?);
    let start = after_quote(text, at).map_or(at, |(end, _)| end);
    let bytes = text.as_bytes().get(start..)?;
    // A name and `=` come first: prose ends here, after a few bytes.
    let name = bytes.iter().take(64).take_while(|b| b.is_ascii_alphanumeric() || b"-_.".contains(b)).count();
    if name == 0 || bytes.get(name) != Some(&b'=') {
        return None;
    }
    // A space belongs to the header only behind a semicolon; after that comes somebody's sentence.
    let is_inner = |before: u8, b: u8| match b {
        b' ' => before == b';',
        b'"' | b'\'' | b'`' | b'\\' | b')' => false,
        b => b.is_ascii_graphic(),
    };
    let pairs = bytes.iter().zip(bytes[1..].iter()).take(COOKIES_BYTES_MAX);
    let length = 1 + pairs.take_while(|(before, b)| is_inner(**before, **b)).count();
    Some(start..start + length)
}

/// What a command was given behind a flag.
pub(super) struct Argument {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Did it follow without a space?
    pub(super) is_attached: bool,
}

/// The argument of a flag that ends at `at`: attached, after `=` or after a space; perhaps quoted.
pub(super) fn argument_after(text: &str, at: usize) -> Option<Argument> {
    let spaced = skip_spaces(text, at);
    let begin = if byte_at(text, at) == Some(b'=') { at + 1 } else { spaced };
    let (start, quote) = after_quote(text, begin).map_or((begin, None), |(end, quote)| (end, Some(quote)));
    let is_end = |b: &u8| *b <= b' ' || matches!(b, b'"' | b'\'' | b'`' | b'\\');
    let bare = || text.as_bytes()[start..].iter().take(VALUE_BYTES_MAX).take_while(|b| !is_end(b)).count();
    let end = start + quote.map_or_else(bare, |quote| quoted_length(text, start, quote));
    text.get(start..end).filter(|value| !value.is_empty())?;
    Some(Argument { start, end, is_attached: spaced == at })
}

/// The end of the quote that opens or closes at `at`.
fn after_quote(text: &str, at: usize) -> Option<(usize, Quote)> {
    let rest = text.as_bytes().get(at..)?;
    let backslashes = rest.iter().take(BACKSLASHES_MAX).take_while(|b| **b == b'\\').count();
    let byte = *rest.get(backslashes).filter(|b| matches!(b, b'"' | b'\'' | b'`'))?;
    Some((at + backslashes + 1, Quote { byte, backslashes }))
}

/// The end of `=`, `:`, `=>` or `:=`; comparisons and paths are no assignments.
fn after_sign(text: &str, at: usize) -> Option<usize> {
    let next = byte_at(text, at + 1);
    match (byte_at(text, at)?, next) {
        (b'=', Some(b'=')) | (b':', Some(b':')) => None,
        (b'=', Some(b'>')) | (b':', Some(b'=')) => Some(at + 2),
        (b'=' | b':', _) => Some(at + 1),
        _ => text.get(at..)?.starts_with('：').then_some(at + '：'.len_utf8()),
    }
}

/// Is the name that ends here part of a flag, `--db-password`? Its value may follow after a space.
fn is_flag(text: &str, at: usize) -> bool {
    let before = &text.as_bytes()[at.saturating_sub(24)..at];
    let word = before.iter().rev().take_while(|b| b.is_ascii_alphanumeric() || **b == b'-').count();
    before[before.len() - word..].starts_with(b"--")
}

fn quoted_length(text: &str, start: usize, quote: Quote) -> usize {
    let rest = text.as_bytes().get(start..).unwrap_or_default();
    let mut backslashes = 0;
    for (at, byte) in rest.iter().take(VALUE_BYTES_MAX).enumerate() {
        match byte {
            b'\n' => return at,
            // An escaped line end: the quote was not closed on its line.
            b'n' | b'r' | b't' if backslashes > quote.backslashes => return at - backslashes,
            byte if *byte == quote.byte && backslashes <= quote.backslashes => return at - backslashes,
            _ => {}
        }
        backslashes = if *byte == b'\\' { backslashes + 1 } else { 0 };
    }
    rest.len().min(VALUE_BYTES_MAX)
}

fn bare_length(text: &str, start: usize) -> usize {
    let is_end =
        |b: &u8| *b <= b' ' || matches!(b, b'"' | b'\'' | b'`' | b',' | b';' | b')' | b']' | b'}' | b'>' | b'\\');
    let rest = text.as_bytes().get(start..).unwrap_or_default();
    rest.iter().take(VALUE_BYTES_MAX).take_while(|b| !is_end(b)).count()
}

/// In a query string the value ends where the next parameter begins; elsewhere a password may hold an `&`.
fn first_parameter(value: &str) -> &str {
    match value.split_once('&') {
        Some((first, rest)) if rest.contains('=') => first,
        _ => value,
    }
}

/// Past blanks; French puts a narrow one before the colon.
fn skip_spaces(text: &str, at: usize) -> usize {
    let Some(rest) = text.get(at..) else { return at };
    let is_space = |c: &char| matches!(c, ' ' | '\t' | '\u{a0}' | '\u{202f}');
    at + rest.chars().take(8).take_while(is_space).map(char::len_utf8).sum::<usize>()
}
