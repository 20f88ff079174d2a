//! Learning the words of a text, some at a time. What is known of a word lies anywhere in memory, at three places that lead to
//! each other. Asked for together, the words of a short text are waited for about as long as one.

use crate::interner::hash_of;
use crate::lexicon::{FormNo, Lexicon};
use crate::words::{Role, each_word};

/// So many words are learnt together: few enough to stay close to the processor.
const LESSON_WORDS: usize = 64;
/// About how much they take.
const LESSON_BYTES: usize = 512;

/// Words on their way into a lexicon.
pub(crate) struct Lessons<'l> {
    lexicon: &'l mut Lexicon,
    /// The words of this lesson, one behind the other.
    text: String,
    words: Vec<Heard>,
}

/// A word that is to be learnt.
struct Heard {
    hash: u64,
    /// Where it ends in the lesson; it starts where the one before it ends.
    end: usize,
    role: Role,
}

impl<'l> Lessons<'l> {
    pub(crate) fn of(lexicon: &'l mut Lexicon) -> Self {
        Self { lexicon, text: String::new(), words: Vec::with_capacity(LESSON_WORDS) }
    }

    /// Calls `learnt` with the form of every word of a text, in reading order.
    pub(crate) fn read(&mut self, text: &str, mut learnt: impl FnMut(Role, FormNo)) {
        self.text.reserve(text.len().min(LESSON_BYTES));
        each_word(text, |word, role| {
            self.text.push_str(word);
            self.words.push(Heard { hash: hash_of(word), end: self.text.len(), role });
            if self.words.len() == LESSON_WORDS {
                self.learn(&mut learnt);
            }
        });
        self.learn(&mut learnt);
    }

    fn learn(&mut self, mut learnt: impl FnMut(Role, FormNo)) {
        self.lexicon.fetch(self.words.iter().map(|word| word.hash));
        let mut start = 0;
        for Heard { hash, end, role } in self.words.drain(..) {
            learnt(role, self.lexicon.learn_hashed(&self.text[start..end], hash));
            start = end;
        }
        self.text.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts of less than a lesson, of one, and of several; words that are known, new, and twice in a lesson.
    #[test]
    fn words_are_learnt_in_order_however_many_there_are() {
        let (mut together, mut one_by_one) = (Lexicon::new(), Lexicon::new());
        for count in [0, 1, LESSON_WORDS - 1, LESSON_WORDS, LESSON_WORDS + 1, 5 * LESSON_WORDS + 7, 3] {
            let words: Vec<String> = (0..count).map(|nth| format!("word{} lib{nth}.rs 東京", nth * 7 % 101)).collect();
            let text = words.join(" ");
            let (mut learnt, mut expected) = (Vec::new(), Vec::new());
            Lessons::of(&mut together).read(&text, |role, form| learnt.push((role, form)));
            each_word(&text, |word, role| expected.push((role, one_by_one.learn(word))));
            assert_eq!(learnt, expected, "{count} words");
        }
    }
}
