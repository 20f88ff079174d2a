//! Changing tags.

use async_trait::async_trait;
use mnemon_core::{ProjectId, Seq, Tags};

use super::PostgresStore;
use super::statement::Act;
use super::transaction::Tenant;
use crate::interface::trail;
use crate::{AuditEntry, StoreError, Trails};

#[async_trait]
impl Trails for PostgresStore {
    async fn retag(
        &self,
        project: ProjectId,
        tags: Vec<(Seq, Tags)>,
        audit: AuditEntry,
    ) -> Result<Vec<Seq>, StoreError> {
        self.attempt(|| async {
            let mut act = Act::begin(&self.pool, Tenant::project_of(project, audit.account)).await?;
            let changed = trail::retag(&mut act, project, &tags, &audit).await?;
            act.end(changed).await
        })
        .await
    }
}
