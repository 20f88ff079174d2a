//! `validate_memory`: takes a source, returns the status of its records.

use mnemon_engine::stored::Seen;
use mnemon_engine::{Admission, CallError, Validate};
use mnemon_protocol::memory::ValidateJson;

use super::Arguments;
use crate::mcp::Call;
use crate::mcp::render::{OwnResult, memory_result};

pub(super) async fn run(
    call: &Call<'_>,
    admission: Admission<Validate>,
    mut arguments: Arguments,
) -> Result<OwnResult, CallError> {
    let validate = parse(call, &mut arguments)?;
    let ignored = arguments.into_ignored();
    let validated = call.app.engine.validate(call.ctx, admission, validate).await?;
    let body = ValidateJson {
        source_id: &validated.source_id,
        current_source_hash: validated.current_source_hash.as_deref(),
        checked: validated.checked,
        verified_count: validated.verified,
        unverified_count: validated.unverified,
        stale_count: validated.stale.len(),
        stale_ids: validated.stale.iter().map(ToString::to_string).collect(),
        conflict_count: validated.conflicting.len(),
        conflict_ids: validated.conflicting.iter().map(ToString::to_string).collect(),
    };
    Ok(memory_result(call, &ignored, body))
}

fn parse(call: &Call<'_>, arguments: &mut Arguments) -> Result<Validate, CallError> {
    let wrong = |text: &str| CallError::Argument(text.to_owned());
    let source_id = arguments.source_text("source_id")?.ok_or_else(|| wrong("source_id is required"))?;
    let hash = arguments.hash_text("current_source_hash")?;
    let is_gone = arguments.boolean("source_gone")?.unwrap_or(false);
    let moved_to = arguments.source_text("moved_to")?;
    let seen = match (hash, is_gone, moved_to) {
        (Some(_), true, _) => return Err(wrong("give current_source_hash or source_gone, not both")),
        (_, false, Some(_)) => return Err(wrong("moved_to needs source_gone: true")),
        (None, true, moved_to) => Some(Seen::Gone { moved_to }),
        (hash, false, None) => hash.map(Seen::Hash),
    };
    Ok(Validate { source_id, seen, workspace: arguments.named_workspace(call)? })
}
