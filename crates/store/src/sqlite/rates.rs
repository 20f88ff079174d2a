//! One process owns the file, so there are no other nodes to report to.

use async_trait::async_trait;
use mnemon_core::Timestamp;

use super::SqliteStore;
use crate::{CallWindow, Rates, StoreError};

#[async_trait]
impl Rates for SqliteStore {
    fn is_shared(&self) -> bool {
        false
    }

    async fn publish_calls(&self, _windows: Vec<CallWindow>, _now: Timestamp) -> Result<(), StoreError> {
        Ok(())
    }
}
