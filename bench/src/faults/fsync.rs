//! A disk whose syncs fail. Permanently: nothing is acknowledged from the first failure on. Temporarily: saves recover
//! by themselves. Either way a restart finds everything that was ever acknowledged.

use std::time::{Duration, Instant};

use anyhow::Result;
use mnemon_testkit::faults::{Findings, Program, Service, Story, Writers, WritersSpec, check_all};

use super::outcome::Outcome;
use super::{Setup, strace};

/// The first failing sync of the first round; later ones fail later.
const FIRST_FAILURE: usize = 40;
const FAILURES_PASSING: usize = 5;
/// How many saves are attempted while every sync fails.
const TRIES: usize = 20;
const RECOVERY_MAX: Duration = Duration::from_secs(5);
const SAVES_MAX: usize = 10_000;

#[derive(Default)]
struct Seen {
    findings: Findings,
    acknowledged_after: usize,
    searches_failed: usize,
    refusals: usize,
    recovery_max: Duration,
}

pub(crate) async fn run(setup: &Setup) -> Result<Outcome> {
    let rounds = setup.rounds(6);
    let mut seen = Seen::default();
    for round in 0..rounds {
        let first = FIRST_FAILURE + 7 * round;
        if round % 2 == 0 {
            lasting(setup, first, &mut seen).await?;
        } else {
            passing(setup, first, &mut seen).await?;
        }
    }
    Ok(Outcome::new("fsync", rounds)
        .findings(&seen.findings)
        .must(seen.refusals > 0, format!("{} refusals", seen.refusals))
        .must(seen.acknowledged_after == 0, format!("{} acknowledged while syncs fail", seen.acknowledged_after))
        .must(seen.searches_failed == 0, format!("{} searches failed", seen.searches_failed))
        .must(
            seen.recovery_max <= RECOVERY_MAX,
            format!("saves back at most {:.2} s after a temporary failure", seen.recovery_max.as_secs_f64()),
        ))
}

fn under_strace(setup: &Setup, when: &str) -> Result<(Program, tempfile::TempDir)> {
    let (mut program, scratch) = setup.program()?;
    let inject = format!("inject=fdatasync,fsync:error=EIO:when={when}");
    program.under = strace(&scratch.path().join("trace"), &["-e", "trace=fdatasync,fsync", "-e", &inject])?;
    Ok((program, scratch))
}

async fn lasting(setup: &Setup, first: usize, seen: &mut Seen) -> Result<()> {
    let (mut program, _scratch) = under_strace(setup, &format!("{first}+"))?;
    let service = program.start().await?;
    let mut wire = service.connect().await?;
    let mut story = Story::new("failing", "one-writer");
    while story.save(&mut wire).await? && story.saved.len() < SAVES_MAX {}
    let acknowledged = story.saved.len();
    for _ in 0..TRIES {
        tokio::time::sleep(Duration::from_millis(50)).await;
        story.save(&mut wire).await?;
        seen.searches_failed += usize::from(!is_answered(&mut wire).await);
    }
    seen.acknowledged_after += story.saved.len() - acknowledged;
    seen.refusals += story.refusals.len();
    restart_and_check(&mut program, service, &[story], seen).await
}

async fn passing(setup: &Setup, first: usize, seen: &mut Seen) -> Result<()> {
    let (mut program, _scratch) = under_strace(setup, &format!("{first}..{}", first + FAILURES_PASSING))?;
    let service = program.start().await?;
    let writers = Writers::start(&service, &WritersSpec { count: 4, workspace: "failing".to_owned() }).await?;
    let mut watcher = Story::new("failing", "watcher");
    let mut wire = service.connect().await?;
    while watcher.save(&mut wire).await? && watcher.saved.len() < SAVES_MAX {}
    let began = Instant::now();
    while !watcher.save(&mut wire).await? && began.elapsed() <= RECOVERY_MAX {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    seen.recovery_max = seen.recovery_max.max(began.elapsed());
    tokio::time::sleep(Duration::from_millis(500)).await;
    let mut stories = writers.stop().await?;
    stories.push(watcher);
    seen.refusals += stories.iter().map(|story| story.refusals.len()).sum::<usize>();
    restart_and_check(&mut program, service, &stories, seen).await
}

async fn is_answered(wire: &mut mnemon_testkit::wire::Wire) -> bool {
    let arguments = serde_json::json!({"query": "note of a writer", "workspace": "failing"});
    wire.call("search", &arguments).await.is_ok()
}

/// Kills, restarts without the tracer, and compares.
async fn restart_and_check(program: &mut Program, service: Service, stories: &[Story], seen: &mut Seen) -> Result<()> {
    program.key = Some(service.key.clone());
    program.under.clear();
    service.kill()?;
    let service = program.start().await?;
    seen.findings += check_all(stories, &mut service.connect().await?).await?;
    Ok(())
}
