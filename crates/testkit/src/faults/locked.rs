//! A database that answers and does nothing: somebody holds a table lock, and every connection waits for it.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use mnemon_scratch_postgres::Cluster;
use serde_json::json;

use super::nodes::Nodes;

/// What callers saw while a table was locked.
#[derive(Debug, Clone, Default)]
pub struct LockedReport {
    pub calls: usize,
    /// How many of them were answered that storage is unavailable.
    pub told: usize,
    /// The longest wait of a call.
    pub wait_max: Duration,
    /// Whether every request to `/health/live` was answered.
    pub is_alive: bool,
    pub growth_bytes: u64,
    pub is_back: bool,
}

impl LockedReport {
    /// Everybody got an answer in time, and nothing else suffered.
    pub fn is_passed(&self, wait_max: Duration) -> bool {
        self.calls > 0
            && self.told == self.calls
            && self.wait_max <= wait_max
            && self.is_alive
            && self.growth_bytes < 64 << 20
            && self.is_back
    }
}

impl Nodes {
    /// Locks a table for a while and lets clients call one node again and again.
    pub async fn with_locked_table(&self, cluster: &Cluster, clients: usize, hold: Duration) -> Result<LockedReport> {
        let statement = format!("BEGIN; LOCK TABLE api_key, record; SELECT pg_sleep({}); COMMIT", hold.as_secs_f64());
        let before = self.resident_bytes();
        let mut lock = cluster.session("postgres", &statement)?;
        let is_held = "SELECT COUNT(*) > 0 FROM pg_locks WHERE granted AND mode = 'AccessExclusiveLock' \
            AND relation = 'record'::regclass";
        let began = Instant::now();
        while cluster.sql("postgres", is_held)?.trim() != "t" {
            ensure!(began.elapsed() < Duration::from_secs(30), "the tables can't be locked");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let until = Instant::now() + hold.saturating_sub(Duration::from_secs(3));
        let node = self.services[0].as_ref().context("the node runs")?.address;
        let mut callers = Vec::new();
        for _ in 0..clients {
            let (client, key) = (self.client().clone(), self.key.clone());
            callers.push(tokio::spawn(async move {
                let mut seen = (0, 0, Duration::ZERO);
                while Instant::now() < until {
                    let began = Instant::now();
                    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                        "params": {"name": "search", "arguments": {"query": "x"}}});
                    let request = client.post(format!("http://{node}/mcp")).bearer_auth(&key).json(&body);
                    let answer = request.header("accept", "application/json").send().await;
                    let text = match answer {
                        Ok(answer) => answer.text().await.unwrap_or_default(),
                        Err(error) => error.to_string(),
                    };
                    let is_told = text.contains("storage is unavailable");
                    seen = (seen.0 + 1, seen.1 + usize::from(is_told), seen.2.max(began.elapsed()));
                }
                seen
            }));
        }
        let mut report = LockedReport { is_alive: true, ..LockedReport::default() };
        while Instant::now() < until {
            let began = Instant::now();
            let live = self.client().get(format!("http://{node}/health/live")).send().await;
            report.is_alive &=
                live.is_ok_and(|live| live.status().is_success()) && began.elapsed() < Duration::from_secs(1);
            report.growth_bytes = report.growth_bytes.max(self.resident_bytes().saturating_sub(before));
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        for caller in callers {
            let (calls, told, wait) = caller.await?;
            report.calls += calls;
            report.told += told;
            report.wait_max = report.wait_max.max(wait);
        }
        lock.wait()?;
        self.until_back().await?;
        report.is_back = true;
        Ok(report)
    }
}
