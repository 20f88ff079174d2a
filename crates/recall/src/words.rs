//! From text to the words that are indexed and asked for: segmentation, folding, identifier parts, CJK bigrams.
//! `words/stem.rs` finds the stem of a word; what a word is worth is decided elsewhere.

mod identifiers;
mod language;
mod scripts;
mod spans;
mod stem;
mod stop;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};
use unicode_segmentation::UnicodeSegmentation;

pub(crate) use language::{Ballot, Hint, are_foreign};
pub(crate) use scripts::{Language, fold_into, is_syllabic, is_understood, is_unspaced};
pub use spans::matched_spans;
pub(crate) use stem::Stems;
pub(crate) use stop::Stops;

/// How a word takes part in its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A member of the running text: it counts towards the length and has neighbours.
    Running,
    /// An identifier as it was written, beside its parts. Comes right before them; `parts` running words follow.
    Whole {
        /// How many of the running words that follow are its parts.
        parts: u32,
    },
    /// Found when asked for by itself, but no part of the text that it came from: one character of a script without
    /// spaces, the `v13` of `v13.2`, or the `setFormatter` of `handler.setFormatter`.
    Aside,
}

/// Calls `emit` for every word of `text`, folded (NFKC, lower case) and in reading order.
pub(crate) fn each_word(text: &str, mut emit: impl FnMut(&str, Role)) {
    let mut reader = Reader { emit: &mut emit, folded: String::new(), run: Vec::new() };
    if text.is_ascii() || is_nfkc_quick(text.chars()) == IsNormalized::Yes {
        reader.read(text);
    } else {
        let normal: String = text.nfkc().collect();
        reader.read(&normal);
    }
}

struct Reader<'e, F> {
    emit: &'e mut F,
    /// Scratch for one folded word.
    folded: String,
    /// The characters of the unspaced run that is being read.
    run: Vec<char>,
}

impl<F: FnMut(&str, Role)> Reader<'_, F> {
    fn read(&mut self, text: &str) {
        let mut run_end = 0;
        for (start, word) in text.unicode_word_indices() {
            let first = word.chars().next().unwrap_or(' ');
            if scripts::is_unspaced(first) {
                // Segmentation cuts ideographs one by one; neighbours without a gap belong to one run.
                if start != run_end {
                    self.flush_run();
                }
                self.run.extend(word.chars());
                run_end = start + word.len();
            } else {
                self.flush_run();
                self.spaced_word(word);
            }
        }
        self.flush_run();
    }

    /// A run without spaces becomes overlapping pairs: word borders are unknown there, and pairs find any word of two.
    fn flush_run(&mut self) {
        let run = std::mem::take(&mut self.run);
        for pair in run.windows(2) {
            self.folded.clear();
            self.folded.extend(pair.iter().flat_map(|c| c.to_lowercase()));
            (self.emit)(&self.folded, Role::Running);
        }
        let role = if run.len() == 1 { Role::Running } else { Role::Aside };
        for &character in &run {
            self.folded.clear();
            self.folded.extend(character.to_lowercase());
            (self.emit)(&self.folded, role);
        }
        self.run = run;
        self.run.clear();
    }

    fn spaced_word(&mut self, word: &str) {
        let parts = identifiers::parts(word);
        match parts.as_slice() {
            [] => {}
            [only] if only.len() == word.len() => self.emit_folded(word, Role::Running),
            [only] => self.emit_folded(only, Role::Running),
            many => {
                if identifiers::is_worth_keeping_whole(word) {
                    self.emit_folded(word, Role::Whole { parts: u32::try_from(many.len()).unwrap_or(u32::MAX) });
                }
                for part in many {
                    self.emit_folded(part, Role::Running);
                }
                if let Some(version) = identifiers::version(word) {
                    self.emit_folded(version, Role::Aside);
                }
                for member in identifiers::members(word) {
                    self.emit_folded(member, Role::Aside);
                }
            }
        }
    }

    fn emit_folded(&mut self, word: &str, role: Role) {
        scripts::fold_into(word, &mut self.folded);
        if !self.folded.is_empty() {
            (self.emit)(&self.folded, role);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let mut seen = Vec::new();
        each_word(text, |word, role| {
            seen.push(match role {
                Role::Running => word.to_owned(),
                Role::Whole { parts } => format!("{word}={parts}"),
                Role::Aside => format!("({word})"),
            });
        });
        assert_eq!(seen.join(" "), expected, "words of {text:?}");
    }

    #[test]
    fn plain_words_are_folded_and_apostrophes_part_them() {
        check("The Deploy didn't work!", "the deploy didn t work");
        check("Caroline’s café, ﬁne", "caroline s cafe fine");
        check("  \n\t … ", "");
    }

    #[test]
    fn identifiers_come_whole_and_by_parts() {
        check("parseHttpHeader", "parsehttpheader=3 parse http header");
        check("HTTPServer2", "httpserver2=2 http server2");
        check("snake_case_name", "snake_case_name=3 snake case name");
        check("crates/store/src/lib.rs", "crates store src lib.rs=2 lib rs");
        check("v1.2", "v1.2=2 1 2 (v1)");
        check("handler.setFormatter", "handler.setformatter=3 handler set formatter (setformatter)");
        check("__init__", "init");
    }

    #[test]
    fn unspaced_scripts_become_pairs_and_single_characters() {
        check("東京都", "東京 京都 (東) (京) (都)");
        check("猫", "猫");
        check("ab東京cd", "ab 東京 (東) (京) cd");
    }

    #[test]
    fn russian_letters_are_folded() {
        check("Всё Ещё", "все еще");
    }
}
