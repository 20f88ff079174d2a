//! What survives, and who sees what.

use anyhow::{Context, Result};

use super::{Chapter, Part, Shown, whole};
use crate::reading::{grouped, number, table};
use crate::run::Run;

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

/// `name: figures, PASS` as a row. Figures are as they were printed, with grouped digits.
fn faults(run: &Run) -> Result<Shown> {
    let mut rows = Vec::new();
    for line in run.lines().filter(|line| !line.is_empty()) {
        let (name, rest) = line.split_once(": ").with_context(|| format!("no fault in `{line}`"))?;
        let (seen, verdict) = rest.rsplit_once(", ").with_context(|| format!("no verdict in `{line}`"))?;
        let (rounds, seen) = seen.split_once(" rounds, ").with_context(|| format!("no rounds in `{line}`"))?;
        let seen: Vec<String> = seen.split(' ').map(grouped).collect();
        rows.push(vec![format!("`{name}`"), grouped(rounds), seen.join(" "), verdict.to_owned()]);
    }
    Ok(Shown::text(table(&["fault", "rounds", "seen", ""], &rows)))
}

fn isolated(run: &Run) -> Result<Shown> {
    let mut rows = Vec::new();
    let mut engine = "";
    for line in run.lines() {
        if let Some(name) = line.strip_prefix("# ") {
            engine = name;
        } else if line.starts_with("isolation:") {
            let at = |place| number(line, place).map(grouped);
            rows.push(vec![engine.replace("(--database postgres://…)", "").trim().to_owned(), at(0)?, at(1)?, at(2)?]);
        }
    }
    anyhow::ensure!(!rows.is_empty(), "bench/runs/isolation.txt: no line `isolation: …`");
    Ok(Shown::text(table(&["storage", "cases", "leaks", "other mismatches"], &rows)))
}
