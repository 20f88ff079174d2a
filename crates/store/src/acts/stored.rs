//! A record as stored, and the rules by which it changes there: a duplicate refreshes it, a member who leaves hands it over.
//! Both engines read and decide with this code; what they write is their own.

use mnemon_core::{
    Audience, DepartmentId, FactKey, MemberId, NewRecord, ProjectId, Record, RecordId, Seq, Timestamp, WorkspaceName,
    WorkspaceNo,
};

use crate::rows::{Cells, Row};
use crate::{StoreError, checksum};

/// A record, live or not.
pub(crate) struct Stored {
    pub(crate) record: Record,
    pub(crate) department: Option<DepartmentId>,
    pub(crate) checksum: i64,
    pub(crate) forgotten_at: Option<Timestamp>,
    pub(crate) superseded_by: Option<RecordId>,
    /// Whether the life of its workspace goes on.
    pub(crate) is_within_reach: bool,
}

/// The names that a record's row only refers to.
pub(crate) struct Names {
    pub(crate) workspace: WorkspaceName,
    pub(crate) is_within_reach: bool,
    pub(crate) author: Option<String>,
    pub(crate) department: Option<String>,
}

/// A record after a change, with its checksum.
pub(crate) struct Changed {
    pub(crate) record: Record,
    pub(crate) checksum: i64,
}

impl Stored {
    pub(crate) fn is_alive(&self) -> bool {
        self.is_within_reach && self.forgotten_at.is_none()
    }

    /// Reads a row that begins with seq, id, workspace_no, audience, author_id, department_id, is_key_given, confidence,
    /// valid_until, created_at, updated_at, forgotten_at, fact_key, source, source_id, source_hash, source_revision,
    /// content, checksum, superseded_by and is_cautioned. The names are asked for after the row has proved whole.
    pub(crate) fn read<R: Row>(
        row: &R,
        project: ProjectId,
        names: impl FnOnce(&Record, Option<DepartmentId>) -> Result<Names, StoreError>,
    ) -> Result<Self, StoreError> {
        let seq = Seq(Cells::new(row, "record", || project.to_string()).count(0, "seq")?);
        let cells = Cells::new(row, "record", || format!("{project}/{seq}"));
        let department = cells.id_opt(5, "department_id")?;
        let mut record = Record {
            id: cells.id(1, "id")?,
            seq,
            workspace_no: WorkspaceNo(cells.count(2, "workspace_no")?),
            workspace: WorkspaceName::default(),
            audience: cells.audience(3, "audience")?,
            author: cells.id(4, "author_id")?,
            author_name: None,
            department_name: None,
            fact_key: FactKey { text: cells.text(12, "fact_key")?, is_given: cells.flag(6, "is_key_given")? },
            confidence: cells.real_opt(7, "confidence")?,
            valid_until: cells.time_opt(8, "valid_until")?,
            created_at: cells.time(9, "created_at")?,
            updated_at: cells.time(10, "updated_at")?,
            source: cells.text_opt(13, "source")?,
            source_id: cells.text_opt(14, "source_id")?,
            source_hash: cells.text_opt(15, "source_hash")?,
            source_revision: cells.text_opt(16, "source_revision")?,
            content: cells.text(17, "content")?,
            is_cautioned: cells.flag(20, "is_cautioned")?,
        };
        let checksum = cells.integer(18, "checksum")?;
        if checksum::of_shown(project, &record, department) != checksum::shown_half(checksum) {
            return Err(cells.broken("checksum"));
        }
        let forgotten_at = cells.time_opt(11, "forgotten_at")?;
        let superseded_by = cells.id_opt(19, "superseded_by")?;
        let names = names(&record, department)?;
        (record.workspace, record.author_name, record.department_name) =
            (names.workspace, names.author, names.department);
        let is_within_reach = names.is_within_reach;
        Ok(Self { record, department, checksum, forgotten_at, superseded_by, is_within_reach })
    }

    /// The record refreshed with the values of an equal save. `None` if that save says nothing new.
    pub(crate) fn brought_up_to_date(&self, given: &NewRecord) -> Option<Changed> {
        let mut record = self.record.clone();
        replace_if_given(&mut record.source_hash, &given.source_hash);
        replace_if_given(&mut record.source_revision, &given.source_revision);
        replace_if_given(&mut record.confidence, &given.confidence);
        replace_if_given(&mut record.valid_until, &given.valid_until);
        if record == self.record {
            return None;
        }
        record.updated_at = given.created_at;
        let shown = checksum::of_shown(given.project, &record, self.department);
        Some(Changed { record, checksum: checksum::join(shown, checksum::indexed_half(self.checksum)) })
    }

    /// The record with a new owner; a draft becomes the owner's draft. Its old checksum must match first: a damaged record must
    /// not get a new checksum that says it is intact.
    pub(crate) fn handed_over(
        &self,
        project: ProjectId,
        from: MemberId,
        to: MemberId,
        embedding: &[u8],
    ) -> Result<Changed, StoreError> {
        let mut record = self.record.clone();
        record.author = to;
        if record.audience == Audience::Author(from) {
            record.audience = Audience::Author(to);
        }
        let sum = |audience| checksum::of_indexed(project, record.seq, audience, &record.content, embedding);
        if sum(self.record.audience) != checksum::indexed_half(self.checksum) {
            return Err(broken(project, record.seq, "checksum"));
        }
        let checksum = checksum::join(checksum::of_shown(project, &record, self.department), sum(record.audience));
        Ok(Changed { record, checksum })
    }
}

fn replace_if_given<T: Clone>(value: &mut Option<T>, given: &Option<T>) {
    if given.is_some() {
        value.clone_from(given);
    }
}

/// A record's row is missing or makes no sense.
pub(crate) fn broken(project: ProjectId, seq: Seq, column: &'static str) -> StoreError {
    StoreError::Broken { table: "record", column, row: format!("{project}/{seq}") }
}
