//! The save of one record that concerns an earlier one: it repeats a record or an idempotency key, or replaces
//! others. It takes one more round trip, which reads those; all other saves are written many at a time (`batch.rs`).

use mnemon_core::{NewRecord, Record, RecordId};
use uuid::Uuid;

use super::error::Fault;
use super::look_over::Facts;
use super::new_rows::NewRows;
use super::project::Locked;
use super::rows::{Cells, integer};
use super::save::Save;
use super::transaction::{Ask, Tx, ask, open_people};
use crate::interface::saving::{self, Decision, Found, decide};
use crate::interface::sources::{PARTS, Sight, is_news, read_part};
use crate::interface::stored::{BY_SEQ, Stored, broken, read_stored};
use crate::interface::summaries::{BY_ID, read_summary, summary_columns};
use crate::interface::trail::{insert_update, update_given_values};
use crate::statement::Statement;
use crate::{Insert, Inserted, RecordSummary, Replay, SourcePart, StoreError};

/// The living records under caller-given keys, each in its workspace.
const BY_FACT_KEY: &str = summary_columns!(
    "
    FROM (SELECT DISTINCT workspace_no, fact_key FROM unnest($2::bigint[], $3::text[]) AS t (workspace_no, fact_key))
        AS g
    JOIN record r ON r.project_id = $1 AND r.workspace_no = g.workspace_no AND r.fact_key = g.fact_key
        AND r.is_key_given AND r.forgotten_at IS NULL
    JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no AND w.deleted_at IS NULL
    ORDER BY r.seq"
);

/// What is to be written, in this order. It goes out with the commit, or before anything else is read.
#[derive(Default)]
pub(super) struct Pending<'a>(Vec<Write<'a>>);

enum Write<'a> {
    Rows(Box<NewRows<'a>>),
    Statement(Statement),
}

impl<'a> Pending<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn add_rows(&mut self, rows: NewRows<'a>) {
        if !rows.is_empty() {
            self.0.push(Write::Rows(Box::new(rows)));
        }
    }

    pub(super) fn asks(&self) -> Vec<Ask<'_>> {
        let asks = self.0.iter().flat_map(|write| match write {
            Write::Rows(rows) => rows.asks(),
            Write::Statement(statement) => vec![Ask::from(statement)],
        });
        asks.collect()
    }
}

/// What a save concerns, as it is while the project is locked.
pub(super) struct Concerned {
    /// The record that the save repeats, or that an earlier attempt or call has stored.
    record: Option<Stored>,
    /// What that one took the place of.
    replaced: Vec<RecordId>,
    /// What is known of the save's source in its workspace.
    parts: Vec<SourcePart>,
    /// The living records under the save's key, if it replaces them.
    under_key: Vec<RecordSummary>,
    /// Those that it names.
    named: Vec<RecordSummary>,
}

impl Concerned {
    /// Reads them in one round trip. Opens the people of the project's account.
    pub(super) async fn read(tx: &Tx, save: &Save, facts: &Facts) -> Result<Self, Fault> {
        const REPLACED: &str = "
            SELECT o.id
            FROM record r
            JOIN record o ON o.project_id = r.project_id AND o.superseded_by = r.id
            WHERE r.project_id = $1 AND r.seq = ANY($2)
            ORDER BY o.seq";
        let (record, wanted) = (&save.insert.record, save.insert.supersede.as_ref());
        let id = record.project;
        let repeated = facts.itself.map(|(seq, _)| seq).or(facts.earlier.as_ref().map(|earlier| earlier.seq));
        let seqs: Vec<i64> = repeated.or(facts.duplicate).iter().map(|seq| integer(seq.0)).collect();
        let no = facts.workspace.map_or(-1, |no| integer(no.0));
        let source_id = record.sighting().map_or("", |(source_id, _)| source_id);
        let key = record.fact_key.chosen().filter(|_| wanted.is_some_and(|wanted| wanted.same_key));
        let (keys, workspaces): (Vec<&str>, Vec<i64>) = key.map(|key| (key, no)).into_iter().unzip();
        let named: Vec<Uuid> = wanted.iter().flat_map(|wanted| &wanted.ids).map(|id| id.uuid()).collect();
        let project = id.uuid();
        let asks = vec![
            open_people(),
            ask(BY_SEQ, &[&project, &seqs]),
            ask(REPLACED, &[&project, &seqs]),
            ask(PARTS, &[&project, &source_id, &no]),
            ask(BY_FACT_KEY, &[&project, &workspaces, &keys]),
            ask(BY_ID, &[&project, &named]),
        ];
        let answers = tx.ask_all(asks).await?;
        let [_, records, replaced, parts, under_key, named] = answers.as_slice() else {
            return Err(Fault::away("PostgreSQL left an answer out"));
        };
        let read_id = |row| Cells::new(row, "record", || id.to_string()).id(0, "id");
        Ok(Self {
            record: records.first().map(|row| read_stored(row, id)).transpose()?,
            replaced: replaced.iter().map(read_id).collect::<Result<_, StoreError>>()?,
            parts: parts.iter().map(|row| read_part(row, id)).collect::<Result<_, _>>()?,
            under_key: under_key.iter().map(|row| read_summary(row, id)).collect::<Result<_, _>>()?,
            named: named.iter().map(|row| read_summary(row, id)).collect::<Result<_, _>>()?,
        })
    }

    /// The records that the save replaces, or the id of one that its viewer can't see.
    fn superseded(&mut self, insert: &Insert) -> Result<Vec<RecordSummary>, RecordId> {
        let mut found = std::mem::take(&mut self.under_key);
        let Some(wanted) = &insert.supersede else { return Ok(found) };
        wanted.retain_seen(&mut found);
        for id in &wanted.ids {
            found.push(wanted.find_seen(*id, self.named.iter().find(|summary| summary.id == *id).cloned())?);
        }
        Ok(found)
    }
}

/// Saves one record of a locked project by what was found about it.
pub(super) fn insert<'a>(
    project: &mut Locked,
    save: &'a Save,
    facts: Facts,
    mut concerned: Concerned,
    pending: &mut Pending<'a>,
) -> Result<Inserted, StoreError> {
    let (insert, record) = (&save.insert, &save.insert.record);
    let Facts { earlier, duplicate, workspace, workspaces, itself, .. } = facts;
    if let Some((seq, workspace_no)) = itself {
        return Ok(Inserted::New { seq, workspace_no, superseded: concerned.replaced });
    }
    let (superseded, live_records) = (concerned.superseded(insert), project.live_records);
    match decide(insert, Found { earlier, superseded, duplicate, live_records, workspace, workspaces }) {
        Decision::Replay(earlier) => {
            let (record, superseded) = (concerned.record.map(|stored| stored.record), concerned.replaced);
            let (was_duplicate, answer) = (earlier.was_duplicate, earlier.answer);
            Ok(Inserted::Replayed(Box::new(Replay { record, was_duplicate, superseded, answer })))
        }
        Decision::Refuse(inserted) => Ok(inserted),
        Decision::Refresh { duplicate, superseded } => {
            let stored = concerned.record.ok_or_else(|| broken(record.project, duplicate, "seq"))?;
            let existing = refresh_duplicate(project, insert, stored, &concerned.parts, pending);
            let superseded = supersede(project, insert, existing.id, &superseded, pending);
            Ok(Inserted::Duplicate { record: Box::new(existing), superseded })
        }
        Decision::Write { superseded } => {
            let mut rows = NewRows::default();
            let (seq, workspace_no) = rows.add(project, workspace, insert, save.content_hash);
            rows.add_key(insert, seq, false);
            pending.add_rows(rows);
            let superseded = supersede(project, insert, record.id, &superseded, pending);
            Ok(Inserted::New { seq, workspace_no, superseded })
        }
    }
}

/// Forgets the records that another one replaces, and returns their ids.
fn supersede(
    project: &mut Locked,
    insert: &Insert,
    by: RecordId,
    superseded: &[RecordSummary],
    pending: &mut Pending<'_>,
) -> Vec<RecordId> {
    let Some(first) = superseded.iter().map(|_| project.take_seq()).min() else { return Vec::new() };
    pending.0.extend(saving::supersede(insert, by, superseded, first).into_iter().map(Write::Statement));
    project.live_records = project.live_records.saturating_sub(superseded.len() as u64);
    superseded.iter().map(|summary| summary.id).collect()
}

/// Refreshes the existing record with the values of this save, and remembers the save's idempotency key. A save that
/// says nothing new writes nothing else, unless it shows that the source has changed.
fn refresh_duplicate<'a>(
    project: &mut Locked,
    insert: &'a Insert,
    stored: Stored,
    parts: &[SourcePart],
    pending: &mut Pending<'a>,
) -> Record {
    let given: &NewRecord = &insert.record;
    let mut updated_at = None;
    let hash_before = stored.record.fact.source_hash.clone();
    let record = match stored.brought_up_to_date(given) {
        Some(fresh) => {
            let before =
                hash_before.as_deref().filter(|before| fresh.record.fact.source_hash.as_deref() != Some(before));
            let (place, by) = (project.take_seq(), (given.key, before));
            let change = insert_update(given.project, place, &fresh, given.created_at, by);
            pending.0.extend([update_given_values(given.project, &fresh), change].map(Write::Statement));
            updated_at = Some(place);
            fresh.record
        }
        None => stored.record,
    };
    let mut rows = NewRows::default();
    if given.sighting().is_some_and(|(_, hash)| is_news(parts, given.audience, Sight::Saved(hash))) {
        let place = updated_at.unwrap_or_else(|| project.take_seq());
        rows.add_source(given, record.workspace_no, place);
    }
    rows.add_key(insert, record.seq, true);
    pending.add_rows(rows);
    record
}
