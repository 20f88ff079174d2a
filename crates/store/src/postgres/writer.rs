//! Where saves wait for each other: those that arrive while a flight is being stored become the next one.
//!
//! A single save costs two round trips, two statements and a sync of the log; so do five hundred of them together, whatever
//! projects they belong to. So one flight is aloft at a time, unless enough wait for a second one, or the first is late.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mnemon_core::{ContentHash, MemberId, ProjectId};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{Id, JoinError, JoinHandle, JoinSet};
use tokio::time::Instant;

use super::batch::Save;
use super::connect::{Pool, PostgresConfig};
use super::error::closed;
use super::flight::{self, Job, Landing};
use super::line::{Line, Waiting};
use super::statistics::Statistics;
use crate::figures::CommitCounter;
use crate::{CommitSizes, Insert, Inserted, StoreError};

/// How many flights of many projects a node has aloft at most, and how many of single projects that were held up.
const FLIGHTS_MAX: usize = 4;
const FLIGHTS_APART_MAX: usize = 4;
/// With so many waiting, the next flight does not wait for the one that is aloft.
const FULL: usize = 64;
/// Nor does it when that one has been away for so long: it may wait for a lock.
const LATE: Duration = Duration::from_millis(100);
/// How many saves wait inside, and how many at the door. More callers than that wait for a place and hold nothing.
const INSIDE_MAX: usize = 4_096;
const DOOR_MAX: usize = 1_024;

/// From this many saves in a flight on, the next one waits for company. Those that were answered together are about to save
/// again, and a flight that leaves with the first of them leaves the others for the next.
const COMPANY_MIN: usize = 8;
/// Never longer than this, nor than a quarter of what the last flight took.
const COMPANY_WAIT_MAX: Duration = Duration::from_millis(5);

/// The handle of the task that sends the flights. Empty after closing.
pub(super) struct Writer {
    door: Mutex<Option<mpsc::Sender<Job>>>,
    task: Mutex<Option<JoinHandle<()>>>,
    commits: Arc<CommitCounter>,
    inside: Arc<AtomicUsize>,
}

impl Writer {
    pub(super) fn start(pool: &Arc<Pool>, config: &PostgresConfig) -> Self {
        let (commits, inside): (Arc<CommitCounter>, Arc<AtomicUsize>) = Default::default();
        let (door, arriving) = mpsc::channel(DOOR_MAX);
        let tower = Tower {
            pool: Arc::clone(pool),
            statistics: Statistics::new(config),
            commits: Arc::clone(&commits),
            inside: Arc::clone(&inside),
            batch_max: config.batch_max.max(1),
            line: Line::new(),
            aloft: JoinSet::new(),
            flights: HashMap::new(),
            gathering_since: None,
            company: 0,
            took: Duration::ZERO,
        };
        let task = Mutex::new(Some(tokio::spawn(tower.serve(arriving))));
        Self { door: Mutex::new(Some(door)), task, commits, inside }
    }

    pub(super) fn commits(&self) -> CommitSizes {
        self.commits.read()
    }

    /// How many saves wait.
    pub(super) fn waiting(&self) -> u64 {
        let at_the_door = self.door.lock().as_ref().map_or(0, |door| door.max_capacity() - door.capacity());
        (at_the_door + self.inside.load(Ordering::Relaxed)) as u64
    }

    /// Saves a record and waits until it is durable.
    pub(super) async fn insert(&self, insert: Insert, content_hash: ContentHash) -> Result<Inserted, StoreError> {
        let door = self.door.lock().clone().ok_or_else(closed)?;
        let (reply, answer) = oneshot::channel();
        let job = Job { save: Save { insert, content_hash }, reply, arrived: Instant::now() };
        door.send(job).await.map_err(|_| closed())?;
        drop(door);
        answer.await.map_err(|_| closed())?
    }

    /// Stores what is still waiting and accepts no more.
    pub(super) async fn close(&self) {
        drop(self.door.lock().take());
        let task = self.task.lock().take();
        if let Some(task) = task {
            let _ = task.await;
        }
    }
}

/// Two saves that share one of these could conflict.
#[derive(PartialEq, Eq, Hash)]
pub(super) enum Meeting {
    Content(String, ContentHash),
    Key(MemberId, String),
}

impl Waiting for Job {
    type Meeting = Meeting;

    fn project(&self) -> ProjectId {
        self.save.insert.record.project
    }

    fn meetings(&self) -> Vec<Meeting> {
        let Save { insert, content_hash } = &self.save;
        let content = Meeting::Content(insert.record.workspace.as_str().to_owned(), *content_hash);
        let key = insert.idempotency.as_ref().map(|key| Meeting::Key(key.member, key.key.clone()));
        std::iter::once(content).chain(key).collect()
    }
}

/// Sends flight after flight.
struct Tower {
    pool: Arc<Pool>,
    statistics: Arc<Statistics>,
    commits: Arc<CommitCounter>,
    inside: Arc<AtomicUsize>,
    batch_max: usize,
    line: Line<Job>,
    aloft: JoinSet<Landing>,
    flights: HashMap<Id, Flight>,
    /// Since when the next flight waits for company.
    gathering_since: Option<Instant>,
    /// How many the last flight stored, and how long that took.
    company: usize,
    took: Duration,
}

/// A flight that is aloft.
struct Flight {
    projects: HashSet<ProjectId>,
    count: usize,
    is_apart: bool,
    left: Instant,
}

impl Tower {
    async fn serve(mut self, mut arriving: mpsc::Receiver<Job>) {
        let mut is_open = true;
        while is_open || self.line.len() > 0 || !self.flights.is_empty() {
            while self.line.len() < INSIDE_MAX
                && let Ok(job) = arriving.try_recv()
            {
                self.line.push(job);
            }
            let next = self.send_flights(Instant::now());
            self.inside.store(self.line.len(), Ordering::Relaxed);
            tokio::select! {
                job = arriving.recv(), if is_open && self.line.len() < INSIDE_MAX => match job {
                    Some(job) => self.line.push(job),
                    None => is_open = false,
                },
                Some(landed) = self.aloft.join_next_with_id() => self.land(landed),
                () = tokio::time::sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {}
            }
        }
    }

    /// Sends whatever may leave now. Returns when to look again, if nothing happens before.
    fn send_flights(&mut self, now: Instant) -> Option<Instant> {
        while self.flights.values().filter(|flight| flight.is_apart).count() < FLIGHTS_APART_MAX {
            let jobs = self.line.take_apart(self.batch_max);
            if jobs.is_empty() {
                break;
            }
            self.send(jobs, true, now);
        }
        loop {
            let due = self.next_leaves(now)?;
            if due > now {
                return Some(due);
            }
            let jobs = self.line.take(self.batch_max);
            self.gathering_since = None;
            self.send(jobs, false, now);
        }
    }

    /// When the next flight of many projects leaves, as things are.
    fn next_leaves(&mut self, now: Instant) -> Option<Instant> {
        let together = || self.flights.values().filter(|flight| !flight.is_apart);
        let count = together().count();
        if self.line.ready_count() == 0 || count >= FLIGHTS_MAX {
            return None;
        }
        if count > 0 && self.line.ready_count() >= FULL.min(self.batch_max) {
            return Some(now);
        }
        if let Some(last) = together().map(|flight| flight.left).max() {
            return Some(last + LATE);
        }
        let since = *self.gathering_since.get_or_insert(now);
        let is_enough = self.company < COMPANY_MIN || self.line.ready_count() >= self.company;
        Some(if is_enough { now } else { since + COMPANY_WAIT_MAX.min(self.took / 4) })
    }

    fn send(&mut self, jobs: Vec<Job>, is_apart: bool, left: Instant) {
        let (projects, count) = (jobs.iter().map(Waiting::project).collect(), jobs.len());
        let pool = Arc::clone(&self.pool);
        let task = self.aloft.spawn(async move { flight::store(&pool, jobs, is_apart).await });
        self.flights.insert(task.id(), Flight { projects, count, is_apart, left });
    }

    /// A flight is back. Whoever was held up by a lock flies again, each project alone.
    fn land(&mut self, landed: Result<(Id, Landing), JoinError>) {
        let (id, landing) = match landed {
            Ok(landed) => landed,
            Err(failed) => (failed.id(), Landing::Done),
        };
        let Some(flight) = self.flights.remove(&id) else { return };
        let mut held_up: HashMap<ProjectId, Vec<Job>> = HashMap::new();
        let is_held_up = !matches!(landing, Landing::Done);
        if let Landing::HeldUp(jobs) = landing {
            jobs.into_iter().for_each(|job| held_up.entry(job.project()).or_default().push(job));
        } else {
            self.commits.note(flight.count);
            self.statistics.note_saves(flight.count);
        }
        for project in flight.projects {
            self.line.land(project, is_held_up, held_up.remove(&project).unwrap_or_default());
        }
        if !flight.is_apart {
            (self.company, self.took) = (flight.count, flight.left.elapsed());
        }
    }
}
