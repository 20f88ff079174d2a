//! Which alert fires when, while PostgreSQL is away for minutes: three nodes under load, and a real Prometheus with the
//! rules that are handed out.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use mnemon_testkit::faults::nodes::{Nodes, durable_cluster, kill_server, restart_server};
use serde_json::Value;
use tokio::time::sleep;

use super::Setup;
use super::outcome::Outcome;

/// The alert about storage fires within this time.
const STORAGE_TOLD_MAX: Duration = Duration::from_secs(90);
/// What happens without any outage, so that rates have something to look at.
pub(super) const QUIET: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The rounds are minutes.
pub(crate) async fn run(setup: &Setup) -> Result<Outcome> {
    let minutes = setup.rounds(10);
    let (cluster, scratch) = (durable_cluster()?, tempfile::tempdir()?);
    let mut nodes = Nodes::start(&setup.binary, &cluster.url("postgres"), scratch.path()).await?;
    let prometheus = Prometheus::start(&nodes, scratch.path())?;
    let outage = Duration::from_secs(60 * minutes as u64);
    let mut firing = BTreeMap::new();
    let fault = async |nodes: &mut Nodes| {
        let began = Instant::now();
        prometheus.watch(QUIET, &mut BTreeMap::new()).await?;
        kill_server(&cluster)?;
        prometheus.watch(outage, &mut firing).await?;
        restart_server(&cluster)?;
        let back = nodes.until_back().await?;
        if let Some(file) = &setup.record {
            let seen = prometheus.story(began.elapsed(), QUIET + outage, &firing)?;
            std::fs::write(file, seen).with_context(|| format!("can't write {}", file.display()))?;
        }
        Ok(back)
    };
    let report = nodes.under_load(fault, |sql| Ok(cluster.sql("postgres", sql)?)).await?;
    let told = |name: &str| firing.get(name).copied().unwrap_or(Duration::MAX);
    let mut outcome = Outcome::new("alerts", minutes);
    for (name, after) in &firing {
        outcome = outcome.fact(format!("{name} after {} s", after.as_secs()));
    }
    let in_time = told("MnemonStorageFails") <= STORAGE_TOLD_MAX;
    Ok(outcome
        .must(in_time, "storage told within 90 s".to_owned())
        .must(report.acknowledged > 0 && report.lost == 0, format!("{} lost", report.lost))
        .must(report.doubled == 0, format!("{} doubled", report.doubled)))
}

pub(super) struct Prometheus {
    child: Child,
    address: String,
}

impl Prometheus {
    fn start(nodes: &Nodes, scratch: &Path) -> Result<Self> {
        let address = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
        let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ops/prometheus/mnemon.rules.yml").canonicalize()?;
        let targets: Vec<String> = nodes.figures.iter().map(|at| format!("\"{at}\"")).collect();
        let config = format!(
            "global:\n  scrape_interval: 15s\nrule_files: [{rules:?}]\nscrape_configs:\n- job_name: mnemon\n  static_configs:\n  \
             - targets: [{}]\n",
            targets.join(", ")
        );
        let file = scratch.join("prometheus.yml");
        std::fs::write(&file, config)?;
        let mut command = Command::new("prometheus");
        command.arg(format!("--config.file={}", file.display()));
        command.arg(format!("--storage.tsdb.path={}", scratch.join("tsdb").display()));
        command.arg(format!("--web.listen-address={address}")).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().context("prometheus is not installed; on Debian: apt-get install prometheus")?;
        Ok(Self { child, address })
    }

    /// What it answers under a path of its interface.
    pub(super) fn ask(&self, path: &str) -> Option<Value> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        let head = format!("GET /api/v1/{path} HTTP/1.0\r\nhost: {}\r\n\r\n", self.address);
        stream.write_all(head.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()
    }

    /// Notes when each alert fired first.
    async fn watch(&self, time: Duration, firing: &mut BTreeMap<String, Duration>) -> Result<()> {
        let began = Instant::now();
        while began.elapsed() < time {
            sleep(LOOK_EVERY).await;
            // Until it has read its data, it does not answer.
            let Some(answer) = self.ask("alerts") else { continue };
            for alert in answer["data"]["alerts"].as_array().into_iter().flatten() {
                if alert["state"] == "firing" {
                    let name = alert["labels"]["alertname"].as_str().unwrap_or_default();
                    firing.entry(name.to_owned()).or_insert_with(|| began.elapsed());
                }
            }
        }
        Ok(())
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
