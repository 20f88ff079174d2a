//! Backups under load, each preceded by one that is killed: what was acknowledged before a backup began is in it, and a
//! service on the restored data gives the same answers.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::Rounds;
use super::service::{Program, Service};
use super::story::{Findings, Story, check_all};
use super::writers::{Writers, WritersSpec};
use crate::wire::Wire;

/// A workspace without writers while backups are made, so that its answers can be compared to the letter.
const QUIET: &str = "quiet";
const QUIET_RECORDS: usize = 60;
/// Long records in another workspace: with them a slow backup takes seconds, and the kill comes before its end.
const LONG: &str = "long";
const LONG_RECORDS: usize = 200;
const LONG_LINES: usize = 250;
pub(super) const WRITERS: usize = 4;
/// How fast the backups that are killed copy, in megabytes a second: slow enough to be killed in the middle.
const SLOW_RATE: &str = "1";

#[derive(Debug, Clone, Copy, Default, serde::Serialize)]
pub struct BackupReport {
    pub rounds: usize,
    /// Backups that were killed before they were whole.
    pub killed: usize,
    /// Files under the name of a killed backup that were not whole.
    pub half: usize,
    /// What was acknowledged before the backups, against the restored services.
    pub findings: Findings,
    /// Answers that were compared, and those that differed.
    pub compared: usize,
    pub unequal: usize,
}

impl BackupReport {
    /// Some were killed midway, nothing is lost, no half file has a name, and all answers are equal.
    pub fn is_passed(&self) -> bool {
        let has_shown = self.killed > 0 && self.compared > 0 && self.findings.saved > 0;
        has_shown && self.half == 0 && self.unequal == 0 && self.findings.is_clean()
    }

    /// Adds a round.
    pub(super) fn add(&mut self, compared: Compared) {
        self.rounds += 1;
        self.compared += compared.compared;
        self.unequal += compared.unequal;
        self.findings += compared.findings;
    }
}

/// A service on restored data, against the one that it is a copy of.
pub(super) struct Compared {
    compared: usize,
    unequal: usize,
    findings: Findings,
}

/// Runs the rounds with all files in `scratch`.
pub async fn backup(binary: &Path, scratch: &Path, rounds: &Rounds) -> Result<BackupReport> {
    let mut program = Program::new(binary, &scratch.join("data"), scratch);
    let service = program.start().await?;
    program.key = Some(service.key.clone());
    furnish(&mut service.connect().await?).await?;
    let mut report = BackupReport::default();
    for round in 0..rounds.count {
        let spec = |part: &str| WritersSpec { count: WRITERS, workspace: format!("round-{round}-{part}") };
        let before = Writers::start(&service, &spec("before")).await?;
        tokio::time::sleep(rounds.moment(round) / 4).await;
        let before = before.stop().await?;
        let during = Writers::start(&service, &spec("during")).await?;
        let killed = scratch.join(format!("killed-{round}.db"));
        kill_one(&program, &killed, rounds.moment(round) / 4).await?;
        if killed.exists() {
            // It was done before the kill: then it must be whole.
            report.half += usize::from(restore(&program, &killed, &scratch.join("half")).is_err());
            let _ = std::fs::remove_dir_all(scratch.join("half"));
        } else {
            report.killed += 1;
        }
        let kept = scratch.join(format!("kept-{round}.db"));
        run(&program, &["backup", text(&kept)?, "--data-dir", text(&program.data_dir)?])?;
        during.stop().await?;
        report.add(check(&program, &service, &kept, scratch, &before).await?);
        for file in [&killed, &kept] {
            let _ = std::fs::remove_file(file);
        }
    }
    Ok(report)
}

/// Restores a backup, starts a service on it, and compares it with the one that it is a copy of.
async fn check(
    program: &Program,
    service: &Service,
    kept: &Path,
    scratch: &Path,
    before: &[Story],
) -> Result<Compared> {
    let copy = scratch.join("copy");
    std::fs::create_dir_all(&copy)?;
    restore(program, kept, &copy.join("data"))?;
    let second = Program { data_dir: copy.join("data"), scratch: copy.clone(), ..program.clone() };
    let restored = second.start().await?;
    let compared = compare(service, &restored, before).await?;
    restored.kill()?;
    std::fs::remove_dir_all(&copy)?;
    Ok(compared)
}

/// Asks both the same questions, and the copy for everything that was acknowledged before the backup.
pub(super) async fn compare(service: &Service, restored: &Service, before: &[Story]) -> Result<Compared> {
    let (mut here, mut there) = (service.connect().await?, restored.connect().await?);
    let (mut compared, mut unequal) = (0, 0);
    for (tool, arguments) in questions() {
        let (own, copied) = (answer(&mut here, tool, &arguments).await?, answer(&mut there, tool, &arguments).await?);
        compared += 1;
        unequal += usize::from(own != copied);
    }
    let findings = check_all(before, &mut there).await?;
    Ok(Compared { compared, unequal, findings })
}

/// Records with sources, keys and conflicts.
pub(super) async fn furnish(wire: &mut Wire) -> Result<()> {
    for n in 0..QUIET_RECORDS {
        let saved = json!({
            "content": format!("Boiler {n} in cellar {} hums at {} degrees; valve {} is open", n % 7, n * 3, n % 5),
            "workspace": QUIET, "fact_key": format!("boiler-{}", n % 40), "source_id": format!("plan-{}", n % 9),
            "source_hash": format!("hash-{}", n % 3), "confidence": 0.5,
        });
        answer(wire, "remember", &saved).await?;
    }
    answer(wire, "validate_memory", &json!({"source_id": "plan-1", "current_source_hash": "hash-1"})).await?;
    for n in 0..LONG_RECORDS {
        let line = |line: usize| format!("day {line}: meter {n} shows {} litres, {} bar\n", line * 37 + n, line % 11);
        let content: String = (0..LONG_LINES).map(line).collect();
        answer(wire, "remember", &json!({"content": content, "workspace": LONG})).await?;
    }
    Ok(())
}

fn questions() -> Vec<(&'static str, Value)> {
    let queries = ["boiler", "valve open cellar 3", "which boiler hums at 30 degrees", "*", "Cellar six", "hums"];
    let mut asked = Vec::new();
    for query in queries {
        for more in
            [json!({}), json!({"exclude_stale": true}), json!({"source_id": "plan-1"}), json!({"fact_key": "boiler-3"})]
        {
            let mut arguments = json!({"query": query, "workspace": QUIET, "limit": 50});
            if let (Some(own), Some(more)) = (arguments.as_object_mut(), more.as_object()) {
                own.extend(more.clone());
            }
            asked.push(("search", arguments));
        }
    }
    asked.extend((0..9).map(|n| ("validate_memory", json!({"source_id": format!("plan-{n}"), "workspace": QUIET}))));
    asked
}

async fn answer(wire: &mut Wire, tool: &str, arguments: &Value) -> Result<Value> {
    wire.call(tool, arguments).await.map_err(|error| anyhow::anyhow!("{tool} failed: {error:?}"))
}

/// Starts a slow backup and kills it a while after it began to copy.
async fn kill_one(program: &Program, to: &Path, after: Duration) -> Result<()> {
    let arguments = ["backup", text(to)?, "--data-dir", text(&program.data_dir)?, "--rate", SLOW_RATE];
    let mut child = command(program, &arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let folder = to.parent().context("a file has a folder")?;
    while !has_partial(folder)? && child.try_wait()?.is_none() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    tokio::time::sleep(after).await;
    let _ = child.kill();
    child.wait()?;
    Ok(())
}

/// Whether a backup has begun in a folder. What a killed one left was removed by the next, which was not killed.
fn has_partial(folder: &Path) -> Result<bool> {
    let mut entries = std::fs::read_dir(folder)?.flatten();
    Ok(entries.any(|entry| entry.file_name().to_string_lossy().ends_with(".partial")))
}

fn restore(program: &Program, from: &Path, to: &Path) -> Result<()> {
    run(program, &["restore", text(from)?, "--data-dir", text(to)?])
}

pub(super) fn run(program: &Program, arguments: &[&str]) -> Result<()> {
    let output = command(program, arguments).output().context("the program can't be started")?;
    if !output.status.success() {
        bail!("{} failed: {}", arguments[0], String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

fn command(program: &Program, arguments: &[&str]) -> Command {
    let mut command = Command::new(&program.binary);
    command.args(arguments).current_dir(&program.scratch).stdin(Stdio::null());
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("MNEMON_")) {
        command.env_remove(name);
    }
    command
}

pub(super) fn text(path: &Path) -> Result<&str> {
    path.to_str().context("a path of the test is UTF-8")
}
