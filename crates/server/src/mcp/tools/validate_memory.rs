//! `validate_memory`: takes a source, returns the status of its records.

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
    let validate = parse(&mut arguments)?;
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

fn parse(arguments: &mut Arguments) -> Result<Validate, CallError> {
    let source_id = arguments.source_text("source_id")?;
    let missing = || CallError::Argument("source_id is required".to_owned());
    Ok(Validate {
        source_id: source_id.ok_or_else(missing)?,
        current_source_hash: arguments.hash_text("current_source_hash")?,
        workspace: arguments.workspace()?,
    })
}
