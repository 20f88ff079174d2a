//! Counts of verdicts, their rates, and 95 % intervals.

use mnemon_guard::Verdict;
use serde::Serialize;

use crate::figures::rounded;

/// Verdicts on the texts of one row.
#[derive(Default, Clone, Copy)]
pub(super) struct Tally {
    pub(super) refused: usize,
    pub(super) doubtful: usize,
    pub(super) all: usize,
}

impl Tally {
    pub(super) fn of(verdicts: impl IntoIterator<Item = Verdict>) -> Tally {
        let mut tally = Tally::default();
        for verdict in verdicts {
            tally.refused += usize::from(verdict == Verdict::Refuse);
            tally.doubtful += usize::from(verdict == Verdict::Caution);
            tally.all += 1;
        }
        tally
    }

    pub(super) fn refused_percent(self) -> f64 {
        percent(self.refused, self.all)
    }

    /// Refused or doubtful.
    pub(super) fn noticed_percent(self) -> f64 {
        percent(self.refused + self.doubtful, self.all)
    }

    pub(super) fn doubtful_percent(self) -> f64 {
        percent(self.doubtful, self.all)
    }

    pub(super) fn cells(self) -> Cells {
        let (low, high) = wilson(self.refused, self.all);
        let [refused, low, high, noticed] =
            [self.refused_percent(), low, high, self.noticed_percent()].map(|percent| rounded(percent, 2));
        Cells { all: self.all, refused, low, high, noticed }
    }
}

/// How many there are, the share refused with its interval, and the share refused or doubtful, in percent.
#[derive(Serialize)]
pub(super) struct Cells {
    all: usize,
    refused: f64,
    low: f64,
    high: f64,
    noticed: f64,
}

impl std::fmt::Display for Cells {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { all, refused, low, high, noticed } = self;
        write!(f, "{all:6}  {refused:6.2} [{low:5.2}–{high:6.2}]  {noticed:6.2}")
    }
}

fn percent(part: usize, all: usize) -> f64 {
    100.0 * part as f64 / all.max(1) as f64
}

/// The 95 % interval of a share by Wilson, in percent.
fn wilson(part: usize, all: usize) -> (f64, f64) {
    const Z: f64 = 1.96;
    if all == 0 {
        return (0.0, 100.0);
    }
    let n = all as f64;
    let share = part as f64 / n;
    let centre = share + Z * Z / (2.0 * n);
    let reach = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 100.0 / (1.0 + Z * Z / n);
    (((centre - reach) * scale).max(0.0), ((centre + reach) * scale).min(100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_wilson() {
        let (low, high) = wilson(87, 100);
        assert!((low - 79.02).abs() < 0.01 && (high - 92.24).abs() < 0.01, "{low} {high}");
        assert_eq!(wilson(0, 0), (0.0, 100.0));
        assert_eq!(wilson(0, 50).0, 0.0);
    }
}
