//! The figures of this node, and the page that shows them.

use std::time::Duration;

use http::StatusCode;
use mnemon_engine::{CallError, Figures};
use parking_lot::Mutex;
use prometheus::{
    Encoder, Gauge, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts, Registry, TextEncoder,
};

/// Upper bounds of the buckets, in seconds: from a search in a small index to the longest call to another system.
const SECONDS: [f64; 14] =
    [0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

/// Everything that is counted on this node.
pub(crate) struct Metrics {
    registry: Registry,
    requests: IntCounterVec,
    request_seconds: HistogramVec,
    calls: IntCounterVec,
    call_seconds: HistogramVec,
    refused_credentials: IntCounter,
    engine: EngineFigures,
    /// Held while a page is made: two at once would both raise a counter by the same amount.
    turn: Mutex<()>,
}

impl Metrics {
    pub(crate) fn new() -> prometheus::Result<Self> {
        let registry = Registry::new();
        let metrics = Self {
            requests: counters(&registry, "mnemon_http_requests_total", "HTTP requests.", &["door", "status"])?,
            request_seconds: seconds(
                &registry,
                "mnemon_http_request_seconds",
                "Time to answer HTTP requests.",
                "door",
            )?,
            calls: counters(&registry, "mnemon_tool_calls_total", "Tool calls.", &["tool", "outcome"])?,
            call_seconds: seconds(&registry, "mnemon_tool_call_seconds", "Time to answer tool calls.", "tool")?,
            refused_credentials: counter(&registry, "mnemon_refused_credentials_total", "Refused credentials.")?,
            engine: EngineFigures::new(&registry)?,
            turn: Mutex::new(()),
            registry,
        };
        let build = Gauge::with_opts(
            Opts::new("mnemon_build_info", "The running version; always 1.")
                .const_label("version", env!("CARGO_PKG_VERSION")),
        )?;
        build.set(1.0);
        metrics.registry.register(Box::new(build))?;
        #[cfg(target_os = "linux")]
        metrics.registry.register(Box::new(prometheus::process_collector::ProcessCollector::for_self()))?;
        Ok(metrics)
    }

    pub(super) fn count_request(&self, door: &'static str, status: StatusCode, took: Duration) {
        self.requests.with_label_values(&[door, status.as_str()]).inc();
        self.request_seconds.with_label_values(&[door]).observe(took.as_secs_f64());
    }

    /// Counts a call to one of our tools, or to `integration` for all tools of other systems.
    pub(crate) fn count_call(&self, tool: &'static str, result: Result<(), &CallError>, took: Duration) {
        self.calls.with_label_values(&[tool, outcome(result)]).inc();
        self.call_seconds.with_label_values(&[tool]).observe(took.as_secs_f64());
    }

    /// The page, with what the engine counted up to now.
    pub(super) fn page(&self, refused_credentials: u64, figures: &Figures) -> prometheus::Result<Vec<u8>> {
        let _turn = self.turn.lock();
        raise(&self.refused_credentials, refused_credentials);
        self.engine.update(figures);
        let mut page = Vec::new();
        TextEncoder::new().encode(&self.registry.gather(), &mut page)?;
        Ok(page)
    }
}

/// Shown as the engine counted them, at the time of the request for the page.
struct EngineFigures {
    texts: IntCounterVec,
    redacted: IntCounter,
    index_hits: IntCounter,
    index_loads: IntCounter,
    index_evictions: IntCounter,
    indexes: IntGauge,
    index_bytes: IntGauge,
    index_bytes_max: IntGauge,
    replica_reads: IntCounterVec,
}

impl EngineFigures {
    fn new(registry: &Registry) -> prometheus::Result<Self> {
        Ok(Self {
            texts: counters(
                registry,
                "mnemon_guard_texts_total",
                "Texts that the guard found, by what became of them.",
                &["verdict"],
            )?,
            redacted: counter(registry, "mnemon_redacted_secrets_total", "Secrets replaced in saved texts.")?,
            index_hits: counter(registry, "mnemon_index_hits_total", "Searches that found their index in memory.")?,
            index_loads: counter(registry, "mnemon_index_loads_total", "Indexes loaded from a snapshot or the log.")?,
            index_evictions: counter(registry, "mnemon_index_evictions_total", "Indexes dropped to make room.")?,
            indexes: gauge(registry, "mnemon_indexes", "Search indexes in memory.")?,
            index_bytes: gauge(registry, "mnemon_index_bytes", "Bytes of the search indexes in memory.")?,
            index_bytes_max: gauge(registry, "mnemon_index_bytes_max", "Bytes that search indexes may take.")?,
            replica_reads: counters(
                registry,
                "mnemon_replica_reads_total",
                "Reads of searches that went to a read replica, by what came of them.",
                &["outcome"],
            )?,
        })
    }

    fn update(&self, figures: &Figures) {
        let texts = [
            ("refused", figures.refused_texts),
            ("reported", figures.reported_texts),
            ("cautioned", figures.cautioned_texts),
        ];
        for (verdict, count) in texts {
            raise(&self.texts.with_label_values(&[verdict]), count);
        }
        raise(&self.redacted, figures.redacted_secrets);
        raise(&self.index_hits, figures.index_hits);
        raise(&self.index_loads, figures.index_loads);
        raise(&self.index_evictions, figures.index_evictions);
        self.indexes.set(signed(figures.indexes));
        self.index_bytes.set(signed(figures.index_bytes));
        self.index_bytes_max.set(signed(figures.index_bytes_max));
        let reads = figures.replica_reads;
        for (outcome, count) in [("answered", reads.answered), ("behind", reads.behind), ("failed", reads.failed)] {
            raise(&self.replica_reads.with_label_values(&[outcome]), count);
        }
    }
}

fn counters(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> prometheus::Result<IntCounterVec> {
    let made = IntCounterVec::new(Opts::new(name, help), labels)?;
    registry.register(Box::new(made.clone()))?;
    Ok(made)
}

fn counter(registry: &Registry, name: &str, help: &str) -> prometheus::Result<IntCounter> {
    let made = IntCounter::new(name, help)?;
    registry.register(Box::new(made.clone()))?;
    Ok(made)
}

fn gauge(registry: &Registry, name: &str, help: &str) -> prometheus::Result<IntGauge> {
    let made = IntGauge::new(name, help)?;
    registry.register(Box::new(made.clone()))?;
    Ok(made)
}

fn seconds(registry: &Registry, name: &str, help: &str, label: &str) -> prometheus::Result<HistogramVec> {
    let options = HistogramOpts::new(name, help).buckets(SECONDS.to_vec());
    let made = HistogramVec::new(options, &[label])?;
    registry.register(Box::new(made.clone()))?;
    Ok(made)
}

/// Brings a counter up to what was counted elsewhere.
fn raise(counter: &IntCounter, counted: u64) {
    counter.inc_by(counted.saturating_sub(counter.get()));
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// The word for what became of a call.
const fn outcome(result: Result<(), &CallError>) -> &'static str {
    match result {
        Ok(()) => "ok",
        Err(CallError::ConnectionRate { .. } | CallError::ProjectRate { .. }) => "rate_limited",
        Err(CallError::Subscription(_)) => "subscription",
        Err(CallError::ReadOnlyKey) => "read_only",
        Err(CallError::Guard { .. }) => "guard",
        Err(CallError::MemoryLimit) => "memory_limit",
        Err(CallError::Upstream { .. }) => "upstream",
        Err(CallError::Store(_)) => "storage",
        Err(CallError::WorkspaceNotActive(_) | CallError::NotFound(_)) => "not_found",
        Err(
            CallError::Argument(_)
            | CallError::IdempotencyKeyReused
            | CallError::IntegrationNotEnabled(_)
            | CallError::ToolNotOffered { .. },
        ) => "invalid",
    }
}
