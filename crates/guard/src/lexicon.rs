//! Word classes ("cancels", "orders", "reader" …) and the automaton that finds their phrases among tokens.
//!
//! The phrases are in `assets/lexicon.txt`. A rule of the guard is a pair of classes close to each other; which
//! pairs weigh how much is learned, so a new word in a class needs no new rule.

use crate::letters::is_alphanumeric;
use crate::tokens::{PREFIX_CHARS, START, Token, read_tokens};

/// Classes are bits of a `u64`.
pub(crate) const CLASSES_MAX: usize = 48;

/// The text that the shipped weights were trained with.
pub(crate) const SHIPPED: &str = include_str!("../assets/lexicon.txt");

/// A set of classes.
pub(crate) type ClassSet = u64;

/// Finds phrases by walking a trie of token hashes; one probe per token in the usual case.
#[derive(Debug)]
pub(crate) struct Lexicon {
    names: Vec<String>,
    /// Open addressing: (node, token) → child. A key of zero is an empty slot.
    edges: Vec<(u64, u32)>,
    /// One bit for each key, by its highest bits. Most tokens begin no phrase, and these few kilobytes say so quickly.
    may_be_key: Vec<u64>,
    /// One bit for each way that the first word of a phrase begins, by its first three letters: for other words nothing
    /// more is looked up.
    may_begin: Vec<u64>,
    /// What ends at each node.
    ends: Vec<ClassSet>,
    /// Bit `n` is set when some phrase names a prefix of `n` characters, so that other lengths are not probed.
    prefix_lengths: u32,
}

impl Lexicon {
    /// Reads lines of comma-separated phrases under `[class]` headings; `#` starts a comment.
    pub(crate) fn parse(text: &str) -> Lexicon {
        let phrases = text.lines().map(|line| line.split(" #").next().unwrap_or(line).len()).sum::<usize>() / 4;
        let edges = vec![(0, 0); (4 * phrases + 16).next_power_of_two()];
        let (may_be_key, may_begin) = (vec![0; KEY_BITS / 64], vec![0; KEY_BITS / 64]);
        let mut lexicon = Lexicon { names: Vec::new(), edges, may_be_key, may_begin, ends: vec![0], prefix_lengths: 0 };
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("# ")) {
            match line.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
                Some(name) if name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-') => {
                    lexicon.names.push(name.to_owned());
                }
                _ => line.split(',').for_each(|phrase| lexicon.insert(phrase.trim())),
            }
        }
        lexicon
    }

    /// The name of a class, for people.
    pub(crate) fn name(&self, class: usize) -> &str {
        self.names.get(class).map_or("", String::as_str)
    }

    /// Is the class of this name in the set?
    pub(crate) fn has(&self, classes: ClassSet, name: &str) -> bool {
        self.names.iter().position(|known| known == name).is_some_and(|class| classes >> class & 1 == 1)
    }

    /// The classes of all phrases that start at the first of `tokens`.
    pub(crate) fn classes_at(&self, tokens: &[Token]) -> ClassSet {
        self.classes_below(0, tokens)
    }

    /// The classes of all phrases at the start of a sentence, where one starts with these `tokens`.
    pub(crate) fn classes_at_start(&self, tokens: &[Token]) -> ClassSet {
        self.edge(key(0, START)).map_or(0, |start| self.classes_below(start, tokens))
    }

    fn classes_below(&self, mut node: u32, tokens: &[Token]) -> ClassSet {
        let mut found = 0;
        for token in tokens {
            match self.child(node, token) {
                Some(child) => node = child,
                None => break,
            }
            found |= self.ends[node as usize];
        }
        found
    }

    fn child(&self, node: u32, token: &Token) -> Option<u32> {
        if node == 0 && !self.may_begin(token) {
            return None;
        }
        let exact = self.edge(key(node, token.hash));
        if exact.is_some() || !token.is_word {
            return exact;
        }
        // Longest prefix first: `instructor*` may mean something else than `instruct*`.
        PREFIX_CHARS.rev().filter(|length| self.prefix_lengths >> length & 1 == 1).find_map(|length| {
            let prefix = token.prefixes[length - PREFIX_CHARS.start()];
            if prefix == 0 { None } else { self.edge(key(node, prefix)) }
        })
    }

    /// Whether a phrase may begin with this token. A shorter word or a sign is looked up.
    fn may_begin(&self, token: &Token) -> bool {
        let beginning = token.prefixes[0];
        beginning == 0 || has_bit(&self.may_begin, key(0, beginning))
    }

    fn edge(&self, key: u64) -> Option<u32> {
        if !has_bit(&self.may_be_key, key) {
            return None;
        }
        let mask = self.edges.len() - 1;
        let mut slot = key as usize & mask;
        loop {
            match self.edges[slot] {
                (0, _) => return None,
                (found, child) if found == key => return Some(child),
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    fn insert(&mut self, phrase: &str) {
        let Some(class) = self.names.len().checked_sub(1).filter(|class| *class < CLASSES_MAX) else { return };
        let (phrase, is_at_start) = match phrase.strip_prefix("^ ") {
            Some(rest) => (rest, true),
            None => (phrase, false),
        };
        // A star glued to a word names a prefix; a star by itself is the sign.
        let pieces: Vec<(&str, bool)> = phrase
            .split_whitespace()
            .map(|piece| match piece.strip_suffix('*').filter(|stem| !stem.is_empty()) {
                Some(stem) => (stem, true),
                None => (piece, false),
            })
            .collect();
        let mut node = 0;
        let mut tokens = Vec::new();
        for (at, (piece, is_prefix)) in pieces.into_iter().enumerate() {
            tokens.clear();
            read_tokens(piece, &mut tokens);
            let skip = usize::from(at > 0 || !is_at_start);
            let last = tokens.len() - 1;
            for (index, token) in tokens.iter().enumerate().skip(skip) {
                let hash = if is_prefix && index == last { self.prefix_of(token, piece) } else { token.hash };
                if node == 0 {
                    set_bit(&mut self.may_begin, key(0, token.prefixes[0]));
                }
                node = self.child_or_new(node, hash);
            }
        }
        if node != 0 {
            self.ends[node as usize] |= 1 << class;
        }
    }

    fn prefix_of(&mut self, token: &Token, piece: &str) -> u64 {
        // The star belongs to the last word: `coding-agent*` is "coding" and all that begins with "agent".
        let word = piece.rsplit(|c: char| !is_alphanumeric(c)).next().unwrap_or(piece);
        let length = word.chars().count().clamp(*PREFIX_CHARS.start(), *PREFIX_CHARS.end());
        self.prefix_lengths |= 1 << length;
        token.prefixes[length - PREFIX_CHARS.start()]
    }

    fn child_or_new(&mut self, node: u32, hash: u64) -> u32 {
        let key = key(node, hash);
        if let Some(child) = self.edge(key) {
            return child;
        }
        let child = self.ends.len() as u32;
        self.ends.push(0);
        let mask = self.edges.len() - 1;
        let mut slot = key as usize & mask;
        while self.edges[slot].0 != 0 {
            slot = (slot + 1) & mask;
        }
        self.edges[slot] = (key, child);
        set_bit(&mut self.may_be_key, key);
        child
    }
}

/// How many bits the sets of keys have: one for each value of a key's highest bits.
const KEY_BITS: usize = 1 << 16;

fn has_bit(set: &[u64], key: u64) -> bool {
    let bit = (key >> 48) as usize;
    set[bit / 64] >> (bit % 64) & 1 == 1
}

fn set_bit(set: &mut [u64], key: u64) {
    let bit = (key >> 48) as usize;
    set[bit / 64] |= 1 << (bit % 64);
}

fn key(node: u32, hash: u64) -> u64 {
    let mixed = (hash ^ u64::from(node).wrapping_mul(0xd6e8_feb8_6659_fd93)).wrapping_mul(0xa076_1d64_78bd_642f);
    (mixed ^ mixed >> 29) | 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lexicon: &str, text: &str, expected: &[&[&str]]) {
        let lexicon = Lexicon::parse(lexicon);
        let mut tokens = Vec::new();
        read_tokens(text, &mut tokens);
        let found: Vec<Vec<&str>> = (0..tokens.len())
            .map(|at| lexicon.classes_at(&tokens[at..]))
            .filter(|classes| *classes != 0)
            .map(|classes| {
                (0..lexicon.names.len()).filter(|c| classes >> c & 1 == 1).map(|c| lexicon.name(c)).collect()
            })
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn words_phrases_prefixes_and_signs_are_found() {
        let lexicon = "# colours and more\n[colour]\nred, deep blue, green*, sky-blu*\n[marker]\n[draft], ^ todo :\n";
        check(lexicon, "a red and deep blue greenish thing", &[&["colour"], &["colour"], &["colour"]]);
        check(lexicon, "deep red [draft]", &[&["colour"], &["marker"]]);
        check(lexicon, "a sky-blueish and a sky-high thing", &[&["colour"]]);
        check(lexicon, "todo: paint", &[&["marker"]]);
        check(lexicon, "a todo: paint", &[]);
    }

    #[test]
    fn the_shipped_lexicon_fits() {
        let lexicon = Lexicon::parse(SHIPPED);
        assert!(lexicon.names.len() <= CLASSES_MAX, "{} classes", lexicon.names.len());
        assert!(lexicon.ends.len() * 2 <= lexicon.edges.len(), "the table is crowded");
    }
}
