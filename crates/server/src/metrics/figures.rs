//! The figures of this node, and the page that shows them.

use std::time::Duration;

use http::StatusCode;
use mnemon_engine::CallError;
use prometheus::{Gauge, HistogramOpts, HistogramVec, IntCounterVec, Opts, Registry, TextEncoder};

use super::counted::Counted;

/// Upper bounds of the buckets, in seconds: from a search in a small index to the longest call to another system.
const SECONDS: [f64; 14] =
    [0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

/// The label of calls whose tool was not read.
const UNKNOWN: &str = "unknown";

/// Everything that is counted on this node.
pub(crate) struct Metrics {
    registry: Registry,
    requests: IntCounterVec,
    request_seconds: HistogramVec,
    calls: IntCounterVec,
    call_seconds: HistogramVec,
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
            registry,
        };
        let build = Gauge::with_opts(
            Opts::new("mnemon_build_info", "The running version; always 1.")
                .const_label("version", env!("CARGO_PKG_VERSION")),
        )?;
        build.set(1.0);
        metrics.begin_at_zero();
        metrics.registry.register(Box::new(build))?;
        Ok(metrics)
    }

    /// Shows from the start what alerts look at: a counter that appears with its first failure hides that one from
    /// `rate`.
    fn begin_at_zero(&self) {
        for door in ["mcp", "admin"] {
            for status in ["200", "500", "503"] {
                self.requests.with_label_values(&[door, status]);
            }
        }
        for tool in ["remember", "search", "forget", "validate_memory", "gateway_call", "integration"] {
            for outcome in ["ok", "rate_limited", "storage"] {
                self.calls.with_label_values(&[tool, outcome]);
            }
        }
        self.calls.with_label_values(&[UNKNOWN, "storage"]);
    }

    /// Counts a call that ended before its tool was known, because storage could not look its credential up.
    pub(crate) fn count_unknown_call(&self, took: Duration) {
        self.calls.with_label_values(&[UNKNOWN, "storage"]).inc();
        self.call_seconds.with_label_values(&[UNKNOWN]).observe(took.as_secs_f64());
    }

    pub(super) fn count_request(&self, door: &'static str, status: StatusCode, took: Duration) {
        self.requests.with_label_values(&[door, status.as_str()]).inc();
        self.request_seconds.with_label_values(&[door]).observe(took.as_secs_f64());
    }

    /// Counts a call to one of our tools, or to `integration` for all tools of other systems.
    /// Returns the word for what became of it.
    pub(crate) fn count_call(
        &self,
        tool: &'static str,
        result: Result<(), &CallError>,
        took: Duration,
    ) -> &'static str {
        let outcome = outcome(result);
        self.calls.with_label_values(&[tool, outcome]).inc();
        self.call_seconds.with_label_values(&[tool]).observe(took.as_secs_f64());
        outcome
    }

    /// The page, with what other parts counted up to now.
    pub(super) fn page(&self, counted: &Counted) -> prometheus::Result<String> {
        let mut page = String::new();
        TextEncoder::new().encode_utf8(&self.registry.gather(), &mut page)?;
        counted.write(&mut page);
        #[cfg(target_os = "linux")]
        super::process::write(&mut page);
        Ok(page)
    }
}

fn counters(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> prometheus::Result<IntCounterVec> {
    let made = IntCounterVec::new(Opts::new(name, help), labels)?;
    registry.register(Box::new(made.clone()))?;
    Ok(made)
}

fn seconds(registry: &Registry, name: &str, help: &str, label: &str) -> prometheus::Result<HistogramVec> {
    let options = HistogramOpts::new(name, help).buckets(SECONDS.to_vec());
    let made = HistogramVec::new(options, &[label])?;
    registry.register(Box::new(made.clone()))?;
    Ok(made)
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
        Err(CallError::WorkspaceLimit) => "workspace_limit",
        Err(CallError::Upstream { .. }) => "upstream",
        Err(CallError::Store(_)) => "storage",
        Err(CallError::WorkspaceNotActive(_) | CallError::NotFound(_)) => "not_found",
        Err(
            CallError::Argument(_)
            | CallError::IdempotencyKeyReused
            | CallError::IntegrationNotEnabled(_)
            | CallError::ToolNotOffered { .. }
            | CallError::IntegrationSilent(_),
        ) => "invalid",
    }
}
