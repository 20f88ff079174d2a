//! One flight of saves: stored together if that works, otherwise in ever smaller parts, so that a bad one fails alone.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::Instant;

use super::batch::{self, Outcome, Save};
use super::connect::Pool;
use super::error::{Again, Fault};
use super::known_projects::KnownProjects;
use super::line::Waiting;
use super::try_out;
use crate::StoreError;

pub(super) type Reply = oneshot::Sender<Outcome>;

/// A save and whoever waits for it.
pub(super) struct Job {
    pub(super) save: Save,
    pub(super) reply: Reply,
    pub(super) arrived: Instant,
    /// Its place among those that a node has taken on, which is free again when it is answered.
    pub(super) _place: OwnedSemaphorePermit,
}

/// How a flight ends.
pub(super) enum Landing {
    /// Everybody has an answer.
    Done,
    /// Somebody keeps the lock of one of the projects, or of all: nothing was stored. Whoever is left here has no answer yet.
    HeldUp(Vec<Job>),
}

/// Stores the jobs and answers them, by a task of the runtime that serves the callers: to wake them one by one across
/// runtimes would keep this thread from the next flight.
pub(super) async fn store(
    pool: &Arc<Pool>,
    known: &KnownProjects,
    callers: &Handle,
    mut jobs: Vec<Job>,
    is_apart: bool,
) -> Landing {
    if is_apart {
        jobs = refuse_late(pool, jobs);
    }
    // In the order of the saves: the first part is the last in here.
    let mut parts = vec![jobs];
    while let Some(mut jobs) = parts.pop() {
        let saves: Vec<&Save> = jobs.iter().map(|job| &job.save).collect();
        match try_out(|| batch::store(pool, known, &saves)).await {
            Ok(outcomes) => {
                let answers =
                    async move { jobs.into_iter().zip(outcomes).for_each(|(job, outcome)| job.answer(outcome)) };
                drop(callers.spawn(answers));
            }
            Err(Fault { again: Again::Locked, error }) => {
                jobs.extend(parts.into_iter().rev().flatten());
                return held_up(jobs, &error);
            }
            Err(Fault { error, .. }) if jobs.len() == 1 || matches!(error, StoreError::Away(_) | StoreError::Full) => {
                answer_all(jobs, &error);
            }
            Err(_) => {
                let later = jobs.split_off(jobs.len() / 2);
                parts.extend([later, jobs]);
            }
        }
    }
    Landing::Done
}

/// Whoever flew with others tries again without them. A project that flew alone was held up by its own lock.
fn held_up(jobs: Vec<Job>, error: &StoreError) -> Landing {
    let is_one_project = jobs.iter().all(|job| job.project() == jobs[0].project());
    if is_one_project {
        answer_all(jobs, error);
        return Landing::HeldUp(Vec::new());
    }
    Landing::HeldUp(jobs)
}

/// Refuses those who have waited too long to wait for a lock again: they are told within two seconds what happened.
fn refuse_late(pool: &Pool, jobs: Vec<Job>) -> Vec<Job> {
    let max = pool.limits().apart_within;
    let (jobs, late): (Vec<Job>, Vec<Job>) = jobs.into_iter().partition(|job| job.arrived.elapsed() < max);
    answer_all(late, &StoreError::Away("PostgreSQL timed out: somebody keeps a lock".to_owned()));
    jobs
}

fn answer_all(jobs: Vec<Job>, error: &StoreError) {
    jobs.into_iter().for_each(|job| job.answer(Err(error.clone())));
}

impl Job {
    fn answer(self, outcome: Outcome) {
        // Whoever stopped waiting needs no answer; the save is done anyway.
        let _ = self.reply.send(outcome);
    }
}
