//! The bytes of one connection: read a little at a time, and written only to those who read.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf, Take};
use tokio::net::TcpStream;
use tokio_io_timeout::TimeoutStream;

/// How long a client may go without reading any of an answer. A client that sends requests and never reads would
/// otherwise hold the system's buffers, an answer here and the room for it, for as long as it likes.
const WRITE_TIMEOUT: Duration = Duration::from_secs(15);
/// The most that one read takes. The HTTP library reads into a buffer of 8 KiB and doubles it after each read that
/// fills it, up to the size of a head, and keeps it. Reads that never fill it keep it small: a body of 64 KiB would
/// else cost twice its size.
const READ_BYTES_MAX: u64 = (8 << 10) - 1;

/// A connection's stream.
pub(super) struct Stream(Take<Pin<Box<TimeoutStream<TcpStream>>>>);

impl Stream {
    pub(super) fn new(stream: TcpStream) -> Self {
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(WRITE_TIMEOUT));
        Self(Box::pin(stream).take(READ_BYTES_MAX))
    }

    fn inner(self: Pin<&mut Self>) -> Pin<&mut TimeoutStream<TcpStream>> {
        self.get_mut().0.get_mut().as_mut()
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let bounded = &mut self.get_mut().0;
        bounded.set_limit(READ_BYTES_MAX);
        Pin::new(bounded).poll_read(cx, buf)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.inner().poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.inner().poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.get_ref().is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner().poll_shutdown(cx)
    }
}
