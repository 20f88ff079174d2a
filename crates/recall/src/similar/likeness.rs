//! How likely two records are about the same fact, from how they differ. The numbers were fitted by logistic regression to
//! labelled pairs; `mnemon-bench similar --fit` fits them again.

use super::page::Difference;

/// Up to this cosine two texts may be about anything.
const FAR: f64 = 0.7;
const BIAS: f64 = -8.73;
const DENSITY: f64 = 16.3;
const NEAR: f64 = 4.7;

/// What is known of two records beside each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Likeness {
    pub density: f64,
    pub near: f64,
    pub late: f64,
    pub word_replaced: bool,
    pub number_replaced: bool,
}

impl Likeness {
    pub(super) const DENSITY_MIN: f64 = 0.148;

    pub(super) fn new(density: f64, cosine: f64, difference: &Difference) -> Self {
        Self {
            density,
            near: (cosine - FAR).max(0.0),
            late: difference.lateness,
            word_replaced: difference.word_replaced,
            number_replaced: difference.number_replaced,
        }
    }

    pub fn chance(&self) -> f64 {
        let (replaced, late) = match (self.word_replaced, self.number_replaced) {
            (false, false) => (0.0, 4.98),
            (false, true) => (-2.23, 8.23),
            (true, false) => (3.27, 0.94),
            (true, true) => (1.04, 4.19),
        };
        let odds = BIAS + DENSITY * self.density + NEAR * self.near + replaced + late * self.late;
        1.0 / (1.0 + libm::exp(-odds))
    }

    pub(super) fn score(&self) -> f64 {
        (100.0 * self.chance()).round() / 100.0
    }
}
