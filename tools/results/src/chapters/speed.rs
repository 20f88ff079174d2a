//! How many calls a second, and how long each takes.

use anyhow::{Context, Result};
use serde::Deserialize;

use super::{Chapter, Part, Shown, Verdict, told, whole};
use crate::plot::{Axis, bars};
use crate::run::Run;
use crate::table::{grouped, integer, table};

pub(super) fn chapter() -> Chapter {
    Chapter {
        title: "Speed",
        parts: vec![
            Part {
                title: "One node, embedded storage",
                run: "load",
                show: load,
                not_shown: "a network: clients and service share the two cores and talk over loopback, and all records lie in one workspace. The \
                            floor is a server that answers a fixed body, so the ratio says what Mnemon's own work costs.",
            },
            Part {
                title: "The same with real texts",
                run: "load-texts",
                show: load,
                not_shown: "the disk of another machine: durable saves are as fast as its syncs.",
            },
            Part {
                title: "PostgreSQL and several nodes",
                run: "postgres",
                show: postgres,
                not_shown: "what nodes add where each has cores of its own: here database, nodes and clients share two, so a third node only takes \
                            from the others.",
            },
            Part {
                title: "A mixed load over a thousand projects",
                run: "mixed",
                show: whole,
                not_shown: "other mixes of calls.",
            },
        ],
    }
}

#[derive(Deserialize)]
pub(crate) struct Load {
    is_real: bool,
    records: u64,
    cores: u64,
    rounds: u64,
    seconds: f64,
    rows: Vec<Row>,
    pub(crate) resident_mib_filled: f64,
    pub(crate) resident_mib_end: f64,
    pub(super) resident_mib_floor: f64,
    verdicts: Vec<Verdict>,
}

#[derive(Deserialize)]
struct Row {
    kind: String,
    clients: u64,
    measured: Phase,
    cpu_ratio: f64,
}

/// What many calls of one kind brought.
#[derive(Deserialize)]
pub(crate) struct Phase {
    pub(crate) calls_per_second: f64,
    p50_us: f64,
    p99_us: f64,
    pub(crate) cpu_us_per_call: f64,
}

impl Load {
    pub(crate) fn of(&self, kind: &str, clients: u64) -> Result<&Phase> {
        let found = self.rows.iter().find(|row| row.kind == kind && row.clients == clients);
        Ok(&found.with_context(|| format!("no {kind} from {clients} clients"))?.measured)
    }
}

fn load(run: &Run) -> Result<Shown> {
    let Load { is_real, records, cores, rounds, seconds, rows: found, verdicts, .. } = run.figures()?;
    let mut rows = Vec::new();
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for Row { kind, clients, measured, cpu_ratio } in found {
        let Phase { calls_per_second, p50_us, p99_us, cpu_us_per_call } = measured;
        let mut row = vec![kind, clients.to_string()];
        row.extend([calls_per_second, p50_us, p99_us].map(integer));
        row.extend([format!("{cpu_us_per_call:.1}"), format!("{cpu_ratio:.2} ×")]);
        rows.push(row);
        let group = format!("{clients} client{}", if clients == 1 { "" } else { "s" });
        let rate = format!("{calls_per_second:.0}");
        match groups.iter_mut().find(|(name, _)| *name == group) {
            Some((_, values)) => values.push(rate),
            None => groups.push((group, vec![rate])),
        }
    }
    let (texts, figure) = if is_real { ("real texts", "lowest") } else { ("records", "medians") };
    let text = format!(
        "{records} {texts}, {cores} cores, {figure} of {rounds} x {seconds} s. A save is on disk before its answer.\n\n{}\n{}",
        table(&["call", "clients", "calls/s", "p50 µs", "p99 µs", "CPU µs", "CPU, of the floor's"], rows),
        told(&verdicts)
    );
    let plots = if run.name == "load" {
        let y = Axis::up_to("calls a second", groups.iter().flat_map(|(_, values)| values));
        vec![(
            "load",
            "Searches and saves a second by number of clients",
            bars("Calls a second, one node on two cores", &y, &["search", "save"], &groups),
        )]
    } else {
        Vec::new()
    };
    Ok(Shown { text, plots })
}

#[derive(Deserialize)]
pub(crate) struct Postgres {
    callers: Vec<Caller>,
    saves: Vec<Counted>,
    searches: Vec<Counted>,
    round_trip_us: f64,
    tsvector_us: f64,
    index_us: f64,
}

#[derive(Deserialize)]
struct Caller {
    call: String,
    storage: String,
    projects: u64,
    clients: u64,
    #[serde(flatten)]
    phase: Phase,
    statements: f64,
}

/// By the number of clients or nodes.
#[derive(Deserialize)]
struct Counted {
    name: String,
    count: u64,
    #[serde(flatten)]
    phase: Phase,
}

impl Counted {
    fn cells(&self) -> [String; 4] {
        let Phase { calls_per_second, p50_us, p99_us, .. } = self.phase;
        [grouped(self.count), integer(calls_per_second), integer(p50_us), integer(p99_us)]
    }
}

/// How saves are stored by the service.
const TOGETHER: &str = "stored together";

impl Postgres {
    /// Saves a second from this number of clients.
    pub(crate) fn saves_from(&self, clients: u64) -> Result<f64> {
        let row = self.saves.iter().find(|row| row.name == TOGETHER && row.count == clients);
        Ok(row.with_context(|| format!("no saves from {clients} clients"))?.phase.calls_per_second)
    }
}

fn postgres(run: &Run) -> Result<Shown> {
    let Postgres { callers, saves, searches, round_trip_us, tsvector_us, index_us } = run.figures()?;
    let caller = |row: &Caller| {
        let Caller { call, storage, projects, clients, phase, statements } = row;
        let mut cells = vec![call.clone(), storage.clone(), grouped(projects), grouped(clients)];
        cells.extend([integer(phase.calls_per_second), integer(phase.p99_us)]);
        cells.extend([format!("{:.1}", phase.cpu_us_per_call), format!("{statements:.3}")]);
        cells
    };
    let save = |row: &Counted| {
        let name = if row.name == TOGETHER { "stored together, as the service does" } else { &row.name };
        [vec![name.to_owned()], row.cells().into()].concat()
    };
    let search = |row: &Counted| row.cells().into();
    let text = format!(
        "Both engines in one run, medians of three rounds in turns:\n\n{}\n{}\n{}\n\
         A call learns its credential, its subscription and the end of the log in one round trip: {} µs. Ten best of 10,000 records: PostgreSQL's own \
         full-text search takes {} µs on average, Mnemon's index {} µs.",
        table(
            &["call", "storage", "projects", "clients", "calls/s", "p99 µs", "node CPU µs", "statements"],
            callers.iter().map(caller)
        ),
        table(&["saves", "clients", "saves/s", "p50 µs", "p99 µs"], saves.iter().map(save)),
        table(&["nodes", "searches/s", "p50 µs", "p99 µs"], searches.iter().map(search)),
        integer(round_trip_us),
        integer(tsvector_us),
        integer(index_us)
    );
    Ok(Shown::text(text))
}
