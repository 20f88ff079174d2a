//! What a query asks for: its words, which of them score, and what it means to contain them all.

use smallvec::SmallVec;

use crate::lexicon::{FormNo, Lexicon, TermNo};
use crate::search::lexical::Weighted;
use crate::words::{Ballot, Hint, Language, Role, Stops, each_word, is_syllabic};

/// Beyond this many distinct terms a record's matches are counted instead of remembered one by one.
pub(crate) const MASKED_TERMS_MAX: usize = 32;

/// Up to this many words a query is a list of keywords, and even its stop words were typed on purpose.
const KEYWORDS_MAX: usize = 3;

/// The words of a query weigh this much together at most. So a score fits 31 bits: lent words weigh as much again, no
/// word is more telling than the logarithm of 2^33, and none counts more than 2.2 times.
const WEIGHT_MAX: f32 = 256.0;

/// A parsed query.
pub(crate) struct Query {
    /// The distinct terms that score, known or not.
    pub(crate) terms: Vec<QueryTerm>,
    /// The running words that score, in order; `None` for a word the workspace does not know.
    pub(crate) sequence: Vec<Option<TermNo>>,
    /// One per word of the query that scores.
    pub(crate) units: Vec<Unit>,
    /// Every word as it was typed, stop words too.
    pub(crate) typed: Vec<Typed>,
    /// Which words say nothing in its language.
    pub(crate) stops: Stops,
    pub(crate) language: Option<Language>,
    /// Whether all its words say nothing by themselves.
    pub(crate) is_empty_of_content: bool,
    /// Whether its words are syllables.
    is_syllabic: bool,
}

/// A term of the query.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct QueryTerm {
    /// The stem, where no record ever had it.
    unknown: String,
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
    pub(crate) fn parse(text: &str, stops: Stops, lexicon: &Lexicon) -> Self {
        let mut words: SmallVec<[Word; 16]> = SmallVec::new();
        let mut ballot = Ballot::default();
        each_word(text, |word, role| {
            words.push(Word::read(word, role, stops, lexicon));
            ballot.add(Hint::of(word));
        });
        // "who are you": where there is nothing else, stop words are what is asked for.
        let all_score = !words.iter().any(|word| word.role == Role::Running && !word.typed.is_stop);
        let (terms, sequence, units, typed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut query = Self {
            terms,
            sequence,
            units,
            typed,
            stops,
            language: ballot.verdict(),
            is_empty_of_content: all_score,
            is_syllabic: is_syllabic(text),
        };
        let mut parts_left = 0;
        for word in words {
            query.take_word(word, all_score, &mut parts_left);
        }
        fit_weights(query.terms.iter_mut().map(|known| &mut known.weight));
        query
    }

    /// The terms that some record has, to be scored.
    pub(crate) fn known_terms(&self) -> Vec<Weighted> {
        let mark = |at: usize| if self.is_masked() { 1 << at } else { 1 };
        let known =
            |(at, own): (usize, &QueryTerm)| Some(Weighted { term: own.term?, weight: own.weight, mark: mark(at) });
        self.terms.iter().enumerate().filter_map(known).collect()
    }

    /// Whether the text had any word at all.
    pub(crate) fn has_words(&self) -> bool {
        !self.typed.is_empty()
    }

    fn take_word(&mut self, word: Word, all_score: bool, parts_left: &mut u32) {
        let Word { role, term, .. } = word;
        let scores = all_score || !word.typed.is_stop;
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
            self.typed.push(word.typed);
        }
        if !scores {
            return;
        }
        if role == Role::Running {
            self.sequence.push(term);
        }
        match self.terms.iter_mut().find(|known| known.term == term && known.unknown == word.unknown) {
            Some(known) => known.weight += 1.0,
            None => self.terms.push(QueryTerm { unknown: word.unknown, term, weight: 1.0 }),
        }
    }

    /// How many of its words a record has, as far as that says anything.
    pub(crate) fn telling_count(&self, count: u32, has_pair: bool) -> f64 {
        telling_count(self.is_syllabic, count, has_pair)
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

impl QueryTerm {
    pub(crate) fn stem<'q>(&'q self, lexicon: &'q Lexicon) -> &'q str {
        self.term.map_or(&self.unknown, |term| lexicon.stem_text(term))
    }
}

/// A word of a query, looked up.
struct Word {
    role: Role,
    typed: Typed,
    term: Option<TermNo>,
    /// Its stem, where no record ever had it.
    unknown: String,
}

impl Word {
    fn read(word: &str, role: Role, stops: Stops, lexicon: &Lexicon) -> Self {
        // A form that is known need not be stemmed.
        if let Some(form) = lexicon.find_form(word) {
            let typed = Typed { form: Some(form), is_stop: lexicon.is_stop(form, stops) };
            return Self { role, typed, term: Some(lexicon.term_of(form)), unknown: String::new() };
        }
        let stem = lexicon.stem(word);
        let term = lexicon.find_stem(&stem);
        let unknown = if term.is_some() { String::new() } else { stem.into_owned() };
        Self { role, typed: Typed { form: None, is_stop: stops.has(word) }, term, unknown }
    }
}

/// Where words are written syllable by syllable, one syllable in common is mostly part of another word.
pub(crate) fn telling_count(is_syllabic: bool, count: u32, has_pair: bool) -> f64 {
    let of_one = match (is_syllabic, has_pair) {
        (false, _) => 1.0,
        (true, true) => 0.6,
        (true, false) => 0.2,
    };
    f64::from(count) * of_one
}

/// Makes weights smaller where there are very many.
pub(crate) fn fit_weights<'w>(weights: impl Iterator<Item = &'w mut f32>) {
    let mut weights: SmallVec<[&mut f32; 32]> = weights.collect();
    let total: f32 = weights.iter().map(|weight| **weight).sum();
    if total > WEIGHT_MAX {
        weights.iter_mut().for_each(|weight| **weight *= WEIGHT_MAX / total);
    }
}
