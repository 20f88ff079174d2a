//! What people without a credential make the service hold: a thousand sockets that each send as much as is taken of
//! half a head, of half a body, and of a body in chunks of one byte. What a stranger with a key does is in
//! `hoarders.rs`.

use std::time::Duration;

use anyhow::{Context, Result};
use mnemon_testkit::faults::Service;
use mnemon_testkit::process::{resident_bytes, resident_peak_bytes};
use serde::Serialize;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::outcome::Outcome;
use super::{Setup, hoarders};

const SOCKETS: usize = 1_000;
/// What each of them tries to make the service hold.
const SENT_BYTES: usize = 1 << 20;
/// The longest time that a client sends: the service disconnects slow ones after ten seconds.
const SENDING_MAX: Duration = Duration::from_secs(8);
/// How long the service may take to read what it takes of all that was sent.
const READING_MAX: Duration = Duration::from_secs(8);
/// What a stranger may cost: a head or a body of 64 KiB, and the buffers around it.
const BYTES_EACH_MAX: u64 = 256 << 10;

#[derive(Serialize)]
struct Stranger {
    what: &'static str,
    kib_each: u64,
}

pub(crate) async fn run(setup: &Setup) -> Result<Outcome> {
    let sockets = setup.rounds(SOCKETS);
    let (mut outcome, mut strangers) = (Outcome::new("strangers", sockets), Vec::new());
    for (what, bytes) in [
        ("half a head", half_a_head()),
        ("half a body of 1 MiB", half_a_body(SENT_BYTES)),
        ("half a body of 64 KiB", half_a_body(64 << 10)),
        ("64 KiB in chunks of one byte", crumbs()),
    ] {
        let (program, _scratch) = setup.program()?;
        let service = program.start().await?;
        let before = resident_bytes(service.pid)?;
        crowd(&service, sockets, bytes).await?;
        let each = resident_peak_bytes(service.pid)?.saturating_sub(before) / sockets as u64;
        let kib_each = each >> 10;
        let said = format!("{sockets} strangers with {what}: {kib_each} KiB each at the peak");
        outcome = outcome.must(each <= BYTES_EACH_MAX, said);
        strangers.push(Stranger { what, kib_each });
    }
    hoarders::run(setup, outcome.figures("strangers", &strangers)?).await
}

/// Opens the sockets, sends on all of them, and keeps them open until the service has read what it takes: what waits in
/// the system's buffers is not held by the service yet.
async fn crowd(service: &Service, sockets: usize, bytes: Vec<u8>) -> Result<()> {
    let bytes: &'static [u8] = bytes.leak();
    let mut streams = Vec::with_capacity(sockets);
    for _ in 0..sockets {
        streams.push(TcpStream::connect(service.address).await?);
    }
    let mut sending = JoinSet::new();
    for mut stream in streams {
        sending.spawn(async move {
            // Being shown out is what is hoped for.
            let _ = tokio::time::timeout(SENDING_MAX, stream.write_all(bytes)).await;
            stream
        });
    }
    let _held = sending.join_all().await;
    let read_all = async {
        while unread_bytes(service.address.port())? > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        anyhow::Ok(())
    };
    // The rest of what it does not take stays unread.
    tokio::time::timeout(READING_MAX, read_all).await.unwrap_or(Ok(()))
}

/// What lies in the system's buffers on its way to a port.
fn unread_bytes(port: u16) -> Result<u64> {
    let table = std::fs::read_to_string("/proc/net/tcp").context("this needs Linux")?;
    let rows = table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let bytes = rows.filter_map(|row| {
        let is_ours = |address: &str| address.rsplit(':').next() == Some(&format!("{port:04X}"));
        let (sent, received) = row.get(4)?.split_once(':')?;
        // The state 0A is the listening socket, whose queue counts connections.
        let queue = match (is_ours(row.get(1)?), is_ours(row.get(2)?), *row.get(3)?) {
            (_, _, "0A") => return None,
            (true, _, _) => received,
            (_, true, _) => sent,
            _ => return None,
        };
        u64::from_str_radix(queue, 16).ok()
    });
    Ok(bytes.sum())
}

fn half_a_head() -> Vec<u8> {
    let head = "GET /mcp HTTP/1.1\r\nhost: x\r\n";
    // One header may be as long as all of them: nothing here ends a line.
    [head.as_bytes(), b"x-filler: ", &vec![b'x'; SENT_BYTES]].concat()
}

/// All of it but its last byte.
fn half_a_body(length: usize) -> Vec<u8> {
    let head = format!("POST /register HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n");
    [head.as_bytes(), &vec![b' '; length - 1]].concat()
}

fn crumbs() -> Vec<u8> {
    let head = "POST /register HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
    // One chunk less than the smaller of the two limits: no client is refused, and all wait for the end.
    [head.as_bytes(), &b"1\r\nx\r\n".repeat((64 << 10) - 1)].concat()
}
