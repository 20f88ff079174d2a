//! Lists what upstreams offer. The last list is kept, so no call waits long: an old list is fetched again in the
//! background, and callers meanwhile get the one that is there.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use mnemon_core::Timestamp;
use mnemon_gateway::{Hello, UpstreamError};
use mnemon_store::{IntegrationRow, SeenTool, StoreError};

use super::offer::refused_text;
use super::{Integrations, Owner, Silence};

/// From this age on, a list is fetched again.
const FRESH_FOR: SignedDuration = SignedDuration::from_secs(60);
/// How long to wait before asking an upstream again that did not answer.
const RETRY_AFTER: SignedDuration = SignedDuration::from_secs(30);
/// How long a caller waits for new lists. `tools/list` has two seconds for everything.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// What listing an upstream found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    /// Who answered.
    pub hello: Hello,
    pub tools: usize,
    /// How long the answer took.
    pub took: Duration,
}

impl Integrations {
    /// Asks an upstream for its tools and stores them.
    pub(crate) async fn look(
        &self,
        owner: Owner,
        row: &IntegrationRow,
    ) -> Result<Result<Looked, UpstreamError>, StoreError> {
        let project = owner.project;
        let now = self.clock.now();
        self.tried_at.lock().insert((project, row.name.clone()), now);
        let listed = match self.upstream(owner, row) {
            Ok(upstream) => self.gateway.list_tools(&upstream).await,
            Err(error) => Err(error),
        };
        let listing = match listed {
            Ok(listing) => {
                self.silences.lock().remove(&(project, row.name.clone()));
                listing
            }
            Err(error) => {
                let silence = Silence { at: now, why: format!("'{}' {error}", row.name) };
                self.silences.lock().insert((project, row.name.clone()), silence);
                tracing::info!(project.id = %project, integration = row.name, %error, "could not list an upstream's tools");
                return Ok(Err(error));
            }
        };
        let looked = Looked { hello: listing.hello, tools: listing.tools.len(), took: listing.took };
        let guard = self.guard;
        // Judging a few hundred texts takes a while, and others wait for this thread.
        let judged = tokio::task::spawn_blocking(move || {
            let seen = listing.tools.iter().map(|tool| SeenTool {
                name: tool.name().to_owned(),
                definition: tool.definition(),
                hash: tool.hash(),
                refused_text: refused_text(guard, tool),
            });
            seen.collect::<Vec<_>>()
        });
        let seen = judged.await.map_err(|error| StoreError::Failed(format!("listing tools ended early: {error}")))?;
        self.store.save_tools(project, &row.name, row.revision, seen, now).await?;
        Ok(Ok(looked))
    }

    /// Fetches old lists again, and waits a moment for them. Returns whether anything was fetched, so that the caller
    /// reads again.
    pub(crate) async fn freshen(
        self: &Arc<Self>,
        owner: Owner,
        rows: impl Iterator<Item = &IntegrationRow>,
        now: Timestamp,
    ) -> bool {
        let (project, mut looks) = (owner.project, Vec::new());
        for row in rows.filter(|row| row.is_enabled && is_due(row.seen_at, FRESH_FOR, now)) {
            let key = (project, row.name.clone());
            let mut tried_at = self.tried_at.lock();
            if !is_due(tried_at.get(&key).copied(), RETRY_AFTER, now) {
                continue;
            }
            tried_at.insert(key, now);
            drop(tried_at);
            let (shared, row) = (Arc::clone(self), row.clone());
            looks.push(tokio::spawn(async move {
                if let Err(error) = shared.look(owner, &row).await {
                    tracing::warn!(project.id = %project, integration = row.name, %error, "could not save a tool list");
                }
            }));
        }
        let is_any = !looks.is_empty();
        let all = async {
            for look in looks {
                let _ = look.await;
            }
        };
        // Slower upstreams continue in the background; the next caller finds the result.
        let _ = tokio::time::timeout(WAIT_MAX, all).await;
        is_any
    }
}

/// Whether this much time has passed. A time in the future comes from another clock and counts as long ago.
fn is_due(last: Option<Timestamp>, after: SignedDuration, now: Timestamp) -> bool {
    let Some(last) = last else { return true };
    let passed = now.duration_since(last);
    passed >= after || passed.is_negative()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_grow_old_and_clocks_may_be_set_back() {
        let at = |second| Timestamp::from_second(second).unwrap();
        assert!(is_due(None, FRESH_FOR, at(0)));
        assert!(!is_due(Some(at(100)), FRESH_FOR, at(159)));
        assert!(is_due(Some(at(100)), FRESH_FOR, at(160)));
        assert!(is_due(Some(at(100)), FRESH_FOR, at(99)));
    }
}
