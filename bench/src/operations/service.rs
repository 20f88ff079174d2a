//! The real binary under measurement, as an operator starts it.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use mnemon_testkit::process::{cpu_time, resident_bytes, resident_peak_bytes};
use serde_json::Value;

pub(super) struct Service {
    child: Child,
    pub(super) address: SocketAddr,
    /// When the process was started.
    pub(super) began: Instant,
}

/// The operator's token of every service of a bench.
pub(super) const OPERATOR: &str = concat!("mnp_", "benchbenchbenchbenchbenchbenchbench");

/// The binary beside this one.
pub(super) fn usual_binary() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let binary = own.with_file_name("mnemon");
    ensure!(binary.exists(), "{} does not exist; build it, or pass --mnemon", binary.display());
    Ok(binary)
}

impl Service {
    /// Starts it on a directory; the log goes to a file beside the data.
    pub(super) fn start(binary: &Path, data_dir: &Path, settings: &[(&str, &str)]) -> Result<Self> {
        let mut command = Command::new(binary);
        let log = std::fs::File::options().create(true).append(true).open(data_dir.with_extension("log"))?;
        command.args(["--json", "serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(data_dir);
        command.env("MNEMON_METRICS_LISTEN", "").env("MNEMON_OPERATOR_TOKEN", OPERATOR);
        command.envs(settings.iter().copied()).stdout(Stdio::piped()).stderr(log);
        let began = Instant::now();
        let mut child = command.spawn().with_context(|| format!("can't start {}", binary.display()))?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("standard output was asked for")?).read_line(&mut line)?;
        let said: Value = serde_json::from_str(&line).context("the service did not start; see its log")?;
        let address = said["address"].as_str().context("it tells its address")?.parse()?;
        Ok(Self { child, address, began })
    }

    pub(super) fn cpu_time(&self) -> Result<Duration> {
        Ok(cpu_time(self.child.id())?)
    }

    pub(super) fn resident_bytes(&self) -> Result<u64> {
        Ok(resident_bytes(self.child.id())?)
    }

    /// What of it maps files, the program among them, and what is in huge pages, in bytes.
    pub(super) fn resident_kinds(&self) -> Result<(u64, u64)> {
        let read = |file: &str, name: &str| -> Result<u64> {
            let text = std::fs::read_to_string(format!("/proc/{}/{file}", self.child.id()))?;
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_suffix(" kB"));
            let kib: u64 = value.with_context(|| format!("the system does not say {name}"))?.parse()?;
            Ok(kib << 10)
        };
        Ok((read("status", "RssFile:")?, read("smaps_rollup", "AnonHugePages:")?))
    }

    pub(super) fn resident_peak_bytes(&self) -> Result<u64> {
        Ok(resident_peak_bytes(self.child.id())?)
    }

    /// What it had to read from the disk, because the system did not hold it.
    pub(super) fn read_bytes(&self) -> Result<u64> {
        let counts = std::fs::read_to_string(format!("/proc/{}/io", self.child.id()))?;
        let read = counts.lines().find_map(|line| line.strip_prefix("read_bytes: "));
        Ok(read.context("the system counts what is read")?.parse()?)
    }

    /// Asks it to stop and waits until it has.
    pub(super) fn stop(mut self) -> Result<()> {
        let stopped = Command::new("kill").arg(self.child.id().to_string()).status()?;
        ensure!(stopped.success(), "it could not be told to stop");
        self.child.wait()?;
        Ok(())
    }

    /// Ends it at once, as a power failure of the process would.
    pub(super) fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// All files of a directory and of those within.
pub(super) fn files(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.extend(files(&entry.path())?);
        } else {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// Their bytes.
pub(super) fn size_bytes(dir: &Path) -> Result<u64> {
    files(dir)?.iter().map(|path| Ok(path.metadata()?.len())).sum()
}
