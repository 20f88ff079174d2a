//! kill -9 while writers are being answered, again and again on the same data.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::Rounds;
use super::service::{Program, Service};
use super::story::{Findings, Story, check_all};
use super::writers::{Writers, WritersSpec};
use crate::wire::CallFailed;

const WRITERS: usize = 8;
/// How long a killed service may take until it answers again.
const RESTART_MAX: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, Default, serde::Serialize)]
pub struct KillReport {
    pub rounds: usize,
    /// What was found after each round and, once more for all records, at the end.
    pub findings: Findings,
    /// The longest time from the start of the process to the first answered search.
    pub restart_max: Duration,
}

impl KillReport {
    /// Nothing lost, nothing back, and fast enough.
    pub fn is_passed(&self) -> bool {
        self.findings.is_clean() && self.findings.saved > 0 && self.restart_max <= RESTART_MAX
    }
}

/// Runs the rounds with all files in `scratch`.
pub async fn kill(binary: &Path, scratch: &Path, rounds: &Rounds) -> Result<KillReport> {
    let mut program = Program::new(binary, &scratch.join("data"), scratch);
    let mut service = program.start().await?;
    program.key = Some(service.key.clone());
    let mut report = KillReport::default();
    let mut all: Vec<Story> = Vec::new();
    for round in 0..rounds.count {
        let spec = WritersSpec { count: WRITERS, workspace: format!("round-{round}") };
        let writers = Writers::start(&service, &spec).await?;
        tokio::time::sleep(rounds.moment(round)).await;
        service.kill()?;
        let stories = writers.stories().await?;
        let began = Instant::now();
        service = program.start().await?;
        first_answer(&service, &spec.workspace).await?;
        report.restart_max = report.restart_max.max(began.elapsed());
        report.findings += check_all(&stories, &mut service.connect().await?).await?;
        report.rounds += 1;
        all.extend(stories);
    }
    report.findings += recheck(&all, &service).await?;
    Ok(report)
}

/// What a later round did to the records of an earlier one. Counts only problems: the rest was counted before.
pub(super) async fn recheck(stories: &[Story], service: &Service) -> Result<Findings> {
    let mut wire = service.connect().await?;
    let mut findings = Findings::default();
    for story in stories {
        findings += Findings { saved: 0, forgotten: 0, ..story.check_ids(&mut wire).await? };
    }
    Ok(findings)
}

/// Searches once. A workspace in which nothing was saved before the fault says so, which counts as an answer.
pub(super) async fn first_answer(service: &Service, workspace: &str) -> Result<()> {
    let mut wire = service.connect().await?;
    match wire.call("search", &json!({"query": "anything", "workspace": workspace})).await {
        Ok(_) => Ok(()),
        Err(CallFailed::Refused { text, .. }) if text.contains("is not active") => Ok(()),
        Err(CallFailed::Refused { text, .. }) => bail!("the first search after the start failed: {text}"),
        Err(CallFailed::Connection(error)) => Err(error).context("the first search after the start was not answered"),
    }
}
