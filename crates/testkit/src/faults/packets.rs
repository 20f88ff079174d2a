//! What the machine's own packet filter does to a server's packets: drops them all, so that nothing is refused and
//! nothing arrives; drops its answers alone; or resets each connection that is used. Needs root and nftables.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// A table of the filter, removed on drop.
#[derive(Debug)]
pub struct Packets {
    table: String,
    server: SocketAddr,
}

/// What becomes of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Pass,
    /// None arrives, in either direction.
    DropAll,
    /// What is asked arrives and is done; the answers do not.
    DropAnswers,
    /// The sender is told that the connection is gone.
    Reset,
}

impl Packets {
    /// Lets everything pass yet.
    pub fn of(server: SocketAddr) -> Result<Self> {
        let own = Self { table: format!("mnemon_faults_{}_{}", std::process::id(), server.port()), server };
        own.turn(Verdict::Pass)?;
        Ok(own)
    }

    /// Does this to every packet from and to the server from now on.
    pub fn turn(&self, verdict: Verdict) -> Result<()> {
        let (table, port) = (format!("inet {}", self.table), self.server.port());
        let rules: &[&str] = match verdict {
            Verdict::Pass => &[],
            Verdict::DropAll => &["dport PORT drop", "sport PORT drop"],
            Verdict::DropAnswers => &["sport PORT drop"],
            Verdict::Reset => &["dport PORT reject with tcp reset"],
        };
        let mut script = format!("add table {table}\nflush table {table}\n");
        let _ = writeln!(script, "add chain {table} input {{ type filter hook input priority 0 ; }}");
        for rule in rules {
            let _ = writeln!(script, "add rule {table} input tcp {}", rule.replace("PORT", &port.to_string()));
        }
        run(&script)
    }
}

impl Drop for Packets {
    fn drop(&mut self) {
        let _ = run(&format!("delete table inet {}\n", self.table));
    }
}

fn run(script: &str) -> Result<()> {
    let mut command = Command::new("nft");
    let mut child = command.args(["-f", "-"]).stdin(Stdio::piped()).spawn().context("needs root and nftables")?;
    child.stdin.take().context("piped")?.write_all(script.as_bytes())?;
    ensure!(child.wait()?.success(), "the packet filter can't be changed; it needs root");
    Ok(())
}
