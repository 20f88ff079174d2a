//! `search`: takes a query, returns records.

use http::HeaderMap;
use mnemon_core::{QUERY_BYTES_MAX, RecordId, SEARCH_IDS_MAX, SEARCH_LIMIT_DEFAULT, SEARCH_LIMIT_MAX, Timestamp};
use mnemon_engine::{Admission, CallError, Search};
use mnemon_protocol::memory::SearchJson;
use serde_json::value::RawValue;

use super::Arguments;
use super::remember::scope;
use crate::mcp::Call;
use crate::mcp::render::memory_result;
use crate::record_json::record_json;

pub(super) async fn run(
    call: &Call<'_>,
    admission: Admission<Search>,
    mut arguments: Arguments,
) -> Result<Box<RawValue>, CallError> {
    let search = parse(&mut arguments, call.headers)?;
    let ignored = arguments.into_ignored();
    let found = call.app.engine.search(call.ctx, admission, search).await?;
    let result = found.iter().map(|found| record_json(&found.record, found.status, Some(found.score))).collect();
    Ok(memory_result(call, &ignored, SearchJson { result }))
}

fn parse(arguments: &mut Arguments, headers: &HeaderMap) -> Result<Search, CallError> {
    let query = arguments.text("query")?.unwrap_or_default();
    if query.trim().is_empty() {
        return Err(CallError::Argument("query must not be empty".to_owned()));
    }
    if query.len() > QUERY_BYTES_MAX {
        let text = format!("query is {} bytes long; the limit is {QUERY_BYTES_MAX}", query.len());
        return Err(CallError::Argument(text));
    }
    Ok(Search {
        query,
        limit: limit(arguments)?,
        workspace: arguments.workspace_or_default(headers)?,
        scope: scope(arguments)?,
        exclude_stale: arguments.boolean("exclude_stale")?.unwrap_or(false),
        fact_key: arguments.filled_text("fact_key")?,
        source_id: arguments.source_text("source_id")?,
        memory_ids: memory_ids(arguments)?,
        since: moment(arguments, "since")?,
        until: moment(arguments, "until")?,
    })
}

fn memory_ids(arguments: &mut Arguments) -> Result<Option<Vec<RecordId>>, CallError> {
    let Some(ids) = arguments.texts("memory_ids")? else { return Ok(None) };
    if !(1..=SEARCH_IDS_MAX).contains(&ids.len()) {
        return Err(CallError::Argument(format!("memory_ids must hold 1 to {SEARCH_IDS_MAX} ids")));
    }
    // What is no id names no record, and so admits none.
    Ok(Some(ids.iter().filter_map(|id| id.trim().parse().ok()).collect()))
}

fn moment(arguments: &mut Arguments, name: &'static str) -> Result<Option<Timestamp>, CallError> {
    let Some(text) = arguments.filled_text(name)? else { return Ok(None) };
    let wrong = |_| CallError::Argument(format!("{name} must be an RFC 3339 time, for example 2027-01-31T00:00:00Z"));
    text.trim().parse().map(Some).map_err(wrong)
}

fn limit(arguments: &mut Arguments) -> Result<usize, CallError> {
    let Some(limit) = arguments.integer("limit")? else { return Ok(SEARCH_LIMIT_DEFAULT) };
    let limit = usize::try_from(limit).ok().filter(|limit| (1..=SEARCH_LIMIT_MAX).contains(limit));
    limit.ok_or_else(|| CallError::Argument(format!("limit must be between 1 and {SEARCH_LIMIT_MAX}")))
}
