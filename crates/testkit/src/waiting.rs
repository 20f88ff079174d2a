//! Waits for a condition, never without a limit.

use std::time::{Duration, Instant};

/// Longer than anything takes on a busy machine, and shorter than a person's patience with a hanging test.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Checks until it holds. Panics with `what` if it does not become true.
pub async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds().await {
        assert!(Instant::now() < deadline, "this did not come true within {PATIENCE:?}: {what}");
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
