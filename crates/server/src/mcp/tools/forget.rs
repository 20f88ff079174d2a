//! `forget`: takes an id or a source, returns what was forgotten.

use mnemon_engine::{Admission, CallError, Forget};
use mnemon_protocol::memory::ForgetJson;

use super::Arguments;
use crate::mcp::Call;
use crate::mcp::render::{OwnResult, memory_result};

pub(super) async fn run(
    call: &Call<'_>,
    admission: Admission<Forget>,
    mut arguments: Arguments,
) -> Result<OwnResult, CallError> {
    let forget = parse(call, &mut arguments)?;
    let ignored = arguments.into_ignored();
    let forgotten = call.app.engine.forget(call.ctx, admission, forget).await?;
    let body = ForgetJson {
        forgotten: forgotten.ids.len(),
        purged: forgotten.purged as usize,
        memory_ids: forgotten.ids.iter().map(ToString::to_string).collect(),
    };
    Ok(memory_result(call, &ignored, body))
}

fn parse(call: &Call<'_>, arguments: &mut Arguments) -> Result<Forget, CallError> {
    let memory_id = arguments.filled_text("memory_id")?;
    let source_id = arguments.source_text("source_id")?;
    match (memory_id, source_id) {
        (Some(id), None) => {
            arguments.drop_empty("workspace");
            Ok(Forget::Record(id))
        }
        (None, Some(source_id)) => Ok(Forget::Source { source_id, workspace: arguments.named_workspace(call)? }),
        _ => Err(CallError::Argument("exactly one of memory_id and source_id is required".to_owned())),
    }
}
