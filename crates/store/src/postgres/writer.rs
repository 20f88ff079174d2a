//! Where saves wait for each other: those that arrive while a flight is being stored become the next one (`departure.rs`),
//! whatever projects they belong to.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mnemon_core::{ContentHash, MemberId, ProjectId};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{Id, JoinError, JoinHandle, JoinSet};
use tokio::time::Instant;

use super::batch::{Outcome, Save};
use super::connect::{Pool, PostgresConfig};
use super::departure::Departures;
use super::error::closed;
use super::flight::{self, Job, Landing};
use super::line::{Line, Waiting};
use super::statistics::Statistics;
use crate::CommitSizes;
use crate::figures::CommitCounter;

/// How many flights of single projects that were held up a node has aloft at most.
const APART_MAX: usize = 4;
/// How many saves wait inside, and how many at the door. More callers than that wait for a place and hold nothing.
const INSIDE_MAX: usize = 4_096;
const DOOR_MAX: usize = 1_024;

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
        let batch_max = config.batch_max.max(1);
        let tower = Tower {
            pool: Arc::clone(pool),
            statistics: Statistics::new(config),
            commits: Arc::clone(&commits),
            inside: Arc::clone(&inside),
            batch_max,
            line: Line::new(),
            aloft: JoinSet::new(),
            flights: HashMap::new(),
            departures: Departures::new(batch_max),
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
    pub(super) async fn insert(&self, save: Save) -> Outcome {
        let door = self.door.lock().clone().ok_or_else(closed)?;
        let (reply, answer) = oneshot::channel();
        let job = Job { save, reply, arrived: Instant::now() };
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
        let Save { insert, content_hash, .. } = &self.save;
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
    departures: Departures,
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
        while self.flights.values().filter(|flight| flight.is_apart).count() < APART_MAX {
            let jobs = self.line.take_apart(self.batch_max);
            if jobs.is_empty() {
                break;
            }
            self.send(jobs, true, now);
        }
        loop {
            let aloft = self.flights.values().filter(|flight| !flight.is_apart).map(|flight| flight.left);
            let due = self.departures.next(self.line.ready_count(), aloft, now)?;
            if due > now {
                return Some(due);
            }
            let jobs = self.line.take(self.departures.enough(self.line.ready_count()), self.batch_max);
            self.departures.left();
            self.send(jobs, false, now);
        }
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
            self.departures.landed(flight.count, flight.left.elapsed());
        }
    }
}
