//! What `mnemon validate` finds, asks and sends in a repository of ordinary size: 2,000 files, 5,000 facts, a commit
//! that changes ten files, renames three and deletes three.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use mnemon_testkit::Recorder;
use mnemon_testkit::faults::Program;
use mnemon_testkit::wire::Wire;
use serde::Serialize;
use serde_json::{Value, json};

use crate::figures::{Json, rounded};

/// The bars.
const WARM_MAX: Duration = Duration::from_secs(2);
const REQUESTS_MAX: usize = 20;
/// Every file contains it, and no request may.
const CANARY: &str = "canarycontent";
const CHANGED: usize = 10;
const MOVED: usize = 3;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[arg(long, default_value_t = 2_000)]
    files: usize,
    #[arg(long, default_value_t = 5_000)]
    facts: usize,
    /// Warm runs
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// The program [default: the one next to the bench, built now if it is not up to date]
    #[arg(long)]
    binary: Option<PathBuf>,
    #[command(flatten)]
    json: Json,
}

#[derive(Serialize)]
struct Figures {
    files: usize,
    facts: usize,
    first_ms: f64,
    /// After the commit.
    median_ms: f64,
    slowest_ms: f64,
    requests: usize,
    stale: usize,
    gone: usize,
    requests_with_content: usize,
    request_bytes: usize,
    is_met: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    ensure!(args.files >= CHANGED + 2 * MOVED && args.facts >= args.files, "too few files or facts");
    let binary = match &args.binary {
        Some(binary) => binary.canonicalize().with_context(|| format!("can't find {}", binary.display()))?,
        None => crate::faults::build()?,
    };
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(measure(args, &binary))
}

async fn measure(args: &Args, binary: &Path) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let service = Program::new(binary, &scratch.path().join("data"), scratch.path()).start().await?;
    let recorder = Recorder::start(&format!("http://{}", service.address)).await;
    let place =
        Checkout { binary, tree: scratch.path().join("tree"), url: recorder.url.clone(), key: service.key.clone() };
    let names = place.fill(args.files)?;
    let hashes = place.hashes(&names)?;
    let facts = save_facts(&mut service.connect().await?, &hashes, args.facts).await?;
    println!("{} files, {} facts, hashes of four kinds in turn", args.files, args.facts);
    let (first, cold) = place.validate()?;
    ensure!(count(&first, "verified") == args.files, "before the commit everything holds: {first}");
    let ms = |time: Duration| rounded(time.as_secs_f64() * 1e3, 0);
    println!("{:<34} {:>8.0} ms", "first run, everything verified", ms(cold));
    place.change(&names)?;
    let mut times = Vec::new();
    let mut requests = 0;
    for _ in 0..args.rounds.max(1) {
        let before = recorder.exchanges().len();
        let (told, time) = place.validate()?;
        requests = requests.max(recorder.exchanges().len() - before);
        times.push(time);
        compare(&told, &names, &facts)?;
    }
    times.sort_unstable();
    let (median, slowest) = (times[times.len() / 2], times[times.len() - 1]);
    let exchanges = recorder.exchanges();
    let bytes: usize = exchanges.iter().map(|exchange| exchange.request.len()).sum();
    let has_content = |request: &[u8]| request.windows(CANARY.len()).any(|part| part == CANARY.as_bytes());
    let leaks = exchanges.iter().filter(|exchange| has_content(&exchange.request)).count();
    let is_quick = slowest <= WARM_MAX;
    let figures = Figures {
        files: args.files,
        facts: args.facts,
        first_ms: ms(cold),
        median_ms: ms(median),
        slowest_ms: ms(slowest),
        requests,
        stale: facts_of_changed(&names, &facts).len(),
        gone: 2 * MOVED,
        requests_with_content: leaks,
        request_bytes: bytes,
        is_met: is_quick && requests <= REQUESTS_MAX && leaks == 0,
    };
    let Figures { median_ms, slowest_ms, stale, gone, .. } = figures;
    println!(
        "{:<34} {median_ms:>8.0} ms median, {slowest_ms:.0} ms slowest   (must be at most 2,000)  {}",
        "after the commit, warm",
        verdict(is_quick)
    );
    println!(
        "{:<34} {requests:>8}      (must be at most {REQUESTS_MAX})  {}",
        "requests",
        verdict(requests <= REQUESTS_MAX)
    );
    println!("{:<34} {stale:>8}      exactly the facts of {CHANGED} files  PASS", "stale");
    println!("{:<34} {gone:>8}      {MOVED} renamed, {MOVED} deleted, told apart  PASS", "gone");
    println!(
        "{:<34} {leaks:>8}      of {bytes} bytes in all requests  {}",
        "requests with content",
        verdict(leaks == 0)
    );
    args.json.write(&figures)?;
    if figures.is_met { Ok(()) } else { bail!("a bar was missed") }
}

/// A repository, and who validates it.
struct Checkout<'a> {
    binary: &'a Path,
    tree: PathBuf,
    url: String,
    key: String,
}

impl Checkout<'_> {
    /// Writes the files and commits them.
    fn fill(&self, files: usize) -> Result<Vec<String>> {
        let names: Vec<String> = (0..files).map(|n| format!("src/part{}/module{n}.md", n % 40)).collect();
        for (number, name) in names.iter().enumerate() {
            let path = self.tree.join(name);
            std::fs::create_dir_all(path.parent().context("a folder")?)?;
            let lines = (0..40).map(|line| format!("{CANARY} line {line} of file {number}, with some words to read\n"));
            std::fs::write(path, lines.collect::<String>())?;
        }
        self.git(&["init", "--quiet"])?;
        self.commit()?;
        Ok(names)
    }

    /// The hashes of each file, in the kinds in turn; every fourth file has facts of two kinds.
    fn hashes(&self, names: &[String]) -> Result<BTreeMap<String, Vec<String>>> {
        let mut hashes = BTreeMap::new();
        for (at, names) in names.chunks(500).enumerate() {
            let of = |flag: &[&str]| -> Result<Vec<String>> {
                let mut command = Command::new(self.binary);
                command.current_dir(&self.tree).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
                let output = command.arg("hash").args(flag).args(names).output()?;
                let text = String::from_utf8(output.stdout)?;
                Ok(text.lines().filter_map(|line| line.split("  ").next()).map(str::to_owned).collect())
            };
            let (plain, git) = (of(&[])?, of(&["--git"])?);
            ensure!(plain.len() == names.len() && git.len() == names.len(), "a hash for each file");
            for (n, name) in names.iter().enumerate() {
                let bare = plain[n].trim_start_matches("sha256:").to_owned();
                let kinds = match (at + n) % 4 {
                    0 => vec![plain[n].clone()],
                    1 => vec![git[n].clone()],
                    2 => vec![bare],
                    _ => vec![plain[n].clone(), git[n].clone()],
                };
                hashes.insert(name.clone(), kinds);
            }
        }
        Ok(hashes)
    }

    /// Ten files change, three are renamed, three are deleted, in one commit.
    fn change(&self, names: &[String]) -> Result<()> {
        for name in changed(names) {
            std::fs::write(self.tree.join(name), format!("{CANARY} written again: {name}\n"))?;
        }
        for name in renamed(names) {
            self.git(&["mv", name, &format!("{name}.moved")])?;
        }
        for name in deleted(names) {
            self.git(&["rm", "--quiet", name])?;
        }
        self.commit()
    }

    fn commit(&self) -> Result<()> {
        self.git(&["add", "--all"])?;
        self.git(&["commit", "--quiet", "--message", "x"])
    }

    fn git(&self, arguments: &[&str]) -> Result<()> {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=Ana", "-c", "user.email=ana@example.com", "-c", "commit.gpgsign=false"]);
        command.args(arguments).current_dir(&self.tree);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        let output = command.output().context("can't run git")?;
        ensure!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }

    /// Runs the program, and says how long it took.
    fn validate(&self) -> Result<(Value, Duration)> {
        let mut command = Command::new(self.binary);
        command.args(["validate", "--json", "--url", &self.url, "--key", &self.key]).current_dir(&self.tree);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let began = Instant::now();
        let output = command.output()?;
        let time = began.elapsed();
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok((serde_json::from_slice(&output.stdout)?, time))
    }
}

fn changed(names: &[String]) -> &[String] {
    &names[..CHANGED]
}

fn renamed(names: &[String]) -> &[String] {
    &names[CHANGED..CHANGED + MOVED]
}

fn deleted(names: &[String]) -> &[String] {
    &names[CHANGED + MOVED..CHANGED + 2 * MOVED]
}

/// Saves facts of each file in turn, and returns which record came from which.
async fn save_facts(
    wire: &mut Wire,
    hashes: &BTreeMap<String, Vec<String>>,
    facts: usize,
) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let mut saved: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (number, (name, kinds)) in hashes.iter().cycle().take(facts).enumerate() {
        let hash = &kinds[number / hashes.len() % kinds.len()];
        let content = format!("Fact {number}: {name} describes part {} of the system.", number % 97);
        let arguments = json!({"content": content, "source_id": name, "source_hash": hash});
        let answer = wire.call("remember", &arguments).await.map_err(|failed| anyhow::anyhow!("{failed:?}"))?;
        let id = answer["id"].as_str().context("a save has an id")?.to_owned();
        saved.entry(name.clone()).or_default().insert(id);
    }
    Ok(saved)
}

fn facts_of_changed(names: &[String], facts: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<String> {
    changed(names).iter().filter_map(|name| facts.get(name)).flatten().cloned().collect()
}

/// Exactly the facts of the changed files are stale, and what is gone is reported so.
fn compare(told: &Value, names: &[String], facts: &BTreeMap<String, BTreeSet<String>>) -> Result<()> {
    let rows = |state: &str| told[state].as_array().cloned().unwrap_or_default();
    let stale: BTreeSet<String> = rows("stale")
        .iter()
        .flat_map(|row| row["stale_ids"].as_array().cloned().unwrap_or_default())
        .filter_map(|id| id.as_str().map(str::to_owned))
        .collect();
    let meant = facts_of_changed(names, facts);
    ensure!(stale == meant, "{} facts are stale, expected {}", stale.len(), meant.len());
    let gone: BTreeSet<(String, String)> = rows("gone")
        .iter()
        .filter_map(|row| Some((row["source_id"].as_str()?.to_owned(), row["note"].as_str()?.to_owned())))
        .collect();
    let mut expected: BTreeSet<(String, String)> =
        renamed(names).iter().map(|name| (name.clone(), format!("renamed to {name}.moved"))).collect();
    expected.extend(deleted(names).iter().map(|name| (name.clone(), "deleted".to_owned())));
    ensure!(gone == expected, "gone are {gone:?}");
    ensure!(count(told, "verified") == names.len() - CHANGED - 2 * MOVED, "the rest holds");
    Ok(())
}

fn count(told: &Value, state: &str) -> usize {
    told[state].as_array().map_or(0, Vec::len)
}

const fn verdict(is_kept: bool) -> &'static str {
    if is_kept { "PASS" } else { "FAIL" }
}
