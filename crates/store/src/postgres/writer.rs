//! Where saves wait for each other: those that arrive while a batch is being stored become the next one.
//!
//! A single save costs two round trips, two statements and a sync of the log; so do five hundred of them together. There are a few
//! lanes, and a project always uses the same one: a project that somebody keeps locked only delays its own lane.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use mnemon_core::{ContentHash, MemberId, ProjectId};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use super::attempt;
use super::batch::{self, Save};
use super::connect::{Pool, PostgresConfig};
use super::error::closed;
use super::statistics::Statistics;
use crate::figures::CommitCounter;
use crate::{CommitSizes, Insert, Inserted, StoreError};

/// How many batches a node stores at the same time.
const LANES: usize = 4;
/// How many saves may wait in a lane. More callers than that wait for a place and hold nothing.
const QUEUE_MAX: usize = 1_024;

/// From this many saves in a batch on, the next one waits for company. Those that were answered together are about to save
/// again, and a batch that starts with the first of them leaves the others for the next.
const COMPANY_MIN: usize = 8;
/// Never longer than this, nor than a quarter of what the last batch took.
const COMPANY_WAIT_MAX: Duration = Duration::from_millis(5);

type Reply = oneshot::Sender<Result<Inserted, StoreError>>;

struct Job {
    save: Save,
    reply: Reply,
}

/// The handles of the lanes. Empty after closing.
pub(super) struct Writer {
    lanes: Mutex<Option<Vec<mpsc::Sender<Job>>>>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
    commits: Arc<CommitCounter>,
}

impl Writer {
    pub(super) fn start(pool: &Arc<Pool>, config: &PostgresConfig) -> Self {
        let (batch_max, statistics) = (config.batch_max.max(1), Statistics::new(config));
        let (mut lanes, mut tasks) = (Vec::new(), Vec::new());
        let commits: Arc<CommitCounter> = Arc::default();
        for _ in 0..LANES {
            let (sender, waiting) = mpsc::channel(QUEUE_MAX);
            lanes.push(sender);
            let (pool, statistics, commits) = (Arc::clone(pool), Arc::clone(&statistics), Arc::clone(&commits));
            let lane = Lane { pool, statistics, commits, batch_max, company: 0, took: Duration::ZERO };
            tasks.push(tokio::spawn(lane.serve(waiting)));
        }
        Self { lanes: Mutex::new(Some(lanes)), tasks: Mutex::new(tasks), commits }
    }

    pub(super) fn commits(&self) -> CommitSizes {
        self.commits.read()
    }

    /// How many saves wait in all lanes.
    pub(super) fn waiting(&self) -> u64 {
        let lanes = self.lanes.lock();
        lanes.iter().flatten().map(|lane| (lane.max_capacity() - lane.capacity()) as u64).sum()
    }

    /// Saves a record and waits until it is durable.
    pub(super) async fn insert(&self, insert: Insert, content_hash: ContentHash) -> Result<Inserted, StoreError> {
        let lane = lane_of(insert.record.project);
        let lane = self.lanes.lock().as_ref().map(|lanes| lanes[lane].clone()).ok_or_else(closed)?;
        let (reply, answer) = oneshot::channel();
        lane.send(Job { save: Save { insert, content_hash }, reply }).await.map_err(|_| closed())?;
        drop(lane);
        answer.await.map_err(|_| closed())?
    }

    /// Stores what is still waiting and accepts no more.
    pub(super) async fn close(&self) {
        drop(self.lanes.lock().take());
        let tasks = std::mem::take(&mut *self.tasks.lock());
        for task in tasks {
            let _ = task.await;
        }
    }
}

fn lane_of(project: ProjectId) -> usize {
    let mut hasher = DefaultHasher::new();
    project.hash(&mut hasher);
    (hasher.finish() % LANES as u64) as usize
}

/// Stores the saves of a lane, batch after batch.
struct Lane {
    pool: Arc<Pool>,
    statistics: Arc<Statistics>,
    commits: Arc<CommitCounter>,
    batch_max: usize,
    /// How many the last batch stored, and how long that took.
    company: usize,
    took: Duration,
}

impl Lane {
    async fn serve(mut self, mut waiting: mpsc::Receiver<Job>) {
        let mut held: VecDeque<Job> = VecDeque::new();
        loop {
            if held.is_empty() {
                match waiting.recv().await {
                    Some(job) => held.push_back(job),
                    None => return,
                }
            }
            self.gather(&mut held, &mut waiting).await;
            let jobs = take_batch(&mut held, self.batch_max);
            let (count, began) = (jobs.len(), Instant::now());
            store(&self.pool, jobs).await;
            (self.company, self.took) = (count, began.elapsed());
            self.commits.note(count);
            self.statistics.note_saves(count);
        }
    }

    /// Takes what has arrived. Where many save, it waits a moment until as many are there as last time; a handful never waits.
    async fn gather(&self, held: &mut VecDeque<Job>, waiting: &mut mpsc::Receiver<Job>) {
        while held.len() < self.batch_max
            && let Ok(job) = waiting.try_recv()
        {
            held.push_back(job);
        }
        if self.company < COMPANY_MIN {
            return;
        }
        let deadline = Instant::now() + COMPANY_WAIT_MAX.min(self.took / 4);
        while held.len() < self.company
            && let Ok(Some(job)) = timeout_at(deadline, waiting.recv()).await
        {
            held.push_back(job);
        }
    }
}

/// Two saves that share one of these could conflict: they don't go into one batch.
#[derive(PartialEq, Eq, Hash)]
enum Meeting {
    Content(ProjectId, String, ContentHash),
    Key(ProjectId, MemberId, String),
}

fn meetings(insert: &Insert, content_hash: ContentHash) -> impl Iterator<Item = Meeting> {
    let record = &insert.record;
    let content = Meeting::Content(record.project, record.workspace.as_str().to_owned(), content_hash);
    let key = insert.idempotency.as_ref().map(|key| Meeting::Key(record.project, key.member, key.key.clone()));
    std::iter::once(content).chain(key)
}

/// Takes the saves that can be stored together, in any case the first. What would conflict with one stays for the next batch.
fn take_batch(held: &mut VecDeque<Job>, batch_max: usize) -> Vec<Job> {
    let (mut jobs, mut left, mut taken) = (Vec::new(), VecDeque::new(), HashSet::new());
    while let Some(job) = held.pop_front() {
        let own: Vec<Meeting> = meetings(&job.save.insert, job.save.content_hash).collect();
        if jobs.len() < batch_max && !own.iter().any(|meeting| taken.contains(meeting)) {
            jobs.push(job);
        } else {
            left.push_back(job);
        }
        // Those that stay keep their turn too: a later one must not overtake an earlier one that it would conflict with.
        taken.extend(own);
    }
    *held = left;
    jobs
}

/// Stores the jobs together if that works, otherwise one by one, so that a bad one fails alone.
async fn store(pool: &Arc<Pool>, jobs: Vec<Job>) {
    let saves: Vec<&Save> = jobs.iter().map(|job| &job.save).collect();
    let outcomes = match attempt(|| batch::store(pool, &saves)).await {
        Ok(outcomes) => outcomes,
        Err(error) if jobs.len() == 1 || matches!(error, StoreError::Away(_) | StoreError::Full) => {
            jobs.iter().map(|_| Err(error.clone())).collect()
        }
        Err(_) => {
            let mut outcomes = Vec::with_capacity(jobs.len());
            for save in &saves {
                let alone = attempt(|| batch::store(pool, std::slice::from_ref(save))).await;
                outcomes.push(alone.and_then(|mut outcome| outcome.pop().unwrap_or_else(|| Err(closed()))));
            }
            outcomes
        }
    };
    for (job, outcome) in jobs.into_iter().zip(outcomes) {
        // Whoever stopped waiting needs no answer; the save is done anyway.
        let _ = job.reply.send(outcome);
    }
}
