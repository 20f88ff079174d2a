//! SIGTERM while writers are being answered: running requests may finish, and the process exits by itself in time.

use std::time::{Duration, Instant};

use anyhow::Result;
use mnemon_testkit::faults::{Findings, Signal, Writers, WritersSpec, check_all};

use super::Setup;
use super::outcome::Outcome;

const DRAIN_MAX: Duration = Duration::from_secs(10);

pub(crate) async fn run(setup: &Setup) -> Result<Outcome> {
    let rounds = setup.rounds(10);
    let (mut program, _scratch) = setup.program()?;
    let (mut findings, mut drain_max, mut bad_ends) = (Findings::default(), Duration::ZERO, 0);
    for round in 0..rounds {
        let mut service = program.start().await?;
        program.key = Some(service.key.clone());
        let spec = WritersSpec { count: 8, workspace: format!("round-{round}") };
        let writers = Writers::start(&service, &spec).await?;
        tokio::time::sleep(Duration::from_millis(300 + 150 * (round as u64 % 5))).await;
        let began = Instant::now();
        service.signal(Signal::Terminate)?;
        let ended = service.wait(DRAIN_MAX + Duration::from_secs(5)).await?;
        drain_max = drain_max.max(began.elapsed());
        bad_ends += usize::from(!ended.success());
        let stories = writers.stories().await?;
        let service = program.start().await?;
        findings += check_all(&stories, &mut service.connect().await?).await?;
        service.kill()?;
    }
    Ok(Outcome::new("sigterm", rounds)
        .findings(&findings)
        .must(drain_max <= DRAIN_MAX, format!("slowest exit {:.2} s", drain_max.as_secs_f64()))
        .must(bad_ends == 0, format!("{bad_ends} exited with an error")))
}
