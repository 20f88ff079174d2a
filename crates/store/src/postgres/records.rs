//! Saving, reading and forgetting records. Saves are stored by `writer.rs`, whole records are read by `bodies.rs`,
//! what is needed to judge them by `summaries.rs`, lists by `listing.rs`; workspaces end in `workspaces.rs`.

use std::sync::Arc;

use async_trait::async_trait;
use mnemon_core::{
    Audience, ContentHash, MemberId, ProjectId, Record, RecordId, Seq, Timestamp, WorkspaceName, WorkspaceNo,
};
use tokio_postgres::Row;

use super::PostgresStore;
use super::audit::insert_audit;
use super::bodies::{self, BY_ID, read_stored};
use super::connect::Pool;
use super::error::Fault;
use super::listing::{WORKSPACES, list_onward, list_records, read_workspace};
use super::load::Asked;
use super::project;
use super::rows::{Cells, integer, micros, places};
use super::save::Save;
use super::summaries::{AFTER_SOURCE, BY_FACT_KEY, BY_SOURCE};
use super::transaction::{Tenant, Tx};
use super::workspaces::bring_back;
use super::workspaces::{delete_workspace, list_deleted_workspaces, restore_workspace};
use crate::interface::records::{read_seq_and_audience, read_summary};
use crate::interface::stored::Stored;
use crate::{
    AtLeast, AuditEntry, DeletedWorkspace, Insert, Inserted, Listed, Portion, RecordFilter, RecordSummary, Records,
    RestoredWorkspace, Standing, StoreError, Stretch, WorkspaceRow,
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

    async fn save_answer(
        &self,
        project: ProjectId,
        member: MemberId,
        key: &str,
        answer: String,
    ) -> Result<(), StoreError> {
        const UPDATE: &str = "
            UPDATE idempotency
            SET answer = $4
            WHERE project_id = $1 AND member_id = $2 AND key = $3 AND answer IS NULL";
        self.write(Tenant::project(project), UPDATE, &[&project.uuid(), &member.uuid(), &key, &answer])
            .await
            .map(|_| ())
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

    async fn find_place(&self, project: ProjectId, id: RecordId) -> Result<Option<(Seq, Audience)>, StoreError> {
        const SELECT: &str = "
            SELECT r.seq, r.audience
            FROM record r
            JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
            WHERE r.project_id = $1 AND r.id = $2 AND r.forgotten_at IS NULL AND w.deleted_at IS NULL";
        let rows = self.ask(Tenant::project(project), SELECT, &[&project.uuid(), &id.uuid()]).await?;
        rows.first().map(|row| read_seq_and_audience(row, project, id)).transpose()
    }

    async fn find_places(&self, project: ProjectId, ids: &[RecordId]) -> Result<Vec<Seq>, StoreError> {
        const SELECT: &str = "
            SELECT r.seq
            FROM record r
            JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
            WHERE r.project_id = $1 AND r.id = ANY($2) AND r.forgotten_at IS NULL AND w.deleted_at IS NULL
            ORDER BY r.seq";
        let ids: Vec<_> = ids.iter().map(|id| id.uuid()).collect();
        let rows = self.ask(Tenant::project(project), SELECT, &[&project.uuid(), &ids]).await?;
        let read = |row| Ok(Seq(Cells::new(row, "record", || project.to_string()).count(0, "seq")?));
        rows.iter().map(read).collect()
    }

    async fn find(&self, project: ProjectId, id: RecordId) -> Result<Option<Record>, StoreError> {
        let rows = self.ask(Tenant::project_and_people(project), BY_ID, &[&project.uuid(), &id.uuid()]).await?;
        let stored = self.pool.damaged.leave_out(rows.first().map(|row| read_stored(row, project)).transpose())?;
        Ok(stored.filter(Stored::is_alive).map(|stored| stored.record))
    }

    async fn list_by_source(
        &self,
        project: ProjectId,
        source_id: &str,
        workspace: Option<&WorkspaceName>,
    ) -> Result<Vec<RecordSummary>, StoreError> {
        let name = workspace.map(WorkspaceName::as_str);
        let rows = self.ask(Tenant::project(project), BY_SOURCE, &[&project.uuid(), &source_id, &name]).await?;
        rows.iter().map(|row| read_summary(row, project)).collect()
    }

    async fn list_after_source(
        &self,
        project: ProjectId,
        after: Option<&str>,
        sources_max: usize,
    ) -> Result<Vec<RecordSummary>, StoreError> {
        let (after, sources_max) = (after.unwrap_or_default(), integer(sources_max as u64));
        let rows = self.ask(Tenant::project(project), AFTER_SOURCE, &[&project.uuid(), &after, &sources_max]).await?;
        rows.iter().map(|row| read_summary(row, project)).collect()
    }

    async fn list_by_fact_key(
        &self,
        project: ProjectId,
        keys: &[(WorkspaceNo, &str)],
    ) -> Result<Vec<RecordSummary>, StoreError> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let workspaces: Vec<i64> = keys.iter().map(|(no, _)| integer(no.0)).collect();
        let words: Vec<&str> = keys.iter().map(|(_, key)| *key).collect();
        let rows = self.ask(Tenant::project(project), BY_FACT_KEY, &[&project.uuid(), &workspaces, &words]).await?;
        rows.iter().map(|row| read_summary(row, project)).collect()
    }

    async fn list_workspaces(&self, project: ProjectId) -> Result<Vec<WorkspaceRow>, StoreError> {
        let rows = self.ask(Tenant::project(project), WORKSPACES, &[&project.uuid()]).await?;
        rows.iter().map(|row| read_workspace(row, project)).collect()
    }

    async fn list_records(
        &self,
        project: ProjectId,
        filter: RecordFilter,
        before: Option<Seq>,
        portion: Portion,
    ) -> Result<Vec<Listed>, StoreError> {
        self.attempt(|| list_records(&self.pool, project, &filter, before, portion)).await
    }

    async fn list_onward(
        &self,
        project: ProjectId,
        stretch: Stretch,
        portion: Portion,
    ) -> Result<Vec<Record>, StoreError> {
        self.attempt(|| list_onward(&self.pool, project, &stretch, portion)).await
    }

    async fn find_any(&self, project: ProjectId, id: RecordId) -> Result<Option<Listed>, StoreError> {
        let rows = self.ask(Tenant::project_and_people(project), BY_ID, &[&project.uuid(), &id.uuid()]).await?;
        let stored = self.pool.damaged.leave_out(rows.first().map(|row| read_stored(row, project)).transpose())?;
        Ok(stored.map(Listed::from))
    }

    async fn forget(&self, project: ProjectId, seqs: &[Seq], audit: AuditEntry) -> Result<Vec<RecordId>, StoreError> {
        self.attempt(|| forget(&self.pool, project, seqs, &audit)).await
    }

    async fn restore(
        &self,
        project: ProjectId,
        id: RecordId,
        forgotten_since: Timestamp,
        records_max: Option<u64>,
        audit: AuditEntry,
    ) -> Result<Option<Record>, StoreError> {
        self.attempt(|| restore(&self.pool, project, id, forgotten_since, records_max, &audit)).await
    }

    async fn delete_workspace(
        &self,
        project: ProjectId,
        name: &WorkspaceName,
        audit: AuditEntry,
    ) -> Result<Option<u64>, StoreError> {
        self.attempt(|| delete_workspace(&self.pool, project, name, &audit)).await
    }

    async fn list_deleted_workspaces(
        &self,
        project: ProjectId,
        since: Timestamp,
    ) -> Result<Vec<DeletedWorkspace>, StoreError> {
        self.attempt(|| list_deleted_workspaces(&self.pool, project, since)).await
    }

    async fn restore_workspace(
        &self,
        project: ProjectId,
        no: WorkspaceNo,
        deleted_since: Timestamp,
        records_max: Option<u64>,
        audit: AuditEntry,
    ) -> Result<RestoredWorkspace, StoreError> {
        self.attempt(|| restore_workspace(&self.pool, project, no, deleted_since, records_max, &audit)).await
    }
}

async fn forget(
    pool: &Arc<Pool>,
    project: ProjectId,
    seqs: &[Seq],
    audit: &AuditEntry,
) -> Result<Vec<RecordId>, Fault> {
    const UPDATE: &str = "
        UPDATE record r
        SET forgotten_at = $3
        FROM workspace w
        WHERE r.project_id = $1 AND r.seq = ANY($2) AND r.forgotten_at IS NULL
            AND w.project_id = r.project_id AND w.no = r.workspace_no AND w.deleted_at IS NULL
        RETURNING r.seq, r.id, r.workspace_no";
    let tx = Tx::write(pool, Tenant::project_of(project, audit.account)).await?;
    let row = tx.row(project::LOCK, &[&project.uuid()]).await?;
    // Nothing is live in a deleted project.
    let Some(mut locked) = project::read(row.as_ref(), project)? else { return Ok(Vec::new()) };
    let rows = tx.rows(UPDATE, &[&project.uuid(), &places(seqs), &micros(audit.at)]).await?;
    let mut forgotten = rows.iter().map(|row| read_place(row, project)).collect::<Result<Vec<_>, _>>()?;
    if forgotten.is_empty() {
        return Ok(Vec::new());
    }
    forgotten.sort_unstable();
    let touched: Vec<_> = forgotten.iter().map(|(seq, no, _)| (*no, Some(*seq))).collect();
    locked.insert_changes(&tx, &touched, "forget", audit.at).await?;
    let count = forgotten.len() as u64;
    locked.live_records = locked.live_records.saturating_sub(count);
    insert_audit(&tx, audit, count).await?;
    tx.finish(vec![locked.flush()]).await?;
    Ok(forgotten.into_iter().map(|(_, _, id)| id).collect())
}

async fn restore(
    pool: &Arc<Pool>,
    project: ProjectId,
    id: RecordId,
    forgotten_since: Timestamp,
    records_max: Option<u64>,
    audit: &AuditEntry,
) -> Result<Option<Record>, Fault> {
    let tx = Tx::write(pool, Tenant::project_of(project, audit.account)).await?;
    let row = tx.row(project::LOCK, &[&project.uuid()]).await?;
    let Some(mut locked) = project::read(row.as_ref(), project)? else { return Ok(None) };
    let found = bodies::find_by_id(&tx, project, id).await?;
    let is_restorable = |stored: &Stored| stored.gone_at().is_some_and(|gone_at| gone_at >= forgotten_since);
    let Some(stored) = found.filter(is_restorable) else { return Ok(None) };
    if records_max.is_some_and(|max| locked.live_records >= max) {
        return Ok(None);
    }
    let no = bring_back(&tx, &mut locked, std::slice::from_ref(&stored), audit.at).await?;
    locked.live_records += 1;
    insert_audit(&tx, audit, 1).await?;
    tx.finish(vec![locked.flush()]).await?;
    Ok(no.map(|workspace_no| Record { workspace_no, ..stored.record }))
}

fn read_place(row: &Row, project: ProjectId) -> Result<(Seq, WorkspaceNo, RecordId), StoreError> {
    let cells = Cells::new(row, "record", || project.to_string());
    let (seq, no) = (Seq(cells.count(0, "seq")?), WorkspaceNo(cells.count(2, "workspace_no")?));
    Ok((seq, no, cells.id(1, "id")?))
}
