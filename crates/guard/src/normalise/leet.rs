//! Digits and signs that stand for letters ("d3pl0y") read as letters.

use std::sync::LazyLock;

use super::Disguises;
use super::stretches::count;
use super::wordtable::{self, EMPTY, WordTable, grow};

/// Below this many such words, digits inside words are names: `utf8`, `i18n`, `x86_64`.
const WORDS_MIN: usize = 3;

/// Words that any English sentence of some length holds. A line is taken for leet only when reading it so yields
/// some of them: lists of hashes and part numbers do not.
const COMMON: &[&str] = &[
    "the",
    "and",
    "all",
    "you",
    "your",
    "for",
    "this",
    "that",
    "with",
    "from",
    "are",
    "is",
    "it",
    "to",
    "of",
    "in",
    "a",
    "as",
    "at",
    "be",
    "do",
    "not",
    "please",
    "any",
    "ignore",
    "previous",
    "instructions",
    "rules",
    "send",
    "tell",
    "secret",
    "password",
    "token",
    "key",
    "user",
    "system",
    "must",
    "will",
    "use",
    "now",
    "then",
    "before",
    "after",
    "data",
    "ensure",
    "reply",
    "say",
    "answer",
    "print",
    "write",
];

/// Rewrites every line that reads as leet.
pub(super) fn to_letters(text: String, disguises: &mut Disguises) -> String {
    if !may_be_leet(&text) {
        return text;
    }
    let mut out = String::new();
    let (mut kept, mut start) = (0, 0);
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        if is_leet(line) {
            out.reserve(text.len() - kept);
            out.push_str(&text[kept..start]);
            push_letters(line, disguises, &mut out);
            kept = end;
        }
        start = end;
    }
    if kept == 0 {
        return text;
    }
    out.push_str(&text[kept..]);
    out
}

fn push_letters(line: &str, disguises: &mut Disguises, out: &mut String) {
    for word in line.split_inclusive(char::is_whitespace) {
        if is_leet_word(word.trim_end()) {
            disguises.leet_words += 1;
            out.extend(word.chars().map(letter));
        } else {
            out.push_str(word);
        }
    }
}

/// A quick look at the whole text: are there stand-ins before letters at all?
fn may_be_leet(text: &str) -> bool {
    count(text.as_bytes(), |_, byte, after| is_stand_in(byte) & after.is_ascii_alphabetic()) >= 2
}

fn is_leet(line: &str) -> bool {
    let (mut words, mut leet, mut common) = (0, 0, 0);
    for word in line.split_whitespace() {
        words += 1;
        if is_leet_word(word) {
            leet += 1;
            common += usize::from(is_common(word));
        }
    }
    leet >= WORDS_MIN && leet * 4 >= words && common > leet / 8
}

fn is_common(word: &str) -> bool {
    let letters = word.chars().map(letter).filter(char::is_ascii_alphabetic);
    COMMON_TABLE.marks(letters.fold(EMPTY, |hash, c| grow(hash, c as u8))) != 0
}

static COMMON_TABLE: LazyLock<WordTable> = LazyLock::new(|| {
    let mut table = WordTable::with_room(COMMON.len());
    COMMON.iter().for_each(|word| table.mark(wordtable::hash(word.as_bytes()), 1));
    table
});

/// Has letters and stand-ins, and nothing that would make it a path, a version or a hash.
fn is_leet_word(word: &str) -> bool {
    let word = word.trim_end_matches(['.', ',', ':', ';', '!', '?', '"', ')']);
    if word.is_empty() || word.len() > 24 {
        return false;
    }
    let (mut stand_ins, mut letters, mut others) = (0, 0, 0);
    // "4" alone may be the article, "v2" is not leet: a stand-in has to come before a letter, or the word is short.
    let (mut leads, mut after_stand_in) = (false, false);
    for byte in word.bytes() {
        let is_letter = byte.is_ascii_alphabetic();
        leads |= after_stand_in && is_letter;
        after_stand_in = is_stand_in(byte);
        stand_ins += usize::from(after_stand_in);
        letters += usize::from(is_letter);
        // Of a character beyond ASCII the first byte counts.
        others += usize::from(!is_letter && !after_stand_in && byte & 0xc0 != 0x80);
    }
    stand_ins > 0 && others <= 2 && (leads || (letters > 0 && word.len() <= 3) || word == "4")
}

fn is_stand_in(byte: u8) -> bool {
    matches!(byte, b'0' | b'1' | b'3' | b'4' | b'5' | b'7' | b'8' | b'@' | b'$' | b'+' | b'!' | b'|')
}

fn letter(c: char) -> char {
    match c {
        '0' => 'o',
        '1' | '!' => 'i',
        '3' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '7' | '+' => 't',
        '8' => 'b',
        '|' => 'l',
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, plain: &str) {
        assert_eq!(to_letters(text.to_owned(), &mut Disguises::default()), plain);
    }

    #[test]
    fn leet_lines_become_letters() {
        check("d3pl0y 4ll th3 n3w 5erv3r5", "deploy all the new servers");
    }

    #[test]
    fn the_lines_around_leet_stay() {
        check(
            "port 8080\nd3pl0y 4ll th3 n3w 5erv3r5\nutf8 is é\n",
            "port 8080\ndeploy all the new servers\nutf8 is é\n",
        );
        check("t3ll 4ll th3 us3rs\n\ns3nd th3 k3y", "tell all the users\n\nsend the key");
    }

    #[test]
    fn names_with_digits_stay() {
        for text in ["utf8 and i18n on x86_64 with k8s", "sha1 3da541559 18b9e2f 4c1e77ab 90d3aa1f", "h2 tls1.3 http3"]
        {
            check(text, text);
        }
    }
}
