//! A text as lists of weight slots: what training learns from. The service does not use this.
//!
//! It takes a text apart by the very functions that the guard uses, so that weights are learned from exactly what is
//! read.

use std::ops::Range;
use std::sync::LazyLock;

use crate::features::{Grams, RULE_VALUE, Rules, Slot, disguise_slots, dissect, gram_values};
use crate::lexicon::{self, Lexicon};
use crate::normalise::normalise;

/// A text as the model sees it.
#[derive(Debug, Clone)]
pub struct Specimen {
    /// The grams of each sentence.
    pub sentences: Vec<SentenceGrams>,
    /// The sentences that count in the whole text, where some repeat others.
    distinct: Option<Vec<usize>>,
    /// The windows, and last the whole text where it is longer than one window.
    pub units: Vec<Unit>,
    /// Slots of the disguises met anywhere in the text; they count in every unit.
    pub disguises: Vec<u32>,
    /// Is text hidden in a way that is refused without any weighing?
    pub is_hiding: bool,
}

/// The slots of one sentence's grams, repeated as often as they occur.
#[derive(Debug, Clone, Default)]
pub struct SentenceGrams {
    /// Letter grams.
    pub letters: Vec<u32>,
    /// Word grams.
    pub words: Vec<u32>,
}

/// A stretch of sentences that is scored together.
#[derive(Debug, Clone)]
pub struct Unit {
    /// Which sentences.
    pub sentences: Range<usize>,
    /// Slots of the rules that fire in it.
    pub rules: Vec<u32>,
}

impl Grams for SentenceGrams {
    fn letters(&mut self, slots: &[Slot]) {
        self.letters.extend(slots.iter().map(|slot| u32::from(*slot)));
    }

    fn words(&mut self, slots: &[Slot]) {
        self.words.extend(slots.iter().map(|slot| u32::from(*slot)));
    }
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| Lexicon::parse(lexicon::SHIPPED));

impl Specimen {
    /// Takes a text apart as the guard does.
    pub fn of(text: &str) -> Specimen {
        let anatomy = dissect(&normalise(text), &LEXICON, SentenceGrams::default);
        let mut units = Vec::new();
        let mut whole = Rules::default();
        for window in anatomy.windows() {
            let mut rules = Rules::default();
            rules.add(anatomy.hits_of(&window));
            whole.merge(&rules);
            units.push(Unit { sentences: window, rules: rules.slots().map(|slot| slot as u32).collect() });
        }
        if anatomy.sentences.len() > 2 {
            let rules = whole.slots().map(|slot| slot as u32).collect();
            units.push(Unit { sentences: 0..anatomy.sentences.len(), rules });
        }
        let counted: Vec<usize> = anatomy.counted(0..anatomy.sentences.len()).collect();
        let distinct = (counted.len() < anatomy.sentences.len()).then_some(counted);
        let disguises = disguise_slots(&anatomy.disguises).map(|slot| slot as u32).collect();
        let is_hiding = anatomy.disguises.is_hiding();
        Specimen { sentences: anatomy.sentences, distinct, units, disguises, is_hiding }
    }

    /// Which sentences count in a unit.
    pub fn counted(&self, unit: &Unit) -> impl Iterator<Item = usize> + use<'_> {
        let is_whole = unit.sentences.len() == self.sentences.len();
        let distinct = self.distinct.as_deref().filter(|_| is_whole);
        let range = if distinct.is_some() { 0..0 } else { unit.sentences.clone() };
        distinct.unwrap_or_default().iter().copied().chain(range)
    }

    /// How much each letter gram, word gram and rule of a unit counts.
    pub fn values(&self, unit: &Unit) -> (f32, f32, f32) {
        let sentences = || self.counted(unit).map(|at| &self.sentences[at]);
        let letters = sentences().map(|sentence| sentence.letters.len()).sum();
        let words = sentences().map(|sentence| sentence.words.len()).sum();
        let (letter_value, word_value) = gram_values(letters, words);
        (letter_value, word_value, RULE_VALUE)
    }
}

/// The plain spelling of a text, by which copies of one text in different disguises are known as one.
pub fn plain_spelling(text: &str) -> String {
    normalise(text).text
}
