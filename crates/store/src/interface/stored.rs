//! A record as stored, and the rules by which it changes there: a duplicate refreshes it, a member who leaves hands it
//! over. Both engines read and decide with this code; what they write is their own.

use mnemon_core::{
    Audience, DepartmentId, Fact, FactKey, MemberId, NewRecord, Occurred, ProjectId, Record, RecordId, Seq, Tags,
    Timestamp, WorkspaceName, WorkspaceNo,
};

use crate::StoreError;
use crate::checksum::Covered;
use crate::rows::{Cells, Row};
use crate::statement::{Cell, Transaction, statement};

/// A record, live or not.
pub(crate) struct Stored {
    pub(crate) record: Record,
    pub(crate) department: Option<DepartmentId>,
    pub(crate) checksum: i64,
    pub(crate) forgotten_at: Option<Timestamp>,
    pub(crate) superseded_by: Option<RecordId>,
    /// When the life of its workspace ended, if it did.
    pub(crate) ended_at: Option<Timestamp>,
}

/// Whole records, live or not, with the names in them. The people of the project's account must be opened.
macro_rules! stored_columns {
    ($which:literal) => {
        concat!(
            "
            SELECT r.seq, r.id, r.workspace_no, r.audience, r.author_id, r.department_id, r.is_key_given, r.confidence,
                r.valid_until, r.created_at, r.updated_at, r.fact_key, r.source, r.source_id, r.source_hash,
                r.source_revision, r.content, r.checksum, r.is_cautioned, r.tags, r.occurred_at, r.forgotten_at,
                r.superseded_by,
                w.name, w.deleted_at, m.name, d.name
            FROM record r
            LEFT JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
            LEFT JOIN project p ON p.id = r.project_id
            LEFT JOIN member m ON m.account_id = p.account_id AND m.id = r.author_id
            LEFT JOIN department d ON d.account_id = p.account_id AND d.id = r.department_id
            WHERE r.project_id = $1 AND ",
            $which
        )
    };
}

/// Those at some log positions.
pub(crate) const BY_SEQ: &str = stored_columns!("r.seq = ANY($2)");

/// The one with an id, of a project that was not deleted.
pub(crate) const BY_ID: &str = stored_columns!("r.id = $2 AND p.deleted_at IS NULL");

/// Reads a row of [`BY_SEQ`] or [`BY_ID`].
pub(crate) fn read_stored<R: Row>(row: &R, project: ProjectId) -> Result<Stored, StoreError> {
    Stored::read(row, project, |record, _| {
        let cells = Cells::new(row, "workspace", || format!("{project}/{}", record.workspace_no.0));
        Ok(Names {
            workspace: cells.workspace_name_opt(23, "name")?.ok_or_else(|| cells.broken("no"))?,
            ended_at: cells.time_opt(24, "deleted_at")?,
            author: cells.text_opt(25, "name")?,
            department: cells.text_opt(26, "name")?,
        })
    })
}

/// The records at some log positions, live or not, oldest first.
pub(crate) async fn load_stored<T: Transaction>(
    tx: &mut T,
    project: ProjectId,
    seqs: &[Seq],
) -> Result<Vec<Stored>, T::Error> {
    let rows = tx.run(statement!(BY_SEQ, project, Cell::list(seqs.iter().copied()))).await?;
    let mut stored = rows.iter().map(|row| read_stored(row, project)).collect::<Result<Vec<_>, _>>()?;
    stored.sort_unstable_by_key(|stored| stored.record.seq);
    Ok(stored)
}

/// The names that a record's row only refers to.
pub(crate) struct Names {
    pub(crate) workspace: WorkspaceName,
    pub(crate) ended_at: Option<Timestamp>,
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
        self.gone_at().is_none()
    }

    /// When it was forgotten, or ended with its workspace.
    pub(crate) fn gone_at(&self) -> Option<Timestamp> {
        self.forgotten_at.or(self.ended_at)
    }

    /// Reads a row with the columns of [`Nameless::read`], forgotten_at and superseded_by. The names are asked for
    /// after the row has proved whole.
    pub(crate) fn read<R: Row>(
        row: &R,
        project: ProjectId,
        names: impl FnOnce(&Record, Option<DepartmentId>) -> Result<Names, StoreError>,
    ) -> Result<Self, StoreError> {
        let Nameless { mut record, department, checksum } = Nameless::read(row, 0, project)?;
        let cells = Cells::new(row, "record", || format!("{project}/{}", record.seq));
        let forgotten_at = cells.time_opt(21, "forgotten_at")?;
        let superseded_by = cells.id_opt(22, "superseded_by")?;
        let names = names(&record, department)?;
        (record.workspace, record.author_name, record.department_name) =
            (names.workspace, names.author, names.department);
        let ended_at = names.ended_at;
        Ok(Self { record, department, checksum, forgotten_at, superseded_by, ended_at })
    }

    /// The record refreshed with the values of an equal save. `None` if that save says nothing new.
    pub(crate) fn brought_up_to_date(&self, given: &NewRecord) -> Option<Changed> {
        if given.refreshed_elsewhere_at.is_some() {
            return None;
        }
        let mut record = self.record.clone();
        // An equal save has the same text and the same source; what it can bring is the rest.
        let Fact {
            content: _,
            source: _,
            source_id: _,
            source_hash,
            source_revision,
            confidence,
            valid_until,
            tags,
            occurred_at,
        } = &given.fact;
        replace_if_given(&mut record.fact.source_hash, source_hash);
        replace_if_given(&mut record.fact.source_revision, source_revision);
        replace_if_given(&mut record.fact.confidence, confidence);
        replace_if_given(&mut record.fact.valid_until, valid_until);
        replace_if_given(&mut record.fact.occurred_at, occurred_at);
        if !tags.is_empty() {
            record.fact.tags.clone_from(tags);
        }
        if record == self.record {
            return None;
        }
        record.updated_at = given.created_at;
        let checksum = Covered::of_stored(given.project, &record, self.department).checksum_after(self.checksum);
        Some(Changed { record, checksum })
    }

    /// The record with other tags. `None` if it has them already.
    pub(crate) fn tagged(&self, project: ProjectId, tags: &Tags, at: Timestamp) -> Option<Changed> {
        if self.record.fact.tags == *tags {
            return None;
        }
        let mut record = self.record.clone();
        record.fact.tags.clone_from(tags);
        record.updated_at = at;
        let checksum = Covered::of_stored(project, &record, self.department).checksum_after(self.checksum);
        Some(Changed { record, checksum })
    }

    /// The record in another life of its workspace.
    pub(crate) fn moved(&self, project: ProjectId, no: WorkspaceNo) -> Changed {
        let record = Record { workspace_no: no, ..self.record.clone() };
        let checksum = Covered::of_stored(project, &record, self.department).checksum_after(self.checksum);
        Changed { record, checksum }
    }

    /// The record with a new owner; a draft becomes the owner's draft. Its old checksum must match first: a damaged
    /// record must not get a new checksum that says it is intact.
    pub(crate) fn handed_over(
        &self,
        project: ProjectId,
        from: MemberId,
        to: MemberId,
        embedding: &[u8],
    ) -> Result<Changed, StoreError> {
        let before = Covered::of_stored(project, &self.record, self.department);
        if !before.is_indexed_by(self.checksum, embedding) {
            return Err(broken(project, self.record.seq, "checksum"));
        }
        let mut record = self.record.clone();
        record.author = to;
        if record.audience == Audience::Author(from) {
            record.audience = Audience::Author(to);
        }
        let checksum = Covered::of_stored(project, &record, self.department).checksum(embedding);
        Ok(Changed { record, checksum })
    }
}

/// A record as read from its own row, verified by its checksum. Its names are still empty.
pub(crate) struct Nameless {
    pub(crate) record: Record,
    pub(crate) department: Option<DepartmentId>,
    pub(crate) checksum: i64,
}

impl Nameless {
    /// Reads seq, id, workspace_no, audience, author_id, department_id, is_key_given, confidence, valid_until,
    /// created_at, updated_at, fact_key, source, source_id, source_hash, source_revision, content, checksum and
    /// is_cautioned, from column `first` on.
    pub(crate) fn read<R: Row>(row: &R, first: usize, project: ProjectId) -> Result<Self, StoreError> {
        let seq = Seq(Cells::new(row, "record", || project.to_string()).count(first, "seq")?);
        let cells = Cells::new(row, "record", || format!("{project}/{seq}"));
        let department = cells.id_opt(first + 5, "department_id")?;
        let record = Record {
            id: cells.id(first + 1, "id")?,
            seq,
            workspace_no: WorkspaceNo(cells.count(first + 2, "workspace_no")?),
            workspace: WorkspaceName::default(),
            audience: cells.audience(first + 3, "audience")?,
            author: cells.id(first + 4, "author_id")?,
            author_name: None,
            department_name: None,
            fact_key: FactKey {
                text: cells.text(first + 11, "fact_key")?,
                is_given: cells.flag(first + 6, "is_key_given")?,
            },
            fact: Fact {
                content: cells.text(first + 16, "content")?,
                source: cells.text_opt(first + 12, "source")?,
                source_id: cells.text_opt(first + 13, "source_id")?,
                source_hash: cells.text_opt(first + 14, "source_hash")?,
                source_revision: cells.text_opt(first + 15, "source_revision")?,
                confidence: cells.real_opt(first + 7, "confidence")?,
                valid_until: cells.time_opt(first + 8, "valid_until")?,
                tags: cells.text_opt(first + 19, "tags")?.map_or_else(Tags::default, |lines| Tags::from_lines(&lines)),
                occurred_at: cells.word_opt(first + 20, "occurred_at", |text| Occurred::parse(text).ok())?,
            },
            is_cautioned: cells.flag(first + 18, "is_cautioned")?,
            created_at: cells.time(first + 9, "created_at")?,
            updated_at: cells.time(first + 10, "updated_at")?,
        };
        let checksum = cells.integer(first + 17, "checksum")?;
        if !Covered::of_stored(project, &record, department).is_shown_by(checksum) {
            return Err(cells.broken("checksum"));
        }
        Ok(Self { record, department, checksum })
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
