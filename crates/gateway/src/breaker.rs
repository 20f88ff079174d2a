//! The breaker: an upstream that keeps failing is paused for a while, so that calls don't wait for an answer that won't
//! come. Closed lets calls through; open refuses them at once; after the pause, one call tries and its outcome decides.

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

use crate::UpstreamError;

/// Failures in a row that open it.
pub const FAILURES_MAX: u32 = 5;
/// How long it stays open.
pub const PAUSE: SignedDuration = SignedDuration::from_secs(30);

#[derive(Debug, Default)]
struct State {
    failures: u32,
    opened_at: Option<Timestamp>,
    is_trying: bool,
    answered_at: Option<Timestamp>,
}

/// One upstream's breaker.
#[derive(Debug, Default)]
pub(crate) struct Breaker(Mutex<State>);

/// Permission to make one call. If it is dropped without a verdict, it counts as nothing: the caller went away.
#[derive(Debug)]
pub(crate) struct Pass<'a> {
    breaker: &'a Breaker,
    is_trial: bool,
}

/// How calls to an upstream went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Health {
    /// Failures in a row.
    pub failures: u32,
    /// Until when it is not called.
    pub paused_until: Option<Timestamp>,
    /// When it last answered a call.
    pub answered_at: Option<Timestamp>,
}

/// Whether calls pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BreakerState {
    Closed,
    Open,
    /// The pause is over, and the next call decides.
    Trying,
}

/// Upstreams by the state of their breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BreakerCounts {
    pub closed: u64,
    pub open: u64,
    pub trying: u64,
}

impl Breaker {
    pub(crate) fn state(&self, now: Timestamp) -> BreakerState {
        let opened_at = self.0.lock().opened_at;
        let is_open = |opened_at: Timestamp| opened_at.saturating_add(PAUSE).is_ok_and(|end| now < end);
        match opened_at {
            None => BreakerState::Closed,
            Some(opened_at) if is_open(opened_at) => BreakerState::Open,
            Some(_) => BreakerState::Trying,
        }
    }

    pub(crate) fn health(&self, now: Timestamp) -> Health {
        let state = self.0.lock();
        let end = state.opened_at.and_then(|opened_at| opened_at.saturating_add(PAUSE).ok());
        Health { failures: state.failures, paused_until: end.filter(|end| now < *end), answered_at: state.answered_at }
    }

    /// Lets a call through, or says how long to wait.
    pub(crate) fn pass(&self, now: Timestamp) -> Result<Pass<'_>, UpstreamError> {
        let mut state = self.0.lock();
        let Some(opened_at) = state.opened_at else { return Ok(Pass { breaker: self, is_trial: false }) };
        let open_for = now.duration_since(opened_at);
        // A call that began before the breaker opened has an earlier "now". But a clock that was set back far must not
        // keep the breaker open until it has caught up.
        let is_over = open_for >= PAUSE || open_for < -PAUSE;
        if is_over && !state.is_trying {
            state.is_trying = true;
            return Ok(Pass { breaker: self, is_trial: true });
        }
        let left = if is_over { SignedDuration::from_secs(1) } else { PAUSE - open_for };
        // Whole seconds, rounded up: after that wait a call is let through.
        let seconds = u64::try_from(left.as_millis().div_euclid(1_000) + 1).unwrap_or(1).min(PAUSE.as_secs() as u64);
        Err(UpstreamError::Resting { failures: state.failures, seconds })
    }
}

impl Pass<'_> {
    /// Reports how the call ended.
    pub(crate) fn ended(self, is_fault: bool, now: Timestamp) {
        let mut state = self.breaker.0.lock();
        if is_fault {
            state.failures = state.failures.saturating_add(1);
            if self.is_trial || state.failures >= FAILURES_MAX {
                state.opened_at = Some(now);
            }
        } else {
            state.failures = 0;
            state.opened_at = None;
            state.answered_at = Some(now);
        }
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if self.is_trial {
            self.breaker.0.lock().is_trying = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    fn fail(breaker: &Breaker, times: u32, second: i64) {
        for _ in 0..times {
            breaker.pass(at(second)).unwrap().ended(true, at(second));
        }
    }

    fn wait(breaker: &Breaker, second: i64) -> Option<u64> {
        match breaker.pass(at(second)) {
            Ok(_) => None,
            Err(UpstreamError::Resting { failures, seconds }) => {
                assert!(failures >= FAILURES_MAX);
                Some(seconds)
            }
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn five_failures_in_a_row_open_it_and_four_do_not() {
        let breaker = Breaker::default();
        fail(&breaker, 4, 0);
        assert_eq!(wait(&breaker, 0), None);
        breaker.pass(at(0)).unwrap().ended(false, at(0));
        fail(&breaker, 4, 1);
        assert_eq!(wait(&breaker, 1), None, "a success in between resets the count");
        fail(&breaker, 1, 1);
        assert_eq!(wait(&breaker, 1), Some(30));
        assert_eq!(wait(&breaker, 30), Some(2));
        assert_eq!(wait(&breaker, 31), None);
    }

    #[test]
    fn after_the_pause_one_call_tries_and_decides() {
        let breaker = Breaker::default();
        fail(&breaker, 5, 0);
        let trial = breaker.pass(at(30)).unwrap();
        assert!(wait(&breaker, 30).is_some(), "one at a time");
        trial.ended(true, at(31));
        assert_eq!(wait(&breaker, 31), Some(30), "one failed try is enough to close the door again");
        let trial = breaker.pass(at(61)).unwrap();
        trial.ended(false, at(61));
        fail(&breaker, 4, 62);
        assert_eq!(wait(&breaker, 62), None, "it is as good as new");
    }

    #[test]
    fn a_caller_who_goes_away_decides_nothing() {
        let breaker = Breaker::default();
        fail(&breaker, 5, 0);
        drop(breaker.pass(at(30)).unwrap());
        assert_eq!(wait(&breaker, 30), None, "the next one may try");
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_keep_it_open() {
        let breaker = Breaker::default();
        fail(&breaker, 5, 1_000);
        assert_eq!(wait(&breaker, 0), None);
    }

    #[test]
    fn its_health_tells_failures_the_pause_and_the_last_answer() {
        let breaker = Breaker::default();
        let call = |is_fault, second| breaker.pass(at(second)).expect("closed").ended(is_fault, at(second));
        assert_eq!(breaker.health(at(0)), Health::default());
        assert_eq!(breaker.state(at(0)), BreakerState::Closed);
        call(false, 1);
        call(true, 2);
        assert_eq!(breaker.health(at(2)), Health { failures: 1, paused_until: None, answered_at: Some(at(1)) });
        (3..=6).for_each(|second| call(true, second));
        let paused = Health { failures: 5, paused_until: Some(at(36)), answered_at: Some(at(1)) };
        assert_eq!(breaker.health(at(35)), paused);
        assert_eq!(breaker.state(at(35)), BreakerState::Open);
        assert_eq!(breaker.state(at(36)), BreakerState::Trying);
        assert_eq!(breaker.health(at(36)).paused_until, None);
    }
}
