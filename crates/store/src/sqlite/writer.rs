//! The only thread that writes. Acts queue up; those that wait together are committed together, and each is answered
//! after its commit.
//!
//! SQLite allows a single writer anyway; waiting in this queue is fair while retrying a busy file is not, and one sync
//! of the disk serves everybody who waits.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mnemon_core::Seq;
use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::batch::{Projects, Tx};
use super::commit_delay::CommitDelay;
use super::error::closed;
use super::files::{Files, check_whole};
use super::memory::Memory;
use super::migrate::migrate;
use super::transfer::check_finished;
use super::wal::{checkpoint_all, empty_wal, rewrite};
use crate::figures::CommitCounter;
use crate::{CommitSizes, StoreError};

/// How many acts may wait. More callers than that wait for a place and hold nothing.
const QUEUE_MAX: usize = 4_096;
/// How many acts are committed together: enough to make the sync cheap, few enough to keep the first one's wait short.
const BATCH_MAX: usize = 512;
/// How large the WAL may grow before it is checkpointed: 32 MB. Pages that change often are then written once for many
/// commits; a start after a kill reads at most this much.
const WAL_PAGES_MAX: i32 = 8_192;
/// How long a purge waits for readers that hold the WAL, and everybody else with it.
const PURGE_WAIT_MAX: Duration = Duration::from_secs(1);
/// How long rewriting the file waits for them at the end.
const COMPACT_WAIT_MAX: Duration = Duration::from_secs(5);
/// How long to wait before a lost connection is tried again.
const RETRY_AFTER: Duration = Duration::from_millis(100);

/// The handle to the writing thread.
pub(super) struct Writer {
    queue: mpsc::Sender<Message>,
    thread: Mutex<Option<JoinHandle<()>>>,
    commits: Arc<CommitCounter>,
}

enum Message {
    Act(Box<dyn Job>),
    Compact(oneshot::Sender<Result<(), StoreError>>),
    Close(oneshot::Sender<()>),
}

/// An act on its way: it may run more than once, and is answered once.
trait Job: Send {
    fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), StoreError>;
    fn answer(self: Box<Self>, outcome: Result<(), StoreError>);
}

struct Pending<F, T> {
    act: F,
    answer: Option<T>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<F, T> Job for Pending<F, T>
where
    F: Fn(&mut Tx<'_>) -> Result<T, StoreError> + Send,
    T: Send,
{
    fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        self.answer = Some((self.act)(tx)?);
        Ok(())
    }

    fn answer(self: Box<Self>, outcome: Result<(), StoreError>) {
        let Self { answer, reply, .. } = *self;
        let answer = outcome.and_then(|()| answer.ok_or_else(|| lost("the act left no answer")));
        // The caller may have stopped waiting; the act is done anyway.
        let _ = reply.send(answer);
    }
}

fn lost(why: &str) -> StoreError {
    StoreError::Away(why.to_owned())
}

impl Writer {
    /// Opens the database, brings its schema up to date and starts the thread, which holds the lock until it ends.
    pub(super) fn start(files: Files, lock: File, memory: Arc<Memory>) -> Result<Self, StoreError> {
        let commits: Arc<CommitCounter> = Arc::default();
        let mut desk = Desk {
            commits: Arc::clone(&commits),
            files,
            memory,
            projects: Projects::default(),
            conn: None,
            wal_pages: Arc::default(),
            has_purged_wal: false,
            lost_at: None,
        };
        let mut conn = desk.open()?;
        check_whole(&conn)?;
        migrate(&mut conn)?;
        check_finished(&conn)?;
        desk.conn = Some(conn);
        let (queue, waiting) = mpsc::channel(QUEUE_MAX);
        let work = move || {
            desk.serve(waiting);
            drop(lock);
        };
        let thread = std::thread::Builder::new().name("mnemon-writer".to_owned()).spawn(work);
        let thread = thread.map_err(|error| StoreError::Failed(format!("can't start the writer: {error}")))?;
        Ok(Self { queue, thread: Mutex::new(Some(thread)), commits })
    }

    pub(super) fn commits(&self) -> CommitSizes {
        self.commits.read()
    }

    /// How many acts wait for the thread.
    pub(super) fn waiting(&self) -> u64 {
        (self.queue.max_capacity() - self.queue.capacity()) as u64
    }

    /// Runs an act and waits until it is durable. The act decides before it writes: an answer that means "no" has
    /// written nothing. It may run twice; the first run is then rolled back.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        act: impl Fn(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let job = Box::new(Pending { act, answer: None, reply });
        self.queue.send(Message::Act(job)).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }

    /// Rewrites the file without its free space, after what is already waiting.
    pub(super) async fn compact(&self) -> Result<(), StoreError> {
        let (reply, answer) = oneshot::channel();
        self.queue.send(Message::Compact(reply)).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }

    /// Finishes what is still waiting, checkpoints the WAL and ends the thread.
    pub(super) async fn close(&self) {
        let (done, is_done) = oneshot::channel();
        if self.queue.send(Message::Close(done)).await.is_ok() {
            let _ = is_done.await;
        }
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // The thread ends when the queue does. Waiting for it means that the directory is free when this returns.
        let (unused, _) = mpsc::channel(1);
        drop(std::mem::replace(&mut self.queue, unused));
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }
}

/// The state that only the thread touches.
struct Desk {
    files: Files,
    commits: Arc<CommitCounter>,
    memory: Arc<Memory>,
    projects: Projects,
    /// `None` after it was lost, until it is reopened and checked.
    conn: Option<Connection>,
    wal_pages: Arc<AtomicI32>,
    /// Whether the WAL may still contain purged data.
    has_purged_wal: bool,
    lost_at: Option<Instant>,
}

impl Desk {
    fn serve(&mut self, mut waiting: mpsc::Receiver<Message>) {
        let mut commit_delay = CommitDelay::default();
        while let Some(first) = waiting.blocking_recv() {
            commit_delay.wait(|| 1 + waiting.len());
            let (jobs, order) = collect(first, &mut waiting);
            let (acts, began) = (jobs.len(), Instant::now());
            self.work(jobs);
            commit_delay.note(acts, began.elapsed());
            self.checkpoint_if_due();
            match order {
                Some(Message::Compact(reply)) => drop(reply.send(self.compact())),
                Some(Message::Close(done)) => {
                    self.drain(&mut waiting);
                    self.finish();
                    let _ = done.send(());
                    return;
                }
                Some(Message::Act(_)) | None => {}
            }
        }
        self.finish();
    }

    /// Runs the acts that still came in, and accepts no more.
    fn drain(&mut self, waiting: &mut mpsc::Receiver<Message>) {
        waiting.close();
        while let Some(message) = waiting.blocking_recv() {
            if let Message::Act(job) = message {
                self.work(vec![job]);
            }
        }
    }

    /// Runs the jobs together if that works, otherwise one by one, so that a bad one fails alone.
    fn work(&mut self, mut jobs: Vec<Box<dyn Job>>) {
        if jobs.is_empty() {
            return;
        }
        let outcome = self.transact(&mut jobs);
        let is_anyones_fault = matches!(outcome, Err(StoreError::Away(_)));
        if outcome.is_ok() || is_anyones_fault || jobs.len() == 1 {
            for job in jobs {
                job.answer(outcome.clone());
            }
            return;
        }
        for mut job in jobs {
            let outcome = self.transact(std::slice::from_mut(&mut job));
            job.answer(outcome);
        }
    }

    /// One transaction for all jobs. If it fails, none of them is stored or in memory. After a disk failure it is
    /// unknown which were stored, and no job runs again until the file is reopened and checked.
    fn transact(&mut self, jobs: &mut [Box<dyn Job>]) -> Result<(), StoreError> {
        if self.conn.is_none() {
            self.reopen()?;
        }
        let Some(conn) = &self.conn else { return Err(lost("the database is being reopened")) };
        let outcome = run(conn, &mut self.projects, jobs);
        match &outcome {
            Ok(()) => {
                self.commits.note(jobs.len());
                let has_purged = self.projects.take_purged();
                self.projects.publish(&self.memory);
                if has_purged {
                    self.wipe_wal(PURGE_WAIT_MAX);
                }
            }
            Err(error) => {
                self.projects = Projects::default();
                if *error == StoreError::Full {
                    // Checkpointing lets the WAL's space be reused.
                    self.wal_pages.store(WAL_PAGES_MAX, Ordering::Relaxed);
                }
                let is_rolled_back = conn.is_autocommit() || conn.execute_batch("ROLLBACK").is_ok();
                if matches!(error, StoreError::Away(_)) || !is_rolled_back {
                    self.lose(error.clone());
                }
            }
        }
        outcome
    }

    fn open(&self) -> Result<Connection, StoreError> {
        let mut conn = self.files.open_writer()?;
        let pages = Arc::clone(&self.wal_pages);
        conn.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, count| {
            pages.store(count, Ordering::Relaxed);
            Ok(())
        }))?;
        Ok(conn)
    }

    fn lose(&mut self, error: StoreError) {
        tracing::error!("the database failed; nothing is written until it is reopened and checked: {error}");
        self.conn = None;
        self.projects = Projects::default();
        self.lost_at = Some(Instant::now());
    }

    /// Reopens the file after a failure, and makes sure that it contains everything that was ever acknowledged.
    ///
    /// Not `quick_check`: it reads the whole file, and from the very page cache whose contents a failed sync has put in
    /// doubt. Only data that was not yet checkpointed by a successful sync can be in doubt. So all of it is written and
    /// synced again, and then every project's log must reach as far as this process has answered.
    fn reopen(&mut self) -> Result<(), StoreError> {
        if self.lost_at.is_some_and(|at| at.elapsed() < RETRY_AFTER) {
            return Err(lost("the database failed a moment ago"));
        }
        self.lost_at = Some(Instant::now());
        let conn = self.open()?;
        checkpoint_all(&conn)?;
        check_logs(&conn, &self.memory)?;
        tracing::warn!("the database was reopened and contains everything that was acknowledged");
        self.conn = Some(conn);
        self.lost_at = None;
        Ok(())
    }

    /// Checkpoints the WAL once it is large. Comes after the answers, so that no caller waits for it.
    fn checkpoint_if_due(&mut self) {
        if self.has_purged_wal {
            self.wipe_wal(Duration::ZERO);
        }
        if self.wal_pages.load(Ordering::Relaxed) < WAL_PAGES_MAX {
            return;
        }
        let Some(conn) = &self.conn else { return };
        match conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).map_err(StoreError::from) {
            Ok(()) => self.wal_pages.store(0, Ordering::Relaxed),
            // No space for a checkpoint: the WAL keeps what it has, and the next attempt comes with the next batch.
            Err(StoreError::Full) => tracing::warn!("the disk is full; the WAL can't be checkpointed"),
            Err(error) => self.lose(error),
        }
    }

    /// Removes purged data from the WAL too. If readers take too long, it is tried again after every later batch: the
    /// purge itself is done, and must not fail because of them.
    fn wipe_wal(&mut self, wait_max: Duration) {
        self.has_purged_wal = true;
        let Some(conn) = &self.conn else { return };
        match empty_wal(conn, wait_max) {
            Ok(true) => {
                self.has_purged_wal = false;
                self.wal_pages.store(0, Ordering::Relaxed);
            }
            Ok(false) => tracing::warn!("readers are using the WAL; purged data stays in it a little longer"),
            Err(StoreError::Full) => tracing::warn!("the disk is full; purged data stays in the WAL"),
            Err(error) => self.lose(error),
        }
    }

    fn compact(&mut self) -> Result<(), StoreError> {
        if self.conn.is_none() {
            self.reopen()?;
        }
        let Some(conn) = &self.conn else { return Err(lost("the database is being reopened")) };
        match rewrite(conn).and_then(|()| empty_wal(conn, COMPACT_WAIT_MAX)) {
            Ok(true) => {
                self.has_purged_wal = false;
                self.wal_pages.store(0, Ordering::Relaxed);
                Ok(())
            }
            Ok(false) => Err(lost("readers are using the WAL; the file itself was rewritten")),
            Err(StoreError::Full) => Err(StoreError::Full),
            Err(error) => {
                self.lose(error.clone());
                Err(error)
            }
        }
    }

    fn finish(&mut self) {
        let Some(conn) = self.conn.take() else { return };
        if let Err(error) = checkpoint_all(&conn) {
            tracing::warn!("the WAL stays next to the database until the next start: {error}");
        }
        if let Err((_, error)) = conn.close() {
            tracing::warn!("the database did not close: {error}");
        }
        // Closing has freed the room for it, if the last start used it up.
        self.files.keep_spare();
    }
}

/// Takes the waiting acts, up to a limit or to something that is not an act.
fn collect(first: Message, waiting: &mut mpsc::Receiver<Message>) -> (Vec<Box<dyn Job>>, Option<Message>) {
    let mut jobs = Vec::new();
    let mut next = Some(first);
    while let Some(message) = next {
        match message {
            Message::Act(job) => jobs.push(job),
            order => return (jobs, Some(order)),
        }
        next = if jobs.len() < BATCH_MAX { waiting.try_recv().ok() } else { None };
    }
    (jobs, None)
}

fn run(conn: &Connection, projects: &mut Projects, jobs: &mut [Box<dyn Job>]) -> Result<(), StoreError> {
    conn.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    for job in jobs {
        let mut tx = Tx { conn, projects };
        // A panic in an act is our bug, and still no reason to leave everybody else without storage.
        catch_unwind(AssertUnwindSafe(|| job.run(&mut tx)))
            .unwrap_or_else(|_| Err(StoreError::Failed("an act panicked".to_owned())))?;
    }
    projects.flush(conn)?;
    conn.prepare_cached("COMMIT")?.execute([])?;
    Ok(())
}

/// Compares what was acknowledged with what is stored.
fn check_logs(conn: &Connection, memory: &Memory) -> Result<(), StoreError> {
    const SELECT: &str = "SELECT seq FROM project WHERE id = ?1";
    let mut statement = conn.prepare_cached(SELECT)?;
    for (project, acknowledged) in memory.seqs.all() {
        let stored: i64 = statement.query_row([project.to_bytes()], |row| row.get(0))?;
        if let Ok(stored) = u64::try_from(stored)
            && stored >= acknowledged.0
        {
            // What was stored and not acknowledged is part of the log now.
            memory.seqs.raise(project, Seq(stored));
            continue;
        }
        return Err(StoreError::Failed(format!(
            "the log of project {project} ends at {stored}, but {acknowledged} was acknowledged: acknowledged records are \
             lost; stop the service and restore a backup"
        )));
    }
    Ok(())
}
