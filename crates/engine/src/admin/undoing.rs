//! Taking back what forgot every record of a source: all that one act forgot comes back together.

use std::collections::BTreeMap;

use futures_util::future::try_join_all;
use mnemon_core::{ProjectId, RecordId, Timestamp, WorkspaceName};

use super::records::{RecordQuery, moment_before};
use super::{AdminContext, AdminError};
use crate::Engine;

/// How many records are read at a time.
const READ_ROWS: usize = 200;
/// Of a source with more forgotten records than this, the newest are shown.
const SHOWN_MAX: usize = 2_000;
/// How many records are restored at the same time: storage groups what waits together.
const WRITES_AT_ONCE: usize = 64;

/// Records of a source that were forgotten at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForgottenTogether {
    pub at: Timestamp,
    pub records: u64,
}

impl Engine {
    /// What was forgotten of a workspace's source and can be restored, by when, the latest first. Those who are no
    /// admins see what they forgot themselves.
    pub async fn list_forgotten_of_source(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        workspace: &WorkspaceName,
        source_id: &str,
    ) -> Result<Vec<ForgottenTogether>, AdminError> {
        let mut together: BTreeMap<Timestamp, u64> = BTreeMap::new();
        for (at, _) in self.forgotten_of_source(ctx, project, workspace, source_id, SHOWN_MAX).await? {
            *together.entry(at).or_default() += 1;
        }
        Ok(together.into_iter().rev().map(|(at, records)| ForgottenTogether { at, records }).collect())
    }

    /// Restores the records of a workspace's source that were forgotten at one moment, or without one at the latest.
    /// Returns how many came back: a project that is full takes no more.
    pub async fn restore_source(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        workspace: &WorkspaceName,
        source_id: &str,
        at: Option<Timestamp>,
    ) -> Result<u64, AdminError> {
        let project = self.readable_project(ctx, project).await?;
        ctx.need_write()?;
        let found = self.forgotten_of_source(ctx, project.id, workspace, source_id, usize::MAX).await?;
        let meant = at.or_else(|| found.iter().map(|(at, _)| *at).max());
        let ids: Vec<RecordId> = found.into_iter().filter(|(at, _)| Some(*at) == meant).map(|(_, id)| id).collect();
        let (since, records_max) = (moment_before(ctx.now), self.records_max(&project).await?);
        let restore = |id: &RecordId| {
            let audit = self.admin_audit(ctx, project.account, Some(project.id), "record.restore", id);
            self.store.restore(project.id, *id, since, records_max, audit)
        };
        let mut restored = 0;
        for group in ids.chunks(WRITES_AT_ONCE) {
            restored += try_join_all(group.iter().map(restore)).await?.iter().flatten().count() as u64;
        }
        Ok(restored)
    }

    /// The forgotten records of a source, with when they were forgotten.
    async fn forgotten_of_source(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        workspace: &WorkspaceName,
        source_id: &str,
        most: usize,
    ) -> Result<Vec<(Timestamp, RecordId)>, AdminError> {
        let mut query = RecordQuery {
            workspace: Some(workspace.clone()),
            source_id: Some(source_id.to_owned()),
            is_forgotten: true,
            limit: READ_ROWS,
            ..RecordQuery::default()
        };
        let since = moment_before(ctx.now);
        let mut found = Vec::new();
        loop {
            let page = self.list_records(ctx, project, query.clone()).await?;
            let rows = page.records.iter().map(|shown| &shown.listed);
            let rows = rows.filter_map(|listed| Some((listed.forgotten_at?, listed.record.id)));
            found.extend(rows.filter(|(at, _)| *at >= since));
            match page.next {
                Some(next) if found.len() < most => query.before = Some(next),
                _ => return Ok(found),
            }
        }
    }
}
