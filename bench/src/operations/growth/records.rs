//! Growth with the records of one workspace: searches, memory, and how soon a started service answers.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;

use super::place::LoadedFolder;
use super::{Args, Figures};
use crate::figures::{Verdict, rounded};
use crate::operations::figures::Figures as Published;
use crate::operations::http::Http;
use crate::operations::service::{Service, size_bytes};
use crate::operations::verdict;

/// Searches per measurement: at the smallest size they take many ticks of the kernel's clock for CPU time.
const SEARCHES: u64 = 2_000;
/// Saves between a start and the kill that follows.
const SAVES_BEFORE_KILL: u64 = 100;
/// From the start of the process to its first answer.
const FIRST_ANSWER_MAX_MS: f64 = 300.0;

/// One size of the workspace.
#[derive(Serialize)]
pub(super) struct Size {
    records: u64,
    /// `None` if the records were there.
    saves_per_second: Option<f64>,
    #[serde(flatten)]
    searched: Searched,
    disk_mb: f64,
    /// The first answer after a stop, and after a kill.
    stopped: Start,
    killed: Start,
}

pub(super) async fn measure(args: &Args, binary: &Path, sizes: &[u64], figures: &mut Figures) -> Result<()> {
    if sizes.is_empty() {
        return Ok(());
    }
    println!(
        "{:>9} {:>8} {:>10} {:>10} {:>10} {:>9} {:>9} {:>9} {:>20} {:>20}",
        "records", "saves/s", "search CPU", "p50", "p99", "index", "memory", "disk", "first answer", "after kill -9"
    );
    for &records in sizes {
        let mut place = LoadedFolder::open(binary, args.keep.as_deref(), records, 1).await?;
        let searched = search(binary, &place, records).await?;
        let [stopped, killed] = measure_starts(args.starts, binary, &mut place).await?;
        let saves_per_second = place.saves_per_second.map(|rate| rounded(rate, 0));
        let disk_mb = rounded(size_bytes(&place.dir)? as f64 / 1e6, 1);
        let size = Size { records, saves_per_second, searched, disk_mb, stopped, killed };
        println!("{size}");
        figures.sizes.push(size);
    }
    let judged = |size: &Size| judge(args.starts, &format!("with {} records", size.records), size.stopped, size.killed);
    figures.verdicts.extend(figures.sizes.iter().map(judged));
    Ok(())
}

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { records, searched, disk_mb, stopped, killed, .. } = self;
        let saves = self.saves_per_second.map_or("kept".to_owned(), |rate| format!("{rate:.0}"));
        let (stopped, killed) = (stopped.to_string(), killed.to_string());
        write!(f, "{records:>9} {saves:>8} {searched} {disk_mb:>6.1} MB {stopped:>20} {killed:>20}")
    }
}

/// The bar for a size, on a line of its own.
pub(super) fn judge(rounds: usize, what: &str, stopped: Start, killed: Start) -> Verdict {
    let bar = format!(
        "first answer {what}: {:.0} ms after a stop, {:.0} ms after kill -9 (at most 300 ms; median of {rounds})",
        stopped.ms, killed.ms
    );
    verdict(stopped.is_quick() && killed.is_quick(), bar)
}

#[derive(Serialize)]
struct Searched {
    search_cpu_us: f64,
    search_p50_us: f64,
    search_p99_us: f64,
    index_mb: f64,
    resident_mb: f64,
}

impl std::fmt::Display for Searched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { search_cpu_us, search_p50_us, search_p99_us, index_mb, resident_mb } = self;
        write!(f, "{search_cpu_us:>7.0} us {search_p50_us:>7.0} us {search_p99_us:>7.0} us")?;
        write!(f, " {index_mb:>6.1} MB {resident_mb:>6.1} MB")
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
    let us = |time: Duration| rounded(time.as_secs_f64() * 1e6, 0);
    let mb = |bytes: f64| rounded(bytes / 1e6, 1);
    let searched = Searched {
        search_cpu_us: us(cpu),
        search_p50_us: us(waits[waits.len() / 2]),
        search_p99_us: us(waits[waits.len() * 99 / 100]),
        index_mb: mb(Published::read(&service).await?.index_bytes()?),
        resident_mb: mb(service.resident_bytes()? as f64),
    };
    service.stop()?;
    Ok(searched)
}

/// How long a start took up to its first answer, and how much CPU time of all cores: on a busy machine they differ.
#[derive(Clone, Copy, Serialize)]
pub(super) struct Start {
    ms: f64,
    cpu_ms: f64,
}

impl Start {
    fn is_quick(self) -> bool {
        self.ms <= FIRST_ANSWER_MAX_MS
    }
}

impl std::fmt::Display for Start {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.0} ms ({:.0} ms CPU)", self.ms, self.cpu_ms)
    }
}

/// Starts the service and waits for its first answer.
async fn start_and_search(binary: &Path, place: &LoadedFolder) -> Result<(Service, Start)> {
    let service = Service::start(binary, &place.dir, &[])?;
    let mut http = Http::connect(service.address).await?;
    place.search(&mut http, 1).await?;
    let ms = |time: Duration| rounded(time.as_secs_f64() * 1e3, 1);
    let start = Start { ms: ms(service.began.elapsed()), cpu_ms: ms(service.cpu_time()?) };
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
    starts.sort_unstable_by(|one, other| one.ms.total_cmp(&other.ms));
    starts[starts.len() / 2]
}
