//! All live records of a project at once, and what is known of their sources: what is needed to tell how the project
//! stands. The statuses themselves are derived elsewhere.

use async_trait::async_trait;
use mnemon_core::{MemberId, ProjectId, Seq, Timestamp};

use super::records::{RecordSummary, WorkspaceRow, read_summary};
use super::sources::SourcePart;
use crate::StoreError;
use crate::rows::{Cells, Row};

/// Looks at a project as a whole.
#[async_trait]
pub trait Surveys: Send + Sync {
    /// The project in one consistent view: all of it, or what has changed since an earlier survey.
    async fn survey(&self, project: ProjectId, since: Option<Since>) -> Result<Survey, StoreError>;

    /// What a member has in a project: what its leaving would hand over or delete. Scans the project.
    async fn count_holdings(&self, project: ProjectId, member: MemberId) -> Result<Holdings, StoreError>;
}

/// What an earlier survey has told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Since {
    /// It went up to here in the log.
    pub seq: Seq,
    /// Confirming what is known already takes no place in the log. If given, what was confirmed from then on is told
    /// too.
    pub confirmed: Option<Timestamp>,
}

/// What a member has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Holdings {
    /// Records that can still be read or restored.
    pub records: u64,
    /// How many of them only the member sees.
    pub drafts: u64,
    /// Uploaded session histories.
    pub sessions: u64,
}

/// A project at one place of its log.
#[derive(Debug, Clone, PartialEq)]
pub struct Survey {
    pub seq: Seq,
    /// The active workspaces, by name, without counts.
    pub workspaces: Vec<WorkspaceRow>,
    /// Records that were not forgotten, oldest first, those of deleted workspaces among them; or those that have
    /// changed.
    pub records: Vec<Surveyed>,
    /// The records that have changed. Those that are not in `records` are gone.
    pub touched: Vec<Seq>,
    /// What is known of sources; or all parts of those of which something has become known.
    pub parts: Vec<SourcePart>,
}

/// A record in a survey.
#[derive(Debug, Clone, PartialEq)]
pub struct Surveyed {
    pub summary: RecordSummary,
    /// When it was last saved.
    pub updated_at: Timestamp,
}

/// Reads the columns of [`read_summary`], and updated_at.
pub(crate) fn read_surveyed<R: Row>(row: &R, project: ProjectId) -> Result<Surveyed, StoreError> {
    let updated_at = Cells::new(row, "record", || project.to_string()).time(10, "updated_at")?;
    Ok(Surveyed { summary: read_summary(row, project)?, updated_at })
}

pub(crate) fn read_holdings<R: Row>(row: &R, project: ProjectId) -> Result<Holdings, StoreError> {
    let cells = Cells::new(row, "record", || project.to_string());
    Ok(Holdings {
        records: cells.count(0, "author_id")?,
        drafts: cells.count(1, "audience")?,
        sessions: cells.count(2, "session")?,
    })
}
