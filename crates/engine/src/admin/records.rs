//! Records, as visible to the caller: listed, restored, purged.

use jiff::SignedDuration;
use mnemon_core::{ProjectId, RecordId, Seq, Timestamp, WorkspaceName};
use mnemon_store::{Listed, RecordFilter};

use super::{ADMINS_ONLY, AdminContext, AdminError};
use crate::Engine;
use crate::freshness::Claim;
use mnemon_core::{Project, Status};

/// How long a forgotten record, or a deleted workspace, can be restored.
pub(super) const RESTORE_DAYS: i64 = 30;
/// How many rows are read at a time while looking for those the caller may see.
const PAGE_ROWS: usize = 200;
/// How many records one round of the clean-up purges: few enough to let saves through in between.
const PURGE_ROWS: usize = 500;

/// Which records to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordQuery {
    pub workspace: Option<WorkspaceName>,
    pub source_id: Option<String>,
    /// Forgotten records instead of live ones.
    pub is_forgotten: bool,
    /// Only records before this log position.
    pub before: Option<Seq>,
    /// Maximum number of rows.
    pub limit: usize,
}

/// A record in a list, with its status for the caller.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownRecord {
    pub listed: Listed,
    pub status: Status,
}

/// A page of records, newest first.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordPage {
    pub records: Vec<ShownRecord>,
    /// Where the next page starts, if there may be one.
    pub next: Option<Seq>,
}

impl Engine {
    /// Lists records that the caller may see.
    pub async fn list_records(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        query: RecordQuery,
    ) -> Result<RecordPage, AdminError> {
        let project = self.readable_project(ctx, project).await?;
        if query.is_forgotten && ctx.not_admin().is_some() {
            return Err(ADMINS_ONLY);
        }
        let viewer = ctx.viewer();
        let filter =
            RecordFilter { workspace: query.workspace, source_id: query.source_id, is_forgotten: query.is_forgotten };
        let (mut seen, mut before) = (Vec::new(), query.before);
        let next = loop {
            let rows = self.store.list_records(project.id, filter.clone(), before, PAGE_ROWS).await?;
            let is_end = rows.len() < PAGE_ROWS;
            before = rows.last().map(|row| row.record.seq).or(before);
            seen.extend(rows.into_iter().filter(|row| viewer.sees(&row.record.audience)));
            if seen.len() > query.limit {
                seen.truncate(query.limit);
                break seen.last().map(|row| row.record.seq);
            }
            if is_end {
                break None;
            }
        };
        let records = self.judge_listed(ctx, project.id, seen).await?;
        Ok(RecordPage { records, next })
    }

    /// Restores a record forgotten in the last 30 days.
    pub async fn restore_record(&self, ctx: &AdminContext, id: RecordId) -> Result<ShownRecord, AdminError> {
        let (project, listed) = self.visible_record(ctx, id, false).await?;
        ctx.need_write()?;
        if listed.forgotten_at.is_none() {
            return Err(AdminError::Conflict("the record is not forgotten".to_owned()));
        }
        let records_max = self.records_max(&project).await?;
        let since = moment_before(ctx.now);
        let audit = self.admin_audit(ctx, project.account, Some(project.id), "record.restore", id);
        let record = self.store.restore(project.id, id, since, records_max, audit).await?.ok_or_else(|| {
            let text = format!(
                "can't restore the record: it was forgotten more than {RESTORE_DAYS} days ago, or the project is full"
            );
            AdminError::Conflict(text)
        })?;
        let restored = vec![Listed { record, forgotten_at: None, superseded_by: None }];
        let mut shown = self.judge_listed(ctx, project.id, restored).await?;
        Ok(shown.pop().expect("one record gives one"))
    }

    /// How many live records a project may have.
    pub(super) async fn records_max(&self, project: &Project) -> Result<Option<u64>, AdminError> {
        let account = self.find_account_or_absent(project.account).await?;
        Ok(account.plan().and_then(|plan| self.plans.limits(plan).records_max))
    }

    /// Forgets a record, or purges it.
    pub async fn delete_record(&self, ctx: &AdminContext, id: RecordId, is_purge: bool) -> Result<(), AdminError> {
        let (project, listed) = self.visible_record(ctx, id, is_purge).await?;
        ctx.need_write()?;
        if is_purge {
            let audit = self.admin_audit(ctx, project.account, Some(project.id), "record.purge", id);
            let was_there = self.store.purge(project.id, id, audit).await?;
            return if was_there { Ok(()) } else { Err(AdminError::NotFound("record")) };
        }
        let audit = self.admin_audit(ctx, project.account, Some(project.id), "record.forget", id);
        let forgotten = self.store.forget(project.id, &[listed.record.seq], audit).await?;
        if forgotten.is_empty() { Err(AdminError::NotFound("record")) } else { Ok(()) }
    }

    /// Purges records forgotten more than 30 days ago. Returns the number of records removed.
    pub async fn purge_old(&self) -> Result<u64, mnemon_store::StoreError> {
        let before = moment_before(self.clock.now());
        let mut total = 0;
        loop {
            let purged = self.store.purge_forgotten(before, PURGE_ROWS).await?;
            total += purged;
            if purged < PURGE_ROWS as u64 {
                return Ok(total);
            }
        }
    }

    /// Rewrites storage and reclaims free space.
    pub async fn compact(&self, ctx: &AdminContext) -> Result<(), AdminError> {
        ctx.need_operator()?;
        Ok(self.store.compact().await?)
    }

    /// A live or forgotten record that the caller may see, in any of the caller's projects.
    async fn visible_record(
        &self,
        ctx: &AdminContext,
        id: RecordId,
        is_purge: bool,
    ) -> Result<(Project, Listed), AdminError> {
        if ctx.not_admin().is_some() {
            return Err(ADMINS_ONLY);
        }
        for project in self.administered_projects(ctx).await? {
            let Some(listed) = self.store.find_any(project.id, id).await? else { continue };
            // The operator may purge what it can't read, because it needs only the id. Restoring shows the text.
            if (is_purge && ctx.is_operator()) || ctx.viewer().sees(&listed.record.audience) {
                return Ok((project, listed));
            }
        }
        Err(AdminError::NotFound("record"))
    }

    pub(super) async fn administered_projects(&self, ctx: &AdminContext) -> Result<Vec<Project>, AdminError> {
        if let Some(account) = ctx.account_of_caller() {
            return Ok(self.store.list_projects(account).await?);
        }
        let (mut projects, mut after) = (Vec::new(), None);
        loop {
            let accounts = self.store.list_accounts(after, PAGE_ROWS).await?;
            for account in &accounts {
                projects.extend(self.store.list_projects(account.id).await?);
            }
            after = accounts.last().map(|account| account.id);
            if accounts.len() < PAGE_ROWS {
                return Ok(projects);
            }
        }
    }

    pub(super) async fn judge_listed(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        listed: Vec<Listed>,
    ) -> Result<Vec<ShownRecord>, AdminError> {
        let claims: Vec<Claim<'_>> = listed.iter().map(|row| Claim::of_record(&row.record)).collect();
        let judged = self.judge_for(project, &ctx.viewer(), ctx.now, &claims, &[]).await?;
        Ok(listed
            .into_iter()
            .zip(judged)
            .map(|(listed, judged)| ShownRecord { listed, status: judged.status })
            .collect())
    }
}

/// What was forgotten or deleted before this moment can't be restored.
pub(super) fn moment_before(now: Timestamp) -> Timestamp {
    now.saturating_sub(SignedDuration::from_hours(24 * RESTORE_DAYS)).unwrap_or(Timestamp::MIN)
}
