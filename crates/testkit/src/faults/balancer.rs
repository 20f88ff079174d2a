//! A real HAProxy in front of several nodes, configured as in the guide on many nodes.

use std::fmt::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

const START_MAX: Duration = Duration::from_secs(20);

/// A running balancer, killed on drop.
#[derive(Debug)]
pub struct Balancer {
    pub address: SocketAddr,
    child: Child,
}

impl Balancer {
    /// Starts one that sends calls to the ready nodes in turn.
    pub fn start(nodes: &[SocketAddr], scratch: &Path) -> Result<Self> {
        // Bound and released at once: nothing else on the machine takes it within the next moment.
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let file = scratch.join("haproxy.cfg");
        std::fs::write(&file, configuration(address, nodes))?;
        let mut command = Command::new("haproxy");
        command.arg("-db").arg("-q").arg("-f").arg(&file).stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.spawn().context("haproxy is not installed; on Debian: apt-get install haproxy")?;
        let balancer = Self { address, child };
        balancer.wait()?;
        Ok(balancer)
    }

    fn wait(&self) -> Result<()> {
        let began = Instant::now();
        while std::net::TcpStream::connect(self.address).is_err() {
            if began.elapsed() > START_MAX {
                bail!("haproxy did not start within {START_MAX:?}");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn configuration(address: SocketAddr, nodes: &[SocketAddr]) -> String {
    let mut text = format!(
        "defaults\n    mode http\n    timeout connect 2s\n    timeout client 60s\n    timeout server 60s\n\
         frontend mnemon\n    bind {address}\n    default_backend nodes\n\
         backend nodes\n    balance roundrobin\n    option httpchk GET /health/ready\n    option redispatch\n    retries 2\n    \
         default-server check inter 300ms fall 2 rise 1\n"
    );
    for (nth, node) in nodes.iter().enumerate() {
        let _ = writeln!(text, "    server node{nth} {node}");
    }
    text
}
