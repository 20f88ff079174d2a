//! Waits a moment for more acts before a commit.
//!
//! A commit costs about the same however many acts it contains: the pages that all of them change, and one sync. When
//! many callers save at once, those that were answered together are about to call again, and a commit that starts with
//! the first of them leaves the others for the next. A handful of callers never waits: there the wait costs more than
//! it saves.

use std::time::{Duration, Instant};

/// From this many concurrent acts on, waiting pays. With 8 callers it cost a sixth of the saves; with 64 it gained an
/// eighth.
const ACTS_MIN: usize = 12;
/// Never longer than this, however long commits take.
const WAIT_MAX: Duration = Duration::from_millis(2);
/// How often to check who has arrived.
const LOOK_EVERY: Duration = Duration::from_micros(100);

/// How many came last time, and how long that took.
#[derive(Default)]
pub(super) struct CommitDelay {
    acts: usize,
    took: Duration,
}

impl CommitDelay {
    /// Waits for as many acts as were committed last, at most as long as that took. `waiting` says how many are there.
    pub(super) fn wait(&self, waiting: impl Fn() -> usize) {
        self.wait_by(waiting, || {
            let began = Instant::now();
            std::thread::sleep(LOOK_EVERY);
            began.elapsed()
        });
    }

    /// The same, with a pause function that returns how long it paused.
    fn wait_by(&self, waiting: impl Fn() -> usize, pause: impl Fn() -> Duration) {
        if self.acts < ACTS_MIN {
            return;
        }
        let mut left = self.took.min(WAIT_MAX);
        while waiting() < self.acts && left > Duration::ZERO {
            left = left.saturating_sub(pause());
        }
    }

    /// Records a commit.
    pub(super) fn note(&mut self, acts: usize, took: Duration) {
        (self.acts, self.took) = (acts, took);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn after(acts: usize, took: Duration) -> CommitDelay {
        let mut commit_delay = CommitDelay::default();
        commit_delay.note(acts, took);
        commit_delay
    }

    /// How often it checked, with this many more acts at each check, and the same time between two checks.
    fn looks(commit_delay: &CommitDelay, more_each: usize) -> usize {
        let looks = Cell::new(0);
        let look = || {
            looks.set(looks.get() + 1);
            looks.get() * more_each
        };
        commit_delay.wait_by(look, || LOOK_EVERY);
        looks.get()
    }

    #[test]
    fn a_handful_of_callers_waits_for_nobody() {
        assert_eq!(looks(&CommitDelay::default(), 1), 0);
        assert_eq!(looks(&after(ACTS_MIN - 1, WAIT_MAX), 1), 0);
    }

    #[test]
    fn as_many_as_last_time_are_waited_for() {
        assert_eq!(looks(&after(ACTS_MIN, WAIT_MAX), 1), ACTS_MIN);
        assert_eq!(looks(&after(ACTS_MIN, WAIT_MAX), ACTS_MIN), 1);
    }

    #[test]
    fn nobody_is_waited_for_longer_than_the_last_commit_took() {
        assert_eq!(looks(&after(1_000, LOOK_EVERY * 3), 0), 3 + 1);
        let looks_max = WAIT_MAX.div_duration_f64(LOOK_EVERY) as usize + 1;
        assert_eq!(looks(&after(1_000, WAIT_MAX), 0), looks_max);
        assert_eq!(
            looks(&after(1_000, Duration::from_secs(60)), 0),
            looks_max,
            "a slow commit does not make waiting slow"
        );
    }

    #[test]
    fn a_real_wait_ends() {
        after(1_000, Duration::from_secs(60)).wait(|| 1);
    }
}
