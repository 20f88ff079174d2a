//! A disk that fills up while saves come in: they fail with a message that says so, searches keep working, also after a
//! restart on the full disk and with no byte free, and saves work again soon after space is freed.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use mnemon_testkit::faults::{Findings, Mounted, Program, Signal, Story, check_all, missing_for_mounts};
use mnemon_testkit::wire::Wire;
use serde_json::json;

use super::Setup;
use super::outcome::Outcome;

const DISK_BYTES: u64 = 24 << 20;
/// The space taken from the disk at first and freed later.
const BALLAST_BYTES: usize = 12 << 20;
const SAVES_MAX: usize = 100_000;
const TRIES_WHILE_FULL: usize = 200;
const STOP_MAX: Duration = Duration::from_secs(10);
const RECOVERY_MAX: Duration = Duration::from_secs(5);

#[derive(Default)]
struct Seen {
    findings: Findings,
    searches: usize,
    searches_failed: usize,
    unclear: usize,
    refusals: usize,
    recovery_max: Duration,
}

pub(crate) async fn run(setup: &Setup) -> Result<Outcome> {
    if let Some(missing) = missing_for_mounts() {
        bail!("can't run here: {missing}");
    }
    let rounds = setup.rounds(3);
    let mut seen = Seen::default();
    for _ in 0..rounds {
        round(setup, &mut seen).await?;
    }
    Ok(Outcome::new("disk-full", rounds)
        .findings(&seen.findings)
        .must(seen.refusals > 0, format!("{} refusals", seen.refusals))
        .must(seen.unclear == 0, format!("{} of them unclear", seen.unclear))
        .must(seen.searches_failed == 0, format!("{} of {} searches failed", seen.searches_failed, seen.searches))
        .must(
            seen.recovery_max <= RECOVERY_MAX,
            format!("saves back at most {:.2} s after space was freed", seen.recovery_max.as_secs_f64()),
        ))
}

async fn round(setup: &Setup, seen: &mut Seen) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let disk = Mounted::tmpfs(DISK_BYTES, &scratch.path().join("disk"))?;
    let ballast = disk.path.join("ballast");
    std::fs::write(&ballast, vec![1; BALLAST_BYTES])?;
    let mut program = Program::new(&setup.binary, &disk.path.join("data"), scratch.path());
    let service = program.start().await?;
    program.key = Some(service.key.clone());
    let mut wire = service.connect().await?;
    let mut story = Story::new("filling", "one-writer");
    while story.save(&mut wire).await? {
        if story.saved.len() > SAVES_MAX {
            bail!("the disk never ran full");
        }
    }
    while_full(&mut story, &mut wire, seen).await?;
    // A machine that restarts with a full disk searches all the same.
    drop(wire);
    service.kill()?;
    let mut service = program.start().await.context("it starts on a full disk")?;
    let mut wire = service.connect().await?;
    while_full(&mut story, &mut wire, seen).await?;
    // A clean stop frees a little, which others take.
    drop(wire);
    service.signal(Signal::Terminate)?;
    service.wait(STOP_MAX).await?;
    let filler = disk.fill()?;
    let service = program.start().await.context("it starts with no byte free")?;
    let mut wire = service.connect().await?;
    while_full(&mut story, &mut wire, seen).await?;
    std::fs::remove_file(filler)?;
    get_room(&ballast, &mut story, &mut wire, seen).await?;
    seen.findings += check_all(std::slice::from_ref(&story), &mut wire).await?;
    service.kill()?;
    let service = program.start().await?;
    let again = check_all(std::slice::from_ref(&story), &mut service.connect().await?).await?;
    seen.findings += Findings { saved: 0, forgotten: 0, ..again };
    service.kill()
}

/// Continues to save and search.
async fn while_full(story: &mut Story, wire: &mut Wire, seen: &mut Seen) -> Result<()> {
    for _ in 0..TRIES_WHILE_FULL {
        story.save(wire).await?;
        let found = wire.call("search", &json!({"query": "note of a writer", "workspace": "filling"})).await;
        let has_results = found.is_ok_and(|found| found["result"].as_array().is_some_and(|list| !list.is_empty()));
        seen.searches += 1;
        seen.searches_failed += usize::from(!has_results);
    }
    seen.refusals += story.refusals.len();
    seen.unclear += story.refusals.iter().filter(|text| !text.contains("full") && !text.contains("space")).count();
    Ok(())
}

async fn get_room(ballast: &Path, story: &mut Story, wire: &mut Wire, seen: &mut Seen) -> Result<()> {
    std::fs::remove_file(ballast).context("the ballast was there")?;
    let began = Instant::now();
    while !story.save(wire).await? && began.elapsed() <= RECOVERY_MAX {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    seen.recovery_max = seen.recovery_max.max(began.elapsed());
    Ok(())
}
