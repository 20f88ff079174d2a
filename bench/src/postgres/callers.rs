//! Many callers at once on one node, beside the same on embedded storage and by an earlier build: what a call costs the
//! node and the database, and how much of the conversation between them is shared. Rounds go in turns, so that a busy
//! machine slows all of them; medians count.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use mnemon_scratch_postgres::Cluster;
use mnemon_testkit::process::cpu_time;
use serde::Serialize;

use super::{FILLERS, Figures, SEED};
use crate::figures::Verdict;
use crate::load::{Calls, Kind, Phase, Started, Texts, Until, index, phase, phase_by, progress};

const ROUNDS: usize = 3;
const SEARCHERS: [usize; 2] = [1, 64];
const SAVERS: usize = 128;
/// How many projects saves go into, one measurement each.
const PROJECTS: [usize; 2] = [64, 1];
/// More saves a second than any side stores.
const SAVES_AHEAD: f64 = 20_000.0;
const DATABASE: &str = "callers";
/// That of the earlier build.
const DATABASE_BEFORE: &str = "callers_before";

/// How much more of a node's processor a search may take on PostgreSQL with the most callers.
const CPU_RATIO_MAX: f64 = 1.3;
/// How many statements a call may send: a search among many and alone, and a save among many.
const SEARCH_STATEMENTS_MAX: f64 = 0.15;
const LONE_SEARCH_STATEMENTS_MAX: f64 = 1.0;
const SAVE_STATEMENTS_MAX: f64 = 0.2;
/// How much of the CPU time of the earlier build a save with key, source and hash may take, on node and database, and
/// how much of its rate a bare one keeps.
const SAVE_CPU_RATIO_MAX: f64 = 0.5;
const BARE_SAVES_FACTOR: f64 = 0.7;
/// What was recorded before calls shared statements (searches and saves a second, and the longest wait of saves in µs),
/// and how many times as fast it must be now. Where an earlier build takes part, what that one does counts instead.
const SEARCHES_BEFORE: f64 = 1_076.0;
const SAVES_BEFORE: f64 = 2_421.0;
const SAVE_P99_BEFORE_US: f64 = 111_057.0;
const SEARCHES_FACTOR: f64 = 2.5;
const SAVES_FACTOR: f64 = 3.0;

/// The settings with which the server counts its statements.
pub(super) fn settings() -> Vec<(String, String)> {
    vec![("shared_preload_libraries".to_owned(), "pg_stat_statements".to_owned())]
}

/// The medians of one side.
#[derive(Serialize)]
pub(super) struct Row {
    call: &'static str,
    storage: &'static str,
    projects: usize,
    clients: usize,
    #[serde(flatten)]
    seen: Seen,
    room: f64,
}

/// One round, or the medians of several.
#[derive(Clone, Copy, Serialize)]
struct Seen {
    #[serde(flatten)]
    phase: Phase,
    /// Statements per call, without the beginnings, settings and ends of transactions, which travel with them.
    statements: f64,
    /// CPU time of the database and of the clients, per call.
    database_us: f64,
    clients_us: f64,
}

impl Seen {
    fn medians(rounds: &[Self]) -> Self {
        let median = |figure: fn(&Self) -> f64| {
            let mut figures: Vec<f64> = rounds.iter().map(figure).collect();
            figures.sort_by(f64::total_cmp);
            figures[figures.len() / 2]
        };
        let phases: Vec<Phase> = rounds.iter().map(|seen| seen.phase).collect();
        Self {
            phase: Phase::median(&phases),
            statements: median(|seen| seen.statements),
            database_us: median(|seen| seen.database_us),
            clients_us: median(|seen| seen.clients_us),
        }
    }

    /// How many calls a second would keep all cores busy if nothing else ran here.
    fn room(&self) -> f64 {
        let cores = std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64);
        cores * 1e6 / (self.phase.cpu_us_per_call + self.database_us + self.clients_us)
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { clients, seen: Seen { phase, statements, database_us, clients_us }, room, .. } = self;
        let name = match self.call {
            SEARCHES => self.storage.to_owned(),
            _ => format!("{}, {}", self.storage, self.projects),
        };
        let Phase { calls_per_second, p50_us, p99_us, cpu_us_per_call, .. } = phase;
        write!(
            f,
            "  {name:<22} {clients:>7} {calls_per_second:>9.0} {p50_us:>9.0} {p99_us:>9.0} {cpu_us_per_call:>9.1} \
             {database_us:>9.1} {clients_us:>9.1} {room:>9.0} {statements:>11.3}"
        )
    }
}

const SEARCHES: &str = "search";
const HEAD: &str = "clients   calls/s    p50 µs    p99 µs   node µs     db µs  client µs   room/s  statements";

/// Both engines and a node of an earlier build, each with its projects.
struct Sides<'a> {
    cluster: &'a Cluster,
    node: Started,
    embedded: Started,
    before: Option<Started>,
    _folder: tempfile::TempDir,
}

/// The medians of all sides.
struct Compared {
    shared: Seen,
    alone: Seen,
    before: Option<Seen>,
}

impl Compared {
    /// Whether the rate is at least `factor` times what it was, and a line that says so.
    fn rate_bar(&self, what: &str, calls: &str, factor: f64, recorded: f64) -> Verdict {
        let rate = self.shared.phase.calls_per_second;
        let (before, whose) = match &self.before {
            Some(before) => (before.phase.calls_per_second, "the earlier build's"),
            None => (recorded, "the recorded"),
        };
        let min = factor * before;
        bar(rate >= min, format!("{what} {rate:.0} {calls}/s (bar: >= {min:.0}, {factor} x {whose} {before:.0})"))
    }
}

fn bar(is_met: bool, bar: String) -> Verdict {
    Verdict { is_met, bar }
}

/// A kind of call, the number of clients, and the number of projects that they use in turn.
#[derive(Clone, Copy)]
struct Load {
    kind: Kind,
    call: &'static str,
    clients: usize,
    projects: usize,
    seconds: f64,
}

pub(super) async fn compare(cluster: &Cluster, before: Option<&Path>, records: u64, seconds: f64) -> Result<Figures> {
    cluster.sql("postgres", &format!("CREATE DATABASE {DATABASE}"))?;
    cluster.sql("postgres", "CREATE EXTENSION pg_stat_statements")?;
    let folder = tempfile::tempdir()?;
    let projects = PROJECTS.into_iter().max().unwrap_or(1);
    let node = Started::node_of(&cluster.url(DATABASE), projects)?;
    let embedded = Started::service_of(&folder.path().join("data"), projects)?;
    let before = match before {
        Some(program) => {
            cluster.sql("postgres", &format!("CREATE DATABASE {DATABASE_BEFORE}"))?;
            Some(Started::node_by(program, &cluster.url(DATABASE_BEFORE), projects)?)
        }
        None => None,
    };
    let sides = Sides { cluster, node, embedded, before, _folder: folder };
    let mut figures = Figures::default();
    sides.searches(records, seconds, &mut figures).await?;
    sides.saves(records, seconds, &mut figures).await?;
    println!();
    figures.verdicts.iter().for_each(|verdict| println!("{verdict}"));
    Ok(figures)
}

impl Sides<'_> {
    fn servers(&self) -> impl Iterator<Item = &Started> {
        [&self.node, &self.embedded].into_iter().chain(&self.before)
    }

    async fn searches(&self, records: u64, seconds: f64, figures: &mut Figures) -> Result<()> {
        let calls = Arc::new(Calls::new(Texts::new(SEED), records, "searched", 0).bare());
        for server in self.servers() {
            progress(&format!("storing {records} records"));
            let calls = Arc::new(Calls::new(Texts::new(SEED), records, "searched", 0).bare());
            phase(server, &calls, Kind::Save, FILLERS, Until::Calls(records), false).await?;
            // Until nearly every record has been shown, also on a slow machine: the first time, its body is read.
            phase(server, &calls, Kind::Search, 8, Until::Calls(4 * records), false).await?;
        }
        println!("\nsearches in {records} records   {HEAD}");
        for clients in SEARCHERS {
            let load = Load { kind: Kind::Search, call: SEARCHES, clients, projects: 1, seconds };
            self.warm_up(load, &calls).await?;
            let compared = self.rounds(load, &calls, figures).await?;
            let Compared { shared, alone, .. } = &compared;
            let statements = shared.statements;
            if clients == 1 {
                let max = LONE_SEARCH_STATEMENTS_MAX;
                let text = format!("a caller alone: {statements:.3} statements per search (bar: <= {max})");
                figures.verdicts.push(bar(statements <= max, text));
                continue;
            }
            let ratio = shared.phase.cpu_us_per_call / alone.phase.cpu_us_per_call;
            figures.verdicts.push(bar(
                ratio <= CPU_RATIO_MAX,
                format!("{clients} callers: a search takes {ratio:.2} x embedded's CPU time (bar: <= {CPU_RATIO_MAX})"),
            ));
            let max = SEARCH_STATEMENTS_MAX;
            figures.verdicts.push(bar(
                statements <= max,
                format!("{clients} callers: {statements:.3} statements per search (bar: <= {max})"),
            ));
            let what = format!("{clients} callers:");
            figures.verdicts.push(compared.rate_bar(&what, "searches", SEARCHES_FACTOR, SEARCHES_BEFORE));
        }
        Ok(())
    }

    async fn saves(&self, records: u64, seconds: f64, figures: &mut Figures) -> Result<()> {
        println!("\nsaves, by projects             {HEAD}");
        for (nth, projects) in PROJECTS.into_iter().enumerate() {
            let first = records * (1 + 2 * nth as u64 * 1_000);
            let calls = Arc::new(Calls::new(Texts::new(SEED), 1, "growing", first));
            let bare = Arc::new(Calls::new(Texts::new(SEED), 1, "bare", first + records * 1_000).bare());
            for server in self.servers() {
                index(server, projects, &calls).await?;
                index(server, projects, &bare).await?;
            }
            let load = Load { kind: Kind::Save, call: "save", clients: SAVERS, projects, seconds };
            self.sourced_saves(load, &calls, figures).await?;
            println!("  without key and source:");
            let compared = self.rounds(Load { call: "bare save", ..load }, &bare, figures).await?;
            let what = format!("{SAVERS} clients, {projects} projects, bare:");
            let factor = if compared.before.is_some() { BARE_SAVES_FACTOR } else { SAVES_FACTOR };
            figures.verdicts.push(compared.rate_bar(&what, "saves", factor, SAVES_BEFORE));
        }
        Ok(())
    }

    /// Saves as the documentation teaches them: with a key, a source and its hash.
    async fn sourced_saves(&self, load: Load, calls: &Arc<Calls>, figures: &mut Figures) -> Result<()> {
        let compared = self.rounds(load, calls, figures).await?;
        let Compared { shared, before, .. } = &compared;
        let what = format!("{SAVERS} clients, {} projects, key and source:", load.projects);
        let (p99_us, statements) = (shared.phase.p99_us, shared.statements);
        let max = before.map_or(SAVE_P99_BEFORE_US, |before| before.phase.p99_us);
        let bars = &mut figures.verdicts;
        bars.push(bar(p99_us <= max, format!("{what} p99 {:.0} ms (bar: <= {:.0})", p99_us / 1e3, max / 1e3)));
        let max = SAVE_STATEMENTS_MAX;
        bars.push(bar(statements <= max, format!("{what} {statements:.3} statements per save (bar: <= {max})")));
        if let Some(before) = before {
            let cpu = |seen: &Seen| seen.phase.cpu_us_per_call + seen.database_us;
            let (ratio, max) = (cpu(shared) / cpu(before), SAVE_CPU_RATIO_MAX);
            bars.push(bar(ratio <= max, format!("{what} {ratio:.2} x the earlier build's CPU time (bar: <= {max})")));
        }
        Ok(())
    }

    /// The queries of a round, for longer than it takes, so that every record that they find has been shown before.
    async fn warm_up(&self, load: Load, calls: &Arc<Calls>) -> Result<()> {
        progress(&format!("warming up {} clients", load.clients));
        for server in self.servers() {
            self.round(server, Load { seconds: 1.5 * load.seconds, ..load }, calls).await?;
        }
        Ok(())
    }

    /// Rounds on PostgreSQL, on embedded storage and by the earlier build in turns; the medians of each.
    async fn rounds(&self, load: Load, calls: &Arc<Calls>, figures: &mut Figures) -> Result<Compared> {
        let (mut shared, mut alone, mut before) = (Vec::new(), Vec::new(), Vec::new());
        for round in 1..=ROUNDS {
            let Load { kind, clients, projects, .. } = load;
            progress(&format!("{}: {clients} clients, {projects} projects, round {round} of {ROUNDS}", kind.name()));
            shared.push(self.round(&self.node, load, calls).await?);
            alone.push(self.round(&self.embedded, load, calls).await?);
            if let Some(server) = &self.before {
                before.push(self.round(server, load, calls).await?);
            }
        }
        let compared = Compared {
            shared: Seen::medians(&shared),
            alone: Seen::medians(&alone),
            before: self.before.as_ref().map(|_| Seen::medians(&before)),
        };
        let sides = [
            ("PostgreSQL", Some(compared.shared)),
            ("embedded", Some(compared.alone)),
            ("earlier build", compared.before),
        ];
        let Load { call, projects, clients, .. } = load;
        for (storage, seen) in sides {
            let row = seen.map(|seen| Row { call, storage, projects, clients, seen, room: seen.room() });
            row.iter().for_each(|row| println!("{row}"));
            figures.callers.extend(row);
        }
        Ok(compared)
    }

    async fn round(&self, server: &Started, load: Load, calls: &Arc<Calls>) -> Result<Seen> {
        let Load { kind, clients, projects, seconds, .. } = load;
        let keys = &server.keys[..projects];
        let until = Until::Time(Duration::from_secs_f64(seconds));
        if kind == Kind::Save {
            calls.prepare_saves((seconds * SAVES_AHEAD) as usize);
        }
        let before = self.counts()?;
        let phase = phase_by(server, keys, calls, kind, clients, until, false).await?;
        let after = self.counts()?;
        let per_call = |figure: fn(&Counts) -> f64| (figure(&after) - figure(&before)) / phase.calls;
        Ok(Seen {
            phase,
            statements: per_call(|counts| counts.statements),
            database_us: per_call(|counts| counts.database_us),
            clients_us: per_call(|counts| counts.clients_us),
        })
    }

    fn counts(&self) -> Result<Counts> {
        // Upkeep is left out: what a node writes every few seconds, with or without calls.
        const SELECT: &str = "
            SELECT COALESCE(SUM(s.calls), 0)
            FROM pg_stat_statements s
            JOIN pg_database d ON d.oid = s.dbid
            WHERE d.datname LIKE 'callers%' AND s.toplevel
                AND s.query !~* '^\\s*(BEGIN|COMMIT|ROLLBACK|START)' AND s.query !~ '^\\s*SELECT set_config'
                AND s.query !~ '(call_window|heartbeat|usage|snapshot|UPDATE api_key)'";
        let text = self.cluster.sql("postgres", SELECT)?;
        let statements = text.parse().with_context(|| format!("the server counts statements, and answered {text}"))?;
        let server = self.cluster.pid()?;
        let children = std::fs::read_to_string(format!("/proc/{server}/task/{server}/children"))?;
        let children = children.split_whitespace().filter_map(|child| child.parse::<u32>().ok());
        // One that has just ended took hardly any time.
        let database = children.chain([server]).filter_map(|pid| cpu_time(pid).ok()).sum::<Duration>();
        let clients = cpu_time(std::process::id())?;
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        Ok(Counts { statements, database_us: micros(database), clients_us: micros(clients) })
    }
}

/// What has been counted since the start.
struct Counts {
    statements: f64,
    database_us: f64,
    clients_us: f64,
}
