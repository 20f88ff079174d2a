//! A checksum in every record, the same in every engine. SQLite does not notice a flipped bit inside a text, nor does
//! PostgreSQL by default, and a wrong record is worse than an error.
//!
//! It is two CRC-32 in one number, because readers need different parts: an answer shows a record without its
//! embedding, an index needs the embedding too. Not covered is what others do to a record: that it was forgotten or
//! superseded, and the guard's caution, which an admin can lift.

use crc32fast::Hasher;
use mnemon_core::{
    Audience, DepartmentId, Fact, FactKey, MemberId, NewRecord, Occurred, ProjectId, Record, RecordId, Seq, Timestamp,
    WorkspaceNo,
};

use crate::encoding::{AudienceBytes, micros, micros_opt};

/// What a checksum covers. It is taken from a record field by field, without `..`: a new field does not compile until
/// somebody has decided whether it is covered.
pub(crate) struct Covered<'a> {
    project: ProjectId,
    seq: Seq,
    id: RecordId,
    workspace_no: WorkspaceNo,
    audience: Audience,
    author: MemberId,
    department: Option<DepartmentId>,
    fact_key: &'a FactKey,
    fact: &'a Fact,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl<'a> Covered<'a> {
    /// Of a record that is about to be stored.
    pub(crate) fn of_new(record: &'a NewRecord, seq: Seq, workspace_no: WorkspaceNo) -> Self {
        let NewRecord {
            id,
            project,
            workspace: _, // the row has its number
            audience,
            author,
            department,
            fact_key,
            fact,
            is_cautioned: _, // can be lifted
            key: _,          // says who saved it, and nothing of what it says
            created_at,
            refreshed_elsewhere_at: _, // by its method
            embedding: _,              // in the other half
        } = record;
        Self {
            project: *project,
            seq,
            id: *id,
            workspace_no,
            audience: *audience,
            author: *author,
            department: *department,
            fact_key,
            fact,
            created_at: *created_at,
            updated_at: record.updated_at(),
        }
    }

    /// Of a stored record.
    pub(crate) fn of_stored(project: ProjectId, record: &'a Record, department: Option<DepartmentId>) -> Self {
        let Record {
            id,
            seq,
            workspace_no,
            // Names are read from other tables.
            workspace: _,
            audience,
            author,
            author_name: _,
            department_name: _,
            fact_key,
            fact,
            is_cautioned: _, // can be lifted
            created_at,
            updated_at,
        } = record;
        Self {
            project,
            seq: *seq,
            id: *id,
            workspace_no: *workspace_no,
            audience: *audience,
            author: *author,
            department,
            fact_key,
            fact,
            created_at: *created_at,
            updated_at: *updated_at,
        }
    }

    /// The number stored with a record.
    pub(crate) fn checksum(&self, embedding: &[u8]) -> i64 {
        join(self.shown(), self.indexed(embedding))
    }

    /// The number stored with a record whose text and audience did not change.
    pub(crate) fn checksum_after(&self, before: i64) -> i64 {
        join(self.shown(), indexed_half(before))
    }

    /// Whether the record is the one that was stored, as far as answers show it.
    pub(crate) fn is_shown_by(&self, checksum: i64) -> bool {
        self.shown() == (checksum >> 32) as u32
    }

    /// Whether text, audience and embedding are the ones that were stored.
    pub(crate) fn is_indexed_by(&self, checksum: i64, embedding: &[u8]) -> bool {
        self.indexed(embedding) == indexed_half(checksum)
    }

    /// The half that protects what answers show.
    fn shown(&self) -> u32 {
        let Self {
            project,
            seq,
            id,
            workspace_no,
            audience,
            author,
            department,
            fact_key,
            fact,
            created_at,
            updated_at,
        } = self;
        let FactKey { text, is_given } = fact_key;
        let Fact {
            content,
            source,
            source_id,
            source_hash,
            source_revision,
            confidence,
            valid_until,
            tags,
            occurred_at,
        } = fact;
        let mut sum = Sum::new(*project, *seq);
        sum.id(&id.to_bytes());
        sum.count(workspace_no.0);
        sum.bytes(AudienceBytes::of(*audience).as_slice());
        sum.id(&author.to_bytes());
        sum.bytes(department.map(|department| department.to_bytes()).as_ref().map_or(&[], |bytes| &bytes[..]));
        sum.text(content);
        sum.text(text);
        sum.number(i64::from(*is_given));
        for text in [source, source_id, source_hash, source_revision] {
            sum.number(i64::from(text.is_some()));
            sum.text(text.as_deref().unwrap_or_default());
        }
        sum.real(*confidence);
        sum.number(micros_opt(*valid_until).unwrap_or(i64::MIN));
        sum.number(micros(*created_at));
        sum.number(micros(*updated_at));
        sum.text(&tags.to_lines().unwrap_or_default());
        sum.text(occurred_at.as_ref().map_or("", Occurred::as_str));
        sum.finish()
    }

    /// The half that protects what texts are ranked by.
    fn indexed(&self, embedding: &[u8]) -> u32 {
        let mut sum = Sum::new(self.project, self.seq);
        sum.bytes(AudienceBytes::of(self.audience).as_slice());
        sum.text(&self.fact.content);
        sum.bytes(embedding);
        sum.finish()
    }
}

fn join(shown: u32, indexed: u32) -> i64 {
    i64::from_be_bytes(((u64::from(shown) << 32) | u64::from(indexed)).to_be_bytes())
}

fn indexed_half(checksum: i64) -> u32 {
    checksum as u32
}

/// Every part is hashed with its length or its presence, so that no two records give the same bytes.
struct Sum(Hasher);

impl Sum {
    fn new(project: ProjectId, seq: Seq) -> Self {
        let mut sum = Self(Hasher::new());
        sum.id(&project.to_bytes());
        sum.count(seq.0);
        sum
    }

    fn id(&mut self, id: &[u8; 16]) {
        self.0.update(id);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len() as u64);
        self.0.update(bytes);
    }

    fn count(&mut self, count: u64) {
        self.0.update(&count.to_le_bytes());
    }

    fn number(&mut self, number: i64) {
        self.0.update(&number.to_le_bytes());
    }

    fn real(&mut self, number: Option<f64>) {
        self.0.update(&number.map_or(u64::MAX, f64::to_bits).to_le_bytes());
    }

    fn finish(self) -> u32 {
        self.0.finalize()
    }
}

#[cfg(test)]
mod tests {
    use mnemon_core::{Tags, WorkspaceName};

    use super::*;

    fn record(department: Option<DepartmentId>, is_given: bool, fact: Fact, embedding: &[u8]) -> NewRecord {
        NewRecord {
            id: RecordId::from_bytes([2; 16]),
            project: ProjectId::from_bytes([1; 16]),
            workspace: WorkspaceName::default(),
            audience: department.map_or(Audience::Shared, Audience::Department),
            author: MemberId::from_bytes([3; 16]),
            department,
            fact_key: FactKey { text: "boiler".to_owned(), is_given },
            fact,
            is_cautioned: false,
            key: None,
            created_at: Timestamp::from_microsecond(10).expect("a moment"),
            refreshed_elsewhere_at: None,
            embedding: embedding.to_vec(),
        }
    }

    /// These numbers were computed apart from this code: databases hold such, and they must keep their meaning.
    #[test]
    fn stored_checksums_keep_their_meaning() {
        let text = "the boiler code is 4711";
        let check = |record: NewRecord, shown: u32, indexed: u32| {
            let covered = Covered::of_new(&record, Seq(7), WorkspaceNo(5));
            assert_eq!((covered.shown(), covered.indexed(&record.embedding)), (shown, indexed));
            let checksum = covered.checksum(&record.embedding);
            assert_eq!(checksum.to_be_bytes(), ((u64::from(shown) << 32) | u64::from(indexed)).to_be_bytes());
            assert!(covered.is_shown_by(checksum) && covered.is_indexed_by(checksum, &record.embedding));
        };
        check(record(None, false, Fact::new(text), &[]), 0x3df1_3ed7, 0xa6ea_1ddb);
        let fact = Fact {
            content: text.to_owned(),
            source: Some("the manual".to_owned()),
            source_id: Some("manual.pdf".to_owned()),
            source_hash: Some("abc".to_owned()),
            source_revision: Some("r7".to_owned()),
            confidence: Some(0.75),
            valid_until: Some(Timestamp::from_microsecond(5_000_000).expect("a moment")),
            tags: Tags::from_lines("heating\nHouse"),
            occurred_at: Some(Occurred::parse("2027-01-01/2027-01-31").expect("a range")),
        };
        let department = DepartmentId::from_bytes([4; 16]);
        check(record(Some(department), true, fact, &[1, 2, 3]), 0xb84e_d4d3, 0xc88b_0087);
    }
}
