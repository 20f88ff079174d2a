//! How many records still hold, as far as the caller sees them.

use std::collections::{BTreeMap, HashMap};

use mnemon_core::{ProjectId, Status, Timestamp, Viewer, WorkspaceNo};
use mnemon_store::Survey;

use super::{AdminContext, AdminError};
use crate::Engine;
use crate::freshness::judge_suspects;

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

    pub(super) fn count(&mut self, status: Status) {
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
        let survey = self.survey(project.id, ctx.now).await?;
        Ok(stand(&survey, &ctx.viewer(), ctx.now))
    }
}

/// Counts what the viewer sees. Most records need no judgement: a record that has nothing to be held against is unverified,
/// and one with the confirmed hash is verified, unless it is one of the suspects.
pub(super) fn stand(survey: &Survey, viewer: &Viewer, now: Timestamp) -> ProjectStanding {
    let mut exceptions: HashMap<WorkspaceNo, (StatusCounts, u64)> = HashMap::new();
    for suspect in judge_suspects(survey, viewer, now) {
        if matches!(suspect.status, Status::Stale | Status::Conflict) {
            let (counts, confirmed) = exceptions.entry(suspect.brief.workspace_no).or_default();
            counts.count(suspect.status);
            *confirmed += u64::from(suspect.is_confirmed);
        }
    }
    let mut standing = ProjectStanding::default();
    let mut totals: BTreeMap<WorkspaceNo, (&str, u64, u64, Standing)> = BTreeMap::new();
    for place in survey.places.iter().filter(|place| viewer.sees(&place.audience)) {
        let (_, records, confirmed, own) =
            totals.entry(place.no).or_insert_with(|| (place.workspace.as_str(), 0, 0, Standing::default()));
        *records += place.records;
        *confirmed += place.confirmed;
        own.sourceless += place.sourceless;
        own.last_saved_at = own.last_saved_at.max(Some(place.last_saved_at));
    }
    for (no, (name, records, confirmed, mut own)) in totals {
        let (mut counts, excepted) = exceptions.remove(&no).unwrap_or_default();
        counts.verified = confirmed.saturating_sub(excepted);
        counts.unverified = records.saturating_sub(counts.total());
        own.counts = counts;
        standing.all.counts.add(&counts);
        standing.all.sourceless += own.sourceless;
        standing.all.last_saved_at = standing.all.last_saved_at.max(own.last_saved_at);
        standing.workspaces.insert(name.to_owned(), own);
    }
    standing
}
