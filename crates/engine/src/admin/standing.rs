//! How many records still hold, as far as the caller sees them.

use std::collections::BTreeMap;

use mnemon_core::{ProjectId, Status, Timestamp};
use mnemon_store::WorkspaceRow;

use super::{AdminContext, AdminError};
use crate::Engine;
use crate::standings::Stood;

/// Live records by status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StatusCounts {
    pub verified: u64,
    pub unverified: u64,
    pub stale: u64,
    pub conflict: u64,
}

impl StatusCounts {
    pub const fn total(&self) -> u64 {
        self.verified + self.unverified + self.stale + self.conflict
    }

    pub const fn of(&self, status: Status) -> u64 {
        match status {
            Status::Verified => self.verified,
            Status::Unverified => self.unverified,
            Status::Stale => self.stale,
            Status::Conflict => self.conflict,
        }
    }

    pub(crate) fn count(&mut self, status: Status) {
        *match status {
            Status::Verified => &mut self.verified,
            Status::Unverified => &mut self.unverified,
            Status::Stale => &mut self.stale,
            Status::Conflict => &mut self.conflict,
        } += 1;
    }

    fn add(&mut self, other: &Self) {
        self.verified += other.verified;
        self.unverified += other.unverified;
        self.stale += other.stale;
        self.conflict += other.conflict;
    }
}

/// The records of a project or workspace, counted by status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Standing {
    pub counts: StatusCounts,
    /// When something was last saved that still lives.
    pub last_saved_at: Option<Timestamp>,
    /// How many records name no source.
    pub sourceless: u64,
}

impl Standing {
    /// Returns the record's status.
    pub(super) fn count(&mut self, record: &Stood<'_>) -> Status {
        let status = record.status();
        self.counts.count(status);
        self.sourceless += u64::from(record.source_no().is_none());
        self.last_saved_at = self.last_saved_at.max(Some(record.saved_at()));
        status
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        self.sourceless += other.sourceless;
        self.last_saved_at = self.last_saved_at.max(other.last_saved_at);
    }
}

/// The records of a project and of each of its workspaces, counted by status.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProjectStanding {
    pub all: Standing,
    /// By name. A workspace in which the caller sees no live record is not here.
    pub workspaces: BTreeMap<String, Standing>,
}

impl Engine {
    /// Counts the records that the caller sees in a project, by status.
    pub async fn show_standing(&self, ctx: &AdminContext, project: ProjectId) -> Result<ProjectStanding, AdminError> {
        let project = self.readable_project(ctx, project).await?;
        Ok(self.stand(ctx, project.id).await?.1)
    }

    /// The active workspaces, and the records that the caller sees in them, counted by status.
    pub(super) async fn stand(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
    ) -> Result<(Vec<WorkspaceRow>, ProjectStanding), AdminError> {
        let mut standing = ProjectStanding::default();
        let count = |row: &WorkspaceRow, records: &mut dyn Iterator<Item = Stood<'_>>| {
            let mut own = Standing::default();
            for record in records {
                own.count(&record);
            }
            if own.counts.total() > 0 {
                standing.all.add(&own);
                standing.workspaces.insert(row.name.to_string(), own);
            }
        };
        let rows = self.each_workspace(project, &ctx.viewer(), ctx.now, count).await?;
        Ok((rows, standing))
    }
}
