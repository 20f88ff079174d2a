//! How many records still hold, as far as the caller sees them.

use std::collections::BTreeMap;

use mnemon_core::{ProjectId, Status, Timestamp, Viewer};

use super::{AdminContext, AdminError};
use crate::Engine;
use crate::ledger::Ledger;

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

/// How the records of a place stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Standing {
    pub counts: StatusCounts,
    /// When something was last saved that still lives.
    pub last_saved_at: Option<Timestamp>,
    /// How many records name no source.
    pub sourceless: u64,
}

/// How a project stands, and each of its workspaces.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProjectStanding {
    pub all: Standing,
    /// By name. A workspace in which the caller sees no live record is not here.
    pub workspaces: BTreeMap<String, Standing>,
}

impl Engine {
    /// How the records of a project stand for the caller.
    pub async fn show_standing(&self, ctx: &AdminContext, project: ProjectId) -> Result<ProjectStanding, AdminError> {
        let project = self.readable_project(ctx, project).await?;
        let ledger = self.survey(project.id, ctx.now).await?;
        Ok(stand(&ledger, &ctx.viewer(), ctx.now))
    }
}

/// Counts what the viewer sees.
pub(super) fn stand(ledger: &Ledger, viewer: &Viewer, now: Timestamp) -> ProjectStanding {
    let told = ledger.overview(viewer, now);
    let mut standing = ProjectStanding::default();
    for row in &ledger.workspaces {
        let Some(own) = ledger.standing_in(&told, row.no) else { continue };
        standing.all.counts.add(&own.counts);
        standing.all.sourceless += own.sourceless;
        standing.all.last_saved_at = standing.all.last_saved_at.max(own.last_saved_at);
        standing.workspaces.insert(row.name.to_string(), own);
    }
    standing
}
