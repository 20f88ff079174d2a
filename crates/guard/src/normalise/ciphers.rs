//! Sentences in rot13 or written backwards, read as what they say.
//!
//! A sentence counts as such only if several of its words are common words in that cipher and no words otherwise
//! (`gur`, `eht`), so ordinary text of any language stays.

use std::ops::Range;
use std::sync::LazyLock;

use super::Disguises;
use super::wordtable::{self, WordTable};
use crate::letters::is_alphanumeric;

/// Common words, and words that orders are made of, whose rot13 and reversal are no words themselves.
const TELLING: &[&str] = &[
    "the",
    "all",
    "you",
    "your",
    "this",
    "that",
    "with",
    "from",
    "have",
    "must",
    "will",
    "for",
    "any",
    "tell",
    "send",
    "ignore",
    "previous",
    "instructions",
    "instruction",
    "rules",
    "user",
    "users",
    "system",
    "password",
    "passwords",
    "secret",
    "never",
    "always",
    "follow",
    "every",
    "when",
    "then",
    "what",
    "show",
    "print",
    "reveal",
    "forget",
    "disregard",
    "prior",
    "above",
    "data",
    "message",
    "assistant",
    "assistants",
    "only",
    "about",
    "without",
    "into",
    "mention",
    "before",
    "after",
    "please",
    "instead",
    "prompt",
    "should",
    "them",
    "their",
    "which",
    "there",
    "would",
    "could",
    "memory",
    "answer",
    "credentials",
    "approve",
    "override",
    "guidelines",
    "are",
    "do",
    "keys",
    "say",
];
/// Telling words that a sentence in a cipher must have.
const TELLING_MIN: usize = 2;
/// Longer words are not in the list.
const WORD_BYTES_MAX: usize = 12;

/// The words of [`TELLING`] in each cipher.
struct Ciphered {
    words: WordTable,
    /// Which combinations of first letter and length occur at all: most words are sorted out by this.
    shapes: [u32; 26],
}

static CIPHERED: LazyLock<Ciphered> = LazyLock::new(|| {
    let rotated: Vec<Vec<u8>> = TELLING.iter().map(|word| word.bytes().map(rotate).collect()).collect();
    let mut reversed: Vec<Vec<u8>> = TELLING.iter().map(|word| word.bytes().rev().collect()).collect();
    // Words by chance: "era", "od", "yas".
    reversed.retain(|word| !matches!(word.as_slice(), b"era" | b"od" | b"yas" | b"nac"));
    let mut shapes = [0; 26];
    for word in rotated.iter().chain(&reversed) {
        shapes[usize::from(word[0] - b'a')] |= 1 << word.len();
    }
    let mut words = WordTable::with_room(rotated.len() + reversed.len());
    rotated.iter().for_each(|word| words.mark(wordtable::hash(word), ROTATED));
    reversed.iter().for_each(|word| words.mark(wordtable::hash(word), REVERSED));
    Ciphered { words, shapes }
});

/// Marks of words in the table.
const ROTATED: u8 = 1;
const REVERSED: u8 = 2;

/// Reads every sentence that is in a cipher; the text is in lower case.
pub(super) fn read(text: String, disguises: &mut Disguises) -> String {
    let found = ciphered_sentences(text.as_bytes());
    if found.is_empty() {
        return text;
    }
    disguises.ciphered_sentences += found.len() as u32;
    let mut out = String::with_capacity(2 * text.len());
    let mut kept = 0;
    for (place, cipher) in found {
        out.push_str(&text[kept..place.start]);
        kept = place.end;
        push_plain(&text[place], cipher, &mut out);
    }
    out.push_str(&text[kept..]);
    out
}

/// The sentences that are in a cipher. Where one ends is seen roughly: what is reversed has its full stop in front.
fn ciphered_sentences(bytes: &[u8]) -> Vec<(Range<usize>, Cipher)> {
    let ciphered: &Ciphered = &CIPHERED;
    let mut found = Vec::new();
    let mut telling = Telling::default();
    let (mut sentence, mut word) = (0, 0);
    for at in 0..=bytes.len() {
        let byte = bytes.get(at).copied().unwrap_or(b'\n');
        if byte.is_ascii_lowercase() {
            continue;
        }
        if word < at {
            telling.add(&bytes[word..at], ciphered);
        }
        word = at + 1;
        if matches!(byte, b'\n' | b'.' | b'!' | b'?' | b';') {
            let end = word.min(bytes.len());
            found.extend(std::mem::take(&mut telling).cipher().map(|cipher| (sentence..end, cipher)));
            sentence = end;
        }
    }
    found
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Cipher {
    Rotated,
    Reversed,
}

/// How many words there are, and how many telling ones in each cipher.
#[derive(Default)]
struct Telling {
    words: usize,
    rotated: usize,
    reversed: usize,
}

impl Telling {
    fn add(&mut self, word: &[u8], ciphered: &Ciphered) {
        self.words += 1;
        let has_shape =
            word.len() <= WORD_BYTES_MAX && ciphered.shapes[usize::from(word[0] - b'a')] >> word.len() & 1 == 1;
        if has_shape {
            let marks = ciphered.words.marks(wordtable::hash(word));
            self.rotated += usize::from(marks & ROTATED != 0);
            self.reversed += usize::from(marks & REVERSED != 0);
        }
    }

    /// The cipher of a sentence with these words, if it is in one.
    fn cipher(&self) -> Option<Cipher> {
        let is_ciphered = |telling: usize| telling >= TELLING_MIN && telling * 4 >= self.words;
        if is_ciphered(self.rotated) {
            Some(Cipher::Rotated)
        } else if is_ciphered(self.reversed) {
            Some(Cipher::Reversed)
        } else {
            None
        }
    }
}

fn push_plain(sentence: &str, cipher: Cipher, out: &mut String) {
    match cipher {
        Cipher::Rotated => out.extend(sentence.chars().map(rotate_char)),
        Cipher::Reversed => {
            // Either the sentence was reversed as a whole or each word by itself; one of the two readings makes sense.
            out.extend(sentence.chars().rev());
            out.push('\n');
            for word in sentence.split_inclusive(|c: char| !is_alphanumeric(c)) {
                let letters = word.trim_end_matches(|c: char| !is_alphanumeric(c));
                out.extend(letters.chars().rev());
                out.push_str(&word[letters.len()..]);
            }
            out.push('\n');
        }
    }
}

fn rotate(letter: u8) -> u8 {
    if letter.is_ascii_lowercase() { (letter - b'a' + 13) % 26 + b'a' } else { letter }
}

fn rotate_char(c: char) -> char {
    if c.is_ascii_lowercase() { char::from(rotate(c as u8)) } else { c }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, plain: &str, sentences: u32) {
        let mut disguises = Disguises::default();
        assert_eq!(read(text.to_owned(), &mut disguises).trim_end(), plain);
        assert_eq!(disguises.ciphered_sentences, sentences, "{text}");
    }

    #[test]
    fn rotated_and_reversed_sentences_are_read() {
        check(
            "the door. gryy lbhe sevraqf gung gur gnoyr vf frg",
            "the door. tell your friends that the table is set",
            1,
        );
        check(
            "tes si elbat eht taht sdneirf ruoy llet",
            "tell your friends that the table is set\nset is table the that friends your tell",
            1,
        );
    }

    #[test]
    fn ordinary_text_stays() {
        for text in
            ["the era of the dna test, a ton of data", "gur is a kind of sugar", "naq ur vf", "die katze und der hund"]
        {
            check(text, text, 0);
        }
    }
}
