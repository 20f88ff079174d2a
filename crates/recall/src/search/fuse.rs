//! Bringing two kinds of scores to one scale: each is counted in standard deviations over the records scored.

use crate::meaning::NO_VECTOR;

/// Mean and spread of a score, from exact sums.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Spread {
    records: u64,
    sum: i128,
    squares: i128,
}

impl Spread {
    /// Adds a score of at most 31 bits.
    #[inline]
    pub(crate) fn add(&mut self, score: i64) {
        debug_assert!(score.unsigned_abs() < 1 << 31, "its square fits 64 bits");
        self.records += 1;
        self.sum += i128::from(score);
        self.squares += i128::from(score * score);
    }

    /// Adds many small scores at once. Sums of 64 bits hold them: a cosine has 21 bits, and a workspace under 2^22
    /// records.
    pub(crate) fn add_nearness(&mut self, scores: &[i32]) {
        let (mut records, mut sum, mut squares) = (0_u64, 0_i64, 0_i64);
        for &score in scores {
            let is_one = i64::from(score != NO_VECTOR);
            let score = i64::from(score) * is_one;
            records += is_one.cast_unsigned();
            sum += score;
            squares += score * score;
        }
        self.records += records;
        self.sum += i128::from(sum);
        self.squares += i128::from(squares);
    }

    /// Adds the scores of many records at once, by their sum and the sum of their squares. How many they are is said by
    /// [`Spread::add_zeros_up_to`].
    pub(crate) fn add_moments(&mut self, (sum, squares): (u64, u64)) {
        self.sum += i128::from(sum);
        self.squares += i128::from(squares);
    }

    /// A record that was added with the score `before` has `after`.
    pub(crate) fn replace(&mut self, before: i64, after: i64) {
        self.sum += i128::from(after - before);
        self.squares += i128::from(after * after - before * before);
    }

    /// What was added is a sample: `known` records of `all`.
    pub(crate) fn stretch(&mut self, known: usize, all: usize) {
        if 0 < known && known < all {
            let stretch = |sum: i128| sum * all as i128 / known as i128;
            (self.sum, self.squares) = (stretch(self.sum), stretch(self.squares));
        }
    }

    /// Counts further records that scored 0.
    pub(crate) fn add_zeros_up_to(&mut self, records: u64) {
        self.records = self.records.max(records);
    }

    /// How many records, their mean and their variance.
    pub(crate) fn moments(&self) -> (f64, f64, f64) {
        let records = i128::from(self.records);
        if records == 0 {
            return (0.0, 0.0, 0.0);
        }
        let variance = (records * self.squares - self.sum * self.sum).max(0);
        let count = self.records as f64;
        (count, self.sum as f64 / count, variance as f64 / (count * count))
    }

    /// From score to standard deviations above the mean.
    pub(crate) fn scale(&self) -> Scale {
        let records = i128::from(self.records);
        // The variance times records², exact: no rounding to a false spread where all scores are equal.
        let variance = records * self.squares - self.sum * self.sum;
        if self.records == 0 || variance <= 0 {
            return Scale::default();
        }
        let records = self.records as f64;
        Scale { mean: self.sum as f64 / records, per_deviation: records / (variance as f64).sqrt() }
    }
}

/// Turns scores into standard deviations. Where all scores were equal, everything is 0.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Scale {
    mean: f64,
    per_deviation: f64,
}

impl Scale {
    #[inline]
    pub(crate) fn deviations(&self, score: f64) -> f64 {
        (score - self.mean) * self.per_deviation
    }
}
