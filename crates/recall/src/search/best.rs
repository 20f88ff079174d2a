//! The best by score among very many, found while they pass by.

use crate::search::lexical::Matched;

/// Room from the start.
const ROOM: usize = 512;

/// Keeps the best `count`, and every one that equals the last of them: which of two equals came first must not matter.
/// They stay in the order in which they came.
pub(crate) struct Best {
    count: usize,
    kept: Vec<Matched>,
    /// Whoever scores less is not among the best. Rises.
    bar: u32,
    /// With so many the weak ones are dropped.
    crowded: usize,
}

impl Best {
    /// It is known already that the best score at least `bar`.
    pub(crate) fn new(count: usize, bar: u32) -> Self {
        let crowded = count.saturating_mul(2);
        Self { count, kept: Vec::with_capacity(crowded.min(ROOM)), bar, crowded }
    }

    pub(crate) fn bar(&self) -> u32 {
        self.bar
    }

    #[inline]
    pub(crate) fn offer(&mut self, record: Matched) {
        if record.score < self.bar {
            return;
        }
        self.kept.push(record);
        if self.kept.len() >= self.crowded {
            self.drop_weak();
            // Where very many are equal, dropping does not help.
            self.crowded = self.crowded.max(self.kept.len().saturating_mul(2));
        }
    }

    /// They, and what the last of them scores; 0 where there are not so many.
    pub(crate) fn finish(mut self) -> (Vec<Matched>, u32) {
        self.drop_weak();
        (self.kept, self.bar)
    }

    fn drop_weak(&mut self) {
        if self.kept.len() <= self.count || self.count == 0 {
            return;
        }
        let mut scores: Vec<u32> = self.kept.iter().map(|record| record.score).collect();
        self.bar = *scores.select_nth_unstable_by(self.count - 1, |a, b| b.cmp(a)).1;
        // Without a branch: whether a record stays can't be guessed.
        let mut end = 0;
        for at in 0..self.kept.len() {
            let record = self.kept[at];
            self.kept[end] = record;
            end += usize::from(record.score >= self.bar);
        }
        self.kept.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_stay_in_their_order_and_equals_stay_together() {
        for (count, modulus) in [(1, 50), (10, 50), (10, 3), (100, 1_000), (5_000, 50)] {
            let all: Vec<Matched> =
                (0..1_000_u32).map(|slot| Matched { slot, score: slot * 7_919 % 1_009 % modulus, seen: 1 }).collect();
            let mut best = Best::new(count, 0);
            all.iter().for_each(|&record| best.offer(record));
            let mut scores: Vec<u32> = all.iter().map(|record| record.score).collect();
            scores.sort_unstable_by(|a, b| b.cmp(a));
            let last = if scores.len() > count { scores[count - 1] } else { 0 };
            let expected: Vec<Matched> = all.iter().copied().filter(|record| record.score >= last).collect();
            assert_eq!(best.finish(), (expected, last), "{count} of scores below {modulus}");
        }
    }
}
