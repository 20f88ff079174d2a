//! Permanent deletion of records.
//!
//! PostgreSQL keeps the bytes of a deleted row until vacuum frees their space, and in its log until that is recycled;
//! rewriting the tables removes the former at once.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mnemon_core::{ProjectId, RecordId, Seq, Timestamp};
use tokio_postgres::Row;

use super::PostgresStore;
use super::connect::{Pool, connect_as_owner};
use super::error::Fault;
use super::rows::micros;
use super::statement::Act;
use super::transaction::{Tenant, Tx, ask};
use crate::interface::retention;
use crate::{AuditEntry, Retention, StoreError};

/// How many projects are checked in one round trip.
const PROJECTS_AT_ONCE: usize = 64;
/// How long a rewrite waits for transactions that could still see deleted rows, and how often it checks.
const OLDER_VIEWS_MAX: Duration = Duration::from_secs(30);
const OLDER_VIEWS_PAUSE: Duration = Duration::from_millis(20);

#[async_trait]
impl Retention for PostgresStore {
    async fn purge(&self, project: ProjectId, id: RecordId, audit: AuditEntry) -> Result<bool, StoreError> {
        self.attempt(|| async {
            let mut act = Act::begin(&self.pool, Tenant::project_of(project, audit.account)).await?;
            let is_purged = retention::purge(&mut act, project, id, &audit).await?;
            act.end(is_purged).await
        })
        .await
    }

    /// Maintenance is the only act that belongs to no tenant: it sees which projects exist, and selects each in turn.
    async fn list_doomed(&self, before: Timestamp) -> Result<Vec<ProjectId>, StoreError> {
        const PROJECTS: &str = "SELECT id FROM project ORDER BY id";
        let rows = self.ask(Tenant::for_upkeep(), PROJECTS, &[]).await?;
        let projects: Vec<ProjectId> = rows.iter().map(|row| ProjectId::new(row.get(0))).collect();
        let mut doomed = Vec::new();
        for some in projects.chunks(PROJECTS_AT_ONCE) {
            doomed.extend(self.attempt(|| list_doomed(&self.pool, some, before)).await?);
        }
        Ok(doomed)
    }

    async fn purge_ended(
        &self,
        project: ProjectId,
        seqs: Vec<Seq>,
        before: Timestamp,
        is_rest: bool,
    ) -> Result<u64, StoreError> {
        self.attempt(|| async {
            let mut act = Act::begin(&self.pool, Tenant::project(project)).await?;
            let count = retention::purge_ended(&mut act, project, &seqs, before, is_rest).await?;
            act.end(count).await
        })
        .await
    }

    /// Rewrites the tables that hold memory, one after the other. Calls that need one meanwhile get `storage is
    /// unavailable`.
    async fn compact(&self) -> Result<(), StoreError> {
        let client = connect_as_owner(&self.config).await?;
        let failed = |error: tokio_postgres::Error| Fault::from(error).error;
        client.batch_execute("SET lock_timeout = '30s'").await.map_err(failed)?;
        outlive_older_views(&client).await?;
        for table in [
            "record",
            "change",
            "source",
            "source_look",
            "idempotency",
            "snapshot",
            "workspace",
            "workspace_audience",
            "session",
            "session_part",
        ] {
            client.batch_execute(&format!("VACUUM (FULL, ANALYZE) {table}")).await.map_err(failed)?;
        }
        // The planner's statistics hold samples of what the tables held: keys of facts, sources. They were gathered
        // again above, and their old rows go as those of the tables did.
        outlive_older_views(&client).await?;
        client.batch_execute("VACUUM (FULL) pg_catalog.pg_statistic").await.map_err(failed)?;
        Ok(())
    }
}

/// The projects that have something to remove.
async fn list_doomed(pool: &Arc<Pool>, projects: &[ProjectId], before: Timestamp) -> Result<Vec<ProjectId>, Fault> {
    const SELECT: &str = "
        SELECT 1
        WHERE EXISTS (
                SELECT 1 FROM record r
                WHERE r.project_id = $1 AND r.forgotten_at IS NOT NULL AND r.forgotten_at < $2)
            OR EXISTS (SELECT 1 FROM workspace w WHERE w.project_id = $1 AND w.deleted_at < $2)
            OR EXISTS (SELECT 1 FROM project p WHERE p.id = $1 AND p.deleted_at < $2 AND (
                EXISTS (SELECT 1 FROM source s WHERE s.project_id = $1)
                OR EXISTS (SELECT 1 FROM idempotency i WHERE i.project_id = $1)
                OR EXISTS (SELECT 1 FROM guard_release g WHERE g.project_id = $1)
                OR EXISTS (SELECT 1 FROM session h WHERE h.project_id = $1)))";
    let tx = Tx::read(pool, Tenant::nobody()).await?;
    let tenants: Vec<Tenant> = projects.iter().map(|project| Tenant::project(*project)).collect();
    let ids: Vec<_> = projects.iter().map(|project| project.uuid()).collect();
    let before = micros(before);
    let mut asks = Vec::with_capacity(projects.len() * 2);
    for (tenant, id) in tenants.iter().zip(&ids) {
        asks.push(tenant.turn());
        asks.push(ask(SELECT, &[id, &before]));
    }
    let answers = tx.finish(asks).await?;
    let is_doomed = |(project, answers): (&ProjectId, &[Vec<Row>])| (!answers[1].is_empty()).then_some(*project);
    Ok(projects.iter().zip(answers.chunks_exact(2)).filter_map(is_doomed).collect())
}

/// Waits until no transaction sees this database as it was before now, and none that is still running could make a new
/// one see it. Rewriting a table keeps deleted rows for as long as they might still be seen.
async fn outlive_older_views(client: &tokio_postgres::Client) -> Result<(), StoreError> {
    const NOW: &str = "SELECT pg_current_xact_id()::text, pg_current_xact_id()::xid::text";
    const ARE_OLDER: &str = "
        SELECT pg_snapshot_xmin(pg_current_snapshot()) < $1::text::xid8 OR EXISTS (
            SELECT 1
            FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()
                AND age(backend_xmin) > age($2::text::xid))";
    let failed = |error: tokio_postgres::Error| Fault::from(error).error;
    let now = client.query_one(NOW, &[]).await.map_err(failed)?;
    let (now, now_of_sessions): (String, String) = (now.get(0), now.get(1));
    let until = tokio::time::Instant::now() + OLDER_VIEWS_MAX;
    while client.query_one(ARE_OLDER, &[&now, &now_of_sessions]).await.map_err(failed)?.get(0) {
        if tokio::time::Instant::now() >= until {
            let why =
                "a transaction on the database server stays open for too long; end it, or run compact again later";
            return Err(StoreError::Away(why.to_owned()));
        }
        tokio::time::sleep(OLDER_VIEWS_PAUSE).await;
    }
    Ok(())
}
