//! CPU time of this thread, and what many measurements of it say.

use std::fmt;

use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use crate::figures::rounded;

/// CPU seconds this thread has used.
pub(crate) fn cpu_seconds() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// Seconds of many equal acts.
#[derive(Default)]
pub(crate) struct Times {
    seconds: Vec<f64>,
}

impl Times {
    pub(crate) fn measure<T>(&mut self, act: impl FnOnce() -> T) -> T {
        let started = cpu_seconds();
        let result = act();
        self.seconds.push(cpu_seconds() - started);
        result
    }

    pub(crate) fn mean(&self) -> f64 {
        self.seconds.iter().sum::<f64>() / self.seconds.len().max(1) as f64
    }

    /// Does the act three times and counts the quickest: neighbours on the machine slow memory down, never up.
    pub(crate) fn measure_calm<T>(&mut self, act: impl Fn() -> T) -> T {
        let mut rounds = Times::default();
        let result = rounds.measure(&act);
        rounds.measure(&act);
        rounds.measure(&act);
        self.seconds.push(rounds.seconds.into_iter().fold(f64::INFINITY, f64::min));
        result
    }

    fn percentile(&self, share: f64) -> f64 {
        let mut sorted = self.seconds.clone();
        sorted.sort_by(f64::total_cmp);
        let at = (share * (sorted.len().max(1) - 1) as f64).round() as usize;
        sorted.get(at).copied().unwrap_or(0.0)
    }

    pub(super) fn sum_up(&self) -> Costs {
        let [mean_us, p50_us, p99_us] = [self.mean(), self.percentile(0.5), self.percentile(0.99)].map(micros);
        Costs { mean_us, p50_us, p99_us }
    }
}

fn micros(seconds: f64) -> f64 {
    rounded(1e6 * seconds, 1)
}

/// What many equal acts cost.
#[derive(Serialize)]
pub(super) struct Costs {
    pub(super) mean_us: f64,
    p50_us: f64,
    p99_us: f64,
}

impl fmt::Display for Costs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mean_us, p50_us, p99_us } = self;
        write!(f, "{mean_us:8.1} µs mean, {p50_us:.1} p50, {p99_us:.1} p99")
    }
}
