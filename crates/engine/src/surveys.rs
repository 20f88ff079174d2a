//! Ledgers of projects, kept up to date: a console shows how records stand on every page. What has changed since is
//! read from the log, as an index does it.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::SignedDuration;
use lru::LruCache;
use mnemon_core::{ProjectId, Timestamp};
use mnemon_store::{Since, StoreError};
use parking_lot::Mutex;

use crate::Engine;
use crate::ledger::Ledger;

/// How many projects are remembered.
const PROJECTS_MAX: NonZeroUsize = NonZeroUsize::new(64).expect("more than none");
/// How many records all of them have together: a record takes about a hundred bytes.
const RECORDS_MAX: usize = 500_000;
/// After more places of the log than this a project is read anew.
const TAIL_MAX: u64 = 5_000;
/// Confirming what is known already takes no place in the log. On another node it shows after this long.
const AGE_MAX: SignedDuration = SignedDuration::from_secs(10);
/// By how much the clocks of nodes may differ.
const CLOCKS_APART: SignedDuration = SignedDuration::from_secs(60);

/// A project's place in memory. Whoever holds the lock brings it up to date; others wait for that.
#[derive(Default)]
struct Kept {
    ledger: tokio::sync::Mutex<Option<Current>>,
    /// Whether a source was confirmed here since.
    is_confirmed: AtomicBool,
    records: std::sync::atomic::AtomicUsize,
}

#[derive(Clone)]
struct Current {
    ledger: Arc<Ledger>,
    /// When it was last held against everything that was confirmed.
    at: Timestamp,
    epoch: u64,
}

/// The latest ledgers.
pub(crate) struct Surveyed(Mutex<LruCache<ProjectId, Arc<Kept>>>);

impl Default for Surveyed {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(PROJECTS_MAX)))
    }
}

impl Surveyed {
    /// To be called after a source was seen: that may change how records stand without changing the log.
    pub(crate) fn recheck(&self, project: ProjectId) {
        if let Some(kept) = self.0.lock().peek(&project) {
            kept.is_confirmed.store(true, Ordering::SeqCst);
        }
    }

    fn place(&self, project: ProjectId) -> Arc<Kept> {
        Arc::clone(self.0.lock().get_or_insert(project, Arc::default))
    }

    /// Lets the projects go that were not asked about for the longest time, until the rest fits.
    fn make_room(&self) {
        let mut kept = self.0.lock();
        let mut records: usize = kept.iter().map(|(_, kept)| kept.records.load(Ordering::Relaxed)).sum();
        while records > RECORDS_MAX {
            let Some((_, oldest)) = kept.pop_lru() else { return };
            records -= oldest.records.load(Ordering::Relaxed);
        }
    }
}

impl Engine {
    /// The project as it is now.
    pub(crate) async fn survey(&self, project: ProjectId, now: Timestamp) -> Result<Arc<Ledger>, StoreError> {
        let kept = self.surveyed.place(project);
        let mut current = kept.ledger.lock().await;
        let is_confirmed = kept.is_confirmed.swap(false, Ordering::SeqCst);
        let followed = match current.take() {
            Some(known) => self.follow(project, known, is_confirmed, now).await?,
            None => self.read_anew(project, now).await?,
        };
        kept.records.store(followed.ledger.len(), Ordering::Relaxed);
        *current = Some(followed.clone());
        drop(current);
        self.surveyed.make_room();
        Ok(followed.ledger)
    }

    async fn read_anew(&self, project: ProjectId, now: Timestamp) -> Result<Current, StoreError> {
        let epoch = self.store.epoch();
        let survey = self.store.survey(project, None).await?;
        Ok(Current { ledger: Arc::new(Ledger::new(survey)), at: now, epoch })
    }

    async fn follow(
        &self,
        project: ProjectId,
        mut known: Current,
        is_confirmed: bool,
        now: Timestamp,
    ) -> Result<Current, StoreError> {
        let seq = self.store.last_seq(project).await?.unwrap_or_default();
        let own = known.ledger.seq;
        let is_of_this_past = known.epoch == self.store.epoch() && own <= seq;
        if !is_of_this_past || seq.0 - own.0 > TAIL_MAX || known.ledger.is_worn() {
            return self.read_anew(project, now).await;
        }
        let is_old = is_confirmed || now < known.at || now.duration_since(known.at) >= AGE_MAX;
        if seq == own && !is_old {
            return Ok(known);
        }
        let from = known.at.min(now).saturating_sub(CLOCKS_APART).unwrap_or(Timestamp::MIN);
        let since = Since { seq: own, confirmed: is_old.then_some(from) };
        let survey = self.store.survey(project, Some(since)).await?;
        Arc::make_mut(&mut known.ledger).follow(survey);
        known.at = if is_old { now } else { known.at };
        Ok(known)
    }
}
