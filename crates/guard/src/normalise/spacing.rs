//! Words whose letters were set apart ("d e p l o y", "d.e.p.l.o.y") put together again.

use super::Disguises;
use super::stretches::count;
use crate::letters::is_alphanumeric;

/// Fewer letters than this in a row are initials, options or variables.
const LETTERS_MIN: usize = 5;

/// Joins runs of single letters; a wider gap inside a run parts its words.
pub(super) fn join_letters(text: String, disguises: &mut Disguises) -> String {
    if !may_be_spaced(&text) {
        return text;
    }
    let mut out = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(run) = next_run(&text, at) {
        out.push_str(&text[copied..run.start]);
        push_joined(&text[run.start..run.end], &mut out, disguises);
        (copied, at) = (run.end, run.end);
    }
    if copied == 0 {
        return text;
    }
    out.push_str(&text[copied..]);
    out
}

/// A quick look: are there enough single letters? What is not ASCII counts as alone, to be looked at closely.
fn may_be_spaced(text: &str) -> bool {
    let alone = count(text.as_bytes(), |before, byte, after| {
        let is_alone = byte.is_ascii_alphabetic() & !before.is_ascii_alphanumeric() & !after.is_ascii_alphanumeric();
        is_alone | !byte.is_ascii()
    });
    alone >= LETTERS_MIN
}

/// The next stretch, from byte `from` on, of single letters that are kept apart by the same kind of gap.
fn next_run(text: &str, from: usize) -> Option<std::ops::Range<usize>> {
    let mut letters = 0;
    let (mut start, mut end) = (from, from);
    let mut before_is_letter = text[..from].chars().next_back().is_some_and(is_alphanumeric);
    let mut chars = text[from..].char_indices().peekable();
    while let Some((offset, c)) = chars.next() {
        let after_is_letter = chars.peek().is_some_and(|(_, next)| is_alphanumeric(*next));
        if is_alphanumeric(c) {
            let is_single = !before_is_letter && !after_is_letter && is_separable(c);
            if is_single {
                if letters == 0 {
                    start = from + offset;
                }
                letters += 1;
                end = from + offset + c.len_utf8();
            } else if letters >= LETTERS_MIN {
                return Some(start..end);
            } else {
                letters = 0;
            }
        } else if !is_gap(c) {
            if letters >= LETTERS_MIN {
                return Some(start..end);
            }
            letters = 0;
        }
        before_is_letter = is_alphanumeric(c);
    }
    (letters >= LETTERS_MIN).then_some(start..end)
}

/// Ideographs and syllables stand alone by nature, and digits are lists of numbers; only letters can be pulled apart.
fn is_separable(c: char) -> bool {
    c.is_ascii_alphabetic() || (c.is_alphabetic() && (c as u32) < 0x0530)
}

fn is_gap(c: char) -> bool {
    matches!(c, ' ' | '.' | '-' | '_' | '*' | '\'' | ',' | '|' | '\u{a0}' | '\t')
}

fn push_joined(run: &str, out: &mut String, disguises: &mut Disguises) {
    // Letters of one word are equally far apart; where there is more white space, a word ends: "a-b-c d-e", "a b c d
    // e".
    let within_words = gaps(run).map(spaces).min().unwrap_or(0);
    disguises.spaced_words += 1;
    let mut rest = run;
    for gap in gaps(run) {
        let (letter, tail) = rest.split_at(rest.find(is_gap).unwrap_or(rest.len()));
        out.push_str(letter);
        if spaces(gap) > within_words {
            out.push(' ');
            disguises.spaced_words += 1;
        }
        rest = &tail[gap.len()..];
    }
    out.push_str(rest);
}

/// What separates the letters of a run.
fn gaps(run: &str) -> impl Iterator<Item = &str> {
    run.split(|c: char| !is_gap(c)).filter(|gap| !gap.is_empty())
}

fn spaces(gap: &str) -> usize {
    gap.chars().filter(|c| c.is_whitespace()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, plain: &str, spaced_words: u32) {
        let mut disguises = Disguises::default();
        assert_eq!(join_letters(text.to_owned(), &mut disguises), plain);
        assert_eq!(disguises.spaced_words, spaced_words, "{text}");
    }

    #[test]
    fn spaced_letters_are_joined() {
        check("now d e p l o y it", "now deploy it", 1);
        check("d e p l o y  n o w", "deploy now", 2);
        check("please d.e.p.l.o.y", "please deploy", 1);
        check("d-e-p-l-o-y n-o-w", "deploy now", 2);
        check("d_e_p_l_o_y", "deploy", 1);
    }

    #[test]
    fn initials_and_short_lists_stay() {
        check("options a, b, c and d", "options a, b, c and d", 0);
        check("f(x) = a x + b", "f(x) = a x + b", 0);
        check("1 2 3 4 5 6 7", "1 2 3 4 5 6 7", 0);
    }
}
