//! How the whole service grows, by `mnemon-bench growth`.

use anyhow::Result;
use serde::Deserialize;

use super::{Shown, Verdict, told};
use crate::plot::{Axis, Series, lines};
use crate::run::Run;
use crate::table::{grouped, integer, table};

#[derive(Deserialize)]
struct Growth {
    sizes: Vec<Size>,
    tenants: Vec<Tenants>,
    verdicts: Vec<Verdict>,
}

#[derive(Deserialize)]
struct Size {
    records: f64,
    search_cpu_us: f64,
    search_p50_us: f64,
    search_p99_us: f64,
    index_mb: f64,
    resident_mb: f64,
    disk_mb: f64,
    stopped: Start,
    killed: Start,
}

#[derive(Deserialize)]
struct Start {
    ms: f64,
    cpu_ms: f64,
}

#[derive(Deserialize)]
struct Tenants {
    tenants: f64,
    resident_mb: f64,
    bytes_each: f64,
}

pub(super) fn by_records(run: &Run) -> Result<Shown> {
    let Growth { sizes, verdicts, .. } = run.figures()?;
    let row = |size: &Size| {
        let mut row = vec![grouped(size.records)];
        row.extend(
            [size.search_cpu_us, size.search_p50_us, size.search_p99_us].map(|us| format!("{} µs", integer(us))),
        );
        row.extend([size.index_mb, size.resident_mb, size.disk_mb].map(|mb| format!("{} MB", grouped(mb))));
        let start = |start: &Start| format!("{} ms ({})", integer(start.ms), integer(start.cpu_ms));
        row.extend([start(&size.stopped), start(&size.killed)]);
        row
    };
    let heads = [
        "records",
        "search, CPU",
        "p50",
        "p99",
        "index",
        "memory",
        "disk",
        "first answer after a stop (CPU)",
        "after kill -9 (CPU)",
    ];
    let rows = table(&heads, sizes.iter().map(row));
    let text = format!(
        "The first answer is that of a search over HTTP, counted from the start of the process.\n\n{rows}\n{}",
        told(&verdicts)
    );
    let records = Axis::logarithmic(
        "records",
        &[(1e2, "100"), (1e3, "1,000"), (1e4, "10,000"), (1e5, "100,000"), (1e6, "1,000,000")],
    );
    let series = |name: &str, value: &dyn Fn(&Size) -> f64| Series {
        name: name.to_owned(),
        points: sizes.iter().map(|size| (size.records, value(size))).collect(),
    };
    let search = lines(
        "One search of the whole service, by size of the workspace",
        &records,
        &Axis::logarithmic(
            "time",
            &[(10.0, "10 µs"), (100.0, "0.1 ms"), (1e3, "1 ms"), (1e4, "10 ms"), (1e5, "0.1 s")],
        ),
        &[series("CPU time", &|size| size.search_cpu_us), series("p50", &|size| size.search_p50_us)],
    );
    let start = lines(
        "From the start of the process to its first answer",
        &records,
        &Axis::logarithmic("time", &[(10.0, "10 ms"), (100.0, "0.1 s"), (1e3, "1 s"), (1e4, "10 s")]),
        &[series("after a stop", &|size| size.stopped.ms), series("after kill -9", &|size| size.killed.ms)],
    );
    let plots = vec![
        ("service-search", "Time of one search over HTTP by number of records", search),
        ("service-start", "Time from the start of the process to its first answer by number of records", start),
    ];
    Ok(Shown { text, plots })
}

pub(super) fn by_tenants(run: &Run) -> Result<Shown> {
    let Growth { mut tenants, verdicts, .. } = run.figures()?;
    let row = |row: &Tenants| vec![grouped(row.tenants), format!("{} MB", row.resident_mb), integer(row.bytes_each)];
    let rows = tenants.iter().map(row);
    let heads = ["tenants", "memory of the started service", "bytes for each idle tenant"];
    let text = format!("{}\n{}", table(&heads, rows), told(&verdicts));
    tenants.sort_by(|one, other| one.tenants.total_cmp(&other.tenants));
    let points = tenants.iter().map(|row| (row.tenants, row.resident_mb)).collect();
    let memory = lines(
        "Memory of a started service, by number of tenants",
        &Axis::logarithmic(
            "tenants",
            &[(1.0, "1"), (10.0, "10"), (1e2, "100"), (1e3, "1,000"), (1e4, "10,000"), (1e5, "100,000")],
        ),
        &Axis::linear("MB", &[0.0, 25.0, 50.0, 75.0, 100.0]),
        &[Series { name: "resident".to_owned(), points }],
    );
    Ok(Shown { text, plots: vec![("tenants", "Memory of a started service by number of tenants", memory)] })
}
