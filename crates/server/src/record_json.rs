//! A record as every endpoint shows it.

use mnemon_core::{Record, Status, Timestamp};
use mnemon_protocol::memory::RecordJson;

pub(crate) fn record_json(record: &Record, status: Status, score: Option<f64>) -> RecordJson<'_> {
    RecordJson {
        id: record.id.to_string(),
        workspace: record.workspace.as_str(),
        scope: record.audience.scope().as_str(),
        content: &record.content,
        fact_key: &record.fact_key.text,
        status: status.as_str(),
        score,
        source: record.source.as_deref(),
        source_id: record.source_id.as_deref(),
        source_hash: record.source_hash.as_deref(),
        source_revision: record.source_revision.as_deref(),
        confidence: record.confidence,
        author: record.author_name.as_deref(),
        department: record.department_name.as_deref(),
        valid_until: record.valid_until.as_ref().map(Timestamp::to_string),
        created_at: record.created_at.to_string(),
        updated_at: record.updated_at.to_string(),
    }
}
