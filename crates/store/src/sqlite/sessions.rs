//! Uploaded session histories: a row with counts, and parts with the text.

use async_trait::async_trait;

use super::SqliteStore;
use super::statement::at_once;
use crate::interface::sessions;
use crate::{SessionAppend, SessionAppended, Sessions, StoreError};

#[async_trait]
impl Sessions for SqliteStore {
    async fn append_session(&self, append: SessionAppend) -> Result<SessionAppended, StoreError> {
        self.writer.write(move |tx| at_once(sessions::append(tx, &append))).await
    }
}
