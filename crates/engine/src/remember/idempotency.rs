//! Repeating a save without saving twice: what is kept of the first answer, and how arguments are compared.

use mnemon_core::{Fact, IDEMPOTENCY_KEY_CHARS_MAX, Occurred, RecordId, Status, Tags, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{CallError, Remember, Remembered};

/// Checks a key that the caller sent.
pub(super) fn check_key(key: &str) -> Result<(), CallError> {
    let is_valid = (1..=IDEMPOTENCY_KEY_CHARS_MAX).contains(&key.len()) && key.bytes().all(|b| b.is_ascii_graphic());
    if is_valid {
        return Ok(());
    }
    let text = format!("idempotency key must be 1 to {IDEMPOTENCY_KEY_CHARS_MAX} visible ASCII characters");
    Err(CallError::Argument(text))
}

/// A fingerprint of the arguments. Each part is preceded by its length, so that two different calls can't collide.
pub(super) fn arguments_hash(call: &Remember) -> [u8; 32] {
    let mut hasher = Sha256::new();
    let mut part = |text: Option<&str>| {
        let length = text.map_or(u64::MAX, |text| text.len() as u64);
        hasher.update(length.to_be_bytes());
        hasher.update(text.unwrap_or_default());
    };
    let Fact { content, source, source_id, source_hash, source_revision, confidence, valid_until, tags, occurred_at } =
        &call.fact;
    part(Some(content));
    part(Some(call.workspace.as_str()));
    part(Some(call.scope.as_str()));
    part(call.fact_key.as_ref().map(|key| key.text.as_str()));
    for text in [source, source_id, source_hash, source_revision] {
        part(text.as_deref());
    }
    part(confidence.map(|value| value.to_string()).as_deref());
    part(valid_until.map(|moment| moment.to_string()).as_deref());
    part(tags.to_lines().as_deref());
    part(occurred_at.as_ref().map(Occurred::as_str));
    part(call.replace.then_some("replace"));
    call.supersedes.iter().for_each(|id| part(Some(id)));
    hasher.finalize().into()
}

/// What is kept of the first answer: everything but the text, which stays only in the record.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct KeptAnswer {
    status: String,
    conflicts_with: Vec<String>,
    superseded: Vec<String>,
    /// Ids and scores.
    similar: Vec<(String, f64)>,
    redacted: usize,
    source_hash: Option<String>,
    source_revision: Option<String>,
    confidence: Option<f64>,
    valid_until_micros: Option<i64>,
    updated_at_micros: i64,
    tags: Option<String>,
    occurred_at: Option<String>,
}

impl KeptAnswer {
    pub(super) fn of(answer: &Remembered) -> Self {
        // A later save of the same text can change the rest of the record; the text, its source and its key stay.
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
        } = &answer.record.fact;
        let ids = |ids: &[RecordId]| ids.iter().map(RecordId::to_string).collect();
        Self {
            status: answer.status.as_str().to_owned(),
            conflicts_with: ids(&answer.conflicts_with),
            superseded: ids(&answer.superseded),
            similar: answer.similar.iter().map(|similar| (similar.id.to_string(), similar.score)).collect(),
            redacted: answer.redacted,
            source_hash: source_hash.clone(),
            source_revision: source_revision.clone(),
            confidence: *confidence,
            valid_until_micros: valid_until.map(Timestamp::as_microsecond),
            updated_at_micros: answer.record.updated_at.as_microsecond(),
            tags: tags.to_lines(),
            occurred_at: occurred_at.as_ref().map(|at| at.as_str().to_owned()),
        }
    }

    pub(super) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("plain members always serialize")
    }

    /// Restores the kept facts onto the record, and returns which records were similar. `None` if they can't be read.
    pub(super) fn restore(json: &str, answer: &mut Remembered) -> Option<Vec<(RecordId, f64)>> {
        let kept: Self = serde_json::from_str(json).ok()?;
        let ids = |ids: &[String]| ids.iter().map(|id| id.parse().ok()).collect::<Option<Vec<RecordId>>>();
        answer.status = Status::parse(&kept.status)?;
        answer.conflicts_with = ids(&kept.conflicts_with)?;
        answer.superseded = ids(&kept.superseded)?;
        answer.redacted = kept.redacted;
        let fact = &mut answer.record.fact;
        fact.source_hash = kept.source_hash;
        fact.source_revision = kept.source_revision;
        fact.confidence = kept.confidence;
        fact.valid_until = kept.valid_until_micros.and_then(|at| Timestamp::from_microsecond(at).ok());
        fact.tags = kept.tags.as_deref().map_or_else(Tags::default, Tags::from_lines);
        fact.occurred_at = kept.occurred_at.and_then(|at| Occurred::parse(&at).ok());
        answer.record.updated_at = Timestamp::from_microsecond(kept.updated_at_micros).ok()?;
        kept.similar.into_iter().map(|(id, score)| Some((id.parse().ok()?, score))).collect()
    }
}
