//! A record as it is compared: its content words in reading order, each with a weight, and how two such sequences differ.
//! Weights and places are whole numbers, so that every node counts the same.

use crate::index::WorkspaceIndex;
use crate::lexicon::TermNo;

/// Of a longer record the beginning is compared: it tells well enough, and the cost stays bounded.
const WORDS: usize = 512;
/// The most that a word can weigh.
const ONE: u32 = 256;
/// So many records more are imagined, and so many of them to have a word: in a workspace of three, a word of two is not
/// common, nor is it telling.
const IMAGINED: (u32, u32) = (64, 4);
/// So many words more a record is taken to have, which the other has not: two words of two say less than six of six.
const DOUBTED_WORDS: u32 = 3;

/// What words weigh in a workspace.
pub(super) struct Rarity {
    /// The logarithm of the number of records.
    records: u32,
    /// By how much that of a count can be smaller. Two records have a word that is shared.
    span: u32,
}

impl Rarity {
    pub(super) fn new(counted: u32) -> Self {
        let records = log2(counted.saturating_add(IMAGINED.0));
        Self { records, span: records - log2(2) }
    }

    /// The weight of a word that stands in so many counted records, up to [`ONE`].
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
    /// In how many counted records it stands.
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
        let (mut terms, mut words): (Vec<Term>, Vec<u32>) = (Vec::with_capacity(places.len()), vec![0; places.len()]);
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

    fn find(&self, number: TermNo) -> Option<usize> {
        if self.hints & hint(number) == 0 {
            return None;
        }
        self.terms.binary_search_by_key(&number, |term| term.number).ok()
    }

    /// What the record in a slot shares with this one.
    pub(super) fn overlap(&self, index: &WorkspaceIndex, slot: u32) -> Overlap {
        let mut is_shared = vec![false; self.terms.len()];
        let mut words = 0;
        let mut weight = 0;
        for number in content(index, slot) {
            words += 1;
            if let Some(at) = self.find(number)
                && !std::mem::replace(&mut is_shared[at], true)
                && !self.terms[at].has_digits
            {
                weight += self.terms[at].weight;
            }
        }
        Overlap { is_shared, weight, words: words.min(self.words.len() as u32) }
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
            word_replaced: own.has_lone_word && other.has_lone_word,
            number_replaced: own.has_lone_number && other.has_lone_number,
        }
    }
}

/// The content words of a record.
fn content(index: &WorkspaceIndex, slot: u32) -> impl Iterator<Item = TermNo> + '_ {
    let terms = index.records.running(slot).take(WORDS).map(|form| index.lexicon.term_and_stop(form));
    terms.filter(|(_, is_stop)| !is_stop).map(|(term, _)| term)
}

fn hint(term: TermNo) -> u64 {
    1 << (term.0 % 64)
}

/// What two records share.
pub(super) struct Overlap {
    /// By term of the page.
    is_shared: Vec<bool>,
    /// What the shared terms without digits weigh, each once. Numbers are shared by chance.
    weight: u32,
    /// How many words the shorter one has.
    words: u32,
}

impl Overlap {
    /// How much is shared for each word of the shorter record, from 0 to nearly 1.
    pub(super) fn density(&self) -> f64 {
        f64::from(self.weight) / f64::from(ONE) / f64::from(self.words + DOUBTED_WORDS)
    }
}

/// How two records differ.
pub(super) struct Difference {
    /// Where: 0 at the beginning, 1 at the end, or nowhere in one of them. What is said of comes first as a rule, and what
    /// is said of it later.
    pub(super) lateness: f64,
    /// Whether each has a word that the other has not.
    pub(super) word_replaced: bool,
    /// The same for numbers, and whatever has digits.
    pub(super) number_replaced: bool,
}

/// What one of two records has that the other has not, and where.
#[derive(Default)]
struct Side {
    /// What its words weigh.
    weight: u32,
    /// What those weigh that the other has not.
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
