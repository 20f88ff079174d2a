//! Figures that other parts counted, as lines of the page. They are read when the page is asked for, so nothing is
//! counted twice.

use std::fmt::Write;

use mnemon_engine::Figures;
use mnemon_engine::stored::{COMMIT_SIZE_BOUNDS, CommitSizes};

use crate::http::{ConnectionLimit, Exports, Room};

/// Connections of callers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Connections {
    known: u64,
    strangers: u64,
    max: u64,
    no_http: u64,
    too_large: u64,
}

impl Connections {
    pub(super) fn of(connection_limit: &ConnectionLimit) -> Self {
        let (known, strangers) = connection_limit.taken();
        let (no_http, too_large) = connection_limit.unreadable();
        Self {
            known: known as u64,
            strangers: strangers as u64,
            max: connection_limit.count() as u64,
            no_http,
            too_large,
        }
    }
}

/// What large answers and request bodies take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken {
    bytes_max: u64,
    bytes: u64,
    refused_by_account: u64,
    refused_by_node: u64,
    exports: u64,
    refused_exports: u64,
}

impl Taken {
    pub(super) fn of(room: &Room, exports: &Exports) -> Self {
        let (bytes_max, bytes) = room.bytes();
        let (refused_by_account, refused_by_node) = room.refused();
        let (exports, refused_exports) = exports.count();
        Self { bytes_max, bytes, refused_by_account, refused_by_node, exports, refused_exports }
    }
}

/// What is shown besides requests and calls.
pub(super) struct Counted {
    pub(super) room: Taken,
    pub(super) refused_credentials: u64,
    pub(super) connections: Connections,
    pub(super) engine: Figures,
}

impl Counted {
    pub(super) fn write(&self, page: &mut String) {
        let mut lines = Lines(page);
        self.write_callers(&mut lines);
        self.write_texts(&mut lines);
        self.write_indexes(&mut lines);
        self.write_storage(&mut lines);
        self.write_integrations(&mut lines);
    }

    fn write_callers(&self, lines: &mut Lines<'_>) {
        let Connections { known, strangers, max, no_http, too_large } = self.connections;
        lines.counter("mnemon_refused_credentials_total", "Refused credentials.", self.refused_credentials);
        let limits = [("connection", self.engine.connection_limits), ("project", self.engine.project_limits)];
        lines.counters("mnemon_rate_limited_total", "Calls over a limit, by whose limit it was.", "limit", &limits);
        let callers = [("known", known), ("stranger", strangers)];
        lines.gauges("mnemon_connections", "Connections of callers.", "caller", &callers);
        lines.gauge("mnemon_connections_max", "Connections that the service accepts.", max);
        let reasons = [("no_http", no_http), ("too_large", too_large)];
        let unreadable = "Connections that ended because what they sent could not be read, by why.";
        lines.counters("mnemon_http_unreadable_total", unreadable, "reason", &reasons);
        self.write_room(lines);
    }

    fn write_room(&self, lines: &mut Lines<'_>) {
        let Taken { bytes_max, bytes, refused_by_account, refused_by_node, exports, refused_exports } = self.room;
        lines.gauge("mnemon_large_bytes", "Bytes taken by large answers and request bodies.", bytes);
        lines.gauge("mnemon_large_bytes_max", "Bytes that large answers and request bodies may take.", bytes_max);
        lines.gauge("mnemon_exports", "Exports that are running.", exports);
        let refused = [("account", refused_by_account), ("node", refused_by_node), ("exports", refused_exports)];
        let help = "Requests refused because there was no room for them, by whose limit it was.";
        lines.counters("mnemon_large_refused_total", help, "limit", &refused);
    }

    fn write_texts(&self, lines: &mut Lines<'_>) {
        let figures = &self.engine;
        let verdicts = [
            ("refused", figures.refused_texts),
            ("reported", figures.reported_texts),
            ("cautioned", figures.cautioned_texts),
        ];
        let found = "Texts that the guard found, by what became of them.";
        lines.counters("mnemon_guard_texts_total", found, "verdict", &verdicts);
        lines.counter("mnemon_redacted_secrets_total", "Secrets replaced in saved texts.", figures.redacted_secrets);
        let appends = "Pieces of session histories that were stored.";
        lines.counter("mnemon_session_appends_total", appends, figures.session_appends);
        let bytes = "Bytes of session histories that were stored, as received.";
        lines.counter("mnemon_session_bytes_total", bytes, figures.session_bytes);
    }

    fn write_indexes(&self, lines: &mut Lines<'_>) {
        let figures = &self.engine;
        let hits = "Searches and saves that found their index in memory.";
        lines.counter("mnemon_index_hits_total", hits, figures.index_hits);
        let loads = [("snapshot", figures.index_loads_from_snapshot), ("log", figures.index_loads_from_log)];
        lines.counters("mnemon_index_loads_total", "Indexes that were loaded, by what from.", "from", &loads);
        let evictions = "Indexes dropped to make room.";
        lines.counter("mnemon_index_evictions_total", evictions, figures.index_evictions);
        lines.gauge("mnemon_indexes", "Search indexes in memory.", figures.indexes);
        lines.gauge("mnemon_index_bytes", "Bytes of the search indexes in memory.", figures.index_bytes);
        lines.gauge("mnemon_index_bytes_max", "Bytes that search indexes may take.", figures.index_bytes_max);
        lines.gauge("mnemon_text_bytes", "Bytes of texts that answers showed, kept for the next.", figures.text_bytes);
        lines.gauge("mnemon_text_bytes_max", "Bytes that kept texts may take.", figures.text_bytes_max);
        let outcomes = [("written", figures.snapshots_written), ("failed", figures.snapshots_failed)];
        lines.counters("mnemon_snapshots_total", "Snapshots of indexes.", "outcome", &outcomes);
        lines.counter("mnemon_snapshot_bytes_total", "Bytes of written snapshots.", figures.snapshot_bytes);
        let last = "When the last snapshot was written, in seconds since 1970; 0 before the first.";
        lines.gauge("mnemon_snapshot_last_timestamp_seconds", last, figures.snapshot_last_at);
    }

    fn write_storage(&self, lines: &mut Lines<'_>) {
        let store = &self.engine.store;
        let works =
            [("read", self.engine.reads_work), ("write", self.engine.writes_work)].map(|(of, is)| (of, u64::from(is)));
        let help = "Whether storage worked when it was last tried, every ten seconds: 1 or 0.";
        lines.gauges("mnemon_storage_up", help, "operation", &works);
        lines.commit_sizes("mnemon_commit_writes", "Writes stored by one commit.", &store.commits);
        lines.gauge("mnemon_waiting_writes", "Writes that wait for their turn.", store.waiting_writes);
        let damaged = "Records found damaged since the start, which answers leave out.";
        lines.gauge("mnemon_damaged_records", damaged, store.damaged_records);
        let caches = "Bytes that the page caches of the data directory's file may take.";
        lines.gauge("mnemon_page_cache_bytes_max", caches, store.page_cache_bytes_max);
        let connections = &store.connections;
        let states = [("idle", connections.idle), ("busy", connections.busy)];
        lines.gauges("mnemon_database_connections", "Connections to PostgreSQL.", "state", &states);
        let max = "Connections to PostgreSQL that this node may have.";
        lines.gauge("mnemon_database_connections_max", max, connections.max);
        let waiting = "Callers that wait for a connection to PostgreSQL.";
        lines.gauge("mnemon_database_waiting", waiting, connections.waiting);
        let trips = "Round trips to PostgreSQL.";
        lines.counter("mnemon_database_round_trips_total", trips, connections.round_trips);
        let reads = &self.engine.replica_reads;
        let outcomes = [("answered", reads.answered), ("behind", reads.behind), ("failed", reads.failed)];
        let help = "Reads of searches that went to a read replica, by what came of them.";
        lines.counters("mnemon_replica_reads_total", help, "outcome", &outcomes);
    }

    fn write_integrations(&self, lines: &mut Lines<'_>) {
        let breakers = &self.engine.breakers;
        let states = [("closed", breakers.closed), ("open", breakers.open), ("trying", breakers.trying)];
        lines.gauges("mnemon_breakers", "Integrations in use, by the state of their breaker.", "state", &states);
    }
}

/// Writes Prometheus' text format.
struct Lines<'a>(&'a mut String);

impl Lines<'_> {
    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.head(name, help, "counter");
        self.line(format_args!("{name} {value}"));
    }

    fn gauge(&mut self, name: &str, help: &str, value: u64) {
        self.head(name, help, "gauge");
        self.line(format_args!("{name} {value}"));
    }

    fn counters(&mut self, name: &str, help: &str, label: &str, values: &[(&str, u64)]) {
        self.head(name, help, "counter");
        self.labelled(name, label, values);
    }

    fn gauges(&mut self, name: &str, help: &str, label: &str, values: &[(&str, u64)]) {
        self.head(name, help, "gauge");
        self.labelled(name, label, values);
    }

    fn labelled(&mut self, name: &str, label: &str, values: &[(&str, u64)]) {
        for (word, value) in values {
            self.line(format_args!("{name}{{{label}=\"{word}\"}} {value}"));
        }
    }

    fn commit_sizes(&mut self, name: &str, help: &str, sizes: &CommitSizes) {
        self.head(name, help, "histogram");
        let mut commits = 0;
        for (count, bound) in sizes.counts.iter().zip(COMMIT_SIZE_BOUNDS) {
            commits += count;
            self.line(format_args!("{name}_bucket{{le=\"{bound}\"}} {commits}"));
        }
        let commits: u64 = sizes.counts.iter().sum();
        self.line(format_args!("{name}_bucket{{le=\"+Inf\"}} {commits}"));
        self.line(format_args!("{name}_sum {}", sizes.writes));
        self.line(format_args!("{name}_count {commits}"));
    }

    fn head(&mut self, name: &str, help: &str, kind: &str) {
        self.line(format_args!("# HELP {name} {help}"));
        self.line(format_args!("# TYPE {name} {kind}"));
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.0, "{line}").expect("a string takes any text");
    }
}
