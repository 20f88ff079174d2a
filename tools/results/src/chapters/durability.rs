//! What survives, and who sees what.

use anyhow::{Context, Result};
use serde::Deserialize;

use super::{Chapter, Part, Shown, whole};
use crate::run::Run;
use crate::table::{grouped, table};

pub(super) fn chapter() -> Chapter {
    Chapter {
        title: "Durability",
        parts: vec![
            Part {
                title: "Kills, power loss, failing disks, lost databases",
                run: "faults",
                show: faults,
                not_shown: "a disk that reports a sync it did not make. [bench/README.md](../bench/README.md) says what each fault does and \
                            what must hold.",
            },
            Part {
                title: "Session histories while agent and service are killed",
                run: "agent-sync",
                show: faults,
                not_shown: "a disk that loses what it had synced.",
            },
            Part {
                title: "Backups under load, killed and restored",
                run: "backup",
                show: whole,
                not_shown: "a machine that is lost together with its backups.",
            },
            Part {
                title: "Dumps of PostgreSQL under load, killed and restored",
                run: "backup-postgres",
                show: whole,
                not_shown: "continuous archiving, and a restore on another server.",
            },
        ],
    }
}

pub(super) fn isolation() -> Chapter {
    Chapter {
        title: "Isolation",
        parts: vec![Part {
            title: "Random calls compared with a naive model",
            run: "isolation",
            show: isolated,
            not_shown: "channels beside the answers, such as time; what tests say about them is in [Security](concepts/security.md).",
        }],
    }
}

/// What a fault showed, in words; where a chapter needs them, in numbers too.
#[derive(Deserialize)]
pub(crate) struct Outcome {
    name: String,
    rounds: Option<u64>,
    facts: Vec<String>,
    is_passed: bool,
    pub(crate) idle: Option<Idle>,
}

#[derive(Deserialize)]
pub(crate) struct Idle {
    pub(crate) connections: u64,
    pub(crate) kib_each: f64,
    pub(crate) calls: u64,
    pub(crate) failures: u64,
}

fn faults(run: &Run) -> Result<Shown> {
    let outcomes: Vec<Outcome> = run.figures()?;
    let row = |Outcome { name, rounds, facts, is_passed, .. }: &Outcome| {
        let seen: Vec<String> = facts.join(", ").split(' ').map(grouped).collect();
        let verdict = if *is_passed { "PASS" } else { "FAIL" };
        vec![format!("`{name}`"), rounds.map_or(String::new(), grouped), seen.join(" "), verdict.to_owned()]
    };
    Ok(Shown::text(table(&["fault", "rounds", "seen", ""], outcomes.iter().map(row))))
}

/// The idle connections among all faults.
pub(crate) fn idle(run: &Run) -> Result<Idle> {
    let outcomes: Vec<Outcome> = run.figures()?;
    outcomes.into_iter().find_map(|outcome| outcome.idle).context("bench/runs/faults.json has no idle connections")
}

/// `isolation: 7 cases, 0 leaks, 0 other mismatches (seed 1)` below the name of its storage. This one is printed by
/// `mnemon`, whose tests compare the line; it writes no file of figures.
fn isolated(run: &Run) -> Result<Shown> {
    let mut rows = Vec::new();
    let mut engine = "";
    for line in run.body.lines() {
        if let Some(name) = line.strip_prefix("# ") {
            engine = name;
        } else if let Some(found) = line.strip_prefix("isolation: ") {
            let mut row = vec![engine.replace("(--database postgres://…)", "").trim().to_owned()];
            row.extend(found.split(", ").filter_map(|part| part.split(' ').next()).map(grouped));
            rows.push(row);
        }
    }
    anyhow::ensure!(!rows.is_empty(), "bench/runs/isolation.txt: no line `isolation: …`");
    Ok(Shown::text(table(&["storage", "cases", "leaks", "other mismatches"], rows)))
}
