//! Words and telling signs of one sentence, as hashes.

use crate::letters::{is_alphabetic, is_alphanumeric};
use crate::sentences::is_ideograph;

/// Prefixes of these lengths, in characters, can be named in the lexicon (`instruct*`).
pub(crate) const PREFIX_CHARS: std::ops::RangeInclusive<usize> = 3..=9;
const PREFIXES: usize = 7;

/// Stands before the first token of every sentence, so that the lexicon can say "at the start".
pub(crate) const START: u64 = 0x5354_4152_5400_0001;

/// One word, or one sign that structures text (`<`, `[`, `#`, `"` …).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) hash: u64,
    /// Hashes of the first 3, 4 … characters; zero where the word is shorter.
    pub(crate) prefixes: [u64; PREFIXES],
    pub(crate) is_word: bool,
}

impl Token {
    fn mark(hash: u64) -> Token {
        Token { hash, prefixes: [0; PREFIXES], is_word: false }
    }

    /// Is it the sign that begins comments in many languages?
    pub(crate) fn is_hash_sign(&self) -> bool {
        !self.is_word && self.hash == sign_hash('#')
    }
}

/// Appends the tokens of `sentence` to `tokens`, after a [`START`].
pub(crate) fn read_tokens(sentence: &str, tokens: &mut Vec<Token>) {
    tokens.push(Token::mark(START));
    let mut word = WordHash::default();
    let mut chars = sentence.chars();
    while let Some(c) = chars.next() {
        if is_ideograph(c) {
            word.finish(tokens);
            word.add(c);
            word.finish(tokens);
        } else if is_alphanumeric(c) || (c == '\'' && is_apostrophe(word.length, chars.as_str())) {
            word.add(c);
        } else {
            word.finish(tokens);
            if is_telling(c) {
                tokens.push(Token::mark(sign_hash(c)));
            }
        }
    }
    word.finish(tokens);
}

/// An apostrophe between two letters belongs to its word; elsewhere it quotes.
fn is_apostrophe(letters_before: usize, rest: &str) -> bool {
    letters_before > 0 && rest.chars().next().is_some_and(is_alphabetic)
}

fn is_telling(c: char) -> bool {
    matches!(c, '<' | '>' | '[' | ']' | '{' | '}' | '#' | '|' | ':' | '"' | '`' | '!' | '?' | '@' | '/' | '=' | '*')
}

fn sign_hash(c: char) -> u64 {
    (u64::from(c as u32) | 1 << 40).wrapping_mul(MULTIPLIER)
}

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Hashes a word while it is read. All digits count as one, so that numbers and ids share their statistics.
struct WordHash {
    state: u64,
    prefixes: [u64; PREFIXES],
    length: usize,
}

impl Default for WordHash {
    fn default() -> Self {
        WordHash { state: OFFSET, prefixes: [0; PREFIXES], length: 0 }
    }
}

impl WordHash {
    fn add(&mut self, c: char) {
        let c = if c.is_ascii_digit() { '0' } else { c };
        self.state = (self.state ^ u64::from(c as u32)).wrapping_mul(MULTIPLIER).rotate_left(23);
        self.length += 1;
        if PREFIX_CHARS.contains(&self.length) {
            self.prefixes[self.length - PREFIX_CHARS.start()] = prefix_hash(self.state);
        }
    }

    fn finish(&mut self, tokens: &mut Vec<Token>) {
        if self.length > 0 {
            tokens.push(Token { hash: self.state, prefixes: self.prefixes, is_word: true });
            *self = WordHash::default();
        }
    }
}

/// Keeps a prefix apart from the whole word of the same letters.
fn prefix_hash(state: u64) -> u64 {
    state.rotate_left(17) ^ MULTIPLIER
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token> {
        let mut tokens = Vec::new();
        read_tokens(text, &mut tokens);
        tokens
    }

    #[test]
    fn words_signs_and_ideographs_are_told_apart() {
        let kinds: Vec<bool> = tokens("<note> don't, 忽略").iter().map(|token| token.is_word).collect();
        assert_eq!(kinds, [false, false, true, false, true, true, true]);
    }

    #[test]
    fn numbers_of_one_length_are_one_word() {
        assert_eq!(tokens("port 8080"), tokens("port 7676"));
        assert_ne!(tokens("port 80"), tokens("port 7676"));
    }

    #[test]
    fn a_word_shares_its_prefixes_with_its_forms() {
        let (one, many) = (tokens("instruction"), tokens("instructions"));
        assert_ne!(one[1].hash, many[1].hash);
        assert_eq!(one[1].prefixes, many[1].prefixes);
    }
}
