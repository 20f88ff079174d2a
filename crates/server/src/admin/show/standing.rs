//! How records stand, as JSON.

use mnemon_engine::admin::{ProjectStanding, Standing, StatusCounts};
use mnemon_protocol::admin::{StandingJson, StatusCountsJson, WorkspaceStandingJson};

use super::time;

pub(crate) fn standing(standing: &ProjectStanding) -> StandingJson {
    let all = &standing.all;
    StandingJson {
        records: all.counts.total(),
        by_status: counts(&all.counts),
        without_source: all.sourceless,
        last_saved_at: time(all.last_saved_at),
        workspaces: standing.workspaces.iter().map(|(name, own)| workspace(name, own)).collect(),
    }
}

fn workspace(name: &str, own: &Standing) -> WorkspaceStandingJson {
    WorkspaceStandingJson {
        name: name.to_owned(),
        records: own.counts.total(),
        by_status: counts(&own.counts),
        without_source: own.sourceless,
        last_saved_at: time(own.last_saved_at),
    }
}

pub(crate) const fn counts(counts: &StatusCounts) -> StatusCountsJson {
    let StatusCounts { verified, unverified, stale, conflict } = *counts;
    StatusCountsJson { verified, unverified, stale, conflict }
}
