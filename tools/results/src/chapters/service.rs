//! How the whole service grows, as `mnemon-bench growth` printed it.

use anyhow::{Result, ensure};

use super::{Shown, verdicts};
use crate::plot::{Axis, Series, lines};
use crate::reading::{grouped, numbers, table};
use crate::run::Run;

/// A row of the table of sizes.
struct Size {
    records: f64,
    /// µs: CPU time, p50, p99.
    search: [f64; 3],
    /// MB: index, memory, disk.
    sizes: [f64; 3],
    /// ms: after a stop, CPU time of it, after a kill, CPU time of it.
    first_answer: [f64; 4],
}

fn read_sizes(run: &Run) -> Result<Vec<Size>> {
    let mut sizes = Vec::new();
    for line in run.lines().filter(|line| line.ends_with("ms CPU)") && !line.contains("workspaces")) {
        let all = numbers(line);
        // From the end: a load that was kept has no speed.
        let [.., cpu, p50, p99, index, memory, disk, stopped, stopped_cpu, killed, killed_cpu] = all[..] else {
            anyhow::bail!("bench/runs/{}.txt: `{line}` has too few figures", run.name);
        };
        sizes.push(Size {
            records: all[0],
            search: [cpu, p50, p99],
            sizes: [index, memory, disk],
            first_answer: [stopped, stopped_cpu, killed, killed_cpu],
        });
    }
    ensure!(!sizes.is_empty(), "bench/runs/{}.txt: no rows found", run.name);
    Ok(sizes)
}

pub(super) fn by_records(run: &Run) -> Result<Shown> {
    let sizes = read_sizes(run)?;
    let row = |size: &Size| {
        let mut row = vec![grouped(&size.records.to_string())];
        row.extend(size.search.map(|us| format!("{} µs", grouped(&us.to_string()))));
        row.extend(size.sizes.map(|mb| format!("{} MB", grouped(&mb.to_string()))));
        let [stopped, stopped_cpu, killed, killed_cpu] = size.first_answer.map(|ms| grouped(&ms.to_string()));
        row.extend([format!("{stopped} ms ({stopped_cpu})"), format!("{killed} ms ({killed_cpu})")]);
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
    let rows = table(&heads, &sizes.iter().map(row).collect::<Vec<_>>());
    let text = format!(
        "The first answer is that of a search over HTTP, counted from the start of the process.\n\n{rows}\n{}",
        verdicts(run)
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
        &[series("CPU time", &|size| size.search[0]), series("p50", &|size| size.search[1])],
    );
    let start = lines(
        "From the start of the process to its first answer",
        &records,
        &Axis::logarithmic("time", &[(10.0, "10 ms"), (100.0, "0.1 s"), (1e3, "1 s"), (1e4, "10 s")]),
        &[series("after a stop", &|size| size.first_answer[0]), series("after kill -9", &|size| size.first_answer[2])],
    );
    let plots = vec![
        ("service-search", "Time of one search over HTTP by number of records", search),
        ("service-start", "Time from the start of the process to its first answer by number of records", start),
    ];
    Ok(Shown { text, plots })
}

pub(super) fn by_tenants(run: &Run) -> Result<Shown> {
    let mut tenants: Vec<(f64, f64)> = Vec::new();
    let mut rows = Vec::new();
    for line in run.lines().filter(|line| line.contains(" MB ")) {
        let [number, memory, each] = numbers(line)[..] else { continue };
        rows.push(vec![grouped(&number.to_string()), format!("{memory} MB"), grouped(&each.to_string())]);
        tenants.push((number, memory));
    }
    ensure!(!rows.is_empty(), "bench/runs/{}.txt: no rows found", run.name);
    tenants.sort_by(|one, other| one.0.total_cmp(&other.0));
    let heads = ["tenants", "memory of the started service", "bytes for each idle tenant"];
    let text = format!("{}\n{}", table(&heads, &rows), verdicts(run));
    let memory = lines(
        "Memory of a started service, by number of tenants",
        &Axis::logarithmic(
            "tenants",
            &[(1.0, "1"), (10.0, "10"), (1e2, "100"), (1e3, "1,000"), (1e4, "10,000"), (1e5, "100,000")],
        ),
        &Axis::linear("MB", &[0.0, 25.0, 50.0, 75.0, 100.0]),
        &[Series { name: "resident".to_owned(), points: tenants }],
    );
    Ok(Shown { text, plots: vec![("tenants", "Memory of a started service by number of tenants", memory)] })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(body: &str) -> Run {
        let head = "# command: x\n# machine: x\n# date: 2026-11-16\n# commit: x\n\n";
        Run::parse("growth", &format!("{head}{body}")).unwrap()
    }

    #[test]
    fn a_row_is_read_with_and_without_the_speed_of_its_load() {
        let rest =
            "85 us     112 us    3013 us    0.1 MB   86.3 MB    0.5 MB    75 ms (30 ms CPU)    78 ms (40 ms CPU)";
        for speed in ["2883", "kept"] {
            let sizes = read_sizes(&run(&format!("  records  saves/s\n      100 {speed} {rest}\n"))).unwrap();
            let [size] = &sizes[..] else { panic!("one row") };
            assert_eq!((size.records, size.search[0], size.sizes[2]), (100.0, 85.0, 0.5), "{speed}");
            assert_eq!(size.first_answer, [75.0, 30.0, 78.0, 40.0], "{speed}");
        }
        assert!(read_sizes(&run("100 75 ms (30 ms CPU)\n")).is_err(), "figures are missing");
        assert!(read_sizes(&run("PASS\n")).is_err(), "no rows");
    }
}
