//! The statistics that turn counts of words into scores. Whole numbers come out: sums of floats depend on the order of
//! the terms and of the records; whole numbers give every node, every order of arrival and every rebuild the same
//! answer to the bit.

use std::sync::atomic::{AtomicU32, Ordering};

/// Saturation of repeated words.
const K1: f32 = 1.2;
/// How much long records are held back.
const B: f32 = 0.75;
/// What a word counts that is only beside the text, in a record's source or key.
const BESIDE: f32 = 0.5;
/// What a score of one is as a whole number.
pub(crate) const ONE: f32 = 65_536.0;
/// No sum of words is larger: the words of a query weigh little enough together (`query.rs`).
pub(crate) const SCORE_MAX: u32 = i32::MAX as u32;
/// How many classes of length there are.
pub(crate) const CLASSES: usize = 256;
/// Up to here each length is a class of its own; beyond, sixteen lengths share one.
const OWN_CLASS: u16 = 128;
/// Counts of a term in a record up to here have their worth ready.
const FEW: usize = 4;
/// Counts below this have their idf kept.
const IDFS: usize = 256;
/// The mean length where nothing is counted yet.
const TYPICAL_LENGTH: f64 = 20.0;

/// Sums over the counted records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) records: u32,
    pub(crate) length: u64,
}

/// The statistics that turn counts into weights.
pub(crate) struct Bm25 {
    records: f64,
    mean_length: f32,
    /// By class of length.
    norms: [f32; CLASSES],
    /// What a term is worth that occurs once, twice … in a record of each class.
    few: [[f32; CLASSES]; FEW],
    /// What `idf` gave for small counts, or nothing yet: most words are rare, and a logarithm for each of the lenders'
    /// words takes longer than all the rest of lending. By their bits; 0 means nothing.
    idfs: [AtomicU32; IDFS],
}

impl Bm25 {
    pub(crate) fn new(totals: Totals) -> Self {
        let Totals { records, length } = totals;
        let mean_length = if length == 0 { TYPICAL_LENGTH } else { length as f64 / f64::from(records) };
        let mut bm25 = Self {
            records: f64::from(records),
            mean_length: mean_length as f32,
            norms: [0.0; CLASSES],
            few: [[0.0; CLASSES]; FEW],
            idfs: [const { AtomicU32::new(0) }; IDFS],
        };
        bm25.norms = std::array::from_fn(|class| bm25.compute_norm(length_of(class as u16)));
        for (count, few) in (1..).zip(&mut bm25.few) {
            *few = bm25.norms.map(|norm| saturation(count, norm));
        }
        bm25
    }

    /// How many records are counted.
    pub(crate) fn records(&self) -> u32 {
        self.records as u32
    }

    /// How informative a term is that occurs in `counted` records.
    pub(crate) fn idf(&self, counted: u32) -> f32 {
        let Some(known) = self.idfs.get(counted as usize) else { return self.compute_idf(counted) };
        match known.load(Ordering::Relaxed) {
            0 => {
                let idf = self.compute_idf(counted);
                known.store(idf.to_bits(), Ordering::Relaxed);
                idf
            }
            bits => f32::from_bits(bits),
        }
    }

    fn compute_idf(&self, counted: u32) -> f32 {
        let counted = f64::from(counted);
        // libm, not the platform's: logarithms differ between systems in the last bit.
        libm::log(1.0 + (self.records - counted + 0.5) / (counted + 0.5)) as f32
    }

    /// How much of its full weight a term reaches that occurs `count` times in a record of this class.
    #[inline(always)]
    pub(crate) fn saturation(&self, count: u32, class: u8) -> f32 {
        match self.few.get(count.wrapping_sub(1) as usize) {
            Some(by_class) => by_class[usize::from(class)],
            None => saturation(count, self.norms[usize::from(class)]),
        }
    }

    /// What a term with this factor is worth where it occurs once, by class of length.
    pub(crate) fn worths_of_one(&self, factor: f64, worths: &mut [u32; CLASSES]) {
        for (worth, &saturation) in worths.iter_mut().zip(&self.few[0]) {
            *worth = contribution(factor, saturation);
        }
    }

    #[inline]
    pub(crate) fn norm(&self, length: u16) -> f32 {
        self.norms[usize::from(class_of(length))]
    }

    fn compute_norm(&self, length: f32) -> f32 {
        K1 * (1.0 - B + B * length / self.mean_length)
    }
}

/// The class of a record's length. Very long ones are as long as each other.
#[inline(always)]
pub(crate) fn class_of(length: u16) -> u8 {
    let class = if length < OWN_CLASS { length } else { length / 16 + (OWN_CLASS - OWN_CLASS / 16) };
    class.min(CLASSES as u16 - 1) as u8
}

/// The length that represents a class: the middle one.
fn length_of(class: u16) -> f32 {
    let length = if class < OWN_CLASS { class } else { (class - (OWN_CLASS - OWN_CLASS / 16)) * 16 + 8 };
    f32::from(length)
}

/// How much of its full weight a term reaches that occurs `count` times in a record's text; 0 for one beside it.
#[inline]
pub(crate) fn saturation(count: u32, norm: f32) -> f32 {
    let count = if count == 0 { BESIDE } else { count as f32 };
    (K1 + 1.0) * count / (count + norm)
}

/// Weight × idf as a factor of whole numbers. Limited, so that no query of a thousand equal words overflows.
pub(crate) fn factor(weight: f32, idf: f32) -> f64 {
    const FACTOR_MAX: f64 = 1e9;
    (f64::from(weight) * f64::from(idf) * f64::from(ONE)).min(FACTOR_MAX)
}

/// The share of one term in a record's score, rounded.
#[inline]
pub(crate) fn contribution(factor: f64, saturation: f32) -> u32 {
    // Adding 2^52 leaves the rounded number in the low bits: the plain conversion checks its range for every posting.
    const TWO_TO_52: f64 = 4_503_599_627_370_496.0;
    (factor * f64::from(saturation) + TWO_TO_52).to_bits() as u32
}

/// The root of a score, in the same units: long matches count on, but less and less.
#[inline]
pub(crate) fn root(score: u32) -> u32 {
    // Exact: the product has less than 52 bits, so the rounded root never reaches the next whole number.
    (f64::from(score) * f64::from(ONE)).sqrt() as u32
}

/// How many units of [`root`] one of [`coarse_root`] is.
pub(crate) const COARSE: f64 = 64.0;

/// The root of a score in 16 bits, for sums over many records. Roots of floats are exact to the last bit everywhere, so
/// every processor gives the same.
#[inline(always)]
pub(crate) fn coarse_root(score: u32) -> u16 {
    const LARGEST: u32 = i16::MAX as u32;
    // Adding 2^23 leaves the rounded number in the low bits. The plain conversion checks its range, one by one.
    const TWO_TO_23: f32 = 8_388_608.0;
    // One in these units is 1,024: a root of a score in 1/65,536, times four.
    let root = (score.min(SCORE_MAX) as i32 as f32).sqrt() * 4.0;
    ((root + TWO_TO_23).to_bits() - TWO_TO_23.to_bits()).min(LARGEST) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_a_class_are_close_to_the_one_that_stands_for_it() {
        for length in 0..2_176 {
            let stands = length_of(u16::from(class_of(length)));
            assert!(
                (stands - f32::from(length)).abs() <= if length < OWN_CLASS { 0.0 } else { 8.0 },
                "{length}: {stands}"
            );
        }
        assert_eq!([2_175, 2_176, u16::MAX].map(class_of), [255; 3]);
    }

    #[test]
    fn a_coarse_root_is_the_root_in_fewer_bits() {
        for score in [0, 1, 15, 16, 17, 65_535, 65_536, 65_537, 1 << 20, 9_999_999] {
            let (fine, coarse) = (f64::from(root(score)) / COARSE, f64::from(coarse_root(score)));
            assert!((fine - coarse).abs() <= 1.0, "{score}: {fine} {coarse}");
        }
        assert_eq!([SCORE_MAX, u32::MAX].map(coarse_root), [32_767; 2]);
    }
}
