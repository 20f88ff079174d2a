//! How somebody asks this process to stop.

use std::io;

use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_shutdown};

/// Listens from now on; the future ends at the first request: Ctrl-C or Ctrl-Break, which service managers send too,
/// a closed console, or the end of the session.
pub fn stop() -> io::Result<impl Future<Output = ()>> {
    let (mut interrupt, mut broken, mut closed, mut ended) =
        (ctrl_c()?, ctrl_break()?, ctrl_close()?, ctrl_shutdown()?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = broken.recv() => {}
            _ = closed.recv() => {}
            _ = ended.recv() => {}
        }
    })
}
