//! A record as it is compared: its content words in reading order, each with a weight, and how two such sequences
//! differ. Weights and places are whole numbers, so that every node counts the same.

use crate::index::WorkspaceIndex;
use crate::lexicon::TermNo;
use crate::words::Stops;

/// Only the first words of a longer record are compared: they suffice, and the cost stays bounded.
pub(super) const WORDS: usize = 512;
/// The most that a word can weigh.
const ONE: u32 = 256;
/// Counts are smoothed by this many imaginary records, of which this many have any given word: in a workspace of three
/// records, a word that two of them have is not common, and one that a single record has is not rare.
const IMAGINED: (u32, u32) = (64, 2);
/// Added to each record's word count, as words that the other lacks: two words of two say less than six of six.
const DOUBTED_WORDS: f64 = 3.0;

/// What words weigh in a workspace.
pub(super) struct Rarity {
    /// The logarithm of the number of records.
    records: u32,
    /// What it is above the logarithm of two: no fewer records have a word that is shared.
    span: u32,
}

impl Rarity {
    pub(super) fn new(counted: u32) -> Self {
        let records = log2(counted.saturating_add(IMAGINED.0));
        Self { records, span: records - log2(2) }
    }

    /// The weight of a word by the number of counted records that contain it, below [`ONE`].
    fn weight(&self, counted: u32) -> u32 {
        self.records.saturating_sub(log2(counted.max(2).saturating_add(IMAGINED.1))) * ONE / self.span
    }
}

/// In steps of 1/256, straight between powers of two: close enough, and the same on every processor.
fn log2(number: u32) -> u32 {
    let whole = number.ilog2();
    (whole << 8) + ((u64::from(number) << 8 >> whole) as u32 - 256)
}

/// A term of a record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Term {
    pub(super) number: TermNo,
    pub(super) weight: u32,
    /// In how many counted records it occurs.
    pub(super) counted: u32,
    /// The place of its first word.
    pub(super) first_at: u32,
    has_digits: bool,
}

impl Term {
    fn new(index: &WorkspaceIndex, number: TermNo, first_at: u32, rarity: &Rarity) -> Self {
        let counted = index.lexicon.counted(number);
        let has_digits = index.lexicon.stem_bytes(number).iter().any(u8::is_ascii_digit);
        Self { number, weight: rarity.weight(counted), counted, first_at, has_digits }
    }
}

/// A record that others are compared with.
pub(super) struct Page {
    /// Each once, by number.
    terms: Vec<Term>,
    /// By word: where its term is.
    words: Vec<u32>,
    /// A bit for the low end of each term's number: most words of another record are none of this one's.
    hints: u64,
}

impl Page {
    pub(super) fn read(index: &WorkspaceIndex, slot: u32, rarity: &Rarity) -> Self {
        let mut places: Vec<(TermNo, u32)> = content(index, slot).zip(0..).collect();
        places.sort_unstable();
        let (mut terms, mut words): (Vec<Term>, _) = (Vec::with_capacity(places.len()), vec![0; places.len()]);
        for (number, at) in places {
            if terms.last().is_none_or(|last| last.number != number) {
                terms.push(Term::new(index, number, at, rarity));
            }
            words[at as usize] = terms.len() as u32 - 1;
        }
        let hints = terms.iter().fold(0, |hints, term| hints | hint(term.number));
        Self { terms, words, hints }
    }

    pub(super) fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// What the record in a slot shares with this one.
    pub(super) fn overlap(&self, index: &WorkspaceIndex, slot: u32) -> Overlap {
        let mut is_shared = vec![false; self.terms.len()];
        let (mut words, mut weight) = (0, 0);
        for number in content(index, slot) {
            words += 1;
            if let Some(at) = self.find(number)
                && !std::mem::replace(&mut is_shared[at], true)
                && !self.terms[at].has_digits
            {
                weight += self.terms[at].weight;
            }
        }
        Overlap { is_shared, weight, length: words.min(self.words.len()) + words.min(self.terms.len()) }
    }

    /// How the record in a slot differs from this one.
    pub(super) fn difference(
        &self,
        index: &WorkspaceIndex,
        slot: u32,
        overlap: &Overlap,
        rarity: &Rarity,
    ) -> Difference {
        let (mut own, mut other) = (Side::default(), Side::default());
        for &at in &self.words {
            own.add(&self.terms[at as usize], overlap.is_shared[at as usize]);
        }
        for number in content(index, slot) {
            match self.find(number) {
                Some(at) => other.add(&self.terms[at], true),
                None => other.add(&Term::new(index, number, 0, rarity), false),
            }
        }
        Difference {
            lateness: own.lateness().max(other.lateness()),
            has_other_word: own.has_lone_word && other.has_lone_word,
            has_other_number: own.has_lone_number && other.has_lone_number,
        }
    }

    fn find(&self, number: TermNo) -> Option<usize> {
        let may_be_here = self.hints & hint(number) != 0;
        may_be_here.then(|| self.terms.binary_search_by_key(&number, |term| term.number).ok())?
    }
}

/// The content words of a record.
fn content(index: &WorkspaceIndex, slot: u32) -> impl Iterator<Item = TermNo> + '_ {
    let terms = index.records.running(slot).take(WORDS).map(|form| index.lexicon.term_and_stop(form, Stops::ENGLISH));
    terms.filter(|(_, is_stop)| !is_stop).map(|(term, _)| term)
}

fn hint(term: TermNo) -> u64 {
    1 << (term.0 % 64)
}

/// What two records share.
pub(super) struct Overlap {
    /// By term of the page.
    is_shared: Vec<bool>,
    /// What the shared terms weigh, each once. Those with digits are left out: numbers are often shared by chance.
    weight: u32,
    /// How many words the shorter one has and how many different ones, about: in code and in tables the same come
    /// again.
    length: usize,
}

impl Overlap {
    /// How much weight is shared for each word of the shorter record.
    pub(super) fn density(&self) -> f64 {
        f64::from(self.weight) / f64::from(ONE) / (self.length as f64 / 2.0 + DOUBTED_WORDS)
    }
}

/// How two records differ.
pub(super) struct Difference {
    /// Where: 0 at the beginning, 1 at the end, or nowhere in one of the two. What a sentence is about comes first as a
    /// rule, and what it says of that comes later.
    pub(super) lateness: f64,
    /// Whether each has a word that the other lacks.
    pub(super) has_other_word: bool,
    /// Whether each has a number, or another name with digits, that the other lacks.
    pub(super) has_other_number: bool,
}

/// What one of two records has that the other lacks, and where.
#[derive(Default)]
struct Side {
    /// What its words weigh.
    weight: u32,
    /// What those weigh that the other lacks.
    lone: u32,
    /// The sum of their weights, each times twice the weight up to its middle.
    lone_moment: u64,
    has_lone_word: bool,
    has_lone_number: bool,
}

impl Side {
    fn add(&mut self, term: &Term, is_shared: bool) {
        if !is_shared {
            self.lone += term.weight;
            self.lone_moment += u64::from(term.weight) * u64::from(2 * self.weight + term.weight);
            self.has_lone_word |= !term.has_digits;
            self.has_lone_number |= term.has_digits;
        }
        self.weight += term.weight;
    }

    fn lateness(&self) -> f64 {
        if self.lone == 0 {
            return 1.0;
        }
        self.lone_moment as f64 / (2.0 * f64::from(self.lone) * f64::from(self.weight))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_fall_with_the_number_of_records_and_stay_within_bounds() {
        for records in [0, 1, 2, 100, 10_000, 1_000_000, u32::MAX] {
            let rarity = Rarity::new(records);
            let weights = [0, 1, 2, 3, 10, 1_000, 1_000_000, u32::MAX].map(|counted| rarity.weight(counted));
            assert!(weights.is_sorted_by(|a, b| a >= b), "{weights:?}");
            assert!(weights[0] <= ONE && weights[0] == weights[2]);
        }
        let weight = |records, counted| f64::from(Rarity::new(records).weight(counted)) / f64::from(ONE);
        assert!((0.75..0.85).contains(&weight(2, 2)) && (0.9..0.95).contains(&weight(10_000, 2)));
        assert!((0.2..0.35).contains(&weight(10_000, 1_000)));
    }

    #[test]
    fn a_difference_is_early_or_late_by_the_weight_of_the_words_before_it() {
        let term = |weight, has_digits| Term { number: TermNo(0), weight, counted: 0, first_at: 0, has_digits };
        let lateness = |words: &[(u32, bool)]| {
            let mut side = Side::default();
            words.iter().for_each(|&(weight, is_shared)| side.add(&term(weight, false), is_shared));
            side.lateness()
        };
        assert_eq!(lateness(&[]), 1.0);
        assert_eq!(lateness(&[(10, true), (10, true)]), 1.0);
        assert_eq!(lateness(&[(10, false), (10, true)]), 0.25);
        assert_eq!(lateness(&[(10, true), (10, false)]), 0.75);
        assert_eq!(lateness(&[(10, false), (10, false)]), 0.5);
        assert_eq!(lateness(&[(0, false)]), 1.0);
    }
}
