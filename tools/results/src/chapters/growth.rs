//! What grows with the number of records, tenants and connections.

use anyhow::{Context, Result};
use serde::Deserialize;

use super::durability::{self, Idle};
use super::speed::Load;
use super::{Chapter, Part, Shown, Verdict, service, told, whole};
use crate::plot::{Axis, Series, lines};
use crate::run::Run;
use crate::table::{grouped, table};

pub(super) fn chapter() -> Chapter {
    Chapter {
        title: "Growth with size and tenants",
        parts: vec![
            Part {
                title: "A workspace of a thousand to a million records",
                run: "recall-speed",
                show: sizes,
                not_shown: "the way through HTTP and storage: this is the index alone. Longer records cost more.",
            },
            Part {
                title: "Filters",
                run: "filters",
                show: filters,
                not_shown: "filters that admit a few records among very many, and two filters at once.",
            },
            Part {
                title: "The whole service, a hundred to a million records in a workspace",
                run: "growth",
                show: service::by_records,
                not_shown: "a start whose files have to come from the disk first: here the system still held them. Several large workspaces at once.",
            },
            Part {
                title: "One to a hundred thousand tenants",
                run: "tenants",
                show: service::by_tenants,
                not_shown: "tenants that are all active at the same time.",
            },
        ],
    }
}

pub(super) fn memory() -> Chapter {
    Chapter {
        title: "Memory",
        parts: vec![
            Part {
                title: "A node with ten thousand records",
                run: "load",
                show: resident,
                not_shown: "a long run; the allocator keeps pages that it may need again.",
            },
            Part {
                title: "Idle connections",
                run: "faults",
                show: idle,
                not_shown: "the kernel's own buffers, which count for the machine and not for the process.",
            },
            Part {
                title: "Strangers that send half a request",
                run: "strangers",
                show: strangers,
                not_shown: "what an attacker with many addresses can do to a network.",
            },
            Part {
                title: "A key that reads nothing, on a node of 512 MB",
                run: "hoarders",
                show: hoarders,
                not_shown: "many accounts that do so together, and the system's own buffers, which a cgroup counts too.",
            },
            Part {
                title: "A mixed load that does not change, over many projects",
                run: "steady",
                show: steady,
                not_shown: "a day of it, and texts of other lengths.",
            },
            Part {
                title: "A million records in a cgroup of 512 MB",
                run: "memory",
                show: whole,
                not_shown: "other limits.",
            },
        ],
    }
}

#[derive(Deserialize)]
pub(crate) struct Size {
    pub(crate) records: f64,
    pub(crate) bytes_per_record: f64,
    pub(crate) search: Costs,
    fts5: Option<Costs>,
    pub(crate) snapshot_mb: f64,
    pub(crate) from_snapshot_ms: f64,
    pub(crate) from_scratch_ms: f64,
    add: Costs,
}

#[derive(Deserialize)]
pub(crate) struct Costs {
    pub(crate) mean_us: f64,
    p50_us: f64,
    p99_us: f64,
}

fn sizes(run: &Run) -> Result<Shown> {
    let sizes: Vec<Size> = run.figures()?;
    let row = |size: &Size| {
        vec![
            grouped(size.records),
            format!("{} µs", size.search.mean_us),
            format!("{} µs", size.search.p99_us),
            size.fts5.as_ref().map_or("not measured".to_owned(), |fts5| format!("{} µs", fts5.mean_us)),
            format!("{:.0} B", size.bytes_per_record),
            format!("{:.1} µs", size.add.p50_us),
            format!("{} ms", size.from_snapshot_ms),
            format!("{} ms", size.from_scratch_ms),
        ]
    };
    let heads = [
        "records",
        "search, mean",
        "p99",
        "FTS5, mean",
        "per record",
        "add one, p50",
        "start from a snapshot",
        "from the records",
    ];
    let text = format!("CPU time of one core.\n\n{}", table(&heads, sizes.iter().map(row)));
    let records =
        Axis::logarithmic("records", &[(1e3, "1,000"), (1e4, "10,000"), (1e5, "100,000"), (1e6, "1,000,000")]);
    let series = |name: &str, value: &dyn Fn(&Size) -> Option<f64>| Series {
        name: name.to_owned(),
        points: sizes.iter().filter_map(|size| Some((size.records, value(size)?))).collect(),
    };
    let search = lines(
        "One search by size of the workspace",
        &records,
        &Axis::logarithmic(
            "CPU time",
            &[(10.0, "10 µs"), (100.0, "0.1 ms"), (1e3, "1 ms"), (1e4, "10 ms"), (1e5, "0.1 s")],
        ),
        &[
            series("Mnemon, mean", &|size| Some(size.search.mean_us)),
            series("SQLite FTS5, mean", &|size| Some(size.fts5.as_ref()?.mean_us)),
            series("Mnemon, p99", &|size| Some(size.search.p99_us)),
        ],
    );
    let start = lines(
        "Until an index answers, by size of the workspace",
        &records,
        &Axis::logarithmic(
            "time",
            &[(0.1, "0.1 ms"), (1.0, "1 ms"), (10.0, "10 ms"), (100.0, "0.1 s"), (1e3, "1 s"), (1e4, "10 s")],
        ),
        &[
            series("from a snapshot", &|size| Some(size.from_snapshot_ms)),
            series("from the records", &|size| Some(size.from_scratch_ms)),
        ],
    );
    let plots = vec![
        ("growth-search", "CPU time of a search by number of records, Mnemon and SQLite FTS5", search),
        ("growth-start", "Time until an index answers, from a snapshot and from the records", start),
    ];
    Ok(Shown { text, plots })
}

#[derive(Deserialize)]
struct Filters {
    rows: Vec<Filtered>,
    verdicts: Vec<Verdict>,
}

#[derive(Deserialize)]
struct Filtered {
    records: u64,
    filter: String,
    cpu_us: f64,
    ratio: f64,
    hits: f64,
}

fn filters(run: &Run) -> Result<Shown> {
    let Filters { rows, verdicts } = run.figures()?;
    let row = |row: &Filtered| {
        let name = if row.filter == "none" { row.filter.clone() } else { format!("`{}`", row.filter) };
        vec![
            grouped(row.records),
            name,
            format!("{:.1}", row.cpu_us),
            format!("{:.2}", row.ratio),
            format!("{:.1}", row.hits),
        ]
    };
    let rows = rows.iter().map(row);
    Ok(Shown::text(format!(
        "Every filter admits half of the records. CPU time of a search over HTTP, and how many times that of a search without a filter:\n\n{}\n{}",
        table(&["records", "filter", "CPU, µs", "ratio", "hits"], rows),
        told(&verdicts)
    )))
}

fn resident(run: &Run) -> Result<Shown> {
    let Load { resident_mib_filled, resident_mib_end, resident_mib_floor, .. } = run.figures()?;
    let text = format!(
        "Resident memory {resident_mib_filled:.1} MiB once the records are stored, {resident_mib_end:.1} MiB after all searches and saves of the run. The floor, a server that answers a fixed body, has {resident_mib_floor:.1} MiB.",
    );
    Ok(Shown::text(text))
}

fn idle(run: &Run) -> Result<Shown> {
    let Idle { connections, kib_each, calls, failures } = durability::idle(run)?;
    let text = format!(
        "{} silent connections stay open at {kib_each:.1} KiB each, next to 100 that search: of their {} calls, {failures} failed.",
        grouped(connections),
        grouped(calls)
    );
    Ok(Shown::text(text))
}

#[derive(Deserialize)]
pub(crate) struct Steady {
    pub(crate) records: u64,
    pub(crate) samples: Vec<Sample>,
    pub(crate) calls_per_second: f64,
    pub(crate) cpu_us_per_call: f64,
    resident_mb_per_minute: f64,
    verdicts: Vec<Verdict>,
}

/// In MB.
#[derive(Deserialize)]
pub(crate) struct Sample {
    pub(crate) seconds: f64,
    resident: f64,
    indexes: f64,
    texts: f64,
    storage: f64,
}

/// Resident memory, and what of it the figures explain, by the minute.
fn steady(run: &Run) -> Result<Shown> {
    let Steady { samples, resident_mb_per_minute, verdicts, .. } = run.figures()?;
    let last = samples.last().context("bench/runs/steady.json has no sample")?;
    let series = |name: &str, value: fn(&Sample) -> f64| Series {
        name: name.to_owned(),
        points: samples.iter().map(|sample| (sample.seconds / 60.0, value(sample))).collect(),
    };
    let highest: Vec<String> = samples.iter().map(|sample| sample.resident.to_string()).collect();
    let minutes: Vec<f64> = (0..=5).map(|tick| f64::from(tick) * (last.seconds / 300.0).ceil()).collect();
    let plot = lines(
        "Memory under a load that does not change",
        &Axis::linear("minutes", &minutes),
        &Axis::up_to("MB", highest.iter()),
        &[
            series("resident", |sample| sample.resident),
            series("indexes", |sample| sample.indexes),
            series("texts", |sample| sample.texts),
            series("page caches at most", |sample| sample.storage),
        ],
    );
    let mut text = format!("in the last third, resident memory changes by {resident_mb_per_minute:.2} MB a minute\n");
    for Verdict { is_met, bar } in &verdicts {
        text.push_str(&format!("\n{} {bar}", if *is_met { "PASS" } else { "FAIL" }));
    }
    Ok(Shown { text, plots: vec![("steady", "Resident memory and what it is for, by the minute", plot)] })
}

#[derive(Deserialize)]
struct Hostile {
    strangers: Vec<Stranger>,
    hoarders: Option<Hoarders>,
}

#[derive(Deserialize)]
struct Stranger {
    what: String,
    kib_each: u64,
}

#[derive(Deserialize)]
struct Hoarders {
    quiet_p99_ms: f64,
    kinds: Vec<Hoarder>,
    peak_mib: u64,
}

#[derive(Deserialize)]
struct Hoarder {
    what: String,
    served: u64,
    refused: u64,
    closed: u64,
    peak_mib: u64,
    p99_ms: f64,
}

fn hoarders(run: &Run) -> Result<Shown> {
    let found: Vec<Hostile> = run.figures()?;
    let hoarders = found.into_iter().find_map(|hostile| hostile.hoarders);
    let Hoarders { quiet_p99_ms, kinds, peak_mib } = hoarders.context("bench/runs/hoarders.json has no hoarders")?;
    let row = |Hoarder { what, served, refused, closed, peak_mib, p99_ms }: &Hoarder| {
        let counts = [served, refused, closed].map(grouped);
        [vec![what.clone()], counts.into(), vec![format!("{peak_mib} MiB"), format!("{p99_ms:.1}ms")]].concat()
    };
    let heads = ["500 connections", "answers begun", "refused", "closed", "resident", "p99 of others"];
    let text = format!(
        "A key of a free account with 240 records of 16 kB, for ten seconds each. The others' p99 was {quiet_p99_ms:.1}ms before; the node had \
         {peak_mib} MiB at the peak.\n\n{}",
        table(&heads, kinds.iter().map(row))
    );
    Ok(Shown::text(text))
}

fn strangers(run: &Run) -> Result<Shown> {
    let found: Vec<Hostile> = run.figures()?;
    let [was, now] = &found[..] else { anyhow::bail!("bench/runs/strangers.json: two runs expected") };
    let row = |(was, now): (&Stranger, &Stranger)| {
        vec![now.what.clone(), format!("{} KiB", was.kib_each), format!("{} KiB", now.kib_each)]
    };
    let rows = was.strangers.iter().zip(&now.strangers).map(row);
    let text = format!(
        "A thousand of each, memory for each at the peak:\n\n{}",
        table(&["what they send", "before the security repairs", "now"], rows)
    );
    Ok(Shown::text(text))
}
