//! How likely two records are about the same fact, by how they differ. The numbers were fitted to labelled pairs by
//! logistic regression; `mnemon-bench similar --fit` fits them again.

use super::page::Difference;

/// From which chance on a record is named.
const BAR: f64 = 0.8;
/// Two texts with less than this cosine may be about anything.
const COSINE_MIN: f64 = 0.7;
const BIAS: f64 = -8.7;
const DENSITY: f64 = 15.3;
const NEAR: f64 = 6.5;

/// What is known of two records side by side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Likeness {
    /// The weight of the shared words for each word of the shorter record.
    pub density: f64,
    /// The cosine of their vectors above 0.7, or 0.
    pub near: f64,
    /// Where they differ: 0 at the beginning, 1 at the end or, in one of them, nowhere.
    pub lateness: f64,
    /// Whether each has a word that the other lacks.
    pub has_other_word: bool,
    /// Whether each has a number that the other lacks.
    pub has_other_number: bool,
}

impl Likeness {
    /// With less, nothing else reaches the bar: neither equal vectors nor the best of differences.
    pub(super) const DENSITY_MIN: f64 = 0.14;

    pub(super) fn new(density: f64, cosine: f64, difference: &Difference) -> Self {
        let near = (cosine - COSINE_MIN).max(0.0);
        let Difference { lateness, has_other_word, has_other_number } = *difference;
        Self { density, near, lateness, has_other_word, has_other_number }
    }

    /// How likely both are about the same fact.
    pub fn chance(&self) -> f64 {
        // With another number in the same words, the place decides: `invoice 4711 was paid` names another invoice, and
        // `the job runs at 4:30` another time.
        let (base, by_lateness) = match (self.has_other_word, self.has_other_number) {
            (false, false) => (0.0, 4.7),
            (false, true) => (-3.5, 9.4),
            (true, false) => (3.3, 0.5),
            (true, true) => (-0.2, 5.1),
        };
        let odds = BIAS + DENSITY * self.density + NEAR * self.near + base + by_lateness * self.lateness;
        // libm, not the platform's: exponentials differ between systems in the last bit.
        1.0 / (1.0 + libm::exp(-odds))
    }

    /// The chance in two decimals, where it reaches the bar.
    pub(super) fn score(&self) -> Option<f64> {
        let score = (100.0 * self.chance()).round() / 100.0;
        (score >= BAR).then_some(score)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn likeness(density: f64, near: f64, lateness: f64, [has_other_word, has_other_number]: [bool; 2]) -> Likeness {
        Likeness { density, near, lateness, has_other_word, has_other_number }
    }

    #[test]
    fn a_chance_rises_with_what_is_shared_and_falls_with_an_earlier_difference() {
        for other in [[false, false], [false, true], [true, false], [true, true]] {
            let usual = likeness(0.4, 0.1, 0.5, other).chance();
            assert!(likeness(0.5, 0.1, 0.5, other).chance() > usual);
            assert!(likeness(0.4, 0.2, 0.5, other).chance() > usual);
            assert!(likeness(0.4, 0.1, 0.4, other).chance() < usual);
            assert!((0.0..1.0).contains(&usual));
        }
    }

    #[test]
    fn what_is_not_read_to_the_end_would_not_have_been_named() {
        for other in [[false, false], [false, true], [true, false], [true, true]] {
            let best = likeness(Likeness::DENSITY_MIN, 1.0 - COSINE_MIN, 1.0, other);
            assert_eq!(best.score(), None, "{other:?}: {}", best.chance());
        }
    }
}
