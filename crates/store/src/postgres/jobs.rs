//! Saves with their callers: stored together if that works, otherwise project by project and then one by one, so that
//! a bad one fails alone.

use std::sync::Arc;

use mnemon_core::{ContentHash, MemberId, ProjectId};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::batch;
use super::connect::Pool;
use super::error::{Again, Fault};
use super::queue::Waiting;
use super::save::{Lock, Outcome, Save};
use crate::StoreError;

/// A save and the caller that waits for it.
pub(super) struct Job {
    pub(super) save: Save,
    pub(super) reply: oneshot::Sender<Outcome>,
    pub(super) arrived: Instant,
}

/// What two saves must not share in one batch.
#[derive(PartialEq, Eq, Hash)]
pub(super) enum Conflict {
    Content(String, ContentHash),
    IdempotencyKey(MemberId, String),
}

impl Waiting for Job {
    type Conflict = Conflict;

    fn project(&self) -> ProjectId {
        self.save.insert.record.project
    }

    fn conflicts(&self) -> Vec<Conflict> {
        let Save { insert, content_hash, .. } = &self.save;
        let content = Conflict::Content(insert.record.workspace.as_str().to_owned(), *content_hash);
        let key = insert.idempotency.as_ref().map(|key| Conflict::IdempotencyKey(key.member, key.key.clone()));
        std::iter::once(content).chain(key).collect()
    }
}

impl Job {
    fn answer(self, outcome: Outcome) {
        // A caller that stopped waiting needs no answer; the save is done anyway.
        let _ = self.reply.send(outcome);
    }
}

/// Stores saves of many projects. Returns those that have to be stored with their project alone.
pub(super) async fn store_batch(pool: &Arc<Pool>, mut jobs: Vec<Job>) -> Vec<Job> {
    // Callers that were told that storage is unavailable don't expect their saves any more.
    jobs.retain(|job| !job.reply.is_closed());
    match batch::store(pool, &saves(&jobs), Lock::Skip).await {
        Ok(outcomes) => answer_each(jobs, outcomes),
        Err(fault) if concerns_everybody(&fault) => {
            answer_all(jobs, &fault.error);
            Vec::new()
        }
        // One of the saves or one of the projects is the reason.
        Err(_) => jobs,
    }
}

/// Stores saves of one project, and waits for its lock.
pub(super) async fn store_alone(pool: &Arc<Pool>, jobs: Vec<Job>) {
    let jobs = refuse_late(pool, jobs);
    match batch::store(pool, &saves(&jobs), Lock::Wait).await {
        Ok(outcomes) => answer_all(answer_each(jobs, outcomes), &left_out()),
        Err(fault) if fault.again == Again::Locked || concerns_everybody(&fault) => answer_all(jobs, &fault.error),
        Err(_) => store_one_by_one(pool, jobs).await,
    }
}

/// Stores each save by itself. If it was the answer's part that can't be read, that does not fail the save: its caller
/// gets no standing, and asks for itself.
async fn store_one_by_one(pool: &Arc<Pool>, jobs: Vec<Job>) {
    for mut job in jobs {
        job.save.wants_standing = false;
        let outcomes = batch::store(pool, &[&job.save], Lock::Wait).await.map_err(|fault| fault.error);
        let outcome = outcomes.and_then(|mut outcomes| outcomes.pop().flatten().unwrap_or_else(|| Err(left_out())));
        job.answer(outcome);
    }
}

fn saves(jobs: &[Job]) -> Vec<&Save> {
    jobs.iter().map(|job| &job.save).collect()
}

fn left_out() -> StoreError {
    StoreError::Failed("a save was left out of its batch".to_owned())
}

/// Whether another attempt with fewer saves would fail alike.
fn concerns_everybody(fault: &Fault) -> bool {
    fault.again != Again::Locked && matches!(fault.error, StoreError::Away(_) | StoreError::Full)
}

/// Answers the saves that are decided, and returns the others.
fn answer_each(jobs: Vec<Job>, outcomes: Vec<Option<Outcome>>) -> Vec<Job> {
    let mut aside = Vec::new();
    for (job, outcome) in jobs.into_iter().zip(outcomes) {
        match outcome {
            Some(outcome) => job.answer(outcome),
            None => aside.push(job),
        }
    }
    aside
}

fn answer_all(jobs: Vec<Job>, error: &StoreError) {
    jobs.into_iter().for_each(|job| job.answer(Err(error.clone())));
}

/// Refuses saves that have waited too long to wait for a lock as well: callers get an answer within two seconds.
fn refuse_late(pool: &Pool, jobs: Vec<Job>) -> Vec<Job> {
    let max = pool.limits().alone_within;
    let (jobs, late): (Vec<Job>, Vec<Job>) = jobs.into_iter().partition(|job| job.arrived.elapsed() < max);
    answer_all(late, &StoreError::Away("PostgreSQL timed out: somebody keeps a lock".to_owned()));
    jobs
}
