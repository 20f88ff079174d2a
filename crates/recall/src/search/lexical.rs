//! How well the words fit: BM25 over the postings, a window of slots at a time so that the sums stay in the cache.
//!
//! Scores are whole numbers from the first addition on. Sums of floats depend on the order of the terms and of the
//! records; whole numbers give every node, every order of arrival and every rebuild the same answer to the bit.

use std::cell::Cell;

use crate::index::WorkspaceIndex;
use crate::lexicon::TermNo;
use crate::postings;
use crate::records::Seen;

/// Saturation of repeated words.
const K1: f32 = 1.2;
/// How much long records are held back.
const B: f32 = 0.75;
/// What a word counts that stands beside the text only, in a record's source or key.
const BESIDE: f32 = 0.5;
/// What a score of one is as a whole number.
pub(crate) const ONE: f32 = 65_536.0;
/// Slots per window: sums for this many stay in the cache of one core.
const WINDOW: usize = 16_384;
/// Lengths up to here have their norm ready; longer records are rare.
const NORMS: usize = 256;
/// Counts below this have their idf kept.
const IDFS: usize = 256;
/// The mean length where nothing is counted yet.
const TYPICAL_LENGTH: f64 = 20.0;

/// A term to be scored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weighted {
    pub(crate) term: TermNo,
    /// How much it counts.
    pub(crate) weight: f32,
    /// Added to `Matched::seen` of the records that have it.
    pub(crate) mark: u32,
}

/// A record that has at least one of the terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Matched {
    pub(crate) slot: u32,
    /// In units of 1 / `ONE`.
    pub(crate) score: u32,
    /// The sum of the marks of the terms it has.
    pub(crate) seen: u32,
}

/// The statistics that turn counts into weights.
pub(crate) struct Bm25 {
    records: f64,
    mean_length: f32,
    norms: [f32; NORMS],
    /// What a term that stands once in a record of each length is worth.
    once: [f64; NORMS],
    /// What `idf` gave for small counts, or nothing yet: most words are rare, and a logarithm for each of the lenders' words
    /// takes longer than all the rest of lending.
    idfs: [Cell<Option<f32>>; IDFS],
}

impl Bm25 {
    pub(crate) fn new(index: &WorkspaceIndex) -> Self {
        Self::of(index.totals.records, index.totals.length)
    }

    /// Over so many counted records of so many words together.
    pub(crate) fn of(records: u32, length: u64) -> Self {
        let mean_length = if length == 0 { TYPICAL_LENGTH } else { length as f64 / f64::from(records) };
        let mut bm25 = Self {
            records: f64::from(records),
            mean_length: mean_length as f32,
            norms: [0.0; NORMS],
            once: [0.0; NORMS],
            idfs: [const { Cell::new(None) }; IDFS],
        };
        bm25.norms = std::array::from_fn(|length| bm25.compute_norm(length as f32));
        bm25.once = bm25.norms.map(|norm| saturation(1, norm));
        bm25
    }

    /// How telling a term is that stands in `counted` records.
    pub(crate) fn idf(&self, counted: u32) -> f32 {
        let Some(known) = self.idfs.get(counted as usize) else { return self.compute_idf(counted) };
        known.get().unwrap_or_else(|| {
            let idf = self.compute_idf(counted);
            known.set(Some(idf));
            idf
        })
    }

    fn compute_idf(&self, counted: u32) -> f32 {
        let counted = f64::from(counted);
        // libm, not the platform's: logarithms differ between systems in the last bit.
        libm::log(1.0 + (self.records - counted + 0.5) / (counted + 0.5)) as f32
    }

    #[inline]
    pub(crate) fn norm(&self, length: u16) -> f32 {
        match self.norms.get(usize::from(length)) {
            Some(&norm) => norm,
            None => self.compute_norm(f32::from(length)),
        }
    }

    fn compute_norm(&self, length: f32) -> f32 {
        K1 * (1.0 - B + B * length / self.mean_length)
    }
}

/// How much of its full weight a term reaches that stands `count` times in a record's text; 0 for one beside it.
#[inline]
pub(crate) fn saturation(count: u32, norm: f32) -> f64 {
    let count = if count == 0 { BESIDE } else { count as f32 };
    f64::from((K1 + 1.0) * count / (count + norm))
}

/// Weight × idf as a factor of whole numbers. Limited, so that no query of a thousand equal words overflows.
pub(crate) fn factor(weight: f32, idf: f32) -> f64 {
    const FACTOR_MAX: f64 = 1e9;
    (f64::from(weight) * f64::from(idf) * f64::from(ONE)).min(FACTOR_MAX)
}

/// The share of one term in a record's score, rounded.
#[inline]
pub(crate) fn contribution(factor: f64, saturation: f64) -> u32 {
    // Adding 2^52 leaves the rounded number in the low bits: the plain conversion checks its range for every posting.
    const TWO_TO_52: f64 = 4_503_599_627_370_496.0;
    (factor * saturation + TWO_TO_52).to_bits() as u32
}

/// The root of a score, in the same units: long matches count on, but less and less.
#[inline]
pub(crate) fn root(score: u32) -> u32 {
    // Exact: the product has less than 52 bits, so the rounded root never reaches the next whole number.
    (f64::from(score) * f64::from(ONE)).sqrt() as u32
}

/// Calls `found` for every visible record that has one of the terms, in order of slots.
pub(crate) fn score(
    index: &WorkspaceIndex,
    bm25: &Bm25,
    terms: &[Weighted],
    seen: &Seen<'_>,
    mut found: impl FnMut(Matched),
) {
    let mut cursors: Vec<Cursor<'_>> = terms.iter().map(|term| Cursor::new(index, bm25, *term)).collect();
    let lengths = index.records.lengths();
    let mut window = Window::new(WINDOW.min(lengths.len()));
    for (number, lengths) in lengths.chunks(WINDOW).enumerate() {
        let start = (number * WINDOW) as u32;
        for cursor in &mut cursors {
            cursor.add_to(&mut window, lengths, start, bm25);
        }
        window.drain(|at, score, marks| {
            let slot = start + at;
            if seen.contains(slot) {
                found(Matched { slot, score, seen: marks });
            }
        });
    }
}

/// The sums of some thousand neighbouring slots.
struct Window {
    sums: Vec<(u32, u32)>,
    /// One bit per slot that has a sum: most windows are nearly empty.
    touched: Vec<u64>,
}

impl Window {
    fn new(slots: usize) -> Self {
        Self { sums: vec![(0, 0); slots], touched: vec![0; slots.div_ceil(64)] }
    }

    #[inline]
    fn add(&mut self, at: usize, score: u32, mark: u32) {
        let sum = &mut self.sums[at];
        sum.0 = sum.0.saturating_add(score);
        sum.1 += mark;
        self.touched[at / 64] |= 1 << (at % 64);
    }

    /// Hands out what was added, in order, and is empty again.
    fn drain(&mut self, mut each: impl FnMut(u32, u32, u32)) {
        for (group, touched) in self.touched.iter_mut().enumerate() {
            let mut left = std::mem::take(touched);
            while left != 0 {
                let at = group * 64 + left.trailing_zeros() as usize;
                left &= left - 1;
                let (score, marks) = std::mem::take(&mut self.sums[at]);
                each(at as u32, score, marks);
            }
        }
    }
}

/// A term on its way through the windows.
struct Cursor<'a> {
    postings: postings::Iter<'a>,
    /// The first posting behind the last window.
    next: Option<postings::Posting>,
    factor: f64,
    mark: u32,
}

impl<'a> Cursor<'a> {
    fn new(index: &'a WorkspaceIndex, bm25: &Bm25, weighted: Weighted) -> Self {
        let term = index.lexicon.term(weighted.term);
        let mut postings = term.postings.iter();
        let next = postings.next();
        Self { postings, next, factor: factor(weighted.weight, bm25.idf(term.counted)), mark: weighted.mark }
    }

    fn add_to(&mut self, window: &mut Window, lengths: &[u16], start: u32, bm25: &Bm25) {
        let end = start + lengths.len() as u32;
        let mut next = self.next;
        while let Some(posting) = next
            && posting.slot < end
        {
            let at = (posting.slot - start) as usize;
            let saturation = match bm25.once.get(usize::from(lengths[at])) {
                Some(&once) if posting.count == 1 => once,
                _ => saturation(posting.count, bm25.norm(lengths[at])),
            };
            window.add(at, contribution(self.factor, saturation), self.mark);
            next = self.postings.next();
        }
        self.next = next;
    }
}
