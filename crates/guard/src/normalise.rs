//! One plain spelling for every text: lower case, NFKC, nothing invisible, disguises undone.
//!
//! Each disguise that was undone is counted in [`Disguises`], because hiding is itself evidence. Nothing here judges.
//! Every step is one pass over the text, so the cost is linear.

mod base64;
mod ciphers;
mod codes;
mod composed;
mod confusables;
mod hashes;
mod invisible;
mod joined;
mod leet;
mod numbers;
mod runs;
mod spacing;
mod stretches;
mod wordtable;

use std::borrow::Cow;

use crate::markup::{self, Frame};

/// A text in its plain spelling.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plain {
    /// The plain spelling; what was found inside base64 follows on lines of its own, instead of the base64.
    pub(crate) text: String,
    pub(crate) disguises: Disguises,
    /// The marks of turns and calls in the text.
    pub(crate) frame: Frame,
}

/// How often each way of hiding text was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Disguises {
    /// Invisible characters between two Latin letters of one word.
    pub(crate) zero_width: u32,
    /// Characters of the Unicode tag block, which spell ASCII invisibly.
    pub(crate) tags: u32,
    /// Bytes carried by runs of variation selectors.
    pub(crate) variation_bytes: u32,
    /// Controls that override the direction of the text.
    pub(crate) direction_overrides: u32,
    /// Full-width, mathematical, circled and other styled forms of Latin letters.
    pub(crate) styled_letters: u32,
    /// Words that mix Latin letters with look-alikes of another script.
    pub(crate) mixed_script_words: u32,
    /// Words whose letters were set apart by spaces or dots.
    pub(crate) spaced_words: u32,
    /// Words spelled with digits and signs for letters.
    pub(crate) leet_words: u32,
    /// Runs of base64 that hold readable text.
    pub(crate) base64_texts: u32,
    /// Words in capitals next to each other or before an exclamation mark.
    pub(crate) shouted_words: u32,
    /// Plain letters written as entities or percent codes.
    pub(crate) coded_letters: u32,
    /// Sentences in rot13 or written backwards.
    pub(crate) ciphered_sentences: u32,
}

impl Disguises {
    /// How many kinds of disguise there are.
    pub(crate) const KINDS: usize = 12;

    /// Is text hidden so that no honest text ever looks like it? Then it is rejected whatever it says: learned weights
    /// would let a harmless-sounding hidden message pass.
    pub(crate) fn is_hiding(&self) -> bool {
        self.tags >= 4 || self.variation_bytes >= 8 || self.zero_width >= 8 || self.styled_letters >= 40
    }

    /// All counts, in a fixed order that the trained weights rely on.
    pub(crate) fn counts(&self) -> [u32; Self::KINDS] {
        [
            self.zero_width,
            self.tags,
            self.variation_bytes,
            self.direction_overrides,
            self.styled_letters,
            self.mixed_script_words,
            self.spaced_words,
            self.leet_words,
            self.base64_texts,
            self.shouted_words,
            self.coded_letters,
            self.ciphered_sentences,
        ]
    }
}

/// Rewrites `text` in its plain spelling.
pub(crate) fn normalise(text: &str) -> Plain {
    let mut disguises = Disguises { shouted_words: shouted_words(text), ..Disguises::default() };
    let decoded = base64::readable_runs(text);
    disguises.base64_texts = decoded.len() as u32;
    let mut plain = plain_spelling(&base64::without(text, &decoded), &mut disguises);
    for hidden in decoded {
        plain.push('\n');
        plain.push_str(&plain_spelling(&hidden.text, &mut disguises));
    }
    let frame = markup::read(&mut plain);
    Plain { text: plain, disguises, frame }
}

fn plain_spelling(text: &str, disguises: &mut Disguises) -> String {
    let decoded = codes::decode(text, disguises);
    let text = joined::part_humps(&decoded);
    let text = text.as_ref();
    let lower = if text.is_ascii() {
        text.to_ascii_lowercase()
    } else {
        confusables::to_latin(composed::lower(&invisible::reveal(text, disguises)), disguises)
    };
    let joined = spacing::join_letters(lower, disguises);
    let letters = leet::to_letters(joined, disguises);
    let parted = match joined::part_runs(&letters) {
        Cow::Borrowed(_) => letters,
        Cow::Owned(parted) => parted,
    };
    runs::shorten(numbers::fold(hashes::remove(ciphers::read(parted, disguises))))
}

/// Names such as HTTP, JSON or GET are no shouting. Two words in capitals side by side are, and one with an exclamation
/// mark.
fn shouted_words(text: &str) -> u32 {
    const LETTERS_MIN: usize = 3;
    // Most texts have no three capitals in a row, which is quickly seen.
    let is_within = |before: u8, byte: u8, after: u8| {
        before.is_ascii_uppercase() & byte.is_ascii_uppercase() & after.is_ascii_uppercase()
    };
    if stretches::count(text.as_bytes(), is_within) == 0 {
        return 0;
    }
    let (mut count, mut run) = (0, 0);
    let (mut is_upper, mut is_word) = (true, true);
    // How many shouted words in a row lie before this place, with nothing but a space between them.
    let mut row = 0;
    for byte in text.bytes().chain([b'\n']) {
        if byte.is_ascii_alphabetic() {
            run += 1;
            is_upper &= byte.is_ascii_uppercase();
            continue;
        }
        // An underscore or a digit makes it an identifier, which nobody shouts.
        let ends_word = !(byte.is_ascii_digit() || byte == b'_' || byte >= 0x80);
        let is_shout = run >= LETTERS_MIN && is_upper && is_word && ends_word;
        if is_shout {
            row += 1;
            count += u32::from(row >= 2) + u32::from(row == 2) + u32::from(row == 1 && byte == b'!');
        }
        if (run > 0 && !is_shout) || byte != b' ' {
            row = 0;
        }
        (run, is_upper, is_word) = (0, true, ends_word);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        normalise(text).text
    }

    #[test]
    fn case_and_quotes_are_evened_out() {
        assert_eq!(plain("Don\u{2019}t PANIC"), "don't panic");
    }

    #[test]
    fn styled_letters_become_plain_ones() {
        let found = normalise("ｉｇｎｏｒｅ 𝐭𝐡𝐢𝐬");
        assert_eq!(found.text, "ignore this");
        assert_eq!(found.disguises.styled_letters, 10);
    }

    #[test]
    fn ornaments_are_taken_off_and_accents_stay() {
        assert_eq!(plain("o\u{338}b\u{338}e\u{336}y cafe\u{301}"), "obey caf\u{e9}");
    }

    #[test]
    fn shouting_counts_words_side_by_side_and_no_names() {
        let check = |text: &str, expected: u32| assert_eq!(shouted_words(text), expected, "{text}");
        check("READ THIS NOW, please", 3);
        check("IMPORTANT! it is", 1);
        check("GET, POST and JSON over HTTP; MAX_SIZE BYTES or SHA256", 0);
        check("READ it NOW", 0);
    }

    #[test]
    fn disguises_on_top_of_each_other_are_undone() {
        assert_eq!(plain("i-g-n-o-r-e t-h-i-s"), "ignore this");
        assert_eq!(plain("s e n d t h e m e s s a g e t o t h e u s e r").trim_end(), "send the message to the user");
        assert_eq!(plain("%6d%61%6b%65%20the%20tea"), "make the tea");
    }

    #[test]
    fn text_inside_base64_stands_for_it() {
        let found = normalise("note: dGhlIGtldHRsZSBpcyBvbiB0aGUgdGhpcmQgZmxvb3I= (see above)");
        assert_eq!(found.text, "note: = (see above)\nthe kettle is on the third floor");
        assert_eq!(found.disguises.base64_texts, 1);
    }
}
