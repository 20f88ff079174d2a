//! The upstreams used for measuring, each in its own process, so that their work is not counted as ours.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use mnemon_testkit::{Speaks, TestUpstream, Trick};

/// What an upstream does when it is called; the bench starts itself with this.
#[derive(clap::Args)]
pub(crate) struct UpstreamArgs {
    /// none, hang, drip, flood, flood-events, reset or slow
    #[arg(long, default_value = "none")]
    trick: String,
}

fn parse(trick: &str) -> Result<Trick> {
    Ok(match trick {
        "none" => Trick::None,
        "hang" => Trick::Hang,
        "drip" => Trick::Drip,
        "flood" => Trick::Flood,
        "flood-events" => Trick::FloodEvents,
        "reset" => Trick::Reset,
        "slow" => Trick::Slow(100),
        other => bail!("unknown trick '{other}'"),
    })
}

/// Serves until standard input ends.
pub(crate) fn run(args: &UpstreamArgs) -> Result<()> {
    let trick = parse(&args.trick)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(async {
        let upstream = TestUpstream::start_speaking(Speaks::Modern).await;
        upstream.on_call(trick);
        let mut stdout = std::io::stdout();
        writeln!(stdout, "{}", upstream.address)?;
        stdout.flush()?;
        let ended = tokio::task::spawn_blocking(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
        let _ = ended.await;
        Ok(())
    })
}

/// An upstream that was started.
pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    child: Child,
}

impl Upstream {
    pub(crate) fn start(trick: &str) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["gateway-upstream", "--trick", trick]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("the bench can't start itself")?;
        let stdout = child.stdout.take().context("standard output was asked for")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        Ok(Self { address: line.trim().parse().context("the upstream did not start")?, child })
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
