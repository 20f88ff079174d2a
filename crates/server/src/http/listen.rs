//! The loop that accepts connections, and the way it ends.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use axum::Router;
use axum::response::Response;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio_io_timeout::TimeoutStream;
use tower::{Service, ServiceExt};

use super::peer::Peer;

/// How long a connection may take to send the head of a request, the pause before it included.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a connection may take nothing of an answer. Whoever asks and never reads would hold some four megabytes of
/// the kernel's buffers, and an answer here, for as long as it likes.
const WRITE_TIMEOUT: Duration = Duration::from_secs(15);
/// How long running requests may take to finish once the service is told to stop.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// The pause after a failed accept: out of file descriptors, trying again at once would only burn the processor.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves until `shutdown` is done, then lets running requests finish.
pub async fn serve(listener: TcpListener, router: Router, shutdown: impl Future<Output = ()>) -> io::Result<()> {
    let graceful = GracefulShutdown::new();
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut shutdown => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                // Answers are small and written at once; waiting to fill a packet would only add latency.
                let _ = stream.set_nodelay(true);
                let connection = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(HEAD_TIMEOUT)
                    .serve_connection(TokioIo::new(impatient(stream)), TowerToHyperService::new(named(&router, peer)));
                let watched = graceful.watch(connection);
                tokio::spawn(async move {
                    if let Err(error) = watched.await {
                        tracing::debug!(%error, "a connection ended early");
                    }
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
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

/// The routes, told who is at the other end.
fn named(
    router: &Router,
    peer: SocketAddr,
) -> impl Service<Request<Incoming>, Response = Response, Error = Infallible, Future: Send> + Clone + use<> {
    router.clone().map_request(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(Peer(peer));
        request
    })
}

/// The stream, with an end to how long it waits for the other side to read.
fn impatient(stream: TcpStream) -> Pin<Box<TimeoutStream<TcpStream>>> {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(WRITE_TIMEOUT));
    Box::pin(stream)
}
