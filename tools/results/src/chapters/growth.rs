//! What grows with the number of records, tenants and connections.

use anyhow::{Context, Result};

use super::{Chapter, Part, Shown, service, whole};
use crate::plot::{Axis, Series, lines};
use crate::reading::{before, grouped, number, numbers, table};
use crate::run::Run;

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
                title: "Leaving stale records out",
                run: "filters",
                show: filters,
                not_shown: "other filters, and workspaces in which nearly everything is stale.",
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
                title: "A million records in a cgroup of 512 MB",
                run: "memory",
                show: whole,
                not_shown: "other limits.",
            },
        ],
    }
}

struct Size {
    records: f64,
    search: Vec<f64>,
    fts5_mean: Option<f64>,
    bytes: String,
    snapshot: f64,
    scratch: f64,
    add: String,
}

fn read_sizes(run: &Run) -> Result<Vec<Size>> {
    let mut sizes = Vec::new();
    for block in run.body.split("\n\n") {
        let line = |beginning: &str| {
            let found = block.lines().map(str::trim_start).find(|line| line.starts_with(beginning));
            found.with_context(|| format!("bench/runs/recall-speed.txt: `{beginning}` is missing in a block"))
        };
        sizes.push(Size {
            records: number(block, 0)?.parse()?,
            search: numbers(line("search, whole")?),
            fts5_mean: line("FTS5 on").ok().and_then(|line| before(line, "µs mean").ok()?.parse().ok()),
            bytes: number(line("size")?, 0)?.to_owned(),
            snapshot: number(line("cold start from snapshot")?, 0)?.parse()?,
            scratch: number(line("cold start from scratch")?, 0)?.parse()?,
            add: before(line("add one")?, "p50")?.to_owned(),
        });
    }
    Ok(sizes)
}

fn sizes(run: &Run) -> Result<Shown> {
    let sizes = read_sizes(run)?;
    let row = |size: &Size| {
        vec![
            grouped(&size.records.to_string()),
            format!("{} µs", size.search[0]),
            format!("{} µs", size.search[2]),
            size.fts5_mean.map_or("not measured".to_owned(), |mean| format!("{mean} µs")),
            format!("{} B", size.bytes),
            format!("{} µs", size.add),
            format!("{} ms", size.snapshot),
            format!("{} ms", size.scratch),
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
    let text = format!("CPU time of one core.\n\n{}", table(&heads, &sizes.iter().map(row).collect::<Vec<_>>()));
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
            series("Mnemon, mean", &|size| size.search.first().copied()),
            series("SQLite FTS5, mean", &|size| size.fts5_mean),
            series("Mnemon, p99", &|size| size.search.get(2).copied()),
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
            series("from a snapshot", &|size| Some(size.snapshot)),
            series("from the records", &|size| Some(size.scratch)),
        ],
    );
    let plots = vec![
        ("growth-search", "CPU time of a search by number of records, Mnemon and SQLite FTS5", search),
        ("growth-start", "Time until an index answers, from a snapshot and from the records", start),
    ];
    Ok(Shown { text, plots })
}

fn filters(run: &Run) -> Result<Shown> {
    let mut rows = Vec::new();
    for line in run.lines().filter(|line| line.starts_with("   ") && numbers(line).len() == 6) {
        let at = |place| number(line, place).map(str::to_owned);
        rows.push(vec![grouped(&at(0)?), at(1)?, at(2)?, at(3)?]);
    }
    anyhow::ensure!(!rows.is_empty(), "bench/runs/filters.txt: no rows found");
    let text = format!(
        "Half of the records are stale. CPU time of a search:\n\n{}",
        table(&["records", "all, µs", "without stale ones, µs", "ratio"], &rows)
    );
    Ok(Shown::text(text))
}

fn resident(run: &Run) -> Result<Shown> {
    let line = run.line("stored at")?;
    let figures = line.split_once("resident").map_or(line, |(_, rest)| rest);
    let text = format!(
        "Resident memory {} MiB once the records are stored, {} MiB after all searches and saves of the run. The floor, a server that answers a fixed body, has {} MiB.",
        number(figures, 0)?,
        number(figures, 1)?,
        number(figures, 2)?
    );
    Ok(Shown::text(text))
}

fn idle(run: &Run) -> Result<Shown> {
    let line = run.line("idle:")?;
    let active = before(line, "active calls")?;
    let text = format!(
        "{} silent connections stay open at {} KiB each, next to 100 that search: of their {} calls, {} failed.",
        grouped(before(line, "idle connections")?),
        before(line, "KiB each")?,
        grouped(active),
        before(line, &format!("of {active} active"))?
    );
    Ok(Shown::text(text))
}

fn hoarders(run: &Run) -> Result<Shown> {
    let line = run.lines_with("strangers:").last().context("bench/runs/hoarders.txt: a line expected")?;
    let mut rows = Vec::new();
    for kind in line.split(" calls failed").filter(|kind| kind.contains(" answers begun")) {
        let (left, _) = kind.split_once(" answers begun").unwrap_or_default();
        let name = left.rsplit_once(": ").and_then(|(left, _)| left.rsplit(", ").next()).unwrap_or_default();
        let waits = kind.rsplit_once("p99 of others ").map_or("", |(_, waits)| waits);
        rows.push(vec![
            name.to_owned(),
            grouped(before(kind, "answers begun")?),
            grouped(before(kind, "refused")?),
            grouped(before(kind, "closed")?),
            format!("{} MiB", before(kind, "MiB, p99")?),
            waits.split(',').next().unwrap_or_default().to_owned(),
        ]);
    }
    let quiet =
        line.split_once("p99 of others ").and_then(|(_, rest)| rest.split(" before").next()).unwrap_or_default();
    let heads = ["500 connections", "answers begun", "refused", "closed", "resident", "p99 of others"];
    let text = format!(
        "A key of a free account with 240 records of 16 kB, for ten seconds each. The others' p99 was {quiet} before; the node had \
         {} MiB at the peak.\n\n{}",
        before(line, "MiB at the peak")?,
        table(&heads, &rows)
    );
    Ok(Shown::text(text))
}

fn strangers(run: &Run) -> Result<Shown> {
    let found: Vec<&str> = run.lines_with("strangers:").collect();
    let [was, now] = found[..] else { anyhow::bail!("bench/runs/strangers.txt: two lines expected") };
    let mut rows = Vec::new();
    for (before_, after) in was.split(", 1000 strangers with ").zip(now.split(", 1000 strangers with ")).skip(1) {
        let name = after.split_once(':').map_or(after, |(name, _)| name);
        rows.push(vec![
            name.to_owned(),
            format!("{} KiB", before(before_, "KiB each")?),
            format!("{} KiB", before(after, "KiB each")?),
        ]);
    }
    let text = format!(
        "A thousand of each, memory for each at the peak:\n\n{}",
        table(&["what they send", "before the security repairs", "now"], &rows)
    );
    Ok(Shown::text(text))
}
