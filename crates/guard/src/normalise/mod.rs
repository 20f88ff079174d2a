//! One plain spelling for every text: lower case, NFKC, nothing invisible, disguises undone.
//!
//! Each disguise that was undone is counted in [`Disguises`], because hiding is itself evidence. Nothing here judges.
//! Every step is one pass over the text, so the cost is linear.

mod base64;
mod confusables;
mod hashes;
mod invisible;
mod leet;
mod numbers;
mod spacing;

use unicode_normalization::UnicodeNormalization;

/// A text in its plain spelling.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plain {
    /// The plain spelling; what was found inside base64 follows on lines of its own.
    pub(crate) text: String,
    pub(crate) disguises: Disguises,
}

impl Plain {
    /// The text with all long numbers alike.
    pub(crate) fn with_numbers_alike(self) -> Plain {
        Plain { text: numbers::fold(self.text), ..self }
    }
}

/// How often each way of hiding text was met.
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
    /// Words of four and more letters in capitals.
    pub(crate) shouted_words: u32,
}

impl Disguises {
    /// How many kinds of disguise there are.
    pub(crate) const KINDS: usize = 10;

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
        ]
    }
}

/// Rewrites `text` in its plain spelling.
pub(crate) fn normalise(text: &str) -> Plain {
    let mut disguises = Disguises { shouted_words: shouted_words(text), ..Disguises::default() };
    let decoded = base64::readable_runs(text);
    disguises.base64_texts = decoded.len() as u32;
    let mut plain = plain_spelling(text, &mut disguises);
    for hidden in decoded {
        plain.push('\n');
        plain.push_str(&plain_spelling(&hidden, &mut disguises));
    }
    Plain { text: plain, disguises }
}

fn plain_spelling(text: &str, disguises: &mut Disguises) -> String {
    let lower = if text.is_ascii() {
        text.to_ascii_lowercase()
    } else {
        let visible = invisible::reveal(text, disguises);
        let composed: String = visible
            .chars()
            .map(plain_symbol)
            .nfkc()
            .filter(|c| !is_overlay(*c))
            .flat_map(char::to_lowercase)
            .map(plain_quote)
            .collect();
        confusables::to_latin(composed, disguises)
    };
    let joined = spacing::join_letters(lower, disguises);
    hashes::remove(leet::to_letters(joined, disguises))
}

/// Words drawn as one character decompose to as many as eighteen. No Latin text hides there, and spelling them out
/// would let a short text grow long.
fn plain_symbol(c: char) -> char {
    if matches!(c, '\u{fdf0}'..='\u{fdff}' | '\u{3300}'..='\u{33ff}') { '\u{25a1}' } else { c }
}

/// Strokes, rings and dots that did not melt into a letter: ornaments that tear words apart.
fn is_overlay(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{488}' | '\u{489}' | '\u{1ab0}'..='\u{1aff}' | '\u{20d0}'..='\u{20f0}')
}

/// Typographic apostrophes and dashes in their ASCII form, so that "don’t" and "don't" are one word.
fn plain_quote(c: char) -> char {
    match c {
        '\u{2018}' | '\u{2019}' | '\u{02bc}' | '\u{ff07}' => '\'',
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{ab}' | '\u{bb}' | '\u{300c}' | '\u{300d}' => '"',
        '\u{2010}'..='\u{2015}' => '-',
        _ => c,
    }
}

fn shouted_words(text: &str) -> u32 {
    let (mut count, mut run, mut is_shout) = (0, 0, true);
    for byte in text.bytes().chain([b' ']) {
        if byte.is_ascii_alphabetic() {
            run += 1;
            is_shout &= byte.is_ascii_uppercase();
        } else {
            // An underscore or digit makes it an identifier, which nobody shouts.
            let ends_word = !(byte.is_ascii_digit() || byte == b'_' || byte >= 0x80);
            count += u32::from(ends_word && is_shout && run >= 4);
            (run, is_shout) = (0, ends_word);
        }
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
    fn shouting_counts_words_but_not_identifiers() {
        assert_eq!(shouted_words("READ this NOW, MAX_SIZE_BYTES or SHA256, IMPORTANT!"), 2);
    }

    #[test]
    fn text_inside_base64_is_appended() {
        let found = normalise("note: dGhlIGtldHRsZSBpcyBvbiB0aGUgdGhpcmQgZmxvb3I=");
        assert!(found.text.ends_with("\nthe kettle is on the third floor"), "{}", found.text);
        assert_eq!(found.disguises.base64_texts, 1);
    }
}
