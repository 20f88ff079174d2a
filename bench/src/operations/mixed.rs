//! The load: 90 % searches, 9 % saves, 1 % others, and the counts of both sides.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use mnemon_guard_train::chance::Chance;
use serde_json::{Value, json};

use super::http::Http;
use super::projects::Projects;
use super::service::{OPERATOR, Service};

/// How often Prometheus would ask.
const SCRAPE_EVERY: Duration = Duration::from_secs(1);

pub(super) struct Mix {
    clients: usize,
    time: Duration,
    /// The least time between two calls of a client.
    pace: Option<Duration>,
    is_scraped: bool,
    next_text: AtomicU64,
}

/// Calls by tool and outcome: `ok`, or `failed` for all others.
#[derive(Debug, Default)]
pub(super) struct Counts {
    calls: BTreeMap<(String, &'static str), u64>,
    requests: u64,
}

impl Counts {
    fn add(&mut self, tool: &str, is_ok: bool, count: u64) {
        *self.calls.entry((tool.to_owned(), if is_ok { "ok" } else { "failed" })).or_default() += count;
    }

    /// What the service shows.
    pub(super) async fn served(service: &Service) -> Result<Self> {
        let mut http = Http::connect(service.address).await?;
        let answer = http.send("GET", "/metrics", OPERATOR, "").await?;
        ensure!(answer.status == 200, "the figures are not shown: {}", answer.status);
        let mut counts = Self::default();
        for line in std::str::from_utf8(answer.body)?.lines() {
            let Some((series, value)) = line.rsplit_once(' ') else { continue };
            let label =
                |name: &str| series.split_once(&format!("{name}=\"")).and_then(|(_, rest)| rest.split('"').next());
            if series.starts_with("mnemon_tool_calls_total{") {
                counts.add(
                    label("tool").unwrap_or_default(),
                    label("outcome") == Some("ok"),
                    value.parse::<f64>()? as u64,
                );
            } else if series.starts_with("mnemon_http_requests_total{") && label("door") == Some("mcp") {
                counts.requests += value.parse::<f64>()? as u64;
            }
        }
        Ok(counts)
    }

    pub(super) fn since(mut self, before: &Self) -> Self {
        for (what, count) in &before.calls {
            *self.calls.entry(what.clone()).or_default() -= count;
        }
        self.requests -= before.requests;
        self
    }

    pub(super) fn get(&self, tool: &str, outcome: &str) -> u64 {
        self.rows().find(|row| row.0 == tool && row.1 == outcome).map_or(0, |row| row.2)
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = (&str, &'static str, u64)> {
        self.calls.iter().map(|((tool, outcome), count)| (tool.as_str(), *outcome, *count))
    }

    pub(super) fn total(&self) -> u64 {
        self.calls.values().sum()
    }

    pub(super) const fn requests(&self) -> u64 {
        self.requests
    }
}

impl Mix {
    pub(super) const fn new(clients: usize, time: Duration) -> Self {
        Self { clients, time, pace: None, is_scraped: false, next_text: AtomicU64::new(1 << 40) }
    }

    /// At this rate by all clients together, or slower if the service is.
    pub(super) fn paced(mut self, calls_a_second: u32) -> Self {
        self.pace = Some(Duration::from_secs(self.clients as u64) / calls_a_second);
        self
    }

    /// Whether somebody reads the figures meanwhile.
    pub(super) const fn scraped(mut self, is_scraped: bool) -> Self {
        self.is_scraped = is_scraped;
        self
    }

    pub(super) async fn run(&self, service: &Service, projects: &Projects) -> Result<Counts> {
        let ends = Instant::now() + self.time;
        let clients = (0..self.clients).map(|number| self.client(number as u64, ends, service, projects));
        let (counted, _) = tokio::try_join!(futures_util::future::try_join_all(clients), self.scrape(ends, service))?;
        let mut all = Counts::default();
        for counts in counted {
            for (tool, outcome, count) in counts.rows() {
                all.add(tool, outcome == "ok", count);
            }
        }
        Ok(all)
    }

    async fn scrape(&self, ends: Instant, service: &Service) -> Result<()> {
        while self.is_scraped && Instant::now() < ends {
            Counts::served(service).await?;
            tokio::time::sleep(SCRAPE_EVERY).await;
        }
        Ok(())
    }

    async fn client(&self, number: u64, ends: Instant, service: &Service, projects: &Projects) -> Result<Counts> {
        let mut http = Http::connect(service.address).await?;
        let mut chance = Chance::with_seed(number);
        let mut counts = Counts::default();
        let mut ticks = self.pace.map(tokio::time::interval);
        while Instant::now() < ends {
            if let Some(ticks) = &mut ticks {
                ticks.tick().await;
            }
            let project = projects.draw(&mut chance);
            let (tool, arguments) = self.next_call(project, projects, &mut chance);
            let answer = http.call(projects.key(project), tool, &arguments).await?;
            ensure!(answer.status == 200, "{tool}: {} {}", answer.status, String::from_utf8_lossy(answer.body));
            counts.add(tool, !answer.is_tool_error(), 1);
        }
        Ok(counts)
    }

    fn next_call(&self, project: usize, projects: &Projects, chance: &mut Chance) -> (&'static str, Value) {
        match chance.below(1_000) {
            0..900 => {
                let number = projects.stored(project, chance);
                ("search", json!({"query": projects.texts.query(number, chance)}))
            }
            900..990 => {
                let number = self.next_text.fetch_add(1, Ordering::Relaxed);
                ("remember", json!({"content": projects.texts.text(number)}))
            }
            990..994 => ("validate_memory", json!({"source_id": "README.md"})),
            994..997 => ("forget", json!({"source_id": "nowhere.md"})),
            // These fail, and are counted as such.
            997..999 => ("forget", json!({"memory_id": "01890a5d-ac96-774b-bcce-b302099a8057"})),
            _ => ("search", json!({"query": ""})),
        }
    }
}
