//! Random searches over far more records than fit into the memory that the service may use.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use mnemon_guard_train::chance::Chance;
use rustix::fs::{Advice, fadvise};

use super::group::Group;
use super::place::LoadedFolder;
use super::records::{judge, measure_starts};
use super::{Args, SEED};
use crate::figures::Verdict;
use crate::operations::figures::Figures;
use crate::operations::http::Http;
use crate::operations::service::{Service, files};
use crate::operations::verdict;

/// Without --records.
const RECORDS: u64 = 1_000_000;

pub(super) async fn measure(args: &Args, binary: &Path, mb: u64) -> Result<Vec<Verdict>> {
    let records = args.records.iter().copied().max().unwrap_or(RECORDS);
    let mut place = LoadedFolder::open(binary, args.keep.as_deref(), records, args.workspaces).await?;
    let [stopped, killed] = measure_starts(args.starts, binary, &mut place).await?;
    println!("{records} records in {} workspaces: first answer {stopped}, after kill -9 {killed}", args.workspaces);
    let what = format!("with {records} records in {} workspaces", args.workspaces);
    let mut verdicts = vec![judge(args.starts, &what, stopped, killed)];

    let group = Group::create(mb << 20)?;
    let scratch = tempfile::tempdir()?;
    let script = scratch.path().join("in-group");
    group.entrance(&std::path::absolute(binary)?, &script)?;
    forget_files(&place.dir)?;
    let service = Service::start(&script, &place.dir, &[])?;
    let searched = search_at_random(args, &service, &place, records).await;
    let kills = group.kills()?;
    if kills > 0 {
        verdicts.push(verdict(false, format!("within {mb} MB: {kills} processes killed for want of memory")));
        return Ok(verdicts);
    }
    let mut waits = searched?;
    waits.sort_unstable();
    print_searches(args, &service, &waits)?;
    print_indexes(&Figures::read(&service).await?)?;
    println!(
        "at most {:.0} MB resident, {} in the group with the files that the system holds for it",
        service.resident_peak_bytes()? as f64 / f64::from(1 << 20),
        group.peak_bytes().map_or("unknown".to_owned(), |bytes| format!("{} MB", bytes >> 20)),
    );
    service.stop()?;
    let text = format!("{} searches in {} s within {mb} MB, no process killed", waits.len(), args.seconds);
    verdicts.push(verdict(!waits.is_empty(), text));
    Ok(verdicts)
}

/// Takes the files out of the system's cache. They were read outside of the group, so they would cost it nothing.
fn forget_files(dir: &Path) -> Result<()> {
    for path in files(dir)? {
        let file = std::fs::File::open(path)?;
        // Only what is on disk can be taken out.
        file.sync_all()?;
        fadvise(&file, 0, None, Advice::DontNeed)?;
    }
    Ok(())
}

async fn search_at_random(args: &Args, service: &Service, place: &LoadedFolder, records: u64) -> Result<Vec<Duration>> {
    let ends = Instant::now() + Duration::from_secs(args.seconds);
    let clients = (0..args.clients).map(|client| async move {
        let mut http = Http::connect(service.address).await?;
        let (mut chance, mut waits) = (Chance::with_seed(SEED + client), Vec::new());
        while Instant::now() < ends {
            waits.push(place.search(&mut http, chance.below(records as usize) as u64).await?);
        }
        anyhow::Ok(waits)
    });
    Ok(futures_util::future::try_join_all(clients).await?.concat())
}

fn print_searches(args: &Args, service: &Service, waits: &[Duration]) -> Result<()> {
    let at = |share: usize| waits.get((waits.len() * share / 100).min(waits.len() - 1)).copied().unwrap_or_default();
    let (count, millis) = (waits.len() as f64, |wait: Duration| wait.as_secs_f64() * 1e3);
    println!(
        "{} searches of {} clients, {:.1}/s: p50 {:.1} ms, p99 {:.1} ms, slowest {:.0} ms; each {:.1} ms CPU, {:.2} MB read from disk",
        waits.len(),
        args.clients,
        count / args.seconds as f64,
        millis(at(50)),
        millis(at(99)),
        millis(at(100)),
        millis(service.cpu_time()?) / count,
        service.read_bytes()? as f64 / 1e6 / count,
    );
    Ok(())
}

fn print_indexes(figures: &Figures) -> Result<()> {
    println!(
        "indexes: {:.0} found in memory, {:.0} loaded from a snapshot, {:.0} from the log, {:.0} dropped; {:.0} MB of at most {:.0} MB",
        figures.get("mnemon_index_hits_total")?,
        figures.get(r#"mnemon_index_loads_total{from="snapshot"}"#)?,
        figures.get(r#"mnemon_index_loads_total{from="log"}"#)?,
        figures.get("mnemon_index_evictions_total")?,
        figures.index_bytes()? / 1e6,
        figures.get("mnemon_index_bytes_max")? / 1e6,
    );
    Ok(())
}
