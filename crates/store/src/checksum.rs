//! A checksum in every record, the same in every engine. SQLite does not notice a flipped bit inside a text, nor does
//! PostgreSQL by default, and a wrong record is worse than an error.
//!
//! It is two CRC-32 in one number, because readers need different parts: an answer shows a record without its embedding, an
//! index uses only text and embedding. Only the time of forgetting is not covered.

use crc32fast::Hasher;
use mnemon_core::{Audience, DepartmentId, NewRecord, ProjectId, Record, Seq, WorkspaceNo};

use crate::encoding::{AudienceBytes, micros, micros_opt};

/// The number stored with a record.
pub(crate) fn join(shown: u32, indexed: u32) -> i64 {
    i64::from_be_bytes(((u64::from(shown) << 32) | u64::from(indexed)).to_be_bytes())
}

/// The half that protects what answers show.
pub(crate) fn shown_half(checksum: i64) -> u32 {
    (checksum >> 32) as u32
}

/// The half that protects what indexes are built from.
pub(crate) fn indexed_half(checksum: i64) -> u32 {
    checksum as u32
}

/// For a record that is about to be stored.
pub(crate) fn of_new(record: &NewRecord, seq: Seq, no: WorkspaceNo) -> i64 {
    let mut sum = Sum::new(record.project, seq);
    sum.place(&record.id.to_bytes(), no, record.audience);
    sum.people(&record.author.to_bytes(), record.department);
    sum.text(&record.content);
    sum.text(&record.fact_key.text);
    sum.number(i64::from(record.fact_key.is_given));
    sum.texts([&record.source, &record.source_id, &record.source_hash, &record.source_revision]);
    sum.values(record.confidence, micros_opt(record.valid_until), micros(record.created_at), micros(record.created_at));
    join(sum.finish(), of_indexed(record.project, seq, record.audience, &record.content, &record.embedding))
}

/// For what an answer shows of a stored record.
pub(crate) fn of_shown(project: ProjectId, record: &Record, department: Option<DepartmentId>) -> u32 {
    let mut sum = Sum::new(project, record.seq);
    sum.place(&record.id.to_bytes(), record.workspace_no, record.audience);
    sum.people(&record.author.to_bytes(), department);
    sum.text(&record.content);
    sum.text(&record.fact_key.text);
    sum.number(i64::from(record.fact_key.is_given));
    sum.texts([&record.source, &record.source_id, &record.source_hash, &record.source_revision]);
    sum.values(record.confidence, micros_opt(record.valid_until), micros(record.created_at), micros(record.updated_at));
    sum.finish()
}

/// For what an index is built from.
pub(crate) fn of_indexed(project: ProjectId, seq: Seq, audience: Audience, content: &str, embedding: &[u8]) -> u32 {
    let mut sum = Sum::new(project, seq);
    sum.bytes(AudienceBytes::of(audience).as_slice());
    sum.text(content);
    sum.bytes(embedding);
    sum.finish()
}

/// Every part is hashed with its length or its presence, so that no two records give the same bytes.
struct Sum(Hasher);

impl Sum {
    fn new(project: ProjectId, seq: Seq) -> Self {
        let mut sum = Self(Hasher::new());
        sum.0.update(&project.to_bytes());
        sum.0.update(&seq.0.to_le_bytes());
        sum
    }

    fn place(&mut self, id: &[u8; 16], no: WorkspaceNo, audience: Audience) {
        self.0.update(id);
        self.0.update(&no.0.to_le_bytes());
        self.bytes(AudienceBytes::of(audience).as_slice());
    }

    fn people(&mut self, author: &[u8; 16], department: Option<DepartmentId>) {
        self.0.update(author);
        self.bytes(department.map(|department| department.to_bytes()).as_ref().map_or(&[], |bytes| &bytes[..]));
    }

    fn texts(&mut self, texts: [&Option<String>; 4]) {
        for text in texts {
            self.number(i64::from(text.is_some()));
            self.text(text.as_deref().unwrap_or_default());
        }
    }

    fn values(&mut self, confidence: Option<f64>, valid_until: Option<i64>, created_at: i64, updated_at: i64) {
        self.0.update(&confidence.map_or(u64::MAX, f64::to_bits).to_le_bytes());
        self.number(valid_until.unwrap_or(i64::MIN));
        self.number(created_at);
        self.number(updated_at);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn number(&mut self, number: i64) {
        self.0.update(&number.to_le_bytes());
    }

    fn finish(self) -> u32 {
        self.0.finalize()
    }
}
