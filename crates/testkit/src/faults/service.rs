//! The real program as a process: started, signalled, killed, restarted.

use std::ffi::OsString;
use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::wire::Wire;

/// How long a start may take, under a tracer and on a busy machine.
const START_MAX: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// How to start the service.
#[derive(Debug, Clone)]
pub struct Program {
    pub binary: PathBuf,
    pub data_dir: PathBuf,
    /// Where its ready file and its log go; not with the data, whose disk may be full.
    pub scratch: PathBuf,
    /// A program that runs it, with arguments: `strace …`.
    pub under: Vec<OsString>,
    /// The key from an earlier start on the same data.
    pub key: Option<String>,
    /// A database to use instead of the directory.
    pub database: Option<String>,
    /// Read replicas of the database.
    pub replicas: Vec<String>,
    /// The address to listen on, if it matters.
    pub listen: Option<SocketAddr>,
    /// Settings, by the names of their variables.
    pub environment: Vec<(&'static str, String)>,
}

/// A running service, killed on drop.
#[derive(Debug)]
pub struct Service {
    pub address: SocketAddr,
    /// The key created by the first start on this data.
    pub key: String,
    /// The operator token, if this start created it.
    pub operator_token: Option<String>,
    /// The process itself, not its wrapper.
    pub pid: u32,
    child: Child,
    log: PathBuf,
}

#[derive(Debug, Clone, Copy)]
pub enum Signal {
    Terminate,
    Stop,
    Continue,
    Kill,
}

impl Program {
    pub fn new(binary: &Path, data_dir: &Path, scratch: &Path) -> Self {
        Self {
            binary: binary.to_owned(),
            data_dir: data_dir.to_owned(),
            scratch: scratch.to_owned(),
            under: Vec::new(),
            key: None,
            database: None,
            replicas: Vec::new(),
            listen: None,
            environment: Vec::new(),
        }
    }

    /// Starts it and waits until it listens. If it exits before, the error contains the end of its log.
    pub async fn start(&self) -> Result<Service> {
        let (ready, log) = (self.scratch.join("ready.json"), self.scratch.join("service.log"));
        let _ = std::fs::remove_file(&ready);
        let mut child = self.command(&ready, &log)?.spawn().context("the program can't be started")?;
        let began = Instant::now();
        while !ready.exists() {
            if let Some(status) = child.try_wait()? {
                bail!("the service ended with {status} instead of starting:\n{}", tail(&log));
            }
            if began.elapsed() > START_MAX {
                let _ = child.kill();
                bail!("the service did not start within {START_MAX:?}:\n{}", tail(&log));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        let told: Value = serde_json::from_str(&std::fs::read_to_string(&ready)?)?;
        let key = told["key"].as_str().map(str::to_owned).or_else(|| self.key.clone());
        let pid = if self.under.is_empty() { child.id() } else { first_child(child.id())? };
        Ok(Service {
            address: told["address"].as_str().context("a ready file has the address")?.parse()?,
            key: key.context("the service told no key, and none is known")?,
            operator_token: told["operator_token"].as_str().map(str::to_owned),
            pid,
            child,
            log,
        })
    }

    fn command(&self, ready: &Path, log: &Path) -> Result<Command> {
        let mut words = self.under.clone();
        words.push(self.binary.clone().into());
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg("serve");
        let listen = self.listen.map_or_else(|| "127.0.0.1:0".to_owned(), |address| address.to_string());
        command.arg("--data-dir").arg(&self.data_dir).args(["--listen", &listen]).arg("--ready-file").arg(ready);
        if let Some(url) = &self.database {
            command.args(["--database", url]);
        }
        // Neither the environment of the run nor a stray file may change what is tested.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("MNEMON_")) {
            command.env_remove(name);
        }
        // The usual address of figures has one port, and several services run beside each other.
        command.env("MNEMON_METRICS_LISTEN", "");
        if !self.replicas.is_empty() {
            command.env("MNEMON_DATABASE_REPLICAS", self.replicas.join(","));
        }
        command.envs(self.environment.iter().map(|(name, value)| (*name, value)));
        command.current_dir(&self.scratch).stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(File::options().create(true).append(true).open(log)?);
        Ok(command)
    }
}

/// Sends a signal to a process.
pub(super) fn send(pid: u32, signal: Signal) -> Result<()> {
    let name = match signal {
        Signal::Terminate => "-TERM",
        Signal::Stop => "-STOP",
        Signal::Continue => "-CONT",
        Signal::Kill => "-KILL",
    };
    let status = Command::new("kill").args([name, &pid.to_string()]).status()?;
    if status.success() { Ok(()) } else { bail!("the signal {name} could not be sent") }
}

impl Service {
    /// A connection with the service's key.
    pub async fn connect(&self) -> Result<Wire> {
        Ok(Wire::connect(self.address, &self.key).await?)
    }

    /// Sends a signal to the service itself.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        send(self.pid, signal)
    }

    /// Kills it with no chance to clean up, and waits until it is gone.
    pub fn kill(mut self) -> Result<()> {
        self.signal(Signal::Kill)?;
        self.child.wait()?;
        Ok(())
    }

    /// Waits until it has exited by itself.
    pub async fn wait(&mut self, at_most: Duration) -> Result<ExitStatus> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if began.elapsed() > at_most {
                bail!("the service did not end within {at_most:?}");
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Its log, including earlier starts with the same scratch directory.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            // A killed tracer leaves the traced program running, so the program goes first.
            let _ = self.signal(Signal::Kill);
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn first_child(pid: u32) -> Result<u32> {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
    children.split_whitespace().next().context("the tracer has no child")?.parse().context("a process id is a number")
}

fn tail(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(5)..].join("\n")
}
