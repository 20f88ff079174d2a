//! What the local agent adds to a call, and what it costs to keep it running. Measured in one run: each call is made
//! once directly and once through the agent, in turn.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use mnemon_testkit::faults::Program;
use mnemon_testkit::process::{cpu_time, resident_bytes, resident_peak_bytes};
use serde::Serialize;
use serde_json::json;

use crate::figures::{Json, rounded};

/// The bars.
const ADDED_P50_MAX: Duration = Duration::from_millis(1);
const IDLE_BYTES_MAX: u64 = 30_000_000;
const IDLE_CPU_MAX: f64 = 0.01;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Calls each way
    #[arg(long, default_value_t = 2_000)]
    calls: usize,
    /// How long to watch the idle agent, in seconds
    #[arg(long, default_value_t = 20)]
    idle_s: u64,
    /// The program [default: the one next to the bench, built now if it is not up to date]
    #[arg(long)]
    binary: Option<PathBuf>,
    #[command(flatten)]
    json: Json,
}

#[derive(Serialize)]
struct Figures {
    calls: usize,
    ways: [Way; 2],
    #[serde(flatten)]
    idle: Idle,
}

/// A way to the service.
#[derive(Serialize)]
struct Way {
    name: &'static str,
    p50_us: f64,
    p95_us: f64,
    p99_us: f64,
}

#[derive(Serialize)]
struct Idle {
    idle_mb: f64,
    idle_peak_mb: f64,
    idle_processor_percent: f64,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let binary = match &args.binary {
        Some(binary) => binary.canonicalize().with_context(|| format!("can't find {}", binary.display()))?,
        None => crate::faults::build()?,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(measure(args, &binary))
}

async fn measure(args: &Args, binary: &Path) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let service = Program::new(binary, &scratch.path().join("data"), scratch.path()).start().await?;
    let mut direct = service.connect().await?;
    direct.call("remember", &json!({"content": "The staging database listens on port 5433"})).await.map_err(said)?;
    let mut agent = Agent::start(binary, scratch.path(), &format!("http://{}", service.address), &service.key)?;
    let (mut straight, mut through) = (Vec::new(), Vec::new());
    let arguments = json!({"query": "staging database port"});
    for call in 0..args.calls + args.calls / 10 {
        let body = json!({
            "jsonrpc": "2.0", "id": call, "method": "tools/call", "params": {"name": "search", "arguments": arguments},
        });
        let body = body.to_string();
        let began = Instant::now();
        let answer = direct.post(&body).await?.body.to_vec();
        let first = began.elapsed();
        let began = Instant::now();
        let line = agent.ask(&body)?;
        let second = began.elapsed();
        if line.trim_end().as_bytes() != answer {
            bail!("the agent's answer is not the service's");
        }
        // The first tenth warms up both ways.
        if call >= args.calls / 10 {
            straight.push(first);
            through.push(second);
        }
    }
    let added_p50 = at(&mut through, 0.5).saturating_sub(at(&mut straight, 0.5));
    println!("agent, {} calls each way, one at a time", args.calls);
    println!("{:<28} {:>9} {:>9} {:>9}", "", "p50", "p95", "p99");
    let ways = [("direct", &mut straight), ("through the agent", &mut through)].map(|(name, times)| {
        let [p50_us, p95_us, p99_us] = [0.5, 0.95, 0.99].map(|part| rounded(at(times, part).as_secs_f64() * 1e6, 0));
        println!("{name:<28} {p50_us:>6.0} µs {p95_us:>6.0} µs {p99_us:>6.0} µs");
        Way { name, p50_us, p95_us, p99_us }
    });
    let is_quick = added_p50 < ADDED_P50_MAX;
    println!("added, p50 {:>20.0} µs   (must be under 1,000)  {}", added_p50.as_secs_f64() * 1e6, verdict(is_quick));
    let (idle, is_light) = idle(args, &agent)?;
    args.json.write(&Figures { calls: args.calls, ways, idle })?;
    if is_quick && is_light { Ok(()) } else { bail!("a bar was missed") }
}

fn idle(args: &Args, agent: &Agent) -> Result<(Idle, bool)> {
    let pid = agent.child.id();
    let before = cpu_time(pid)?;
    std::thread::sleep(Duration::from_secs(args.idle_s));
    let busy = (cpu_time(pid)? - before).as_secs_f64() / args.idle_s as f64;
    let (resident, peak) = (resident_bytes(pid)?, resident_peak_bytes(pid)?);
    let megabytes = |bytes: u64| rounded(bytes as f64 / 1e6, 1);
    let idle = Idle {
        idle_mb: megabytes(resident),
        idle_peak_mb: megabytes(peak),
        idle_processor_percent: rounded(busy * 100.0, 2),
    };
    let (is_small, is_quiet) = (resident < IDLE_BYTES_MAX, busy < IDLE_CPU_MAX);
    println!(
        "idle memory {:>19.1} MB   (must be under 30; peak {:.1})  {}",
        idle.idle_mb,
        idle.idle_peak_mb,
        verdict(is_small)
    );
    println!(
        "idle CPU       {:>16.2} %    (over {} s)  {}",
        idle.idle_processor_percent,
        args.idle_s,
        verdict(is_quiet)
    );
    Ok((idle, is_small && is_quiet))
}

const fn verdict(is_kept: bool) -> &'static str {
    if is_kept { "PASS" } else { "FAIL" }
}

/// The value below which this fraction of the values lies.
fn at(times: &mut [Duration], part: f64) -> Duration {
    times.sort_unstable();
    times[((times.len() - 1) as f64 * part) as usize]
}

fn said(failed: mnemon_testkit::wire::CallFailed) -> anyhow::Error {
    anyhow::anyhow!("{failed:?}")
}

/// The agent as a process, called as an assistant would.
struct Agent {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Agent {
    fn start(binary: &Path, home: &Path, url: &str, key: &str) -> Result<Self> {
        let mut command = Command::new(binary);
        command.arg("agent").env_clear().env("HOME", home).env("MNEMON_URL", url).env("MNEMON_API_KEY", key);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take().context("piped")?;
        let output = BufReader::new(child.stdout.take().context("piped")?);
        Ok(Self { child, input, output })
    }

    fn ask(&mut self, line: &str) -> Result<String> {
        self.input.write_all(format!("{line}\n").as_bytes())?;
        self.input.flush()?;
        let mut answer = String::new();
        if self.output.read_line(&mut answer)? == 0 {
            bail!("the agent ended");
        }
        Ok(answer)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
