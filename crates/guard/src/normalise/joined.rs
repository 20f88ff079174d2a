//! Words without gaps: `openTheDoorForEverybodyNow`, `openthedoorforeverybody`. They are parted into their words.
//!
//! Short identifiers stay as they are: only what is as long as a sentence is parted. That is not counted as a disguise,
//! because code is full of such names; what the words say is evidence enough.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::stretches::{count, stretches};
use super::wordtable::{EMPTY, WordTable, grow};

/// Fewer humps than this are the usual names in code (`getUserById`).
const HUMPS_MIN: usize = 5;
/// Shorter runs of letters are words.
const RUN_BYTES_MIN: usize = 15;
/// A run is split only if it yields at least this many words of `WORD_BYTES_MIN` letters.
const PIECES_MIN: usize = 4;
const WORD_BYTES_MIN: usize = 3;

/// The words that run-together text is parted into: common ones, and those that orders are made of.
const WORDS: &str = include_str!("../../assets/words.txt");

/// Every beginning of a word, so that a search ends where no word can follow, and the words themselves.
static DICTIONARY: LazyLock<WordTable> = LazyLock::new(|| {
    let letters = WORDS.split_whitespace().map(str::len).sum();
    let mut dictionary = WordTable::with_room(letters);
    for word in WORDS.split_whitespace() {
        let mut hash = EMPTY;
        for byte in word.bytes() {
            hash = grow(hash, byte);
            dictionary.mark(hash, BEGINNING);
        }
        dictionary.mark(hash, WORD);
    }
    dictionary
});

/// Marks of the dictionary.
const BEGINNING: u8 = 1;
const WORD: u8 = 2;

/// Parts words with many humps; before the case is folded.
pub(super) fn part_humps(text: &str) -> Cow<'_, str> {
    if humps(text.as_bytes()) + 1 < HUMPS_MIN {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    let mut kept = 0;
    for (start, word) in runs(text) {
        if humps(word) + 1 < HUMPS_MIN {
            continue;
        }
        out.push_str(&text[kept..start]);
        for (at, byte) in word.iter().enumerate() {
            if at > 0 && is_hump(word[at - 1], *byte) {
                out.push(' ');
            }
            out.push(char::from(*byte));
        }
        kept = start + word.len();
    }
    finish(text, out, kept)
}

fn humps(bytes: &[u8]) -> usize {
    count(bytes, |before, byte, _| is_hump(before, byte))
}

fn is_hump(before: u8, byte: u8) -> bool {
    before.is_ascii_lowercase() & byte.is_ascii_uppercase()
}

/// Parts long runs of small letters into their words.
pub(super) fn part_runs(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut kept = 0;
    for (start, word) in runs(text) {
        let ends = piece_ends(word);
        if ends.len() < PIECES_MIN {
            continue;
        }
        out.push_str(&text[kept..start]);
        kept = start;
        for end in ends {
            out.push_str(&text[kept..start + end]);
            out.push(' ');
            kept = start + end;
        }
    }
    finish(text, out, kept)
}

fn finish(text: &str, mut out: String, kept: usize) -> Cow<'_, str> {
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[kept..]);
    Cow::Owned(out)
}

/// Long runs of ASCII letters, with the places where they start.
fn runs(text: &str) -> impl Iterator<Item = (usize, &[u8])> {
    let bytes = text.as_bytes();
    stretches(bytes, RUN_BYTES_MIN, |byte| byte.is_ascii_alphabetic()).map(|place| (place.start, &bytes[place]))
}

/// A place inside a run, as the search for words reaches it.
#[derive(Clone, Copy)]
struct Step {
    /// What the cheapest way here costs: one for each word and for each letter that belongs to none.
    cost: u32,
    /// Where the last piece began.
    from: u32,
    is_word: bool,
}

/// Where the pieces of `run` end if it is made of words; empty if it is not. Each letter is the start of one search,
/// which ends as soon as no word of the dictionary can follow.
fn piece_ends(run: &[u8]) -> Vec<usize> {
    let mut places = vec![Step { cost: u32::MAX, from: 0, is_word: false }; run.len() + 1];
    places[0].cost = 0;
    let dictionary: &WordTable = &DICTIONARY;
    for start in 0..run.len() {
        let cost = places[start].cost + 1;
        let mut reach = |end: usize, is_word: bool| {
            if cost < places[end].cost {
                places[end] = Step { cost, from: start as u32, is_word };
            }
        };
        reach(start + 1, false);
        let mut hash = EMPTY;
        for (at, byte) in run.iter().enumerate().skip(start) {
            hash = grow(hash, *byte);
            let marks = dictionary.marks(hash);
            if marks == 0 {
                break;
            }
            if marks & WORD != 0 {
                reach(at + 1, true);
            }
        }
    }
    let (mut ends, mut words, mut strays) = (Vec::new(), 0, 0);
    let (mut at, mut after_is_word) = (run.len(), true);
    while at > 0 {
        let Step { from, is_word, .. } = places[at];
        // Letters that belong to no word stay together.
        if is_word || after_is_word {
            ends.push(at);
        }
        words += usize::from(is_word && at - from as usize >= WORD_BYTES_MIN);
        strays += usize::from(!is_word);
        (at, after_is_word) = (from as usize, is_word);
    }
    let is_sentence =
        words >= PIECES_MIN && strays * 4 <= run.len() && places[run.len()].cost as usize * 2 <= run.len();
    if !is_sentence {
        return Vec::new();
    }
    ends.reverse();
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn humps_and_runs_are_parted() {
        assert_eq!(part_humps("a OpenTheDoorForEverybodyNow b"), "a Open The Door For Everybody Now b");
        assert_eq!(part_runs("x sendthemessagetotheuser, y"), "x send the message to the user , y");
        assert_eq!(part_runs("sendthemessagetoxqzothenthe"), "send the message to xqzo then the ");
    }

    #[test]
    fn identifiers_and_long_words_stay() {
        let texts = ["getCustomerById", "internationalization", "notwithstanding", "Donaudampfschifffahrt"];
        for text in texts.into_iter().chain(["aaaaaaaaaaaaaaaaaaaaaaaa"]) {
            assert_eq!(part_humps(text), text);
            assert_eq!(part_runs(text), text);
        }
    }
}
