//! Clients that send a byte now and then, and clients that never read their answers: both are disconnected in time, and
//! other callers don't wait longer because of them.

use std::io;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use mnemon_testkit::faults::Service;
use mnemon_testkit::process::resident_bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::Setup;
use super::outcome::Outcome;
use super::waits::{measure, prepare};

const SOCKETS: usize = 5_000;
const SLOW_READERS: usize = 100;
const BYTE_EVERY: Duration = Duration::from_secs(10);
const CLOSED_WITHIN: Duration = Duration::from_secs(15);
/// Closing thousands of sockets at once takes a moment.
const SLACK: Duration = Duration::from_secs(2);
const WATCHED_MAX: Duration = Duration::from_secs(40);
const ACTIVE: usize = 8;
const MEASURED: Duration = Duration::from_secs(4);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// What a client that never reads may cost: a buffer in each direction and an answer on its way.
const BYTES_EACH_MAX: u64 = 256 << 10;

pub(crate) async fn run(setup: &Setup) -> Result<Outcome> {
    let (program, _scratch) = setup.program()?;
    let service = program.start().await?;
    prepare(&service, 500).await?;
    let quiet = measure(&service, ACTIVE, MEASURED).await?;
    let sockets = setup.rounds(SOCKETS);
    let heads = start(sockets, || trickle_head(&service)).await?;
    let busy = measure(&service, ACTIVE, MEASURED).await?;
    let (slowest_head, heads_left) = wait_for(heads).await?;
    let before = resident_bytes(service.pid)?;
    let readers = start(SLOW_READERS, || never_read(&service)).await?;
    tokio::time::sleep(MEASURED).await;
    let each = resident_bytes(service.pid)?.saturating_sub(before) / SLOW_READERS as u64;
    let (slowest_reader, readers_left) = wait_for(readers).await?;
    let limit = CLOSED_WITHIN + SLACK;
    Ok(Outcome::new("slow", 1)
        .must(
            heads_left == 0 && slowest_head <= limit,
            format!(
                "{sockets} slow senders: {heads_left} still open, slowest closed after {:.1} s",
                slowest_head.as_secs_f64()
            ),
        )
        .must(
            readers_left == 0 && slowest_reader <= limit,
            format!(
                "{SLOW_READERS} that never read: {readers_left} still open, slowest closed after {:.1} s",
                slowest_reader.as_secs_f64()
            ),
        )
        .must(busy.failures == 0, format!("{} of {} other calls failed", busy.failures, busy.calls))
        .must(busy.is_at_most_twice(&quiet), format!("others' p99 {:.1?}, {:.1?} before", busy.p99, quiet.p99))
        .must(each <= BYTES_EACH_MAX, format!("{} KiB for each that never reads", each >> 10)))
}

type Watched = JoinHandle<Option<Duration>>;

async fn start<F: Future<Output = Result<Watched>>>(count: usize, one: impl Fn() -> F) -> Result<Vec<Watched>> {
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(one().await?);
    }
    Ok(all)
}

/// Sends the head of a request byte by byte and returns when the other end hung up.
async fn trickle_head(service: &Service) -> Result<Watched> {
    let mut stream = TcpStream::connect(service.address).await?;
    Ok(tokio::spawn(async move {
        let began = Instant::now();
        for byte in b"POST /mcp HTTP/1.1\r\n" {
            if stream.write_all(&[*byte]).await.is_err() {
                return Some(began.elapsed());
            }
            let mut answer = [0; 256];
            let heard = tokio::time::timeout(BYTE_EVERY, stream.read(&mut answer)).await;
            // An answer such as 408 comes before the end; both mean that the sender was disconnected.
            if heard.is_ok() {
                return Some(began.elapsed());
            }
            if began.elapsed() > WATCHED_MAX {
                break;
            }
        }
        None
    }))
}

/// Sends requests without reading an answer until the buffers of both ends are full; then waits to be disconnected.
async fn never_read(service: &Service) -> Result<Watched> {
    let stream = TcpStream::connect(service.address).await?;
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"note of a writer","workspace":"busy","limit":50}}}"#;
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n\r\n{body}",
        service.key,
        body.len()
    );
    Ok(tokio::spawn(async move {
        let began = Instant::now();
        let mut last_taken = began;
        while began.elapsed() < WATCHED_MAX {
            match stream.try_write(request.as_bytes()) {
                // Part of a request may have been sent; the service may find nonsense, but not before it reads.
                Ok(_) => last_taken = Instant::now(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => tokio::time::sleep(LOOK_EVERY).await,
                Err(_) => return Some(last_taken.elapsed()),
            }
            tokio::task::yield_now().await;
        }
        None
    }))
}

/// The longest time until one was disconnected, and how many were not.
async fn wait_for(watched: Vec<Watched>) -> Result<(Duration, usize)> {
    let (mut slowest, mut left) = (Duration::ZERO, 0);
    for one in watched {
        match one.await.context("a client panicked")? {
            Some(after) => slowest = slowest.max(after),
            None => left += 1,
        }
    }
    Ok((slowest, left))
}
