//! How the service grows: with the records of a workspace, and with tenants that do nothing. And whether it stays within a
//! limit of memory with far more records than fit.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::http::Http;
use super::service::{OPERATOR, Service, size_bytes, usual_binary};
use super::verdict;
use crate::chance::Chance;
use crate::load::Texts;

const SEED: u64 = 20_270_117;
const WRITERS: usize = 64;
/// Searches per measurement.
const SEARCHES: usize = 300;
/// An idle tenant may take this much memory.
const TENANT_BYTES_MAX: f64 = 1_024.0;
/// From the start of the process to its first answer.
const FIRST_ANSWER_MAX: Duration = Duration::from_millis(300);

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The binary to measure [default: `mnemon` beside this one]
    #[arg(long)]
    mnemon: Option<PathBuf>,
    /// Sizes of the workspace, one measurement each
    #[arg(long, value_delimiter = ',', default_value = "100,1000,10000,100000,1000000")]
    records: Vec<u64>,
    /// Numbers of tenants, one measurement each
    #[arg(long, value_delimiter = ',', default_value = "1,1000,100000")]
    tenants: Vec<u64>,
    /// Instead: a service limited to this much memory (a control group, so as root), with --records in --workspaces
    #[arg(long, value_name = "MB")]
    within_mb: Option<u64>,
    /// With --within-mb: number of workspaces
    #[arg(long, default_value_t = 1_000)]
    workspaces: u64,
    /// With --within-mb: length of the random searches, in seconds
    #[arg(long, default_value_t = 600)]
    seconds: u64,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let binary = args.mnemon.clone().map_or_else(usual_binary, Ok)?;
    let is_met = runtime.block_on(async {
        match args.within_mb {
            Some(mb) => within(args, &binary, mb).await,
            None => Ok(by_records(args, &binary).await? & by_tenants(args, &binary).await?),
        }
    })?;
    if !is_met {
        std::process::exit(1);
    }
    Ok(())
}

/// Creates an account with a project, and returns the key of its admin.
async fn tenant(http: &mut Http, name: &str) -> Result<String> {
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let account = json!({"name": name, "plan": "unlimited"});
    let account = text(&http.admin("POST", "/accounts", OPERATOR, &account).await?, "id");
    let member = json!({"name": "Ana", "role": "admin"});
    let member = http.admin("POST", &format!("/accounts/{account}/members"), OPERATOR, &member).await?;
    let project =
        http.admin("POST", &format!("/accounts/{account}/projects"), OPERATOR, &json!({"name": name})).await?;
    let path = format!("/projects/{}/keys", text(&project, "id"));
    let key =
        http.admin("POST", &path, OPERATOR, &json!({"member_id": text(&member, "id"), "access": "write"})).await?;
    Ok(text(&key, "key"))
}

/// Saves texts `from..to` over many connections, each into one of so many workspaces.
async fn save(service: &Service, key: &str, texts: &Texts, from: u64, to: u64, workspaces: u64) -> Result<()> {
    let writers = (0..WRITERS as u64).map(|writer| async move {
        let mut http = Http::connect(service.address).await?;
        for number in (from + writer..to).step_by(WRITERS) {
            let (content, workspace) = (texts.text(number), workspace(number, workspaces));
            let answer = http.call(key, "remember", &json!({"content": content, "workspace": workspace})).await?;
            ensure!(answer.status == 200, "a save failed: {}", answer.status);
        }
        anyhow::Ok(())
    });
    futures_util::future::try_join_all(writers).await?;
    Ok(())
}

fn workspace(number: u64, workspaces: u64) -> String {
    format!("w{}", number % workspaces.max(1))
}

/// Searches for a text that is there, and returns how long the answer took.
async fn search(http: &mut Http, key: &str, texts: &Texts, number: u64, workspaces: u64) -> Result<Duration> {
    let query = texts.query(number, &mut Chance::new(number));
    let began = Instant::now();
    let arguments = json!({"query": query, "workspace": workspace(number, workspaces)});
    let answer = http.call(key, "search", &arguments).await?;
    ensure!(answer.status == 200 && !answer.is_tool_error(), "{}", String::from_utf8_lossy(answer.body));
    Ok(began.elapsed())
}

/// How long a start took up to its first answer, and how much CPU time of all cores: on a busy machine they differ.
#[derive(Clone, Copy)]
struct Start {
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
        write!(f, "{:.0} ms ({:.0} ms CPU)", self.took.as_secs_f64() * 1e3, self.cpu.as_secs_f64() * 1e3)
    }
}

/// Starts the service and waits for its first answer.
async fn start_and_search(binary: &Path, dir: &Path, key: &str, texts: &Texts, of: u64) -> Result<(Service, Start)> {
    let service = Service::start(binary, dir, &[])?;
    let connected = Instant::now();
    let mut http = Http::connect(service.address).await?;
    search(&mut http, key, texts, 1, of).await?;
    let start = Start { took: service.took + connected.elapsed(), cpu: service.cpu_time()? };
    Ok((service, start))
}

/// A start after an ordinary stop, and one after a kill that follows a hundred more saves.
async fn starts(binary: &Path, dir: &Path, key: &str, texts: &Texts, records: u64, of: u64) -> Result<[Start; 2]> {
    let (service, clean) = start_and_search(binary, dir, key, texts, of).await?;
    save(&service, key, texts, records, records + 100, of).await?;
    service.kill()?;
    let (service, crashed) = start_and_search(binary, dir, key, texts, of).await?;
    service.stop()?;
    Ok([clean, crashed])
}

async fn by_records(args: &Args, binary: &Path) -> Result<bool> {
    println!(
        "{:>10} {:>9} {:>12} {:>12} {:>11} {:>22} {:>22}",
        "records", "saves/s", "search p50", "search p99", "memory", "first answer", "after kill -9"
    );
    let texts = Texts::new(SEED);
    let mut is_met = true;
    for &records in &args.records {
        let scratch = tempfile::tempdir()?;
        let dir = scratch.path().join("data");
        let service = Service::start(binary, &dir, &[])?;
        let mut http = Http::connect(service.address).await?;
        let key = tenant(&mut http, "Growth").await?;
        let began = Instant::now();
        save(&service, &key, &texts, 0, records, 1).await?;
        let saves_per_second = records as f64 / began.elapsed().as_secs_f64();
        // The service closes a connection that is idle for 15 seconds.
        let mut http = Http::connect(service.address).await?;
        let mut waits = Vec::new();
        for number in 0..SEARCHES as u64 {
            waits.push(search(&mut http, &key, &texts, number % records, 1).await?);
        }
        waits.sort_unstable();
        let resident = service.resident_bytes()?;
        service.stop()?;
        let [clean, crashed] = starts(binary, &dir, &key, &texts, records, 1).await?;
        println!(
            "{records:>10} {saves_per_second:>9.0} {:>9.0} us {:>9.0} us {:>8.0} MB {:>22} {:>22}   {:.0} MB on disk",
            waits[waits.len() / 2].as_secs_f64() * 1e6,
            waits[waits.len() * 99 / 100].as_secs_f64() * 1e6,
            resident as f64 / 1e6,
            clean.to_string(),
            crashed.to_string(),
            size_bytes(&dir)? as f64 / 1e6
        );
        is_met &= clean.is_quick() && crashed.is_quick();
    }
    Ok(verdict(is_met, "the first answer comes within 300 ms of the start, after a kill too"))
}

async fn by_tenants(args: &Args, binary: &Path) -> Result<bool> {
    println!("{:>10} {:>12} {:>16}", "tenants", "memory", "bytes per tenant");
    let mut least: Option<(u64, u64)> = None;
    let mut is_met = true;
    for &tenants in &args.tenants {
        let scratch = tempfile::tempdir()?;
        let dir = scratch.path().join("data");
        let service = Service::start(binary, &dir, &[])?;
        let makers = (0..WRITERS as u64).map(|maker| {
            let service = &service;
            async move {
                let mut http = Http::connect(service.address).await?;
                for number in (maker..tenants).step_by(WRITERS) {
                    tenant(&mut http, &format!("Tenant {number}")).await?;
                }
                anyhow::Ok(())
            }
        });
        futures_util::future::try_join_all(makers).await?;
        service.stop()?;
        // Idle tenants are those that this process has not heard of.
        let service = Service::start(binary, &dir, &[])?;
        let mut http = Http::connect(service.address).await?;
        let key = tenant(&mut http, "Busy").await?;
        http.call(&key, "remember", &json!({"content": "one busy tenant among many"})).await?;
        let resident = service.resident_bytes()?;
        let (fewest, base) = *least.get_or_insert((tenants, resident));
        let each = resident.saturating_sub(base) as f64 / (tenants - fewest).max(1) as f64;
        println!("{tenants:>10} {:>9.1} MB {each:>16.0}", resident as f64 / 1e6);
        // The largest number counts: the caches of storage fill with the first tenants, and do not grow with the others.
        is_met = each <= TENANT_BYTES_MAX;
        service.stop()?;
    }
    Ok(verdict(is_met, "an idle tenant takes at most 1 KB of memory"))
}

/// A control group with a limit of memory, of either version, removed at the end.
struct Group {
    folder: PathBuf,
    is_v1: bool,
}

impl Group {
    fn create(limit_bytes: u64) -> Result<Self> {
        let root = Path::new("/sys/fs/cgroup");
        let is_v1 = root.join("memory").exists();
        let root = if is_v1 { root.join("memory") } else { root.to_owned() };
        let folder = root.join(format!("mnemon-bench-{}", std::process::id()));
        std::fs::create_dir(&folder).context("can't make a control group; this needs root")?;
        let group = Self { folder, is_v1 };
        let limit = if is_v1 { "memory.limit_in_bytes" } else { "memory.max" };
        std::fs::write(group.folder.join(limit), limit_bytes.to_string())
            .context("the memory controller is not enabled for this control group")?;
        // Without swap there is nothing to set.
        let swap = if is_v1 { ("memory.swappiness", "0") } else { ("memory.swap.max", "0") };
        let _ = std::fs::write(group.folder.join(swap.0), swap.1);
        Ok(group)
    }

    /// How many processes were killed for want of memory.
    fn kills(&self) -> Result<u64> {
        let events = if self.is_v1 { "memory.oom_control" } else { "memory.events" };
        let events = std::fs::read_to_string(self.folder.join(events))?;
        let kills = events.lines().find_map(|line| line.strip_prefix("oom_kill "));
        kills.context("the group counts its kills")?.trim().parse().context("a number of kills")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.folder);
    }
}

async fn within(args: &Args, binary: &Path, mb: u64) -> Result<bool> {
    let records = args.records.iter().copied().max().unwrap_or(1);
    let (texts, scratch) = (Texts::new(SEED), tempfile::tempdir()?);
    let dir = scratch.path().join("data");
    let service = Service::start(binary, &dir, &[])?;
    let key = tenant(&mut Http::connect(service.address).await?, "Tight").await?;
    save(&service, &key, &texts, 0, records, args.workspaces).await?;
    service.stop()?;
    let [clean, crashed] = starts(binary, &dir, &key, &texts, records, args.workspaces).await?;
    println!("{records} records in {} workspaces: first answer {clean}, after kill -9 {crashed}", args.workspaces);
    let is_quick = verdict(
        clean.is_quick() && crashed.is_quick(),
        "the first answer comes within 300 ms of the start, after a kill too",
    );
    let group = Group::create(mb << 20)?;
    let script = scratch.path().join("in-group");
    let enter =
        format!("#!/bin/sh\necho $$ > {}/cgroup.procs\nexec {} \"$@\"\n", group.folder.display(), binary.display());
    std::fs::write(&script, enter)?;
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755))?;
    let service = Service::start(&script, &dir, &[])?;
    let mut http = Http::connect(service.address).await?;
    let (ends, mut chance) = (Instant::now() + Duration::from_secs(args.seconds), Chance::new(SEED));
    let (mut searches, mut slowest, mut most) = (0_u64, Duration::ZERO, 0);
    while Instant::now() < ends {
        let number = chance.below(records as usize) as u64;
        slowest = slowest.max(search(&mut http, &key, &texts, number, args.workspaces).await?);
        searches += 1;
        if searches % 256 == 0 {
            most = most.max(service.resident_bytes()?);
        }
    }
    let kills = group.kills()?;
    println!(
        "{records} records in {} workspaces, {mb} MB: {searches} searches, slowest {:.0} ms, at most {:.0} MB resident, {} killed",
        args.workspaces,
        slowest.as_secs_f64() * 1e3,
        most as f64 / 1e6,
        kills
    );
    service.stop()?;
    Ok(verdict(kills == 0 && searches > 0, &format!("the service stays within {mb} MB")) & is_quick)
}
