//! How long active clients wait for their answers, with or without others in the way.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use mnemon_testkit::faults::{Service, Story};
use mnemon_testkit::wire::CallFailed;
use serde_json::json;

/// On a busy machine, waits below this mean nothing.
const NOISE: Duration = Duration::from_millis(5);

/// What a measurement saw.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waits {
    pub(crate) p99: Duration,
    pub(crate) calls: usize,
    pub(crate) failures: usize,
}

impl Waits {
    /// Whether these are at most twice those of a quiet service.
    pub(crate) fn is_at_most_twice(&self, quiet: &Self) -> bool {
        self.p99 <= (quiet.p99 * 2).max(NOISE)
    }
}

/// Stores something to search for.
pub(crate) async fn prepare(service: &Service, records: usize) -> Result<()> {
    let mut wire = service.connect().await?;
    let mut story = Story::new("busy", "one-writer");
    for _ in 0..records {
        story.save(&mut wire).await?;
    }
    Ok(())
}

/// Lets clients search for a while; each opens its own connection.
pub(crate) async fn measure(service: &Service, clients: usize, time: Duration) -> Result<Waits> {
    let ends = Instant::now() + time;
    let mut running = Vec::new();
    for _ in 0..clients {
        let mut wire = service.connect().await?;
        running.push(tokio::spawn(async move {
            let (mut waits, mut failures) = (Vec::new(), 0);
            while Instant::now() < ends {
                let began = Instant::now();
                let answer = wire.call("search", &json!({"query": "note of a writer", "workspace": "busy"})).await;
                waits.push(began.elapsed());
                failures += usize::from(answer.is_err());
                if matches!(answer, Err(CallFailed::Connection(_))) {
                    break;
                }
            }
            (waits, failures)
        }));
    }
    let (mut all, mut failures) = (Vec::new(), 0);
    for client in running {
        let (waits, failed) = client.await.context("a client panicked")?;
        all.extend(waits);
        failures += failed;
    }
    all.sort_unstable();
    let p99 = all.get(all.len() * 99 / 100).copied().unwrap_or(time);
    Ok(Waits { p99, calls: all.len(), failures })
}
