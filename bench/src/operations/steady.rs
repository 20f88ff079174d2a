//! Whether resident memory settles under a load that does not change, and what it is for. Every sample also asks the
//! service what it holds, so that what the figures do not explain shows too.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde::Serialize;
use tokio::time::sleep;

use super::figures::Figures as Published;
use super::mixed::{Counts, Mix};
use super::projects::Projects;
use super::service::{Service, usual_binary};
use crate::figures::{Json, Verdict, judge, rounded};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The binary to measure [default: `mnemon` beside this one]
    #[arg(long)]
    mnemon: Option<PathBuf>,
    /// How many projects there are; the n-th has a share of 1/n
    #[arg(long, default_value_t = 200)]
    projects: usize,
    /// How many records they have together at the start
    #[arg(long, default_value_t = 200_000)]
    records: usize,
    /// How many clients call at once
    #[arg(long, default_value_t = 8)]
    clients: usize,
    /// Calls a second, of all clients together
    #[arg(long, default_value_t = 200)]
    rate: u32,
    #[arg(long, default_value_t = 60)]
    minutes: u64,
    /// Seconds between two samples
    #[arg(long, default_value_t = 10)]
    every: u64,
    #[command(flatten)]
    json: Json,
}

/// In the last third of the run, memory may grow by this much a minute beyond what the figures explain.
const UNEXPLAINED_MAX_MB: f64 = 0.5;
const MB: f64 = 1024.0 * 1024.0;

#[derive(Serialize)]
struct Figures {
    projects: usize,
    records: usize,
    clients: usize,
    samples: Vec<Sample>,
    calls: u64,
    calls_per_second: f64,
    cpu_us_per_call: f64,
    /// How much resident memory changes in a minute of the last third.
    resident_mb_per_minute: f64,
    verdicts: Vec<Verdict>,
}

/// What the service has and what it says it is for, in MB.
#[derive(Clone, Copy, Serialize)]
struct Sample {
    seconds: f64,
    resident: f64,
    indexes: f64,
    texts: f64,
    storage: f64,
    saved: u64,
    /// Pages of files: the program's own, and those of snapshots.
    files: f64,
    /// Memory that the kernel keeps in huge pages, which it may make long after it was asked for.
    huge: f64,
}

impl Sample {
    async fn take(service: &Service, began: Instant) -> Result<Self> {
        let figures = Published::read(service).await?;
        let storage = figures.get("mnemon_page_cache_bytes_max").unwrap_or(0.0);
        let (files, huge) = service.resident_kinds()?;
        let mb = |bytes: f64| rounded(bytes / MB, 1);
        Ok(Self {
            seconds: rounded(began.elapsed().as_secs_f64(), 0),
            resident: mb(service.resident_bytes()? as f64),
            indexes: mb(figures.index_bytes()?),
            texts: mb(figures.get("mnemon_text_bytes")?),
            storage: mb(storage),
            saved: Counts::served(service).await?.get("remember", "ok"),
            files: mb(files as f64),
            huge: mb(huge as f64),
        })
    }

    fn unexplained(&self) -> f64 {
        self.resident - self.indexes - self.texts - self.storage
    }

    fn print(&self) {
        println!(
            "{:>6.0} s {:>8.1} MB resident {:>8.1} indexes {:>8.1} texts {:>8.1} storage {:>8.1} other {:>9} saved \
             {:>8.1} of files {:>8.1} in huge pages",
            self.seconds,
            self.resident,
            self.indexes,
            self.texts,
            self.storage,
            self.unexplained(),
            self.saved,
            self.files,
            self.huge
        );
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    anyhow::ensure!(args.rate > 0 && args.clients > 0 && args.minutes > 0, "--rate, --clients, --minutes: at least 1");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let figures = runtime.block_on(measure(args))?;
    args.json.write(&figures)?;
    judge(&figures.verdicts);
    Ok(())
}

async fn measure(args: &Args) -> Result<Figures> {
    let binary = args.mnemon.clone().map_or_else(usual_binary, Ok)?;
    let scratch = tempfile::tempdir()?;
    let data_dir = scratch.path().join("data");
    let service = Service::start(&binary, &data_dir, &[])?;
    let projects = Projects::create(&service, args.projects, args.records).await?;
    // What loading leaves behind is another question.
    service.stop()?;
    let service = Service::start(&binary, &data_dir, &[])?;
    println!("{} projects with {} records; {} clients", projects.len(), projects.records(), args.clients);
    let (began, cpu) = (Instant::now(), service.cpu_time()?);
    let mix = Mix::new(args.clients, Duration::from_secs(60 * args.minutes)).paced(args.rate);
    let mut samples = Vec::new();
    let load = mix.run(&service, &projects);
    let counts = tokio::select! {
        counts = load => counts?,
        ended = watch(&service, began, Duration::from_secs(args.every), &mut samples) => match ended? {},
    };
    let (calls, cpu) = (counts.total(), service.cpu_time()? - cpu);
    let calls_per_second = rounded(calls as f64 / began.elapsed().as_secs_f64(), 1);
    let cpu_us_per_call = rounded(cpu.as_secs_f64() * 1e6 / calls as f64, 0);
    println!("{calls} calls, {calls_per_second:.1} a second, {cpu_us_per_call:.0} us of processor time each");
    let last = &samples[samples.len() * 2 / 3..];
    let (resident, unexplained) = (slope(last, |sample| sample.resident), slope(last, Sample::unexplained));
    let resident_mb_per_minute = rounded(resident, 2);
    println!("in the last third, resident memory changes by {resident_mb_per_minute:.2} MB a minute");
    let bar = format!("{unexplained:.2} MB a minute beyond what figures explain (at most {UNEXPLAINED_MAX_MB})");
    Ok(Figures {
        projects: projects.len(),
        records: projects.records(),
        clients: args.clients,
        samples,
        calls,
        calls_per_second,
        cpu_us_per_call,
        resident_mb_per_minute,
        verdicts: vec![Verdict { is_met: unexplained <= UNEXPLAINED_MAX_MB, bar }],
    })
}

/// Takes samples for as long as it is waited for.
async fn watch(
    service: &Service,
    began: Instant,
    every: Duration,
    samples: &mut Vec<Sample>,
) -> Result<std::convert::Infallible> {
    loop {
        sleep(every).await;
        let sample = Sample::take(service, began).await?;
        sample.print();
        samples.push(sample);
    }
}

/// How much a figure changes in a minute, by least squares.
fn slope(samples: &[Sample], figure: impl Fn(&Sample) -> f64) -> f64 {
    let count = samples.len() as f64;
    let mean = |of: &dyn Fn(&Sample) -> f64| samples.iter().map(of).sum::<f64>() / count;
    let (at, value) = (mean(&|sample| sample.seconds), mean(&|sample| figure(sample)));
    let together: f64 = samples.iter().map(|sample| (sample.seconds - at) * (figure(sample) - value)).sum();
    let alone: f64 = samples.iter().map(|sample| (sample.seconds - at).powi(2)).sum();
    60.0 * together / alone.max(f64::MIN_POSITIVE)
}
