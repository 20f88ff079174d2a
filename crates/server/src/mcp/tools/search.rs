//! `search`: takes a query, returns records.

use mnemon_core::{
    CONTENT_BYTES_MAX, FactKey, QUERY_BYTES_MAX, RecordId, SEARCH_IDS_MAX, SEARCH_LIMIT_DEFAULT, SEARCH_LIMIT_MAX,
    Timestamp, moments,
};
use mnemon_engine::{Admission, Answer, CallError, Found, Search, TimeUnderstood};
use mnemon_protocol::result::TimeMeta;
use mnemon_protocol::tool_result::{Form, Twice, write_members};
use serde_json::{Map, Value};

use super::Arguments;
use super::remember::scope;
use crate::mcp::Call;
use crate::mcp::render::{OwnResult, common_members, to_json};
use crate::record_json::{record_text, two_decimals};

pub(super) async fn run(
    call: &Call<'_>,
    admission: Admission<Search>,
    mut arguments: Arguments,
) -> Result<OwnResult, CallError> {
    let search = parse(&mut arguments, call)?;
    let ignored = arguments.into_ignored();
    let Answer { found, time } = call.app.engine.search(call.ctx, admission, search).await?;
    let common = to_json(&common_members(call, &ignored));
    Ok(Box::new(FoundRecords { found, time: time.map(time_meta), common }))
}

/// What the answer to a search can take: every record that it may find, in memory and in the two forms of its JSON.
pub(super) fn bytes_max(arguments: &Map<String, Value>) -> usize {
    let limit = match arguments.get("limit") {
        Some(Value::Number(limit)) => limit.as_u64(),
        Some(Value::String(limit)) => limit.trim().parse().ok(),
        _ => None,
    };
    let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(SEARCH_LIMIT_DEFAULT);
    3 * CONTENT_BYTES_MAX * limit.min(SEARCH_LIMIT_MAX)
}

/// The records that were found, best first, and what every result ends with.
struct FoundRecords {
    found: Vec<Found>,
    time: Option<TimeMeta>,
    common: String,
}

impl Twice for FoundRecords {
    fn size_bytes(&self) -> usize {
        let records: usize = self.found.iter().map(|found| found.body.text(record_text).size_bytes()).sum();
        records + self.common.size_bytes() + FRAME_BYTES * (self.found.len() + 1)
    }

    fn write(&self, form: Form, out: &mut Vec<u8>) {
        r#"{"result":["#.write(form, out);
        for (nth, found) in self.found.iter().enumerate() {
            if nth > 0 {
                out.push(b',');
            }
            found.body.text(record_text).write(form, found.status.as_str(), two_decimals(found.score), out);
        }
        out.push(b']');
        write_members(&self.common, form, out);
        out.push(b'}');
    }

    fn time(&self) -> Option<TimeMeta> {
        self.time.clone()
    }
}

fn time_meta(time: TimeUnderstood) -> TimeMeta {
    let TimeUnderstood { words, from, to, hits } = time;
    let shown = |day: Option<jiff::civil::Date>| day.map(|day| day.to_string());
    TimeMeta { from: shown(from), to: shown(to), words, hits }
}

/// The bytes around a record in both forms, with its status and score.
const FRAME_BYTES: usize = 64;

fn parse(arguments: &mut Arguments, call: &Call<'_>) -> Result<Search, CallError> {
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
        workspace: arguments.named_workspace(call)?.unwrap_or_default(),
        scope: scope(arguments)?,
        exclude_stale: arguments.boolean("exclude_stale")?.unwrap_or(false),
        fact_key: fact_key(arguments)?,
        source_id: arguments.source_text("source_id")?,
        memory_ids: memory_ids(arguments)?,
        tags: arguments.tags()?,
        since: moment(arguments, "since")?.map(|(first, _)| first),
        until: moment(arguments, "until")?.map(|(_, last)| last),
    })
}

/// Within the limits of a key that a caller may choose: no other can be found.
fn fact_key(arguments: &mut Arguments) -> Result<Option<String>, CallError> {
    let key = arguments.filled_text("fact_key")?;
    Ok(key.map(|key| FactKey::given(&key)).transpose()?.map(|key| key.text))
}

fn memory_ids(arguments: &mut Arguments) -> Result<Option<Vec<RecordId>>, CallError> {
    // Clients that must send every argument send an empty list for none.
    let Some(ids) = arguments.texts("memory_ids")?.filter(|ids| !ids.is_empty()) else { return Ok(None) };
    if ids.len() > SEARCH_IDS_MAX {
        return Err(CallError::Argument(format!("memory_ids must hold 1 to {SEARCH_IDS_MAX} ids")));
    }
    // What is no id names no record, and so admits none.
    Ok(Some(ids.iter().filter_map(|id| id.trim().parse().ok()).collect()))
}

/// The first and the last moment of what is given: a date is a whole day.
fn moment(arguments: &mut Arguments, name: &'static str) -> Result<Option<(Timestamp, Timestamp)>, CallError> {
    let Some(text) = arguments.filled_text(name)? else { return Ok(None) };
    let wrong = || {
        let examples = "2027-01-31T00:00:00Z or 2027-01-31";
        CallError::Argument(format!("{name} must be an RFC 3339 time or a date, for example {examples}"))
    };
    moments(text.trim()).map(Some).ok_or_else(wrong)
}

fn limit(arguments: &mut Arguments) -> Result<usize, CallError> {
    let Some(limit) = arguments.integer("limit")? else { return Ok(SEARCH_LIMIT_DEFAULT) };
    let limit = usize::try_from(limit).ok().filter(|limit| (1..=SEARCH_LIMIT_MAX).contains(limit));
    limit.ok_or_else(|| CallError::Argument(format!("limit must be between 1 and {SEARCH_LIMIT_MAX}")))
}
