//! A real HAProxy in front of several nodes, with the configuration of the guide on many nodes.

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

const GUIDE: &str = include_str!("../../../../docs/guides/many-nodes.md");

/// The guide's, except that calls go to the nodes in turn, as one caller's would not.
fn configuration(address: SocketAddr, nodes: &[SocketAddr]) -> String {
    let text = guides_balancer(&address.to_string(), nodes);
    assert!(text.contains("balance hdr(Authorization)"), "{text}");
    text.replace("balance hdr(Authorization)", "balance roundrobin")
}

/// The configuration of the guide as it stands, with the addresses of a test, and without TLS.
pub fn guides_balancer(address: &str, nodes: &[SocketAddr]) -> String {
    let block = GUIDE.split("HAProxy:\n```\n").nth(1).and_then(|rest| rest.split("```").next());
    let text = block.expect("the guide has a configuration");
    let bind = "bind :443 ssl crt /etc/haproxy/memory.pem";
    assert!(text.contains(bind), "{text}");
    let (servers, rest): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.trim().starts_with("server "));
    assert!(!servers.is_empty(), "{text}");
    let mut lines = rest.join("\n").replace(bind, &format!("bind {address}"));
    for (nth, node) in nodes.iter().enumerate() {
        lines.push_str(&format!("\n    server node{nth} {node}"));
    }
    lines + "\n"
}
