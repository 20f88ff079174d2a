//! How long a call may take: a caller is told in time that storage does not answer, whatever the call is waiting for.

use std::pin::pin;
use std::time::Duration;

use mnemon_store::StoreError;
use tokio::time::timeout;

use crate::{CallError, Engine};

/// How long a call waits for storage, from its credential to its answer: a caller is told within two seconds.
pub const CALL_MAX: Duration = Duration::from_millis(1_900);

impl Engine {
    /// The outcome of a call, or that storage is unavailable if it takes longer than what is left of its time. A call
    /// that waits for a large index goes on for as long as indexes grow: building one from the log may take seconds.
    pub async fn in_time<T>(
        &self,
        mut left: Duration,
        call: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, CallError> {
        let mut call = pin!(call);
        let mut built = self.indexes.portions_built();
        loop {
            if let Ok(outcome) = timeout(left, &mut call).await {
                return outcome;
            }
            let now = self.indexes.portions_built();
            if now == built {
                return Err(StoreError::Away(format!("the call was not done within {CALL_MAX:?}")).into());
            }
            (built, left) = (now, CALL_MAX);
        }
    }
}
