//! Work that nobody waits for, and its rhythm: telling other nodes what was let through here, writing figures, removing
//! for good what was forgotten long ago. What each job does lives with its subject; only when it runs is decided here.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::Engine;

/// Other nodes may lag by a second at most (rate limits), so they are told twice a second.
const TELL_CALLS_EVERY: Duration = Duration::from_millis(500);
const WRITE_FIGURES_EVERY: Duration = Duration::from_secs(5);
const PURGE_EVERY: Duration = Duration::from_secs(3600);

/// The running jobs. They end when this is dropped; [`Upkeep::stop`] lets them finish what they are doing first.
#[must_use = "the jobs end when this is dropped"]
pub struct Upkeep {
    stop: watch::Sender<bool>,
    jobs: JoinSet<()>,
}

impl Upkeep {
    /// Ends the jobs, each after the step it is in: figures that were taken are written or put back.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        while self.jobs.join_next().await.is_some() {}
    }
}

impl Engine {
    /// Starts the background jobs of a node. Every job does its first step at once.
    pub fn start_upkeep(self: &Arc<Self>) -> Upkeep {
        let (stop, stopped) = watch::channel(false);
        let mut jobs = JoinSet::new();
        jobs.spawn(every(TELL_CALLS_EVERY, Arc::clone(self), stopped.clone(), Self::tell_calls));
        jobs.spawn(every(WRITE_FIGURES_EVERY, Arc::clone(self), stopped.clone(), Self::write_figures));
        jobs.spawn(every(PURGE_EVERY, Arc::clone(self), stopped, Self::purge));
        Upkeep { stop, jobs }
    }

    async fn tell_calls(self: Arc<Self>) {
        if let Err(error) = self.publish_calls().await {
            tracing::warn!(%error, "the calls let through here could not be told to the other nodes");
        }
    }

    async fn write_figures(self: Arc<Self>) {
        if let Err(error) = self.flush_usage().await {
            tracing::warn!(%error, "usage figures could not be written; they are kept for the next try");
        }
    }

    async fn purge(self: Arc<Self>) {
        if let Err(error) = self.purge_oauth().await {
            tracing::warn!(%error, "ended connections could not be removed; the next try is in an hour");
        }
        match self.purge_old().await {
            Ok(0) => {}
            Ok(purged) => tracing::info!(purged, "records forgotten more than 30 days ago were removed for good"),
            Err(error) => tracing::warn!(%error, "old records could not be removed; the next try is in an hour"),
        }
    }
}

/// Runs one step after another, `period` apart, until told to stop. A step is never cut short.
async fn every<Step>(
    period: Duration,
    engine: Arc<Engine>,
    mut stopped: watch::Receiver<bool>,
    step: impl Fn(Arc<Engine>) -> Step,
) where
    Step: Future<Output = ()>,
{
    let mut ticks = tokio::time::interval(period);
    loop {
        tokio::select! {
            _ = ticks.tick() => step(Arc::clone(&engine)).await,
            _ = stopped.changed() => return,
        }
    }
}
