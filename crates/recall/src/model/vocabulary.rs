//! Cutting a text into the model's pieces. There are two tables: one of English, and one of all other languages that
//! the model knows. Which of them a word is looked up in first depends on the language of the whole text.

use std::borrow::Cow;
use std::sync::OnceLock;

use smallvec::SmallVec;

use super::normal::{Kind, each_word, is_latin, normalise, weight_of_marks};
use super::pieces::Table;

/// About how long a piece of a text is, with the space behind it.
const BYTES_PER_PIECE: usize = 4;
/// What a word of another script says against English.
const OTHER_SCRIPT: i32 = 24;
/// No word says more.
const LEAN_MAX: i32 = 60;
/// The longest piece of a run.
const RUN_CHARS_MAX: usize = 8;

/// The pieces and their numbers.
pub(crate) struct Vocabulary {
    lines: Cow<'static, str>,
    english: Table,
    /// How many pieces the English table has.
    english_len: u32,
    /// Where the other pieces begin.
    rest_at: usize,
    /// Made when the first word is not found in the English table: many a service never sees one.
    rest: OnceLock<Table>,
}

/// A text in pieces.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Cut {
    /// The number of every piece, in reading order.
    pub(crate) pieces: Vec<u32>,
    pub(crate) is_english: bool,
}

impl Vocabulary {
    /// The first `english` lines are the pieces of English.
    pub(crate) fn new(lines: Cow<'static, str>, english: usize) -> Self {
        let rest_at = lines.split_inclusive('\n').take(english).map(str::len).sum();
        let english_len = u32::try_from(english).unwrap_or(u32::MAX);
        let english = Table::new(&lines[..rest_at], 0);
        Self { english, english_len, rest_at, rest: OnceLock::new(), lines }
    }

    /// How many pieces both tables have.
    pub(crate) fn count(&self) -> usize {
        self.lines.lines().count()
    }

    /// Cuts a text. `lean` says for each piece how much it speaks against English as a whole word.
    pub(crate) fn cut(&self, text: &str, lean: &[i8]) -> Cut {
        let normal = normalise(text);
        let mut reading = Reading::new(self, lean, weight_of_marks(text), normal.len());
        each_word(&normal, |kind, word| reading.read_as_english(kind, word));
        let is_english = reading.is_english();
        let Reading { mut pieces, is_mixed, .. } = reading;
        if !is_english || is_mixed {
            pieces.clear();
            each_word(&normal, |kind, word| {
                let is_own = is_english && is_written_as_english(kind, word);
                match is_own {
                    true => _ = self.english.cut(word, &mut pieces),
                    false => self.cut_foreign(kind, word, &mut pieces),
                }
            });
        }
        Cut { pieces, is_english }
    }

    /// The piece that is this whole word, in normal form. Where both tables have it, they agree on its leaning.
    pub(crate) fn find(&self, word: &str) -> Option<u32> {
        self.english.find(word).or_else(|| self.rest().find(word))
    }

    fn rest(&self) -> &Table {
        self.rest.get_or_init(|| Table::new(&self.lines[self.rest_at..], self.english_len))
    }

    /// A word of a text that is not English.
    fn cut_foreign(&self, kind: Kind, word: &str, pieces: &mut Vec<u32>) {
        let rest = self.rest();
        if kind == Kind::Run {
            return cut_run(rest, word, pieces);
        }
        match rest.find(word).or_else(|| self.english.find(word)) {
            Some(whole) => pieces.push(whole),
            None => {
                if !rest.cut(word, pieces) {
                    self.english.cut(word, pieces);
                }
            }
        }
    }
}

/// Whether an English text has such words.
fn is_written_as_english(kind: Kind, word: &str) -> bool {
    match kind {
        Kind::Punctuation => true,
        Kind::Plain => is_latin(word),
        Kind::Run => false,
    }
}

/// A text on its way into pieces, as long as nothing says that it is not English.
struct Reading<'v, 't> {
    vocabulary: &'v Vocabulary,
    lean: &'v [i8],
    pieces: Vec<u32>,
    /// Above 0, the text is not English.
    vote: i32,
    /// Words that the English table does not have. They are asked of the other table where they decide: it lies
    /// anywhere in several megabytes.
    unknown: SmallVec<[&'t str; 16]>,
    /// Whether words of other scripts were left out.
    is_mixed: bool,
}

impl<'v, 't> Reading<'v, 't> {
    fn new(vocabulary: &'v Vocabulary, lean: &'v [i8], vote: i32, bytes: usize) -> Self {
        let pieces = Vec::with_capacity(bytes / BYTES_PER_PIECE + 1);
        Self { vocabulary, lean, pieces, vote, unknown: SmallVec::new(), is_mixed: false }
    }

    fn read_as_english(&mut self, kind: Kind, word: &'t str) {
        match kind {
            Kind::Punctuation => {
                self.vocabulary.english.cut(word, &mut self.pieces);
            }
            Kind::Plain if is_latin(word) => self.read_latin(word),
            Kind::Plain | Kind::Run => {
                self.vote += OTHER_SCRIPT;
                self.is_mixed = true;
            }
        }
    }

    fn read_latin(&mut self, word: &'t str) {
        let before = self.pieces.len();
        self.vocabulary.english.cut(word, &mut self.pieces);
        // Cutting takes the longest piece first, so a word that is a piece itself comes out whole.
        match self.pieces[before..] {
            [piece] => self.vote += i32::from(self.lean[piece as usize]),
            _ => self.unknown.push(word),
        }
    }

    fn is_english(&self) -> bool {
        let of_unknown = |word: &&str| self.vocabulary.rest().find(word).map_or(0, |piece| self.lean[piece as usize]);
        let most = self.vote + LEAN_MAX * self.unknown.len() as i32;
        most <= 0 || self.vote + self.unknown.iter().map(|word| i32::from(of_unknown(word))).sum::<i32>() <= 0
    }
}

/// The longest pieces from the left; a character without a piece is skipped.
fn cut_run(table: &Table, run: &str, pieces: &mut Vec<u32>) {
    let mut rest = run;
    while !rest.is_empty() {
        let reach = rest.char_indices().nth(RUN_CHARS_MAX).map_or(rest.len(), |(end, _)| end);
        let length = match table.longest_start(&rest[..reach]) {
            Some((piece, length)) => {
                pieces.push(piece);
                length
            }
            None => rest.chars().next().map_or(rest.len(), char::len_utf8),
        };
        rest = &rest[length..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vote_chooses_the_table() {
        let lines = ["the", "die", "##s", "prod", "und", "##e", "die", "прод", "生产", "生"];
        let vocabulary = Vocabulary::new(Cow::Owned(lines.map(|line| format!("{line}\n")).concat()), 4);
        assert_eq!(vocabulary.count(), lines.len());
        let lean = [-20, 4, 0, 0, 30, 0, 4, 0, 0, 0];
        let cut = |text: &str| vocabulary.cut(text, &lean);
        let english = |pieces: &[u32]| Cut { pieces: pieces.to_vec(), is_english: true };
        let other = |pieces: &[u32]| Cut { pieces: pieces.to_vec(), is_english: false };
        assert_eq!(cut("the dies prod"), english(&[0, 1, 2, 3]));
        assert_eq!(cut("die und prod prods dies diee"), other(&[6, 4, 3, 3, 2, 1, 2, 6, 5]));
        assert_eq!(cut("the the прод"), english(&[0, 0, 7]));
        assert_eq!(cut("生产的生"), other(&[8, 9]));
    }
}
