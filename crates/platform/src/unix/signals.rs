//! How somebody asks this process to stop.

use std::io;

use tokio::signal::unix::{SignalKind, signal};

/// Listens from now on; the future ends at the first request: SIGTERM or Ctrl-C.
pub fn stop() -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
