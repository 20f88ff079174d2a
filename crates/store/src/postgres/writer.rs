//! Where saves wait for each other: those that arrive while a flight is being stored become the next one (`departure.rs`),
//! whatever projects they belong to.
//!
//! A thread of its own sends the flights (`tower.rs`). Among the calls, which keep a processor a hundred times as long, each
//! step of a flight would wait for its turn, and with it everybody who is on the flight or waits for the next one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::batch::{Outcome, Save};
use super::connect::{Pool, PostgresConfig};
use super::door::Door;
use super::error::closed;
use super::flight::Job;
use super::tower::Tower;
use crate::figures::CommitCounter;
use crate::{CommitSizes, StoreError};

/// How many saves a node takes on at a time. More callers than that wait for a place and hold nothing.
const PLACES: usize = 5_120;

/// The handle of the thread that sends the flights.
pub(super) struct Writer {
    door: Arc<Door<Job>>,
    /// Tells when the thread has ended; gone once this was closed.
    ended: Mutex<Option<oneshot::Receiver<()>>>,
    commits: Arc<CommitCounter>,
    /// How many saves the thread has fetched and not sent yet.
    inside: Arc<AtomicUsize>,
}

impl Writer {
    /// Nobody else may use this pool: its connections live on the thread. Callers are answered on the runtime that this is
    /// called on.
    pub(super) fn start(pool: Pool, config: &PostgresConfig) -> Result<Self, StoreError> {
        let failed = |error: std::io::Error| StoreError::Failed(format!("can't start the writer: {error}"));
        let (commits, inside): (Arc<CommitCounter>, Arc<AtomicUsize>) = Default::default();
        let door = Arc::new(Door::new(PLACES));
        let tower = Tower::new(pool, Handle::current(), config, Arc::clone(&commits), Arc::clone(&inside));
        let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let (ends, ended) = oneshot::channel();
        let at_work = AtWork { door: Arc::clone(&door), _ends: ends };
        let work = move || at_work.send_flights(&runtime, tower);
        std::thread::Builder::new().name("mnemon-writer".to_owned()).spawn(work).map_err(failed)?;
        Ok(Self { door, ended: Mutex::new(Some(ended)), commits, inside })
    }

    pub(super) fn commits(&self) -> CommitSizes {
        self.commits.read()
    }

    /// How many saves wait.
    pub(super) fn waiting(&self) -> u64 {
        (self.door.len() + self.inside.load(Ordering::Relaxed)) as u64
    }

    /// Whether somebody sends the flights. A thread that has panicked does not come back.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        if self.door.is_open() {
            return Ok(());
        }
        let is_closed = self.ended.lock().is_none();
        let ended = || StoreError::Failed("the thread that sends saves has ended; restart the service".to_owned());
        Err(if is_closed { closed() } else { ended() })
    }

    /// Saves a record and waits until it is durable.
    pub(super) async fn insert(&self, save: Save) -> Outcome {
        let place = self.door.place().await?;
        let (reply, answer) = oneshot::channel();
        self.door.enter(Job { save, reply, arrived: Instant::now(), _place: place })?;
        answer.await.map_err(|_| closed())?
    }

    /// Ends as a thread that panicked does.
    #[cfg(feature = "testing")]
    pub(super) fn abandon(&self) {
        self.door.abandon();
    }

    /// Stores what is still waiting and accepts no more.
    pub(super) async fn close(&self) {
        let ended = self.ended.lock().take();
        self.door.close();
        if let Some(ended) = ended {
            let _ = ended.await;
        }
    }
}

/// The thread stores what is still waiting, and ends.
impl Drop for Writer {
    fn drop(&mut self) {
        self.door.close();
    }
}

/// What the thread holds while it works. However it ends, nobody waits at the door in vain.
struct AtWork {
    door: Arc<Door<Job>>,
    _ends: oneshot::Sender<()>,
}

impl AtWork {
    fn send_flights(self, runtime: &Runtime, tower: Tower) {
        runtime.block_on(tower.serve(&self.door));
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.door.abandon();
    }
}
