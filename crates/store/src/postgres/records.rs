//! Saving, reading and forgetting records. Saves are stored by `writer.rs`, what searches show is read by `load.rs`,
//! what their status depends on by `standing.rs`.

use async_trait::async_trait;
use mnemon_core::{ContentHash, ProjectId, Record, RecordId, Seq, Timestamp, WorkspaceName, WorkspaceNo};

use super::PostgresStore;
use super::load::Asked;
use super::read_together;
use super::save::Save;
use super::standing::{STANDING_BY_SOURCE, Standings, joined};
use super::statement::Act;
use super::transaction::{Tenant, ask};
use crate::interface::summaries::{BY_SOURCE, read_summary};
use crate::interface::{forgetting, workspaces};
use crate::{
    AtLeast, AuditEntry, Basis, Insert, Inserted, RecordSummary, Records, RestoredWorkspace, Standing, StoreError,
};

#[async_trait]
impl Records for PostgresStore {
    async fn insert(&self, given: Insert) -> Result<Inserted, StoreError> {
        let content_hash = ContentHash::of(&given.record.fact.content);
        let save = Save { insert: given, content_hash, wants_standing: false };
        Ok(self.writer.insert(save).await?.0)
    }

    async fn insert_with_standing(&self, given: Insert) -> Result<(Inserted, Option<Standing>), StoreError> {
        let content_hash = ContentHash::of(&given.record.fact.content);
        self.writer.insert(Save { insert: given, content_hash, wants_standing: true }).await
    }

    async fn load(&self, project: ProjectId, seqs: &[Seq]) -> Result<Vec<Record>, StoreError> {
        if seqs.is_empty() {
            return Ok(Vec::new());
        }
        self.loads.ask(Asked { project, seqs: seqs.to_vec(), at_least: AtLeast::default() }).await
    }

    async fn load_at_least(
        &self,
        project: ProjectId,
        seqs: &[Seq],
        at_least: AtLeast,
    ) -> Result<Vec<Record>, StoreError> {
        if let Some((_, loads)) = self.replicas.as_ref().filter(|_| !seqs.is_empty())
            && let Some(records) = loads.ask(Asked { project, seqs: seqs.to_vec(), at_least }).await?
        {
            return Ok(records);
        }
        self.load(project, seqs).await
    }

    async fn find_standing(&self, project: ProjectId, bases: &[Basis<'_>]) -> Result<Standing, StoreError> {
        let mut standings = Standings::default();
        bases.iter().for_each(|basis| standings.add(0, project, *basis));
        let rows =
            read_together(&self.pool, Tenant::project(project), || standings.ask().into_iter().collect()).await?;
        joined(rows.iter().flatten(), project)
    }

    async fn list_with_standing(
        &self,
        project: ProjectId,
        source_id: &str,
        workspace: Option<&WorkspaceName>,
    ) -> Result<(Vec<RecordSummary>, Standing), StoreError> {
        let (id, name) = (project.uuid(), workspace.map(WorkspaceName::as_str));
        let asks = || [BY_SOURCE, STANDING_BY_SOURCE].map(|sql| ask(sql, &[&id, &source_id, &name])).into();
        let answers = read_together(&self.pool, Tenant::project(project), asks).await?;
        let [records, standing] = answers.as_slice() else {
            return Err(StoreError::Away("PostgreSQL left an answer out".to_owned()));
        };
        let records = records.iter().map(|row| read_summary(row, project)).collect::<Result<_, _>>()?;
        Ok((records, joined(standing.iter(), project)?))
    }

    async fn forget(&self, project: ProjectId, seqs: &[Seq], audit: AuditEntry) -> Result<Vec<RecordId>, StoreError> {
        self.attempt(|| async {
            let mut act = Act::begin(&self.pool, Tenant::project_of(project, audit.account)).await?;
            let done = forgetting::forget(&mut act, project, seqs, &audit).await?;
            act.end(done).await
        })
        .await
    }

    async fn restore(
        &self,
        project: ProjectId,
        id: RecordId,
        forgotten_since: Timestamp,
        records_max: Option<u64>,
        audit: AuditEntry,
    ) -> Result<Option<Record>, StoreError> {
        self.attempt(|| async {
            let mut act = Act::begin(&self.pool, Tenant::project_of(project, audit.account)).await?;
            let done = forgetting::restore(&mut act, project, id, forgotten_since, records_max, &audit).await?;
            act.end(done).await
        })
        .await
    }

    async fn delete_workspace(
        &self,
        project: ProjectId,
        name: &WorkspaceName,
        audit: AuditEntry,
    ) -> Result<Option<u64>, StoreError> {
        self.attempt(|| async {
            let mut act = Act::begin(&self.pool, Tenant::project_of(project, audit.account)).await?;
            let done = workspaces::delete(&mut act, project, name, &audit).await?;
            act.end(done).await
        })
        .await
    }

    async fn restore_workspace(
        &self,
        project: ProjectId,
        no: WorkspaceNo,
        deleted_since: Timestamp,
        records_max: Option<u64>,
        audit: AuditEntry,
    ) -> Result<RestoredWorkspace, StoreError> {
        self.attempt(|| async {
            let mut act = Act::begin(&self.pool, Tenant::project_of(project, audit.account)).await?;
            let done = workspaces::restore(&mut act, project, no, deleted_since, records_max, &audit).await?;
            act.end(done).await
        })
        .await
    }
}
