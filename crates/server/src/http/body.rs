//! Reads a request body: bounded in size and in time.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use mnemon_core::REQUEST_BYTES_MAX;

/// How long a body may take to arrive. A client that sends a byte now and then must not hold a connection forever.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Why there is no body.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoBody {
    #[error("the request body is larger than {REQUEST_BYTES_MAX} bytes")]
    TooLarge,
    #[error("the request body did not arrive within {} s", BODY_TIMEOUT.as_secs())]
    TooSlow,
    #[error("can't read the request body")]
    Broken,
}

/// The whole body, at most [`REQUEST_BYTES_MAX`] of it.
pub(crate) async fn read_body(body: Body) -> Result<Bytes, NoBody> {
    let is_announced_too_large = http_body::Body::size_hint(&body).lower() > REQUEST_BYTES_MAX as u64;
    if is_announced_too_large {
        return Err(NoBody::TooLarge);
    }
    let collected = tokio::time::timeout(BODY_TIMEOUT, Limited::new(body, REQUEST_BYTES_MAX).collect()).await;
    match collected {
        Err(_) => Err(NoBody::TooSlow),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(NoBody::TooLarge),
        Ok(Err(_)) => Err(NoBody::Broken),
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
    }
}
