//! One record as JSON: the reason for its status in words, and what happened to it.

use mnemon_core::{Reason, shown_hash};
use mnemon_engine::admin::{Happening, RecordDetail};
use mnemon_protocol::admin::{EventJson, ReasonJson, RecordDetailJson};

use super::{record, time};

pub(crate) fn detail<'a>(detail: &'a RecordDetail, history: &[Happening]) -> RecordDetailJson<'a> {
    let source = &detail.source.state;
    RecordDetailJson {
        record: record(&detail.shown),
        project_id: detail.project.id.to_string(),
        reason: ReasonJson {
            code: detail.reason.as_str().to_owned(),
            text: words(detail),
            known_hash: source.known_hash.as_deref().map(|known| shown_hash(known).to_owned()),
            moved_to: source.moved_to.clone(),
            confirmed_hash: source.confirmed_hash.as_deref().map(|known| shown_hash(known).to_owned()),
            known_at: time(detail.source.known_at),
            confirmed_at: time(detail.source.confirmed_at),
        },
        rivals: detail.rivals.iter().map(record).collect(),
        history: history.iter().map(event).collect(),
    }
}

/// The reason in words that say what to do about it.
fn words(detail: &RecordDetail) -> String {
    let record = &detail.shown.listed.record;
    match detail.reason {
        Reason::ValidUntilPassed => {
            let end = record.fact.valid_until.map(|end| end.to_string()).unwrap_or_default();
            format!("It was said to hold until {end}, which has passed.")
        }
        Reason::SourceGone => {
            let source = record.fact.source_id.as_deref().unwrap_or_default();
            match &detail.source.state.moved_to {
                Some(to) => format!(
                    "Its source, {source}, moved to {to}. Read it there, then save the fact again with `replace`."
                ),
                None => {
                    format!("Its source, {source}, is gone. Save the fact again from another source, or forget it.")
                }
            }
        }
        Reason::SourceChanged => {
            let source = record.fact.source_id.as_deref().unwrap_or_default();
            format!(
                "Its source, {source}, has changed since. Read the source, then save the fact again with `replace`."
            )
        }
        Reason::Disputed => {
            let count = detail.rivals_count;
            let others = if count == 1 { "One other record has".to_owned() } else { format!("{count} others have") };
            format!("{others} different content under the same fact_key. Keep the one that is true.")
        }
        Reason::Confirmed => "Its source was checked and has not changed.".to_owned(),
        Reason::NeverChecked => "Nobody has checked its source since it was saved.".to_owned(),
        Reason::NoSource => "It was saved without a source_hash, so there is nothing to compare it with.".to_owned(),
    }
}

fn event(happening: &Happening) -> EventJson {
    EventJson {
        at: happening.at.to_string(),
        event: happening.what.as_str().to_owned(),
        by: happening.by.name.clone(),
        key: happening.by.key.clone(),
        record_id: happening.what.other().map(|id| id.to_string()),
    }
}
