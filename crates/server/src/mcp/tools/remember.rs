//! `remember`: takes arguments, returns a record.

use http::HeaderMap;
use jiff::Timestamp;
use mnemon_core::{Fact, FactKey, Occurred, Record, Scope, WorkspaceName, check_content};
use mnemon_engine::{Admission, CallError, Remember, Remembered, SimilarRecord};
use mnemon_protocol::memory::{RememberJson, SimilarJson};

use super::Arguments;
use crate::mcp::Call;
use crate::mcp::render::{OwnResult, memory_result};
use crate::record_json::record_json;

const IDEMPOTENCY_HEADER: &str = "x-idempotency-key";

pub(super) async fn run(
    call: &Call<'_>,
    admission: Admission<Remember>,
    mut arguments: Arguments,
) -> Result<OwnResult, CallError> {
    let remember = parse(&mut arguments, call.headers, call.ctx.credential.workspace.as_ref())?;
    let ignored = arguments.into_ignored();
    let saved = call.app.engine.remember(call.ctx, admission, remember).await?;
    Ok(result(call, &ignored, &saved))
}

fn result(call: &Call<'_>, ignored: &[String], saved: &Remembered) -> OwnResult {
    let body = RememberJson {
        record: record_json(&saved.record, saved.status, None),
        searchable: true,
        duplicate: saved.is_duplicate,
        redacted: saved.redacted,
        conflicts_with: saved.conflicts_with.iter().map(ToString::to_string).collect(),
        hint: hint(saved),
        purged: saved.purged as usize,
        superseded: saved.superseded.iter().map(ToString::to_string).collect(),
        similar: saved.similar.iter().map(similar).collect(),
    };
    memory_result(call, ignored, body)
}

fn similar(found: &SimilarRecord) -> SimilarJson {
    SimilarJson { id: found.id.to_string(), score: found.score, content: found.content.clone() }
}

/// What a model can do about a disputed key.
fn hint(saved: &Remembered) -> Option<String> {
    let Record { id, fact_key, .. } = &saved.record;
    let is_disputed = !saved.conflicts_with.is_empty();
    is_disputed.then(|| {
        format!(
            "Other records under fact_key '{}' say something else. If this one is right, call remember again with the same \
             arguments and replace: true; the others are then forgotten and can be restored. If another one is right, call \
             forget with memory_id '{id}'.",
            fact_key.text
        )
    })
}

fn parse(
    arguments: &mut Arguments,
    headers: &HeaderMap,
    workspace_of_key: Option<&WorkspaceName>,
) -> Result<Remember, CallError> {
    let content = arguments.text("content")?.unwrap_or_default();
    check_content(&content)?;
    let fact_key = arguments.filled_text("fact_key")?;
    let (workspace, scope) =
        (arguments.workspace_of(headers, workspace_of_key)?, scope(arguments)?.unwrap_or(Scope::Shared));
    let fact_key = fact_key.map(|key| FactKey::given(&key)).transpose()?;
    let fact = Fact {
        content,
        source: arguments.source_text("source")?,
        source_id: arguments.source_text("source_id")?,
        source_hash: arguments.hash_text("source_hash")?,
        source_revision: arguments.hash_text("source_revision")?,
        confidence: confidence(arguments)?,
        valid_until: valid_until(arguments)?,
        tags: arguments.tags()?,
        occurred_at: occurred_at(arguments)?,
    };
    Ok(Remember {
        fact,
        workspace: workspace.unwrap_or_default(),
        scope,
        fact_key,
        supersedes: arguments.texts("supersedes")?.unwrap_or_default(),
        replace: arguments.boolean("replace")?.unwrap_or(false),
        idempotency_key: idempotency_key(headers),
    })
}

pub(super) fn scope(arguments: &mut Arguments) -> Result<Option<Scope>, CallError> {
    let Some(word) = arguments.filled_text("scope")? else { return Ok(None) };
    let wrong = || CallError::Argument("scope must be one of draft, department, shared".to_owned());
    Scope::parse(word.trim()).map(Some).ok_or_else(wrong)
}

fn confidence(arguments: &mut Arguments) -> Result<Option<f64>, CallError> {
    let confidence = arguments.number("confidence")?;
    if confidence.is_some_and(|value| !(0.0..=1.0).contains(&value)) {
        return Err(CallError::Argument("confidence must be between 0 and 1".to_owned()));
    }
    Ok(confidence)
}

fn valid_until(arguments: &mut Arguments) -> Result<Option<Timestamp>, CallError> {
    let Some(text) = arguments.filled_text("valid_until")? else { return Ok(None) };
    let wrong = || {
        let text = "valid_until must be an RFC 3339 time, for example 2027-01-31T00:00:00Z";
        CallError::Argument(text.to_owned())
    };
    let moment: Timestamp = text.trim().parse().map_err(|_| wrong())?;
    // Storage keeps whole microseconds; the answer must equal what is stored.
    Timestamp::from_microsecond(moment.as_microsecond()).map(Some).map_err(|_| wrong())
}

fn occurred_at(arguments: &mut Arguments) -> Result<Option<Occurred>, CallError> {
    let text = arguments.filled_text("occurred_at")?;
    text.map(|text| Occurred::parse(&text)).transpose().map_err(|error| CallError::Argument(error.to_string()))
}

/// The key as sent; bytes that are not text become characters that the check refuses.
fn idempotency_key(headers: &HeaderMap) -> Option<String> {
    headers.get(IDEMPOTENCY_HEADER).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}
