//! What a query asks for: its words, which of them score, and what it means to contain them all.

use smallvec::SmallVec;

use crate::lexicon::{FormNo, Lexicon, TermNo};
use crate::words::{Role, each_word, is_stop_word};

/// Beyond this many distinct terms a record's matches are counted instead of remembered one by one.
pub(crate) const MASKED_TERMS_MAX: usize = 32;

/// Up to this many words a query is a list of keywords, and even its stop words were typed on purpose.
const KEYWORDS_MAX: usize = 3;

/// A parsed query.
#[derive(Default)]
pub(crate) struct Query {
    /// The distinct terms that score, known or not.
    pub(crate) terms: Vec<QueryTerm>,
    /// The running words that score, in order; `None` for a word the workspace does not know.
    pub(crate) sequence: Vec<Option<TermNo>>,
    /// One per word of the query that scores.
    pub(crate) units: Vec<Unit>,
    /// Every word as it was typed, stop words too.
    pub(crate) typed: Vec<Typed>,
}

/// A term of the query.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct QueryTerm {
    pub(crate) stem: String,
    /// `None` where no record ever had it. A record that the caller does not see may be the only one that had it, so
    /// nothing but the search for its postings may depend on this.
    pub(crate) term: Option<TermNo>,
    /// How often the query says it.
    pub(crate) weight: f32,
}

/// A word of the query; an identifier with parts is one word.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Unit {
    /// The word as one term. `None` where the workspace does not know it.
    pub(crate) whole: Option<TermNo>,
    /// The parts of an identifier: a record that has them all contains the word too.
    pub(crate) parts: SmallVec<[Option<TermNo>; 4]>,
}

/// A word as typed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Typed {
    /// `None` where no record was ever written with it.
    pub(crate) form: Option<FormNo>,
    pub(crate) is_stop: bool,
}

impl Query {
    /// Reads a query against the words of a workspace.
    pub(crate) fn parse(text: &str, lexicon: &Lexicon) -> Self {
        let mut words = Vec::new();
        each_word(text, |word, role| words.push((word.to_owned(), role)));
        let is_content = |word: &str| !is_stop_word(word);
        // "who are you": where there is nothing else, stop words are what is asked for.
        let all_score = !words.iter().any(|(word, role)| *role == Role::Running && is_content(word));
        let mut query = Self::default();
        let mut parts_left = 0;
        for (word, role) in &words {
            let scores = all_score || is_content(word);
            query.read_word(word, *role, scores, &mut parts_left, lexicon);
        }
        query
    }

    /// Whether the text had any word at all.
    pub(crate) fn has_words(&self) -> bool {
        !self.typed.is_empty()
    }

    fn read_word(&mut self, word: &str, role: Role, scores: bool, parts_left: &mut u32, lexicon: &Lexicon) {
        let stem = lexicon.stem(word);
        let term = lexicon.find_stem(&stem);
        match role {
            Role::Whole { parts } => {
                *parts_left = parts;
                self.units.push(Unit { whole: term, parts: SmallVec::new() });
            }
            // A run of one character asks for it; a longer one asks for its pairs.
            Role::Aside => return,
            Role::Running if *parts_left > 0 => {
                *parts_left -= 1;
                if let Some(unit) = self.units.last_mut() {
                    unit.parts.push(term);
                }
            }
            Role::Running if scores => self.units.push(Unit { whole: term, parts: SmallVec::new() }),
            Role::Running => {}
        }
        if role == Role::Running {
            self.typed.push(Typed { form: lexicon.find_form(word), is_stop: is_stop_word(word) });
        }
        if !scores {
            return;
        }
        if role == Role::Running {
            self.sequence.push(term);
        }
        match self.terms.iter_mut().find(|known| known.stem == stem) {
            Some(known) => known.weight += 1.0,
            None => self.terms.push(QueryTerm { stem: stem.into_owned(), term, weight: 1.0 }),
        }
    }

    /// Whether it is a list of keywords rather than a question.
    pub(crate) fn is_keywords(&self) -> bool {
        self.typed.len() <= KEYWORDS_MAX
    }

    /// Whether a record's matches are remembered one by one.
    pub(crate) fn is_masked(&self) -> bool {
        self.terms.len() <= MASKED_TERMS_MAX
    }

    /// The bit of a term in a record's `seen`.
    pub(crate) fn bit_of(&self, term: TermNo) -> Option<u32> {
        let at = self.terms.iter().position(|known| known.term == Some(term))?;
        (at < MASKED_TERMS_MAX).then(|| 1 << at)
    }
}
