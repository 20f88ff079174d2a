//! Stores saves in batches: whatever waits, of many projects, is committed together, and each save is answered after
//! its commit.
//!
//! A save costs two round trips, a few statements and a sync of the server's log; so do fifty of them in one
//! transaction. Two batches may be under way, so that the server works for one while the other waits for its disk. No
//! batch waits for the lock of a project. What such a lock holds up, or what needs statements of its own, is stored
//! with its project alone, beside the batches (`jobs.rs`).

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use mnemon_core::ProjectId;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{Id, JoinError, JoinHandle, JoinSet};
use tokio::time::Instant;

use super::connect::{Pool, PostgresConfig};
use super::error::closed;
use super::jobs::{self, Job};
use super::queue::{Queue, Waiting};
use super::save::{Outcome, Save};
use super::statistics::Statistics;
use crate::figures::CommitCounter;
use crate::{CommitSizes, StoreError};

/// How many saves may wait. More callers than that wait for a place and hold nothing.
const QUEUE_MAX: usize = 4_096;
/// How many batches of many projects are under way at most.
const BATCHES_MAX: usize = 2;
/// How many projects are stored alone at a time. Each may wait for a lock, with a connection.
const ALONE_MAX: usize = 4;
/// With this many saves a batch starts at once, also beside another one: larger ones cost the server hardly less.
const LARGE: usize = 32;
/// A smaller one waits for the batch under way, unless that takes longer than this.
const LATE: Duration = Duration::from_millis(100);
/// From this many saves in a batch on, the next one waits a moment for as many: callers that were answered together are
/// about to save again, and a batch that starts with the first of them leaves the others for the next.
const DELAY_MIN: usize = 8;
/// It never waits longer than this, nor than half of what the last batch took.
const DELAY_WAIT_MAX: Duration = Duration::from_millis(10);

/// The handle of the task that stores saves.
pub(super) struct Writer {
    /// Gone once this was closed.
    queue: Mutex<Option<mpsc::Sender<Job>>>,
    task: Mutex<Option<JoinHandle<()>>>,
    commits: Arc<CommitCounter>,
    waiting: Arc<AtomicUsize>,
    /// Whether the last save found no room.
    is_full: AtomicBool,
}

impl Writer {
    pub(super) fn start(pool: Arc<Pool>, config: &PostgresConfig) -> Self {
        let (queue, arriving) = mpsc::channel(QUEUE_MAX);
        let (commits, waiting): (Arc<CommitCounter>, Arc<AtomicUsize>) = Default::default();
        let desk = Desk {
            pool,
            statistics: Statistics::new(config),
            commits: Arc::clone(&commits),
            waiting: Arc::clone(&waiting),
            batch_max: config.batch_max.max(1),
            queue: Queue::new(),
            alone: VecDeque::new(),
            tasks: JoinSet::new(),
            running: HashMap::new(),
            commit_delay: CommitDelay::default(),
        };
        let task = tokio::spawn(desk.serve(arriving));
        Self {
            queue: Mutex::new(Some(queue)),
            task: Mutex::new(Some(task)),
            commits,
            waiting,
            is_full: AtomicBool::default(),
        }
    }

    pub(super) fn commits(&self) -> CommitSizes {
        self.commits.read()
    }

    /// How many saves wait.
    pub(super) fn waiting(&self) -> u64 {
        let arriving = self.queue.lock().as_ref().map_or(0, |queue| queue.max_capacity() - queue.capacity());
        (arriving + self.waiting.load(Ordering::Relaxed)) as u64
    }

    /// Whether the task is there. One that has panicked does not come back.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        let queue = self.queue.lock().clone().ok_or_else(closed)?;
        if queue.is_closed() { Err(ended()) } else { Ok(()) }
    }

    /// Saves a record and waits until it is durable.
    pub(super) async fn insert(&self, save: Save) -> Outcome {
        let queue = self.queue.lock().clone().ok_or_else(closed)?;
        let (reply, answer) = oneshot::channel();
        queue.send(Job { save, reply, arrived: Instant::now() }).await.map_err(|_| ended())?;
        // The task ends when all senders are gone.
        drop(queue);
        let unanswered = || StoreError::Failed("the batch of a save has ended without an answer".to_owned());
        let outcome = answer.await.map_err(|_| unanswered())?;
        if matches!(outcome, Ok(_) | Err(StoreError::Full)) {
            self.is_full.store(outcome.is_err(), Ordering::Relaxed);
        }
        outcome
    }

    pub(super) fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// There is room again, though nobody saves.
    pub(super) fn note_room(&self) {
        self.is_full.store(false, Ordering::Relaxed);
    }

    /// Ends as a task that panicked does.
    #[cfg(feature = "testing")]
    pub(super) async fn abandon(&self) {
        let task = self.task.lock().take();
        if let Some(task) = task {
            task.abort();
            let _ = task.await;
        }
    }

    /// Stores what is still waiting and accepts no more.
    pub(super) async fn close(&self) {
        drop(self.queue.lock().take());
        let task = self.task.lock().take();
        if let Some(task) = task {
            let _ = task.await;
        }
    }
}

fn ended() -> StoreError {
    StoreError::Failed("the task that stores saves has ended; restart the service".to_owned())
}

/// The state that only the task touches.
struct Desk {
    pool: Arc<Pool>,
    statistics: Arc<Statistics>,
    commits: Arc<CommitCounter>,
    waiting: Arc<AtomicUsize>,
    batch_max: usize,
    queue: Queue<Job>,
    /// Saves that are stored with their project alone, as soon as there is room.
    alone: VecDeque<Vec<Job>>,
    tasks: JoinSet<Vec<Job>>,
    running: HashMap<Id, Running>,
    commit_delay: CommitDelay,
}

/// What one task stores.
struct Running {
    projects: HashSet<ProjectId>,
    count: usize,
    since: Instant,
    is_alone: bool,
}

impl Desk {
    /// Runs until all senders are gone and everything is stored.
    async fn serve(mut self, mut arriving: mpsc::Receiver<Job>) {
        let (mut is_open, mut arrived) = (true, Vec::new());
        loop {
            self.start_alone();
            let due = self.start_batches(Instant::now());
            let waiting = self.queue.len() + self.alone.iter().map(Vec::len).sum::<usize>();
            self.waiting.store(waiting, Ordering::Relaxed);
            if !is_open && waiting == 0 && self.running.is_empty() {
                return;
            }
            let is_taking = is_open && waiting < QUEUE_MAX;
            tokio::select! {
                count = arriving.recv_many(&mut arrived, QUEUE_MAX), if is_taking => {
                    is_open = count > 0;
                    arrived.drain(..).for_each(|job| self.queue.push(job));
                }
                Some(ended) = self.tasks.join_next_with_id() => self.end(ended),
                () = tokio::time::sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {}
            }
        }
    }

    /// Starts every batch that is due. Returns when to look again if nothing happens before.
    fn start_batches(&mut self, now: Instant) -> Option<Instant> {
        loop {
            let batches = || self.running.values().filter(|running| !running.is_alone);
            let (count, since) = (batches().count(), batches().map(|running| running.since).max());
            match self.commit_delay.due(self.queue.ready_count(), count, since, now) {
                Some(due) if due <= now => {}
                later => return later,
            }
            let jobs = self.queue.take(self.batch_max);
            self.commit_delay.waits_since = None;
            let (pool, running) = (Arc::clone(&self.pool), Running::new(&jobs, false));
            let task = self.tasks.spawn(async move { jobs::store_batch(&pool, jobs).await });
            self.running.insert(task.id(), running);
        }
    }

    fn start_alone(&mut self) {
        while self.running.values().filter(|running| running.is_alone).count() < ALONE_MAX
            && let Some(jobs) = self.alone.pop_front()
        {
            let (pool, running) = (Arc::clone(&self.pool), Running::new(&jobs, true));
            let task = self.tasks.spawn(async move {
                jobs::store_alone(&pool, jobs).await;
                Vec::new()
            });
            self.running.insert(task.id(), running);
        }
    }

    /// A task has ended. What it set aside is stored project by project.
    fn end(&mut self, ended: Result<(Id, Vec<Job>), JoinError>) {
        let (id, aside) = match ended {
            Ok(ended) => ended,
            // Its callers get an error instead of an answer.
            Err(panicked) => (panicked.id(), Vec::new()),
        };
        let Some(Running { projects, count, since, is_alone }) = self.running.remove(&id) else { return };
        let stored = count - aside.len();
        if stored > 0 {
            self.commits.note(stored);
            self.statistics.note_saves(stored);
        }
        if !is_alone {
            self.commit_delay.note(count, since.elapsed());
        }
        let mut by_project: HashMap<ProjectId, Vec<Job>> = HashMap::new();
        aside.into_iter().for_each(|job| by_project.entry(job.project()).or_default().push(job));
        projects.difference(&by_project.keys().copied().collect()).for_each(|id| self.queue.release(*id));
        self.alone.extend(by_project.into_values());
    }
}

impl Running {
    fn new(jobs: &[Job], is_alone: bool) -> Self {
        let projects = jobs.iter().map(Waiting::project).collect();
        Self { projects, count: jobs.len(), since: Instant::now(), is_alone }
    }
}

/// How many saves the last batch had and how long it took, and since when the next one waits for as many.
#[derive(Default)]
struct CommitDelay {
    saves: usize,
    took: Duration,
    waits_since: Option<Instant>,
}

impl CommitDelay {
    fn note(&mut self, saves: usize, took: Duration) {
        (self.saves, self.took) = (saves, took);
    }

    /// When the next batch starts, with this many saves ready and this many batches under way, the last one since then.
    /// `None` if something else has to happen first.
    fn due(&mut self, ready: usize, batches: usize, since: Option<Instant>, now: Instant) -> Option<Instant> {
        match (batches, since) {
            _ if ready == 0 || batches >= BATCHES_MAX => None,
            _ if ready >= LARGE => Some(now),
            (_, Some(since)) => Some(since + LATE),
            (_, None) if self.saves < DELAY_MIN || ready >= self.saves => Some(now),
            (_, None) => Some(*self.waits_since.get_or_insert(now) + DELAY_WAIT_MAX.min(self.took / 2)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_lone_save_waits_for_nobody() {
        let (mut commit_delay, now) = (CommitDelay::default(), Instant::now());
        assert_eq!(commit_delay.due(0, 0, None, now), None);
        assert_eq!(commit_delay.due(1, 0, None, now), Some(now));
        commit_delay.note(DELAY_MIN - 1, 40 * MS);
        assert_eq!(commit_delay.due(1, 0, None, now), Some(now));
    }

    #[test]
    fn many_callers_wait_a_moment_for_each_other() {
        let (mut commit_delay, now) = (CommitDelay::default(), Instant::now());
        commit_delay.note(20, 4 * MS);
        assert_eq!(commit_delay.due(1, 0, None, now), Some(now + 2 * MS));
        assert_eq!(commit_delay.due(5, 0, None, now + MS), Some(now + 2 * MS), "the wait does not begin again");
        assert_eq!(commit_delay.due(20, 0, None, now + MS), Some(now + MS), "all are there");
        commit_delay = CommitDelay::default();
        commit_delay.note(20, 1_000 * MS);
        assert_eq!(commit_delay.due(1, 0, None, now), Some(now + DELAY_WAIT_MAX), "a slow batch does not make it long");
    }

    #[test]
    fn a_second_batch_starts_when_many_wait_or_the_first_is_late_and_a_third_never() {
        let (mut commit_delay, now) = (CommitDelay::default(), Instant::now());
        assert_eq!(commit_delay.due(LARGE, 1, Some(now), now), Some(now));
        assert_eq!(commit_delay.due(LARGE - 1, 1, Some(now), now), Some(now + LATE));
        assert_eq!(commit_delay.due(0, 1, Some(now), now + 2 * LATE), None);
        assert_eq!(commit_delay.due(1_000, BATCHES_MAX, Some(now), now + 2 * LATE), None);
    }
}
