//! How many calls passed in the last 60 seconds, exactly.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use mnemon_core::{PlanLimits, ProjectId, Timestamp};
use parking_lot::Mutex;
use uuid::Uuid;

use crate::CallError;

const WINDOW_MICROS: i64 = 60_000_000;
/// Windows are looked through for idle ones once per so many let-through calls, so that memory follows use.
const SWEEP_EVERY: u32 = 4096;

/// Counts let-through calls per connection and per project. A call that is refused counts nowhere.
#[derive(Debug, Default)]
pub(crate) struct RateLimiter {
    windows: Mutex<Windows>,
}

#[derive(Debug, Default)]
struct Windows {
    connections: HashMap<Uuid, Window>,
    projects: HashMap<ProjectId, Window>,
    passed_since_sweep: u32,
}

/// The moments of the calls of the last 60 seconds, oldest first.
#[derive(Debug, Default)]
struct Window(VecDeque<i64>);

impl Window {
    fn forget_before(&mut self, now: i64) {
        while self.0.front().is_some_and(|&at| at <= now - WINDOW_MICROS) {
            self.0.pop_front();
        }
    }

    /// Seconds until a call would pass, if none passes now.
    fn wait_seconds(&self, now: i64, calls_max: Option<u32>) -> Option<u64> {
        let calls_max = calls_max? as usize;
        if self.0.len() < calls_max {
            return None;
        }
        // With n calls in the window, room comes when all but `calls_max - 1` have left it.
        let leaves = self.0.get(self.0.len() - calls_max).map_or(now, |&at| at) + WINDOW_MICROS;
        Some(u64::try_from(leaves - now).unwrap_or(0).div_ceil(1_000_000).max(1))
    }
}

impl RateLimiter {
    /// Lets a call through and counts it, or says why not.
    pub(crate) fn pass(
        &self,
        connection: Uuid,
        project: ProjectId,
        limits: &PlanLimits,
        now: Timestamp,
    ) -> Result<(), CallError> {
        if limits.connection_calls_max.is_none() && limits.project_calls_max.is_none() {
            return Ok(());
        }
        let now = now.as_microsecond();
        let mut windows = self.windows.lock();
        let wait = windows.connections.wait(connection, now, limits.connection_calls_max);
        if let Some(retry_after_seconds) = wait {
            return Err(CallError::ConnectionRate { retry_after_seconds });
        }
        let wait = windows.projects.wait(project, now, limits.project_calls_max);
        if let Some(retry_after_seconds) = wait {
            return Err(CallError::ProjectRate { retry_after_seconds });
        }
        windows.count(connection, project, now);
        Ok(())
    }
}

trait WaitFor<K> {
    fn wait(&mut self, key: K, now: i64, calls_max: Option<u32>) -> Option<u64>;
}

impl<K: Eq + Hash> WaitFor<K> for HashMap<K, Window> {
    fn wait(&mut self, key: K, now: i64, calls_max: Option<u32>) -> Option<u64> {
        let window = self.entry(key).or_default();
        window.forget_before(now);
        window.wait_seconds(now, calls_max)
    }
}

impl Windows {
    fn count(&mut self, connection: Uuid, project: ProjectId, now: i64) {
        self.connections.entry(connection).or_default().0.push_back(now);
        self.projects.entry(project).or_default().0.push_back(now);
        self.passed_since_sweep += 1;
        if self.passed_since_sweep >= SWEEP_EVERY {
            self.passed_since_sweep = 0;
            sweep(&mut self.connections, now);
            sweep(&mut self.projects, now);
        }
    }
}

fn sweep<K: Eq + Hash>(windows: &mut HashMap<K, Window>, now: i64) {
    windows.retain(|_, window| {
        window.forget_before(now);
        !window.0.is_empty()
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(connection: u32, project: u32) -> PlanLimits {
        PlanLimits { connection_calls_max: Some(connection), project_calls_max: Some(project), ..PlanLimits::default() }
    }

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_microsecond(1_000_000_000_000_000 + micros).unwrap()
    }

    fn key(n: u8) -> Uuid {
        Uuid::from_bytes([n; 16])
    }

    const PROJECT: ProjectId = ProjectId::from_bytes([9; 16]);

    #[test]
    fn exactly_the_limit_passes_and_room_comes_after_sixty_seconds() {
        let limiter = RateLimiter::default();
        let pass = |micros| limiter.pass(key(1), PROJECT, &limits(2, 100), at(micros));
        assert_eq!(pass(0), Ok(()));
        assert_eq!(pass(10_000_000), Ok(()));
        assert_eq!(pass(10_000_001), Err(CallError::ConnectionRate { retry_after_seconds: 50 }));
        assert_eq!(pass(59_999_999), Err(CallError::ConnectionRate { retry_after_seconds: 1 }));
        assert_eq!(pass(60_000_000), Ok(()));
        assert_eq!(pass(60_000_000), Err(CallError::ConnectionRate { retry_after_seconds: 10 }));
    }

    #[test]
    fn a_project_counts_all_its_connections() {
        let limiter = RateLimiter::default();
        let pass = |n, micros| limiter.pass(key(n), PROJECT, &limits(2, 3), at(micros));
        assert_eq!(pass(1, 0), Ok(()));
        assert_eq!(pass(1, 1), Ok(()));
        assert_eq!(pass(2, 2), Ok(()));
        assert_eq!(pass(3, 3), Err(CallError::ProjectRate { retry_after_seconds: 60 }));
        let other = ProjectId::from_bytes([8; 16]);
        assert_eq!(limiter.pass(key(4), other, &limits(2, 3), at(3)), Ok(()));
    }

    #[test]
    fn refused_calls_do_not_count() {
        let limiter = RateLimiter::default();
        let pass = |micros| limiter.pass(key(1), PROJECT, &limits(1, 100), at(micros));
        assert_eq!(pass(0), Ok(()));
        for micros in 1..100 {
            assert!(pass(micros).is_err());
        }
        assert_eq!(pass(60_000_000), Ok(()));
    }

    #[test]
    fn idle_windows_are_given_back() {
        let limiter = RateLimiter::default();
        for n in 0..SWEEP_EVERY {
            let id = Uuid::from_u128(u128::from(n));
            limiter.pass(id, PROJECT, &limits(1, u32::MAX), at(i64::from(n) * 1_000_000)).unwrap();
        }
        assert!(limiter.windows.lock().connections.len() <= 60);
    }
}
