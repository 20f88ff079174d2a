//! Sends flight after flight of saves.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mnemon_core::{ContentHash, MemberId, ProjectId};
use tokio::runtime::Handle;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;

use super::batch::Save;
use super::connect::{Pool, PostgresConfig};
use super::departure::{ALOFT_MAX, Departures, Next};
use super::door::Door;
use super::flight::{self, Job, Landing};
use super::known_projects::KnownProjects;
use super::line::{Line, Waiting};
use super::statistics::Statistics;
use crate::figures::CommitCounter;

/// How many flights of single projects that were held up a node has aloft at most.
const APART_MAX: usize = 4;
/// Each flight has a connection.
pub(super) const CONNECTIONS_MAX: usize = ALOFT_MAX + APART_MAX;

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

pub(super) struct Tower {
    pool: Arc<Pool>,
    known: Arc<KnownProjects>,
    callers: Handle,
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
    /// Counts the commits, and how many saves wait inside. Answers on the runtime of the callers.
    pub(super) fn new(
        pool: Pool,
        callers: Handle,
        config: &PostgresConfig,
        commits: Arc<CommitCounter>,
        inside: Arc<AtomicUsize>,
    ) -> Self {
        let batch_max = config.batch_max.max(1);
        Self {
            pool: Arc::new(pool),
            known: Arc::default(),
            callers,
            statistics: Statistics::new(config),
            commits,
            inside,
            batch_max,
            line: Line::new(),
            aloft: JoinSet::new(),
            flights: HashMap::new(),
            departures: Departures::new(batch_max),
        }
    }

    /// Sends whoever comes to the door, until it is closed and everybody has landed.
    pub(super) async fn serve(mut self, door: &Door<Job>) {
        loop {
            let (arrived, is_open) = door.fetch();
            arrived.into_iter().for_each(|job| self.line.push(job));
            let (more, until) = self.send_flights(Instant::now());
            self.inside.store(self.line.len(), Ordering::Relaxed);
            if !is_open && self.line.len() == 0 && self.flights.is_empty() {
                return;
            }
            tokio::select! {
                () = door.rings_at(more), if is_open => {}
                Some(landed) = self.aloft.join_next_with_id() => self.land(landed),
                () = tokio::time::sleep_until(until.unwrap_or_else(Instant::now)), if until.is_some() => {}
            }
        }
    }

    /// Sends whatever may leave now. Returns when to look again: when so many more have come, or then.
    fn send_flights(&mut self, now: Instant) -> (usize, Option<Instant>) {
        while self.flights.values().filter(|flight| flight.is_apart).count() < APART_MAX {
            let jobs = self.line.take_apart(self.batch_max);
            if jobs.is_empty() {
                break;
            }
            self.send(jobs, true, now);
        }
        loop {
            let aloft = self.flights.values().filter(|flight| !flight.is_apart).map(|flight| flight.left);
            if let Next::Wait { more, until } = self.departures.next(self.line.ready_count(), aloft, now) {
                return (more, until);
            }
            let jobs = self.line.take(self.departures.most(self.line.ready_count()));
            self.departures.left();
            self.send(jobs, false, now);
        }
    }

    fn send(&mut self, jobs: Vec<Job>, is_apart: bool, left: Instant) {
        let (projects, count) = (jobs.iter().map(Waiting::project).collect(), jobs.len());
        let (pool, known, callers) = (Arc::clone(&self.pool), Arc::clone(&self.known), self.callers.clone());
        let task = self.aloft.spawn(async move { flight::store(&pool, &known, &callers, jobs, is_apart).await });
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
