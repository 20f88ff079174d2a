//! How many calls a second, and how long each takes.

use anyhow::Result;

use super::{Chapter, Part, Shown, verdicts, whole};
use crate::plot::{Axis, bars};
use crate::reading::{grouped, number, table};
use crate::run::Run;

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

fn load(run: &Run) -> Result<Shown> {
    let mut rows = Vec::new();
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (kind, verb) in [("search", "search"), ("save", "save")] {
        for line in run.lines_with(kind).filter(|line| line.contains('|')) {
            let at = |place| number(line, place);
            let clients = at(0)?;
            rows.push(vec![
                verb.to_owned(),
                clients.to_owned(),
                grouped(at(1)?),
                grouped(at(2)?),
                grouped(at(3)?),
                at(4)?.to_owned(),
                format!("{} ×", at(9)?),
            ]);
            let group = format!("{clients} client{}", if clients == "1" { "" } else { "s" });
            match groups.iter_mut().find(|(name, _)| *name == group) {
                Some((_, values)) => values.push(at(1)?.to_owned()),
                None => groups.push((group, vec![at(1)?.to_owned()])),
            }
        }
    }
    let verdicts = verdicts(run);
    let first = run.lines().next().unwrap_or_default();
    let text = format!(
        "{first}. A save is on disk before its answer.\n\n{}\n{verdicts}",
        table(&["call", "clients", "calls/s", "p50 µs", "p99 µs", "CPU µs", "CPU, of the floor's"], &rows)
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

fn postgres(run: &Run) -> Result<Shown> {
    let mut saves = Vec::new();
    for (beginning, name) in [("stored together", "stored together, as the service does"), ("one by one", "one by one")]
    {
        for line in run.lines_with(beginning) {
            let at = |place| number(line, place).map(grouped);
            saves.push(vec![name.to_owned(), at(0)?, at(1)?, at(2)?, at(3)?]);
        }
    }
    let mut searches = Vec::new();
    let rows =
        run.lines().skip_while(|line| !line.starts_with("searches of")).skip(1).take_while(|line| !line.is_empty());
    for line in rows {
        let at = |place| number(line, place).map(grouped);
        searches.push(vec![at(0)?, at(1)?, at(2)?, at(3)?]);
    }
    let trip = number(run.line("freshness:")?, 0)?;
    let theirs = run.line("tsvector")?;
    let ours = run.line("Mnemon's index")?;
    let text = format!(
        "{}{}\n{}\nA call learns its credential, its subscription and the end of the log in one round trip: {trip} µs. Ten best of 10,000 records: PostgreSQL's own \
         full-text search takes {} µs on average, Mnemon's index {} µs.",
        callers(run)?,
        table(&["saves", "clients", "saves/s", "p50 µs", "p99 µs"], &saves),
        table(&["nodes", "searches/s", "p50 µs", "p99 µs"], &searches),
        grouped(number(theirs, 0)?),
        number(ours, 0)?
    );
    Ok(Shown::text(text))
}

/// Many callers at once, on PostgreSQL and on embedded storage. Earlier runs do not have them.
fn callers(run: &Run) -> Result<String> {
    let mut rows = Vec::new();
    let mut kind: Option<(&str, usize)> = None;
    for line in run.lines().map(str::trim_start) {
        match kind {
            _ if line.is_empty() => kind = None,
            // A save's first number is that of the projects.
            None if line.starts_with("searches in") => kind = Some(("search", 0)),
            None if line.starts_with("saves, by projects") => kind = Some(("save", 1)),
            None => {}
            Some((verb, first)) => {
                let at = |place: usize| number(line, first + place).map(grouped);
                let engine =
                    line.split(", ").next().and_then(|name| name.split("  ").next()).unwrap_or_default().to_owned();
                let projects = if first == 0 { "1".to_owned() } else { grouped(number(line, 0)?) };
                rows.push(vec![verb.to_owned(), engine, projects, at(0)?, at(1)?, at(3)?, at(4)?, at(8)?]);
            }
        }
    }
    if rows.is_empty() {
        return Ok(String::new());
    }
    let head = ["call", "storage", "projects", "clients", "calls/s", "p99 µs", "node CPU µs", "statements"];
    Ok(format!("Both engines in one run, medians of three rounds in turns:\n\n{}\n", table(&head, &rows)))
}
