//! Changing tags.

use async_trait::async_trait;
use mnemon_core::{ProjectId, Seq, Tags};

use super::SqliteStore;
use super::statement::at_once;
use crate::interface::trail;
use crate::{AuditEntry, StoreError, Trails};

#[async_trait]
impl Trails for SqliteStore {
    async fn retag(
        &self,
        project: ProjectId,
        tags: Vec<(Seq, Tags)>,
        audit: AuditEntry,
    ) -> Result<Vec<Seq>, StoreError> {
        self.writer.write(move |tx| at_once(trail::retag(tx, project, &tags, &audit))).await
    }
}
