//! The accept loop, and how it ends.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tower::Service;

use super::connection_limit::{ConnectionLimit, Seat};
use super::head::HEAD_BYTES_MAX;
use super::peer::Peer;
use super::stream::Stream;

/// How long a connection may take to send the head of a request, including the pause before it.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
/// How long running requests may take to finish after the service is told to stop.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// How many connections may wait to be accepted. The system has its own limit, 4,096 on Linux unless
/// `net.core.somaxconn` changes it.
const WAITING_MAX: u32 = 65_535;
/// The pause after a failed accept: without file descriptors, retrying at once would only burn CPU.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How much of an answer the system buffers before the client reads. By default that is up to four megabytes, counted
/// as memory of the service. Linux doubles what is asked for.
const SEND_BUFFER_BYTES: u32 = 128 << 10;

/// Binds an address. Many clients may connect at once, for example after a restart, and wait to be accepted. Past the
/// limit the system drops them; they retry after a second, then after longer and longer pauses.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // Lets a restart take the address again at once. On Windows the option would let two processes share it.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    // Connections have what their listener has.
    socket.set_send_buffer_size(SEND_BUFFER_BYTES)?;
    socket.bind(address)?;
    socket.listen(WAITING_MAX)
}

/// Whatever answers requests, and is always ready for the next.
pub trait Answers:
    Service<Request<Incoming>, Response = Response, Error = Infallible, Future: Send> + Clone + Send + Sync + 'static
{
}

impl<S> Answers for S where
    S: Service<Request<Incoming>, Response = Response, Error = Infallible, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static
{
}

/// Serves until `shutdown` completes, then lets running requests finish.
pub async fn serve(
    listener: TcpListener,
    doors: impl Answers,
    connection_limit: ConnectionLimit,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let graceful = GracefulShutdown::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        let next = async {
            connection_limit.room().await;
            listener.accept().await
        };
        let accepted = tokio::select! {
            accepted = next => accepted,
            () = &mut shutdown => break,
        };
        match accepted {
            // Do nothing else here: if too many connections wait to be accepted, new ones are turned away.
            Ok((stream, peer)) => {
                let (seat, leaving) = connection_limit.take();
                let visit = Visit { peer, seat };
                drop(tokio::spawn(converse(stream, visit, leaving, doors.clone(), graceful.watcher())));
            }
            Err(error) => {
                tracing::warn!(%error, "could not accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    if tokio::time::timeout(DRAIN_TIMEOUT, graceful.shutdown()).await.is_err() {
        tracing::warn!(drain.timeout_s = DRAIN_TIMEOUT.as_secs(), "some requests did not finish in time");
    }
    Ok(())
}

/// One connection: who is at its other end, and where it sits.
#[derive(Debug, Clone)]
struct Visit {
    peer: SocketAddr,
    seat: Arc<Seat>,
}

/// Answers the requests of one connection until it ends, or until its seat is wanted for somebody else.
async fn converse(
    stream: TcpStream,
    visit: Visit,
    leaving: oneshot::Receiver<()>,
    doors: impl Answers,
    watcher: Watcher,
) {
    // Answers are small and written at once; waiting to fill a packet would only add latency.
    let _ = stream.set_nodelay(true);
    let seat = Arc::clone(&visit.seat);
    let service = service_fn(move |request| answer(&doors, &visit, request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(Stream::new(stream)), service);
    let ended = tokio::select! {
        ended = watcher.watch(connection) => ended,
        // Sent at most once: when the seat is wanted for a newer connection.
        Ok(()) = leaving => return tracing::debug!("a stranger left for somebody newer"),
    };
    if let Err(error) = ended {
        if error.is_parse() {
            seat.note_unreadable(error.is_parse_too_large());
        }
        tracing::debug!(%error, "a connection ended early");
    }
}

/// The answer, with the peer attached to the request.
fn answer<Doors: Answers>(doors: &Doors, visit: &Visit, mut request: Request<Incoming>) -> Doors::Future {
    request.extensions_mut().insert(Peer { address: visit.peer, seat: Some(Arc::clone(&visit.seat)) });
    // It is always ready, so nothing asks whether it is.
    doors.clone().call(request)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    use super::*;

    /// More than the default backlog of 1,024.
    const WAITING: usize = 1_500;

    /// Open files besides the connections.
    const OTHER_FILES: u64 = 200;

    /// Raises this process's limit to this many connections, or as far as the system allows.
    fn allow_connections(wanted: usize) -> usize {
        let limit = getrlimit(Resource::Nofile);
        let files = (wanted as u64 + OTHER_FILES).min(limit.maximum.unwrap_or(u64::MAX));
        if limit.current.is_some_and(|current| current < files) {
            setrlimit(Resource::Nofile, Rlimit { current: Some(files), ..limit }).expect("it is below the hard limit");
        }
        usize::try_from(files - OTHER_FILES).expect("no more than wanted")
    }

    #[tokio::test]
    async fn many_connections_may_wait_to_be_accepted() {
        let system_max = std::fs::read_to_string("/proc/sys/net/core/somaxconn").expect("the system tells its limit");
        let listener = bind(([127, 0, 0, 1], 0).into()).expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let mut waiting = Vec::new();
        for nth in 0..allow_connections(WAITING).min(system_max.trim().parse().expect("a number")) {
            let connected = tokio::time::timeout(Duration::from_secs(10), TcpStream::connect(address)).await;
            waiting.push(connected.unwrap_or_else(|_| panic!("connection {nth} was dropped")).expect("it connects"));
        }
    }
}
