//! When the next flight of saves leaves, and how many it takes.
//!
//! A single save costs one or two round trips, two statements and a sync of the log; so do fifty of them together. So saves that
//! come while a flight is aloft gather for the next one. Two or more flights are aloft when enough wait for that: while one
//! waits for the server's disk, the server works for another.

use std::time::Duration;

use tokio::time::Instant;

/// How many flights of many projects a node has aloft at most.
pub(super) const ALOFT_MAX: usize = 4;
/// With so many waiting, the next flight does not wait for the one that is aloft. Nor does a flight take on more, unless twice
/// as many wait. A project is on one flight at a time: with all of them aloft nobody could fly meanwhile, the node would have
/// nothing to do, and then, with everybody answered at once, the database.
const FULL: usize = 64;
/// A flight does not wait longer than this for another one, which may wait for a lock.
const LATE: Duration = Duration::from_millis(100);

/// From this many saves in a flight on, the next one waits for company. Those that were answered together are about to save
/// again, and a flight that leaves with the first of them leaves the others for the next.
const COMPANY_MIN: usize = 8;
/// Never longer than this, nor than a quarter of what the last flight took.
const COMPANY_WAIT_MAX: Duration = Duration::from_millis(5);

/// When the next flight leaves, as things are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    Now,
    /// Nothing changes before so many more have come, or until then, or until a flight lands.
    Wait {
        more: usize,
        until: Option<Instant>,
    },
}

/// What was seen of the flights so far.
pub(super) struct Departures {
    full: usize,
    batch_max: usize,
    /// Since when the next flight waits for company.
    gathering_since: Option<Instant>,
    /// How many the last flight stored, and how long that took.
    company: usize,
    took: Duration,
}

impl Departures {
    pub(super) fn new(batch_max: usize) -> Self {
        Self { full: FULL.min(batch_max), batch_max, gathering_since: None, company: 0, took: Duration::ZERO }
    }

    /// How many saves a flight takes on at most, with so many ready. Where very many wait, it takes half: few large flights
    /// cost the server less than many small ones.
    pub(super) fn most(&self, ready: usize) -> usize {
        self.full.max(ready.div_ceil(2)).min(self.batch_max)
    }

    pub(super) fn left(&mut self) {
        self.gathering_since = None;
    }

    /// A flight is back that stored so many.
    pub(super) fn landed(&mut self, count: usize, took: Duration) {
        (self.company, self.took) = (count, took);
    }

    /// When the next flight leaves: so many are ready for it, and those aloft left at these times.
    pub(super) fn next(&mut self, ready: usize, aloft: impl Iterator<Item = Instant>, now: Instant) -> Next {
        let (count, last_left) = aloft.fold((0, None), |(count, last), left| (count + 1, last.max(Some(left))));
        match last_left {
            // Not for others: one that flies apart may have come meanwhile.
            _ if count >= ALOFT_MAX => Next::Wait { more: usize::MAX, until: Some(now + LATE) },
            Some(last_left) => self.next_behind(ready, last_left + LATE, now),
            None if ready == 0 => Next::Wait { more: 1, until: None },
            None => self.next_alone(ready, now),
        }
    }

    /// Another one is aloft, and is late from then on.
    fn next_behind(&self, ready: usize, late: Instant, now: Instant) -> Next {
        match (ready >= self.full, late <= now) {
            (true, _) => Next::Now,
            (false, false) => Next::Wait { more: self.full - ready, until: Some(late) },
            (false, true) if ready == 0 => Next::Wait { more: 1, until: None },
            (false, true) => Next::Now,
        }
    }

    /// Nothing is aloft.
    fn next_alone(&mut self, ready: usize, now: Instant) -> Next {
        let since = *self.gathering_since.get_or_insert(now);
        let until = since + COMPANY_WAIT_MAX.min(self.took / 4);
        let is_enough = self.company < COMPANY_MIN || ready >= self.company || until <= now;
        if is_enough { Next::Now } else { Next::Wait { more: self.company - ready, until: Some(until) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn wait(more: usize, until: Instant) -> Next {
        Next::Wait { more, until: Some(until) }
    }

    #[test]
    fn one_that_is_alone_leaves_at_once() {
        let (now, mut departures) = (Instant::now(), Departures::new(512));
        assert_eq!(departures.next(0, [].into_iter(), now), Next::Wait { more: 1, until: None });
        assert_eq!(departures.next(1, [].into_iter(), now), Next::Now);
    }

    #[test]
    fn a_second_flight_leaves_when_it_is_full_or_the_first_is_late() {
        let now = Instant::now();
        let behind = |ready, batch_max| Departures::new(batch_max).next(ready, [now].into_iter(), now);
        assert_eq!(behind(0, 512), wait(FULL, now + LATE));
        assert_eq!(behind(1, 512), wait(FULL - 1, now + LATE));
        assert_eq!(behind(FULL - 1, 512), wait(1, now + LATE));
        assert_eq!(behind(FULL, 512), Next::Now);
        assert_eq!(behind(3, 4), wait(1, now + LATE));
        assert_eq!(behind(4, 4), Next::Now, "a smaller batch is full sooner");
        let late = |ready| Departures::new(512).next(ready, [now].into_iter(), now + LATE);
        assert_eq!(late(1), Next::Now);
        assert_eq!(late(0), Next::Wait { more: 1, until: None }, "the first that comes leaves at once");
    }

    #[test]
    fn the_newest_of_those_aloft_is_waited_for() {
        let (now, mut departures) = (Instant::now(), Departures::new(512));
        let aloft = [now + 2 * MS, now, now + MS];
        assert_eq!(departures.next(1, aloft.into_iter(), now + 3 * MS), wait(FULL - 1, now + 2 * MS + LATE));
    }

    #[test]
    fn so_many_are_aloft_and_no_more() {
        let (now, mut departures) = (Instant::now(), Departures::new(512));
        assert_eq!(departures.next(FULL, [now; ALOFT_MAX - 1].into_iter(), now), Next::Now);
        assert_eq!(departures.next(FULL, [now; ALOFT_MAX].into_iter(), now), wait(usize::MAX, now + LATE));
    }

    #[test]
    fn a_flight_takes_what_makes_it_full_or_half_of_those_who_wait() {
        let departures = Departures::new(512);
        assert_eq!(departures.most(1), FULL);
        assert_eq!(departures.most(2 * FULL), FULL);
        assert_eq!(departures.most(2 * FULL + 1), FULL + 1);
        assert_eq!(departures.most(5_120), 512, "never more than a batch");
        assert_eq!(Departures::new(4).most(8), 4);
        assert_eq!(Departures::new(4).most(100), 4);
    }

    #[test]
    fn the_next_flight_waits_for_as_many_as_were_answered_together_and_not_long() {
        let (now, mut departures) = (Instant::now(), Departures::new(512));
        departures.landed(COMPANY_MIN - 1, 8 * MS);
        assert_eq!(departures.next(1, [].into_iter(), now), Next::Now, "so few are no company");
        departures.left();
        departures.landed(COMPANY_MIN, 8 * MS);
        assert_eq!(departures.next(COMPANY_MIN - 1, [].into_iter(), now), wait(1, now + 2 * MS));
        assert_eq!(
            departures.next(COMPANY_MIN - 2, [].into_iter(), now + MS),
            wait(2, now + 2 * MS),
            "since the first"
        );
        assert_eq!(departures.next(COMPANY_MIN, [].into_iter(), now + MS), Next::Now);
        assert_eq!(departures.next(1, [].into_iter(), now + 2 * MS), Next::Now, "it waited long enough");
        departures.left();
        departures.landed(COMPANY_MIN, 80 * MS);
        assert_eq!(departures.next(1, [].into_iter(), now), wait(COMPANY_MIN - 1, now + COMPANY_WAIT_MAX));
    }
}
