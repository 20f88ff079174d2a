//! How long an assistant's hooks take: with the service near, with no server at its address, and with somebody who
//! never answers.

use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use mnemon_testkit::faults::Program;
use serde::Serialize;
use serde_json::{Value, json};

use crate::figures::{Json, rounded};

/// The bars, for the slowest of a hundred.
const NEAR_MAX: Duration = Duration::from_millis(50);
const AWAY_MAX: Duration = Duration::from_millis(300);

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Runs of each kind
    #[arg(long, default_value_t = 300)]
    runs: usize,
    /// Records in the workspace
    #[arg(long, default_value_t = 5_000)]
    records: usize,
    /// The program [default: the one next to the bench, built now if it is not up to date]
    #[arg(long)]
    binary: Option<PathBuf>,
    #[command(flatten)]
    json: Json,
}

/// A hook, and how far the service is.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    p50_ms: f64,
    p99_ms: f64,
    slowest_ms: f64,
    is_met: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let binary = match &args.binary {
        Some(binary) => binary.canonicalize().with_context(|| format!("can't find {}", binary.display()))?,
        None => crate::faults::build()?,
    };
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(measure(args, &binary))
}

async fn measure(args: &Args, binary: &Path) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let service = Program::new(binary, &scratch.path().join("data"), scratch.path()).start().await?;
    let mut wire = service.connect().await?;
    for number in 0..args.records {
        let content = format!(
            "Service number {number} listens on port {} and is deployed by team {}.",
            4_000 + number,
            number % 31
        );
        let arguments = json!({"content": content, "source_id": format!("services/{number}.md")});
        wire.call("remember", &arguments).await.map_err(|failed| anyhow::anyhow!("{failed:?}"))?;
    }
    let near = format!("http://{}", service.address);
    let nobody = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let mute = TcpListener::bind("127.0.0.1:0")?;
    let hook = Hook { binary, home: scratch.path(), key: &service.key };
    let start = json!({"session_id": "s", "cwd": "/", "hook_event_name": "SessionStart", "source": "startup"});
    let prompt = json!({
        "session_id": "s", "cwd": "/", "hook_event_name": "UserPromptSubmit",
        "prompt": "which port does service number 4711 listen on?",
    });
    println!("hooks, {} runs each, a process each time, {} records", args.runs, args.records);
    println!("{:<34} {:>9} {:>9} {:>9}", "", "p50", "p99", "slowest");
    let mut rows = Vec::new();
    for (name, url, input, max, is_silent) in [
        ("SessionStart, near", &near, &start, NEAR_MAX, false),
        ("UserPromptSubmit, near", &near, &prompt, NEAR_MAX, false),
        ("SessionStart, nobody there", &format!("http://{nobody}"), &start, AWAY_MAX, true),
        ("UserPromptSubmit, nobody there", &format!("http://{nobody}"), &prompt, AWAY_MAX, true),
        ("UserPromptSubmit, no answer", &format!("http://{}", mute.local_addr()?), &prompt, AWAY_MAX, true),
    ] {
        let (mut times, mut unexpected) = (Vec::new(), 0);
        // The first ones warm up the disk's cache and the service's index.
        for run in 0..args.runs + 5 {
            let (time, was_silent) = hook.run(url, input)?;
            if run >= 5 {
                times.push(time);
                unexpected += usize::from(was_silent != is_silent);
            }
        }
        times.sort_unstable();
        let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
        let [p50_ms, p99_ms, slowest_ms] =
            [at(0.5), at(0.99), at(1.0)].map(|time| rounded(time.as_secs_f64() * 1e3, 1));
        let is_met = at(0.99) <= max && unexpected == 0;
        let bar = max.as_millis();
        let verdict = if is_met { "PASS" } else { "FAIL" };
        println!(
            "{name:<34} {p50_ms:>6.1} ms {p99_ms:>6.1} ms {slowest_ms:>6.1} ms   (p99 must be at most {bar} ms)  {verdict}"
        );
        rows.push(Row { name, p50_ms, p99_ms, slowest_ms, is_met });
    }
    args.json.write(&rows)?;
    if rows.iter().all(|row| row.is_met) { Ok(()) } else { bail!("a bar was missed") }
}

/// The hook's program, as a client starts it.
struct Hook<'a> {
    binary: &'a Path,
    home: &'a Path,
    key: &'a str,
}

impl Hook<'_> {
    /// Runs it once, from its start to its end, and says whether it was silent.
    fn run(&self, url: &str, input: &Value) -> Result<(Duration, bool)> {
        let mut command = Command::new(self.binary);
        command.args(["agent", "hook"]).env_clear().env("HOME", self.home);
        command.env("MNEMON_URL", url).env("MNEMON_API_KEY", self.key);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let began = Instant::now();
        let mut child = command.spawn()?;
        child.stdin.take().context("piped")?.write_all(input.to_string().as_bytes())?;
        let output = child.wait_with_output()?;
        let time = began.elapsed();
        ensure!(output.status.success(), "the hook failed");
        Ok((time, output.stdout.is_empty()))
    }
}
