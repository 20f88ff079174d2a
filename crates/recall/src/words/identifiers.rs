//! How a written identifier falls into parts: `camelCase`, `snake_case`, `lib.rs`, `v1.2`.

use smallvec::SmallVec;

/// The parts of one word. Most words have one.
pub(crate) type Parts<'a> = SmallVec<[&'a str; 4]>;

/// Cuts a word at everything that is no letter or digit and at the humps of camel case.
pub(crate) fn parts(word: &str) -> Parts<'_> {
    let mut parts = Parts::new();
    for piece in word.split(|c: char| !is_word_character(c)).filter(|piece| !piece.is_empty()) {
        push_humps(without_version_prefix(piece, word), &mut parts);
    }
    parts
}

/// Whether the identifier as written deserves a term of its own. A contraction does not: `didn't` is no name.
pub(crate) fn is_worth_keeping_whole(word: &str) -> bool {
    !word.contains(['\'', '’'])
}

/// Combining marks belong to the letter before them.
fn is_word_character(c: char) -> bool {
    c.is_alphanumeric() || (!c.is_ascii() && unicode_normalization::char::is_combining_mark(c))
}

/// `v1.2` is looked for as `1.2` too, so the parts carry bare numbers.
fn without_version_prefix<'a>(piece: &'a str, word: &str) -> &'a str {
    match piece.strip_prefix(['v', 'V']) {
        Some(number) if word.len() > piece.len() && is_number(number) => number,
        _ => piece,
    }
}

/// The `v13` of `v13.2`, which its parts do not have.
pub(crate) fn version(word: &str) -> Option<&str> {
    let piece = word.split(|c: char| !is_word_character(c)).next()?;
    (without_version_prefix(piece, word).len() < piece.len()).then_some(piece)
}

/// The names within a dotted name that have parts of their own: the `setFormatter` of `handler.setFormatter`.
pub(crate) fn members(word: &str) -> impl Iterator<Item = &str> {
    let pieces = word.split(|c: char| !is_word_character(c));
    pieces.filter(move |piece| piece.len() < word.len() && has_humps(piece))
}

fn has_humps(piece: &str) -> bool {
    let mut parts = Parts::new();
    push_humps(piece, &mut parts);
    parts.len() > 1
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `parseHttp` → `parse`, `Http`; `HTTPServer` → `HTTP`, `Server`. Digits stay with what they follow.
fn push_humps<'a>(piece: &'a str, parts: &mut Parts<'a>) {
    let mut start = 0;
    let mut previous: Option<char> = None;
    let mut characters = piece.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        if let Some(before) = previous
            && c.is_uppercase()
        {
            let next_is_lower = characters.peek().is_some_and(|&(_, next)| next.is_lowercase());
            if before.is_lowercase() || before.is_numeric() && next_is_lower || before.is_uppercase() && next_is_lower {
                parts.push(&piece[start..at]);
                start = at;
            }
        }
        previous = Some(c);
    }
    parts.push(&piece[start..]);
}
