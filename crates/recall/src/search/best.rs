//! The best by score among very many, found while they pass by.

use crate::search::lexical::Matched;

/// Room from the start.
const ROOM: usize = 1_024;
/// The number of steps in which scores are counted.
const STEPS: usize = 384;
/// Scores below this power of two, 1/128 of one, are all on the first step.
const FINEST: u32 = 9;

/// Keeps the best `count`, and every one that equals the last of them: which of two equals came first must not matter.
/// They stay in the order in which they came.
pub(crate) struct Best {
    count: usize,
    kept: Vec<Matched>,
    /// Lower scores are not among the best. Only rises.
    bar: u32,
    /// How many scored what, in steps.
    counts: Box<[u32; STEPS]>,
    /// The step of the bar, and how many are on it or above.
    step: usize,
    above: usize,
}

impl Best {
    /// It is known already that the best score at least `bar`.
    pub(crate) fn new(count: usize, bar: u32) -> Self {
        let kept = Vec::with_capacity(count.saturating_mul(4).min(ROOM));
        Self { count, kept, bar, counts: Box::new([0; STEPS]), step: step_of(bar), above: 0 }
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
        self.counts[step_of(record.score)] += 1;
        self.above += 1;
        // Enough are above the whole of the bar's step: it rises to the next.
        while self.above - self.counts[self.step] as usize >= self.count && self.count > 0 {
            self.above -= self.counts[self.step] as usize;
            self.step += 1;
            self.bar = start_of(self.step);
        }
    }

    /// The best `count` and the lowest score among them (the initial bar if there are fewer).
    pub(crate) fn finish(mut self) -> (Vec<Matched>, u32) {
        if self.kept.len() >= self.count && self.count > 0 {
            self.drop_below(self.bar);
            let mut scores: Vec<u32> = self.kept.iter().map(|record| record.score).collect();
            self.bar = *scores.select_nth_unstable_by(self.count - 1, |a, b| b.cmp(a)).1;
            self.drop_below(self.bar);
        }
        (self.kept, self.bar)
    }

    fn drop_below(&mut self, bar: u32) {
        // Without a branch: whether a record stays can't be guessed.
        let mut end = 0;
        for at in 0..self.kept.len() {
            let record = self.kept[at];
            self.kept[end] = record;
            end += usize::from(record.score >= bar);
        }
        self.kept.truncate(end);
    }
}

/// The step of a score: sixteen for each doubling.
#[inline]
fn step_of(score: u32) -> usize {
    let score = score.max(1 << FINEST);
    let doublings = score.ilog2();
    ((doublings - FINEST) << 4 | (score >> (doublings - 4) & 0xF)) as usize
}

/// The lowest score of a step.
fn start_of(step: usize) -> u32 {
    let (doublings, part) = ((step >> 4) as u32 + FINEST, step as u32 & 0xF);
    if step == 0 { 0 } else { (0x10 | part) << (doublings - 4) }
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
            let last = scores.get(count - 1).copied().unwrap_or(0);
            let expected: Vec<Matched> = all.iter().copied().filter(|record| record.score >= last).collect();
            assert_eq!(best.finish(), (expected, last), "{count} of scores below {modulus}");
        }
    }
}
