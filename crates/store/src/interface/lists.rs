//! What lists hold, and what they can be narrowed by.

use mnemon_core::{Audience, MemberId, Record, RecordId, Seq, Timestamp, WorkspaceName, WorkspaceNo};

use super::stored::Stored;

/// What became of restoring a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoredWorkspace {
    /// Restored; the number of records.
    Done(u64),
    /// There is nothing to restore.
    Absent,
    /// The project has no room for all of it. Nothing was restored.
    Full,
}

/// A workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceRow {
    /// Identifies this life of the workspace.
    pub no: WorkspaceNo,
    pub name: WorkspaceName,
    pub created_at: Timestamp,
    /// Every audience for whom something was ever saved here.
    pub audiences: Vec<Audience>,
}

/// What is left of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletedWorkspace {
    pub workspace: WorkspaceRow,
    pub deleted_at: Timestamp,
    /// How many records of each audience lived in it then.
    pub living: Vec<(Audience, u64)>,
}

/// Which records to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordFilter {
    /// Only those in this workspace; of the forgotten, those of its former lives too.
    pub workspace: Option<WorkspaceName>,
    /// Only those of this source.
    pub source_id: Option<String>,
    /// Forgotten records instead of live ones, and those that ended with their workspace.
    pub is_forgotten: bool,
    /// Only those that one of these audiences may see.
    pub audiences: Option<Vec<Audience>>,
    /// Only those of these authors.
    pub authors: Option<Vec<MemberId>>,
    /// Only those with this key, if a caller gave it.
    pub fact_key: Option<String>,
    /// Only those that name a source, or only those that name none.
    pub has_source: Option<bool>,
    /// Only those whose hash was the last confirmed one of their source, or only the others.
    pub is_confirmed: Option<bool>,
    /// Only those at these positions.
    pub among: Option<Vec<Seq>>,
}

/// A part of a project's log, as some readers see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// Only records that one of these audiences may see.
    pub audiences: Vec<Audience>,
    /// Only those in this workspace.
    pub workspace: Option<WorkspaceName>,
    /// It begins after this position.
    pub after: Seq,
    /// It ends with this one.
    pub upto: Seq,
}

/// How much of a list one read takes: at most `rows_max` rows, ending with the row whose text brings the total to
/// `bytes_max`. What is not taken is not read either, so a page of large records takes no more memory than one of small
/// ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Portion {
    pub rows_max: usize,
    pub bytes_max: usize,
}

impl Portion {
    /// At most `rows_max` rows, however large they are.
    pub const fn of_rows(rows_max: usize) -> Self {
        Self { rows_max, bytes_max: usize::MAX }
    }

    /// Whether these rows are all of it: a read that gives less has reached the end of the list.
    pub fn is_filled_by<'a>(&self, records: impl IntoIterator<Item = &'a Record>) -> bool {
        let mut filling = Filling::new(*self);
        records.into_iter().any(|record| filling.add(record.text_bytes()))
    }
}

impl Portion {
    /// What is left of it after these.
    pub(crate) fn without<'a>(self, records: impl Iterator<Item = &'a Record>) -> Self {
        records.fold(self, |rest, record| Self {
            rows_max: rest.rows_max.saturating_sub(1),
            bytes_max: rest.bytes_max.saturating_sub(record.text_bytes()),
        })
    }

    pub(crate) const fn is_over(self) -> bool {
        self.rows_max == 0 || self.bytes_max == 0
    }
}

/// A portion while it is read.
pub(crate) struct Filling {
    rows_left: usize,
    bytes_left: usize,
}

impl Filling {
    pub(crate) const fn new(portion: Portion) -> Self {
        Self { rows_left: portion.rows_max, bytes_left: portion.bytes_max }
    }

    /// Counts a row, and returns whether it was the last one.
    pub(crate) const fn add(&mut self, bytes: usize) -> bool {
        self.rows_left = self.rows_left.saturating_sub(1);
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
        self.rows_left == 0 || self.bytes_left == 0
    }
}

/// A record in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    pub record: Record,
    /// When it was forgotten, or ended with its workspace, if it did.
    pub forgotten_at: Option<Timestamp>,
    /// The record that took its place, if one did.
    pub superseded_by: Option<RecordId>,
}

impl From<Stored> for Listed {
    fn from(stored: Stored) -> Self {
        Self { forgotten_at: stored.gone_at(), record: stored.record, superseded_by: stored.superseded_by }
    }
}
