//! How many calls were admitted in the last 60 seconds: exact for this node, and for others as far as they have
//! reported, which they do every half second.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hash;

use mnemon_core::{KeyId, PlanLimits, ProjectId, Timestamp};
use mnemon_store::{CallWindow, Calls, CallsElsewhere, StoreError};
use parking_lot::Mutex;
use uuid::Uuid;

use crate::{CallError, Engine};

const WINDOW_MICROS: i64 = 60_000_000;
const SECOND_MICROS: i64 = 1_000_000;
const HOUR_MICROS: i64 = 3_600_000_000;
/// Idle windows are removed once per this many admitted calls, so that memory follows use.
const SWEEP_EVERY: u32 = 4096;

/// How many texts of one key the guard rejects in a minute, on plans with limits. Then the key has to wait, so that
/// probing the guard is slow. Every node counts for itself.
pub(crate) const REJECTIONS_MAX: u32 = 30;

/// Counts admitted calls per connection and per project. A refused call is not counted.
#[derive(Debug, Default)]
pub(crate) struct RateLimiter {
    windows: Mutex<Windows>,
}

#[derive(Debug, Default)]
struct Windows {
    connections: HashMap<Uuid, Window>,
    projects: HashMap<ProjectId, Window>,
    /// Texts that the guard refused, per key.
    rejections: HashMap<KeyId, Window>,
    /// Bytes that were imported within the last hour, per project, by the minute.
    imports: HashMap<ProjectId, VecDeque<(i64, u64)>>,
    passed_since_sweep: u32,
    /// What was counted since the last report to other nodes, with the project of each.
    untold: HashSet<(ProjectId, Uuid)>,
}

/// The times of the calls of the last 60 seconds, oldest first.
#[derive(Debug, Default)]
struct Window(VecDeque<i64>);

impl Window {
    fn forget_before(&mut self, now: i64) {
        while self.0.front().is_some_and(|&at| at <= now - WINDOW_MICROS) {
            self.0.pop_front();
        }
    }

    /// Seconds until a call would be admitted, if none is admitted now.
    fn wait_seconds(&self, now: i64, elsewhere: &[Calls], calls_max: Option<u32>) -> Option<u64> {
        let calls_max = u64::from(calls_max?);
        let others = within(elsewhere, now);
        let total = self.0.len() as u64 + others.iter().map(|(_, count)| count).sum::<u64>();
        if total < calls_max {
            return None;
        }
        // There is room once all but `calls_max - 1` have left the window.
        let mut all: Vec<(i64, u64)> = self.0.iter().map(|&at| (at, 1)).chain(others).collect();
        all.sort_unstable();
        let mut left = total;
        let leaves = all.into_iter().find_map(|(at, count)| {
            left -= count;
            (left < calls_max).then_some(at + WINDOW_MICROS)
        });
        let micros = leaves.map_or(WINDOW_MICROS, |leaves| leaves - now);
        Some(u64::try_from(micros).unwrap_or(0).div_ceil(1_000_000).max(1))
    }

    fn by_second(&self) -> Vec<Calls> {
        let mut calls: Vec<Calls> = Vec::new();
        for at in &self.0 {
            let second = at.div_euclid(SECOND_MICROS);
            match calls.last_mut() {
                Some(last) if last.second == second => last.count += 1,
                _ => calls.push(Calls { second, count: 1 }),
            }
        }
        calls
    }
}

/// The calls of other nodes that still count. Those of one second count as made at its end: better to enforce a limit a
/// moment too long than to exceed it.
fn within(elsewhere: &[Calls], now: i64) -> Vec<(i64, u64)> {
    let at = |calls: &Calls| ((calls.second + 1) * SECOND_MICROS - 1, u64::from(calls.count));
    elsewhere.iter().map(at).filter(|(at, _)| *at > now - WINDOW_MICROS).collect()
}

impl RateLimiter {
    /// Admits and counts a call, or says why not.
    pub(crate) fn pass(
        &self,
        connection: Uuid,
        project: ProjectId,
        limits: &PlanLimits,
        elsewhere: &CallsElsewhere,
        now: Timestamp,
    ) -> Result<(), CallError> {
        if limits.connection_calls_max.is_none() && limits.project_calls_max.is_none() {
            return Ok(());
        }
        let now = now.as_microsecond();
        let mut windows = self.windows.lock();
        let wait = windows.connections.wait(connection, now, &elsewhere.connection, limits.connection_calls_max);
        if let Some(retry_after_seconds) = wait {
            return Err(CallError::ConnectionRate { retry_after_seconds });
        }
        let wait = windows.projects.wait(project, now, &elsewhere.project, limits.project_calls_max);
        if let Some(retry_after_seconds) = wait {
            return Err(CallError::ProjectRate { retry_after_seconds });
        }
        windows.count(connection, project, now);
        Ok(())
    }

    /// Whether the key has rejections left. Plans without limits do not count them.
    pub(crate) fn check_rejections(&self, key: KeyId, limits: &PlanLimits, now: Timestamp) -> Result<(), CallError> {
        let rejections_max = limits.connection_calls_max.map(|_| REJECTIONS_MAX);
        let mut windows = self.windows.lock();
        let Some(window) = windows.rejections.get_mut(&key) else { return Ok(()) };
        let now = now.as_microsecond();
        window.forget_before(now);
        match window.wait_seconds(now, &[], rejections_max) {
            Some(retry_after_seconds) => Err(CallError::ConnectionRate { retry_after_seconds }),
            None => Ok(()),
        }
    }

    /// Counts a text that the guard rejected.
    pub(crate) fn count_rejection(&self, key: KeyId, limits: &PlanLimits, now: Timestamp) {
        if limits.connection_calls_max.is_some() {
            self.windows.lock().rejections.entry(key).or_default().0.push_back(now.as_microsecond());
        }
    }

    /// Counts bytes of an import, or says in how many seconds there is room for more. Every node counts for itself.
    pub(crate) fn pass_import(
        &self,
        project: ProjectId,
        bytes: u64,
        limits: &PlanLimits,
        now: Timestamp,
    ) -> Result<(), CallError> {
        let Some(bytes_max) = limits.import_bytes_max else { return Ok(()) };
        let now = now.as_microsecond();
        let mut windows = self.windows.lock();
        windows.imports.retain(|_, minutes| minutes.back().is_some_and(|(at, _)| now < at + HOUR_MICROS));
        let minutes = windows.imports.entry(project).or_default();
        while minutes.front().is_some_and(|(at, _)| at + HOUR_MICROS <= now) {
            minutes.pop_front();
        }
        let total: u64 = minutes.iter().map(|(_, bytes)| bytes).sum();
        if let Some((first, _)) = minutes.front().filter(|_| total + bytes > bytes_max) {
            let micros = u64::try_from(first + HOUR_MICROS - now).unwrap_or(0);
            return Err(CallError::ConnectionRate { retry_after_seconds: micros.div_ceil(1_000_000).max(1) });
        }
        let minute = now - now.rem_euclid(WINDOW_MICROS);
        match minutes.back_mut() {
            Some((at, counted)) if *at == minute => *counted += bytes,
            _ => minutes.push_back((minute, bytes)),
        }
        Ok(())
    }

    /// What was counted since the last report, in the form that other nodes get.
    fn take_untold(&self, now: Timestamp) -> Vec<CallWindow> {
        let now = now.as_microsecond();
        let mut windows = self.windows.lock();
        let untold = std::mem::take(&mut windows.untold);
        let tell = |(project, counter): (ProjectId, Uuid)| {
            let is_project = counter == project.uuid();
            let window =
                if is_project { windows.projects.get_mut(&project) } else { windows.connections.get_mut(&counter) }?;
            window.forget_before(now);
            Some(CallWindow { project, counter, calls: window.by_second() })
        };
        untold.into_iter().filter_map(tell).collect()
    }

    fn put_back(&self, untold: impl Iterator<Item = (ProjectId, Uuid)>) {
        self.windows.lock().untold.extend(untold);
    }
}

impl Engine {
    /// Reports admitted calls to the other nodes. Called every half second, so that they lag by at most a second; does
    /// nothing if there are no others.
    pub async fn publish_calls(&self) -> Result<(), StoreError> {
        let now = self.clock.now();
        let windows = self.rates.take_untold(now);
        if windows.is_empty() || !self.store.is_shared() {
            return Ok(());
        }
        let told: Vec<(ProjectId, Uuid)> = windows.iter().map(|window| (window.project, window.counter)).collect();
        let published = self.store.publish_calls(windows, now).await;
        if published.is_err() {
            self.rates.put_back(told.into_iter());
        }
        published
    }
}

trait WaitFor<K> {
    fn wait(&mut self, key: K, now: i64, elsewhere: &[Calls], calls_max: Option<u32>) -> Option<u64>;
}

impl<K: Eq + Hash> WaitFor<K> for HashMap<K, Window> {
    fn wait(&mut self, key: K, now: i64, elsewhere: &[Calls], calls_max: Option<u32>) -> Option<u64> {
        let window = self.entry(key).or_default();
        window.forget_before(now);
        window.wait_seconds(now, elsewhere, calls_max)
    }
}

impl Windows {
    fn count(&mut self, connection: Uuid, project: ProjectId, now: i64) {
        self.connections.entry(connection).or_default().0.push_back(now);
        self.projects.entry(project).or_default().0.push_back(now);
        self.untold.extend([(project, connection), (project, project.uuid())]);
        self.passed_since_sweep += 1;
        if self.passed_since_sweep >= SWEEP_EVERY {
            self.passed_since_sweep = 0;
            sweep(&mut self.connections, now);
            sweep(&mut self.projects, now);
            sweep(&mut self.rejections, now);
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

    fn alone() -> CallsElsewhere {
        CallsElsewhere::default()
    }

    const PROJECT: ProjectId = ProjectId::from_bytes([9; 16]);

    #[test]
    fn exactly_the_limit_passes_and_room_comes_after_sixty_seconds() {
        let limiter = RateLimiter::default();
        let pass = |micros| limiter.pass(key(1), PROJECT, &limits(2, 100), &alone(), at(micros));
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
        let pass = |n, micros| limiter.pass(key(n), PROJECT, &limits(2, 3), &alone(), at(micros));
        assert_eq!(pass(1, 0), Ok(()));
        assert_eq!(pass(1, 1), Ok(()));
        assert_eq!(pass(2, 2), Ok(()));
        assert_eq!(pass(3, 3), Err(CallError::ProjectRate { retry_after_seconds: 60 }));
        let other = ProjectId::from_bytes([8; 16]);
        assert_eq!(limiter.pass(key(4), other, &limits(2, 3), &alone(), at(3)), Ok(()));
    }

    #[test]
    fn refused_calls_do_not_count() {
        let limiter = RateLimiter::default();
        let pass = |micros| limiter.pass(key(1), PROJECT, &limits(1, 100), &alone(), at(micros));
        assert_eq!(pass(0), Ok(()));
        for micros in 1..100 {
            assert!(pass(micros).is_err());
        }
        assert_eq!(pass(60_000_000), Ok(()));
    }

    #[test]
    fn a_key_has_thirty_rejections_a_minute_where_its_plan_has_limits() {
        let limiter = RateLimiter::default();
        let (one, other) = (KeyId::from_bytes([1; 16]), KeyId::from_bytes([2; 16]));
        let limited = limits(1, 1);
        let check = |key, micros| limiter.check_rejections(key, &limited, at(micros));
        for n in 0..i64::from(REJECTIONS_MAX) {
            assert_eq!(check(one, n), Ok(()), "{n}");
            limiter.count_rejection(one, &limited, at(n));
        }
        assert_eq!(check(one, 29), Err(CallError::ConnectionRate { retry_after_seconds: 60 }));
        assert_eq!(check(one, 59_999_999), Err(CallError::ConnectionRate { retry_after_seconds: 1 }));
        assert_eq!(check(one, 60_000_000), Ok(()), "the first has left");
        assert_eq!(check(other, 29), Ok(()), "another key has its own");
        assert_eq!(limiter.check_rejections(one, &PlanLimits::default(), at(29)), Ok(()), "no limits, no budget");
    }

    #[test]
    fn an_import_waits_until_an_hour_has_passed() {
        let limiter = RateLimiter::default();
        let limits = PlanLimits { import_bytes_max: Some(100), ..PlanLimits::default() };
        let minutes = |count: i64| count * WINDOW_MICROS;
        let pass = |bytes, micros| limiter.pass_import(PROJECT, bytes, &limits, at(micros));
        assert_eq!(pass(60, 0), Ok(()));
        assert_eq!(pass(40, minutes(10)), Ok(()), "up to the limit");
        let Err(CallError::ConnectionRate { retry_after_seconds }) = pass(1, minutes(20)) else {
            panic!("one past it")
        };
        assert!((2_340..=2_400).contains(&retry_after_seconds), "{retry_after_seconds}");
        assert_eq!(pass(60, minutes(60)), Ok(()), "the first sixty have left");
        assert!(pass(1, minutes(60)).is_err());
        let other = ProjectId::from_bytes([8; 16]);
        assert_eq!(limiter.pass_import(other, 100, &limits, at(minutes(60))), Ok(()), "every project has its own");
        assert_eq!(limiter.pass_import(PROJECT, u64::MAX / 2, &PlanLimits::default(), at(minutes(60))), Ok(()));
    }

    #[test]
    fn idle_windows_are_removed() {
        let limiter = RateLimiter::default();
        for n in 0..SWEEP_EVERY {
            let id = Uuid::from_u128(u128::from(n));
            limiter.pass(id, PROJECT, &limits(1, u32::MAX), &alone(), at(i64::from(n) * 1_000_000)).unwrap();
        }
        assert!(limiter.windows.lock().connections.len() <= 60);
    }

    #[test]
    fn calls_of_other_nodes_count_and_leave_with_their_second() {
        let limiter = RateLimiter::default();
        let start = at(0).as_second();
        let elsewhere = CallsElsewhere { connection: vec![Calls { second: start, count: 2 }], project: Vec::new() };
        let pass = |micros| limiter.pass(key(1), PROJECT, &limits(3, 100), &elsewhere, at(micros));
        assert_eq!(pass(500_000), Ok(()));
        assert_eq!(pass(2_000_000), Err(CallError::ConnectionRate { retry_after_seconds: 59 }));
        assert_eq!(
            pass(60_400_000),
            Err(CallError::ConnectionRate { retry_after_seconds: 1 }),
            "its own is there still"
        );
        assert_eq!(
            pass(60_500_000),
            Ok(()),
            "its own has left, those of the others leave with the end of their second"
        );
        assert_eq!(pass(60_900_000), Err(CallError::ConnectionRate { retry_after_seconds: 1 }));
        assert_eq!(pass(61_000_000), Ok(()));
        let project =
            CallsElsewhere { connection: Vec::new(), project: vec![Calls { second: start + 60, count: 100 }] };
        let refused = limiter.pass(key(2), PROJECT, &limits(3, 100), &project, at(61_000_000));
        assert_eq!(refused, Err(CallError::ProjectRate { retry_after_seconds: 60 }));
    }

    #[test]
    fn every_count_is_reported_to_other_nodes_once() {
        let limiter = RateLimiter::default();
        for micros in [0, 10, 1_000_000] {
            limiter.pass(key(1), PROJECT, &limits(9, 9), &alone(), at(micros)).unwrap();
        }
        let mut told = limiter.take_untold(at(1_500_000));
        told.sort_by_key(|window| window.counter);
        let second = at(0).as_second();
        let calls = vec![Calls { second, count: 2 }, Calls { second: second + 1, count: 1 }];
        let counters: Vec<_> = told.iter().map(|window| (window.counter, window.calls.clone())).collect();
        assert_eq!(counters, [(key(1), calls.clone()), (PROJECT.uuid(), calls)]);
        assert_eq!(limiter.take_untold(at(1_600_000)), Vec::new());
    }
}
