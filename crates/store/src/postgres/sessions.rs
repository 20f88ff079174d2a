//! Uploaded session histories: a row with counts, and parts with the text. An append holds the project's lock, so that
//! of several at one position only one succeeds, and the volume is kept.

use async_trait::async_trait;

use super::PostgresStore;
use super::statement::Act;
use super::transaction::Tenant;
use crate::interface::sessions;
use crate::{SessionAppend, SessionAppended, Sessions, StoreError};

#[async_trait]
impl Sessions for PostgresStore {
    async fn append_session(&self, append: SessionAppend) -> Result<SessionAppended, StoreError> {
        self.attempt(|| async {
            let mut act = Act::begin(&self.pool, Tenant::project_and_people(append.project)).await?;
            let appended = sessions::append(&mut act, &append).await?;
            act.end(appended).await
        })
        .await
    }
}
