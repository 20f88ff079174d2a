//! What is between an assistant and its memory, and what that costs.

use anyhow::Result;

use super::{Chapter, Part, Shown, whole};
use crate::reading::{before, grouped, number, table};
use crate::run::Run;

pub(super) fn chapter() -> Chapter {
    Chapter {
        title: "Overheads",
        parts: vec![
            Part {
                title: "The local agent",
                run: "agent",
                show: agent,
                not_shown: "a service on another machine, where the network outweighs the agent.",
            },
            Part {
                title: "Calls to other systems through the gateway",
                run: "gateway",
                show: gateway,
                not_shown: "real upstreams, which take many times as long as the one used here.",
            },
            Part {
                title: "Hooks of an assistant",
                run: "hooks",
                show: hooks,
                not_shown: "a slow disk on which the program is read anew each time.",
            },
            Part {
                title: "Checking a repository after a commit",
                run: "validate",
                show: whole,
                not_shown: "a service across a network, or a repository whose files are not in the page cache.",
            },
            Part {
                title: "Tokens of ten hits",
                run: "tokens",
                show: tokens,
                not_shown: "what an assistant makes of them, or tools of other systems, which add their own lists.",
            },
            Part {
                title: "Metrics and access log",
                run: "metrics",
                show: whole,
                not_shown: "other rates of scraping.",
            },
        ],
    }
}

fn agent(run: &Run) -> Result<Shown> {
    let mut rows = Vec::new();
    for name in ["direct", "through the agent"] {
        let line = run.line(name)?;
        rows.push(vec![
            name.to_owned(),
            number(line, 0)?.to_owned(),
            number(line, 1)?.to_owned(),
            number(line, 2)?.to_owned(),
        ]);
    }
    let text = format!(
        "{}\nIdle, the agent has {} MB of memory and takes {} % of a core.",
        table(&["2,000 calls, one at a time", "p50 µs", "p95 µs", "p99 µs"], &rows),
        before(run.line("idle memory")?, "MB")?,
        number(run.line("idle processor")?, 0)?
    );
    Ok(Shown::text(text))
}

fn gateway(run: &Run) -> Result<Shown> {
    let mut rows = Vec::new();
    for name in ["at the upstream itself", "through the gateway"] {
        for line in run.lines_with(name) {
            let at = |place| number(line, place).map(grouped);
            rows.push(vec![name.to_owned(), at(0)?, at(1)?, at(2)?, at(3)?]);
        }
    }
    let mut others = Vec::new();
    for name in ["hang", "drip", "flood ", "flood-events", "reset", "slow"] {
        let line = run.line(name)?;
        others.push(vec![
            name.trim().to_owned(),
            number(line, 0)?.to_owned(),
            number(line, 1)?.to_owned(),
            format!("{} ×", number(line, 2)?),
        ]);
    }
    let text = format!(
        "{}\nSearches of another project while eight callers use an upstream that misbehaves:\n\n{}",
        table(&["", "clients", "calls/s", "p50 µs", "p99 µs"], &rows),
        table(&["the upstream", "p99 µs alone", "p99 µs then", "ratio"], &others)
    );
    Ok(Shown::text(text))
}

fn hooks(run: &Run) -> Result<Shown> {
    let mut rows = Vec::new();
    for line in run.lines().filter(|line| line.contains("(p99 must be")) {
        let (name, figures) = line.split_once("  ").unwrap_or((line, ""));
        let at = |place| anyhow::Ok(format!("{} ms", number(figures, place)?));
        rows.push(vec![name.to_owned(), at(0)?, at(1)?, at(2)?]);
    }
    anyhow::ensure!(!rows.is_empty(), "bench/runs/hooks.txt: no rows found");
    Ok(Shown::text(format!(
        "Each hook is a process of its own.\n\n{}",
        table(&["hook, and the service", "p50", "p99", "slowest"], &rows)
    )))
}

fn tokens(run: &Run) -> Result<Shown> {
    let mut rows = Vec::new();
    let kinds = ["records with a source", "plain records"];
    for (line, kind) in run.lines_with("10 hits:").zip(kinds) {
        rows.push(vec![kind.to_owned(), grouped(number(line, 1)?), number(line, 2)?.to_owned()]);
    }
    anyhow::ensure!(rows.len() == 2, "bench/runs/tokens.txt: two lines `10 hits: …` expected");
    let verdict = run
        .lines_with("FAIL")
        .next()
        .map(|line| format!("\n**Missed**: {}", line.trim_start_matches("FAIL ")))
        .unwrap_or_default();
    Ok(Shown::text(format!("{}{verdict}", table(&["ten hits", "tokens", "of which the contents"], &rows))))
}
