//! Background jobs and when they run: reporting admitted calls to other nodes, telling of this node, writing usage
//! figures, purging long-forgotten records. What each job does lives with its subject; this module only decides when it
//! runs.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::Engine;
use crate::seen::Due;

/// Other nodes may lag by at most a second (rate limits), so calls are reported twice a second.
const TELL_CALLS_EVERY: Duration = Duration::from_millis(500);
/// A node that has not reported for a minute is shown as silent.
const TELL_OF_NODE_EVERY: Duration = Duration::from_secs(15);
/// An alert reports an outage within 90 seconds. More often would keep the disk of an idle machine awake.
const TRY_STORAGE_EVERY: Duration = Duration::from_secs(10);
const WRITE_FIGURES_EVERY: Duration = Duration::from_secs(5);
const PURGE_EVERY: Duration = Duration::from_secs(3600);

/// The running jobs. They end on drop; [`Upkeep::stop`] lets them finish their current step first.
#[must_use = "the jobs end when this is dropped"]
pub struct Upkeep {
    stop: watch::Sender<bool>,
    jobs: JoinSet<()>,
    engine: Arc<Engine>,
}

impl Upkeep {
    /// Ends the jobs, each after its current step: figures that were taken are written or put back.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        while self.jobs.join_next().await.is_some() {}
        self.engine.take_leave().await;
    }
}

impl Engine {
    /// Starts the background jobs of a node. Every job runs its first step at once.
    pub fn start_upkeep(self: &Arc<Self>) -> Upkeep {
        let (stop, stopped) = watch::channel(false);
        let mut jobs = JoinSet::new();
        jobs.spawn(every(TELL_CALLS_EVERY, Arc::clone(self), stopped.clone(), Self::tell_calls));
        jobs.spawn(every(TELL_OF_NODE_EVERY, Arc::clone(self), stopped.clone(), Self::tell_of_itself));
        jobs.spawn(every(TRY_STORAGE_EVERY, Arc::clone(self), stopped.clone(), Self::try_its_storage));
        jobs.spawn(every(WRITE_FIGURES_EVERY, Arc::clone(self), stopped.clone(), Self::write_figures));
        jobs.spawn(every(PURGE_EVERY, Arc::clone(self), stopped, Self::purge));
        Upkeep { stop, jobs, engine: Arc::clone(self) }
    }

    async fn tell_calls(self: Arc<Self>) {
        if let Err(error) = self.publish_calls().await {
            tracing::warn!(%error, "could not share call counts with the other nodes");
        }
        if let Err(error) = self.flush_seen(Due::Silent).await {
            tracing::warn!(%error, "could not note which keys were used");
        }
    }

    async fn tell_of_itself(self: Arc<Self>) {
        if let Err(error) = self.tell_of_node().await {
            tracing::debug!(%error, "could not tell the operator of this node; next attempt in a few seconds");
        }
    }

    async fn try_its_storage(self: Arc<Self>) {
        self.try_storage().await;
    }

    async fn write_figures(self: Arc<Self>) {
        if let Err(error) = self.flush_usage().await {
            tracing::warn!(%error, "could not write usage figures; they are kept for the next attempt");
        }
    }

    async fn purge(self: Arc<Self>) {
        if let Err(error) = self.purge_oauth().await {
            tracing::warn!(%error, "could not remove expired connections; next attempt in an hour");
        }
        if let Err(error) = self.purge_console().await {
            tracing::warn!(%error, "could not remove the console's ended sessions; next attempt in an hour");
        }
        match self.purge_old().await {
            Ok(0) => {}
            Ok(purged) => tracing::info!(purged, "purged records forgotten more than 30 days ago"),
            Err(error) => tracing::warn!(%error, "could not purge old records; next attempt in an hour"),
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
