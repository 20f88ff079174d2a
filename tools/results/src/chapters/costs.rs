//! What is between an assistant and its memory, and what that costs.

use anyhow::Result;
use serde::Deserialize;

use super::{Chapter, Part, Shown, Verdict, whole};
use crate::run::Run;
use crate::table::{grouped, integer, table};

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
                not_shown: "a slow disk on which the program is read again each time.",
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

#[derive(Deserialize)]
struct Agent {
    ways: Vec<Way>,
    idle_mb: f64,
    idle_processor_percent: f64,
}

#[derive(Deserialize)]
struct Way {
    name: String,
    p50_us: f64,
    p95_us: f64,
    p99_us: f64,
}

fn agent(run: &Run) -> Result<Shown> {
    let Agent { ways, idle_mb, idle_processor_percent } = run.figures()?;
    let row = |Way { name, p50_us, p95_us, p99_us }: &Way| {
        vec![name.clone(), p50_us.to_string(), p95_us.to_string(), p99_us.to_string()]
    };
    let text = format!(
        "{}\nIdle, the agent has {idle_mb:.1} MB of memory and takes {idle_processor_percent:.2} % of a core.",
        table(&["2,000 calls, one at a time", "p50 µs", "p95 µs", "p99 µs"], ways.iter().map(row))
    );
    Ok(Shown::text(text))
}

#[derive(Deserialize)]
struct Gateway {
    overhead: Vec<Overhead>,
    neighbours: Vec<Neighbour>,
}

#[derive(Deserialize)]
struct Overhead {
    clients: u64,
    direct: Waits,
    through: Waits,
}

#[derive(Deserialize)]
struct Waits {
    calls_per_second: f64,
    p50_us: f64,
    p99_us: f64,
}

#[derive(Deserialize)]
struct Neighbour {
    upstream: String,
    alone_p99_us: f64,
    then_p99_us: f64,
    ratio: f64,
}

fn gateway(run: &Run) -> Result<Shown> {
    let Gateway { overhead, neighbours } = run.figures()?;
    let row = |name: &str, clients: u64, Waits { calls_per_second, p50_us, p99_us }: &Waits| {
        let waits = [calls_per_second, p50_us, p99_us].map(|figure| integer(*figure));
        [vec![name.to_owned(), clients.to_string()], waits.into()].concat()
    };
    let direct = overhead.iter().map(|both| row("at the upstream itself", both.clients, &both.direct));
    let through = overhead.iter().map(|both| row("through the gateway", both.clients, &both.through));
    let other = |Neighbour { upstream, alone_p99_us, then_p99_us, ratio }: &Neighbour| {
        vec![upstream.clone(), format!("{alone_p99_us:.0}"), format!("{then_p99_us:.0}"), format!("{ratio:.2} ×")]
    };
    let text = format!(
        "{}\nSearches of another project while eight callers use an upstream that misbehaves:\n\n{}",
        table(&["", "clients", "calls/s", "p50 µs", "p99 µs"], direct.chain(through)),
        table(&["the upstream", "p99 µs alone", "p99 µs then", "ratio"], neighbours.iter().map(other))
    );
    Ok(Shown::text(text))
}

#[derive(Deserialize)]
struct Hook {
    name: String,
    p50_ms: f64,
    p99_ms: f64,
    slowest_ms: f64,
}

fn hooks(run: &Run) -> Result<Shown> {
    let hooks: Vec<Hook> = run.figures()?;
    let row = |Hook { name, p50_ms, p99_ms, slowest_ms }: &Hook| {
        let times = [p50_ms, p99_ms, slowest_ms].map(|ms| format!("{ms:.1} ms"));
        [vec![name.clone()], times.into()].concat()
    };
    Ok(Shown::text(format!(
        "Each hook is a process of its own.\n\n{}",
        table(&["hook, and the service", "p50", "p99", "slowest"], hooks.iter().map(row))
    )))
}

#[derive(Deserialize)]
struct Tokens {
    with_source: Counted,
    plain: Counted,
    verdicts: Vec<Verdict>,
}

#[derive(Deserialize)]
struct Counted {
    tokens: u64,
    contents: u64,
}

fn tokens(run: &Run) -> Result<Shown> {
    let Tokens { with_source, plain, verdicts } = run.figures()?;
    let row =
        |kind: &str, counted: &Counted| vec![kind.to_owned(), grouped(counted.tokens), counted.contents.to_string()];
    let rows = [row("records with a source", &with_source), row("plain records", &plain)];
    let missed = verdicts.iter().find(|verdict| !verdict.is_met);
    let missed = missed.map_or(String::new(), |verdict| format!("\n**Missed**: {}", verdict.bar));
    Ok(Shown::text(format!("{}{missed}", table(&["ten hits", "tokens", "of which the contents"], rows))))
}
