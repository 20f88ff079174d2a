//! Where one thought ends and the next begins. Rough on purpose: windows overlap, so a wrong cut costs little.

use crate::letters::is_alphanumeric;

/// A sentence shorter than this joins the next one: headings, list numbers, "OK.".
const WORDS_MIN: usize = 3;
/// Longer ones are cut, so that an order can't be thinned out by an endless sentence around it.
const WORDS_MAX: usize = 40;

/// The sentences of a plain text, in order, without gaps that hold words.
pub(crate) fn sentences(plain: &str) -> impl Iterator<Item = &str> {
    let mut rest = plain;
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let (sentence, tail) = rest.split_at(sentence_end(rest));
            rest = tail;
            if sentence.chars().any(|c| !c.is_whitespace()) {
                return Some(sentence);
            }
        }
        None
    })
}

fn sentence_end(text: &str) -> usize {
    let (mut words, mut in_word) = (0, false);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let rest = chars.as_str();
        let is_in_word = is_alphanumeric(c);
        let starts_word = is_in_word && (!in_word || is_ideograph(c));
        if is_in_word && !starts_word {
            // Inside a word nothing ends.
            continue;
        }
        in_word = is_in_word;
        words += usize::from(starts_word);
        let is_last = match c {
            '\n' | '。' | '！' | '？' => words >= WORDS_MIN,
            '.' | '!' | '?' | ';' => words >= WORDS_MIN && rest.chars().next().is_none_or(char::is_whitespace),
            _ => words > WORDS_MAX && c.is_whitespace() || words > 2 * WORDS_MAX,
        };
        if is_last {
            return text.len() - rest.len();
        }
    }
    text.len()
}

/// Scripts without spaces between words; each of their characters counts as a word.
#[inline]
pub(crate) fn is_ideograph(c: char) -> bool {
    const FIRST: char = '\u{e00}';
    c >= FIRST
        && matches!(c as u32, 0x0e00..=0x0e7f | 0x3040..=0x30ff | 0x3400..=0x9fff | 0xac00..=0xd7af | 0xf900..=0xfaff | 0x20000..=0x3ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let found: Vec<&str> = sentences(text).map(str::trim).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn text_is_cut_at_full_stops_and_lines() {
        check(
            "the build is green. tests pass on main\nno one deploys today",
            &["the build is green.", "tests pass on main", "no one deploys today"],
        );
    }

    #[test]
    fn short_pieces_join_the_next() {
        check("ok. 1. run the tests now.", &["ok. 1. run the tests now."]);
        check("see v1.2.3 of the api here", &["see v1.2.3 of the api here"]);
    }

    #[test]
    fn endless_sentences_are_cut() {
        let text = "word ".repeat(100);
        assert_eq!(sentences(&text).count(), 3);
        assert_eq!(sentences(&"字".repeat(200)).count(), 3);
    }

    #[test]
    fn nothing_is_lost() {
        let text = "a b c. d! e\n\nf g h i; j.";
        assert_eq!(sentences(text).collect::<String>(), text);
    }
}
