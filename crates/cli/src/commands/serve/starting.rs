//! Opens storage. A node that starts while PostgreSQL is away waits for it: nobody has to start it once more.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use mnemon_server::config::StorageConfig;
use mnemon_server::{ConnectionLimit, waiting_router};
use mnemon_store::{Store, StoreError};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::storage;

/// How long to wait between two attempts: as long again each time, up to the longest.
const WAIT_MIN: Duration = Duration::from_millis(500);
const WAIT_MAX: Duration = Duration::from_secs(5);
/// Connections that are answered meanwhile.
const CONNECTIONS_MAX: usize = 64;

/// The store, and the listener that goes on. `None` if the service was stopped before.
pub async fn open(
    config: &StorageConfig,
    listener: TcpListener,
    stopped: Pin<&mut impl Future<Output = ()>>,
) -> anyhow::Result<Option<(Arc<dyn Store>, TcpListener)>> {
    let error = match storage::open(config).await {
        Ok(store) => return Ok(Some((store, listener))),
        Err(error @ StoreError::Away(_)) if config.database.is_some() => error,
        Err(error) => return Err(storage::explain(config, &error)),
    };
    // Callers and balancers are told why nothing works yet; the socket stays open when this server ends.
    let listener = listener.into_std()?;
    let own = TcpListener::from_std(listener.try_clone()?)?;
    let (ready, until) = oneshot::channel::<()>();
    let until = async {
        let _ = until.await;
    };
    let answering = mnemon_server::serve(own, waiting_router(), ConnectionLimit::new(CONNECTIONS_MAX), until);
    let answering = tokio::spawn(answering);
    let opened = tokio::select! {
        opened = open_later(config, error) => Some(opened),
        () = stopped => None,
    };
    drop(ready);
    answering.await??;
    let Some(opened) = opened else { return Ok(None) };
    let store = opened.map_err(|error| storage::explain(config, &error))?;
    Ok(Some((store, TcpListener::from_std(listener)?)))
}

/// Tries until the database can be reached, or until it fails in a way that waiting does not mend.
async fn open_later(config: &StorageConfig, mut error: StoreError) -> Result<Arc<dyn Store>, StoreError> {
    let mut wait = WAIT_MIN;
    loop {
        tracing::warn!(
            retry_s = wait.as_secs_f32(),
            "waiting for {}: {}",
            storage::name(config),
            storage::cause(&error)
        );
        sleep(wait).await;
        wait = (2 * wait).min(WAIT_MAX);
        match storage::open(config).await {
            Err(next @ StoreError::Away(_)) => error = next,
            outcome => return outcome,
        }
    }
}
