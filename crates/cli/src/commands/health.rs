//! `mnemon health`: asks the service on this machine whether it is ready. For health checks of containers, which have
//! no other program to ask with.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use reqwest::{Method, StatusCode};

use crate::arguments::Health;
use crate::http_client::HttpClient;
use crate::printer::Printer;
use crate::settings;

/// Longer than the service itself waits for its storage.
const TIMEOUT: Duration = Duration::from_secs(3);

pub fn run(health: &Health, printer: &Printer) -> anyhow::Result<ExitCode> {
    let config = settings::load(&health.settings)?;
    let service = format!("http://{}", reachable(config.server.listen));
    let (path, word) = if health.live { ("/health/live", "live") } else { ("/health/ready", "ready") };
    let answer = HttpClient::new(TIMEOUT)?.send(Method::GET, &service, path, &[], None)?;
    if answer.status != StatusCode::OK {
        bail!("{service} is not {word} (status {}); see the service's log", answer.status.as_u16());
    }
    printer.text(word);
    Ok(ExitCode::SUCCESS)
}

/// Who listens on all addresses is reached at the machine's own.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_addresses_are_reached_at_the_machines_own() {
        let check = |listen: &str, expected: &str| {
            assert_eq!(reachable(listen.parse().expect("an address")).to_string(), expected);
        };
        check("0.0.0.0:7676", "127.0.0.1:7676");
        check("[::]:7676", "[::1]:7676");
        check("192.0.2.1:80", "192.0.2.1:80");
    }
}
