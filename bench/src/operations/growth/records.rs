//! Growth with the records of one workspace: searches, memory, and how soon a started service answers.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::Args;
use super::figures::Figures;
use super::place::LoadedFolder;
use crate::operations::http::Http;
use crate::operations::service::{Service, size_bytes};
use crate::operations::verdict;

/// Searches per measurement: at the smallest size they take many ticks of the kernel's clock for CPU time.
const SEARCHES: u64 = 2_000;
/// Saves between a start and the kill that follows.
const SAVES_BEFORE_KILL: u64 = 100;
/// From the start of the process to its first answer.
const FIRST_ANSWER_MAX: Duration = Duration::from_millis(300);

pub(super) async fn measure(args: &Args, binary: &Path, sizes: &[u64]) -> Result<bool> {
    if sizes.is_empty() {
        return Ok(true);
    }
    println!(
        "{:>9} {:>8} {:>10} {:>10} {:>10} {:>9} {:>9} {:>9} {:>20} {:>20}",
        "records", "saves/s", "search CPU", "p50", "p99", "index", "memory", "disk", "first answer", "after kill -9"
    );
    let mut starts = Vec::new();
    for &records in sizes {
        let mut place = LoadedFolder::open(binary, args.keep.as_deref(), records, 1).await?;
        let searched = search(binary, &place, records).await?;
        let [stopped, killed] = measure_starts(args.starts, binary, &mut place).await?;
        println!(
            "{records:>9} {:>8} {searched} {:>6.1} MB {:>20} {:>20}",
            place.saves_per_second.map_or("kept".to_owned(), |rate| format!("{rate:.0}")),
            size_bytes(&place.dir)? as f64 / 1e6,
            stopped.to_string(),
            killed.to_string(),
        );
        starts.push((format!("with {records} records"), stopped, killed));
    }
    Ok(judge(args.starts, &starts))
}

/// The bar for every size, each on a line of its own.
pub(super) fn judge(rounds: usize, starts: &[(String, Start, Start)]) -> bool {
    let mut is_met = true;
    for (what, stopped, killed) in starts {
        let text = format!(
            "first answer {what}: {:.0} ms after a stop, {:.0} ms after kill -9 (at most 300 ms; median of {rounds})",
            millis(stopped.took),
            millis(killed.took)
        );
        is_met &= verdict(stopped.is_quick() && killed.is_quick(), &text);
    }
    is_met
}

struct Searched {
    cpu: Duration,
    p50: Duration,
    p99: Duration,
    index_bytes: f64,
    resident_bytes: u64,
}

impl std::fmt::Display for Searched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let us = |time: Duration| time.as_secs_f64() * 1e6;
        write!(f, "{:>7.0} us {:>7.0} us {:>7.0} us", us(self.cpu), us(self.p50), us(self.p99))?;
        write!(f, " {:>6.1} MB {:>6.1} MB", self.index_bytes / 1e6, self.resident_bytes as f64 / 1e6)
    }
}

/// What searches cost one after the other, once the index is there.
async fn search(binary: &Path, place: &LoadedFolder, records: u64) -> Result<Searched> {
    let service = Service::start(binary, &place.dir, &[])?;
    let mut http = Http::connect(service.address).await?;
    place.search(&mut http, 0).await?;
    let before = service.cpu_time()?;
    let mut waits = Vec::new();
    for number in 0..SEARCHES {
        waits.push(place.search(&mut http, number % records).await?);
    }
    let cpu = (service.cpu_time()? - before) / SEARCHES as u32;
    waits.sort_unstable();
    let searched = Searched {
        cpu,
        p50: waits[waits.len() / 2],
        p99: waits[waits.len() * 99 / 100],
        index_bytes: Figures::read(&service).await?.index_bytes()?,
        resident_bytes: service.resident_bytes()?,
    };
    service.stop()?;
    Ok(searched)
}

/// How long a start took up to its first answer, and how much CPU time of all cores: on a busy machine they differ.
#[derive(Clone, Copy)]
pub(super) struct Start {
    took: Duration,
    cpu: Duration,
}

impl Start {
    fn is_quick(self) -> bool {
        self.took <= FIRST_ANSWER_MAX
    }
}

impl std::fmt::Display for Start {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.0} ms ({:.0} ms CPU)", millis(self.took), millis(self.cpu))
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Starts the service and waits for its first answer.
async fn start_and_search(binary: &Path, place: &LoadedFolder) -> Result<(Service, Start)> {
    let service = Service::start(binary, &place.dir, &[])?;
    let mut http = Http::connect(service.address).await?;
    place.search(&mut http, 1).await?;
    let start = Start { took: service.began.elapsed(), cpu: service.cpu_time()? };
    Ok((service, start))
}

/// Starts after an ordinary stop, and starts after a kill that follows a hundred more saves; the median of each.
pub(super) async fn measure_starts(rounds: usize, binary: &Path, place: &mut LoadedFolder) -> Result<[Start; 2]> {
    let (mut stopped, mut killed) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (service, start) = start_and_search(binary, place).await?;
        stopped.push(start);
        place.save_and_kill(service, SAVES_BEFORE_KILL).await?;
        let (service, start) = start_and_search(binary, place).await?;
        killed.push(start);
        service.stop()?;
    }
    Ok([median(stopped), median(killed)])
}

fn median(mut starts: Vec<Start>) -> Start {
    starts.sort_unstable_by_key(|start| start.took);
    starts[starts.len() / 2]
}
