//! New records on their way into the tables, column by column: one statement takes whole columns, however many
//! records and projects there are.

use std::collections::{HashMap, HashSet};

use mnemon_core::{Audience, ContentHash, NewRecord, Occurred, Seq, WorkspaceNo, confirms_hash, known_after_save};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::project::Locked;
use super::rows::{AudienceBytes, integer, micros, micros_opt};
use super::sources::{DIGEST, NOTE_KNOWN_HASHES};
use super::transaction::{Ask, ask};
use crate::checksum::Covered;
use crate::interface::records::OUTDATED_PER_KEY;
use crate::{Idempotency, Insert};

/// Writes records, the audiences that are new in their workspaces, and where the logs end now. All parts of one
/// statement see the tables as they were before it. Columns are unnested side by side: as a source of rows (`FROM
/// unnest(...)`), the server would store each of them first.
const STORE: &str = "
    WITH audiences AS (
        INSERT INTO workspace_audience (project_id, workspace_no, audience)
        SELECT unnest($1::uuid[]), unnest($2::bigint[]), unnest($3::bytea[])
        ON CONFLICT DO NOTHING),
    ends AS (
        UPDATE project p
        SET seq = g.seq, live_records = g.live_records
        FROM (
            SELECT unnest($4::uuid[]) AS id, unnest($5::bigint[]) AS seq, unnest($6::bigint[]) AS live_records) AS g
        WHERE p.id = g.id)
    INSERT INTO record (project_id, seq, id, workspace_no, audience, author_id, department_id, content_hash, checksum,
        is_key_given, confidence, valid_until, created_at, fact_key, source, source_id, source_hash, source_revision,
        content, embedding, is_cautioned, updated_at, tags, occurred_at, key_id)
    SELECT unnest($7::uuid[]), unnest($8::bigint[]), unnest($9::uuid[]), unnest($10::bigint[]), unnest($11::bytea[]),
        unnest($12::uuid[]), unnest($13::uuid[]), unnest($14::bytea[]), unnest($15::bigint[]),
        unnest($16::boolean[]), unnest($17::double precision[]), unnest($18::bigint[]), unnest($19::bigint[]),
        unnest($20::text[]), unnest($21::text[]), unnest($22::text[]), unnest($23::text[]), unnest($24::text[]),
        unnest($25::text[]), unnest($26::bytea[]), unnest($27::boolean[]), unnest($28::bigint[]),
        unnest($29::text[]), unnest($30::text[]), unnest($31::uuid[])";

/// Few batches bring a workspace into being.
const STORE_WORKSPACES: &str = "
    INSERT INTO workspace (project_id, no, created_at, deleted_at, name)
    SELECT unnest($1::uuid[]), unnest($2::bigint[]), unnest($3::bigint[]), NULL, unnest($4::text[])";

/// Takes [`OUTDATED_PER_KEY`] outdated keys of its project away for each new one.
const DELETE_OUTDATED_KEYS: &str = "
    DELETE FROM idempotency i
    USING (
        SELECT g.project_id, o.member_id, o.key
        FROM (
            SELECT k.project_id, MIN(k.valid_since) AS valid_since, $3::bigint * COUNT(*) AS count_max
            FROM unnest($1::uuid[], $2::bigint[]) AS k (project_id, valid_since)
            GROUP BY k.project_id) AS g
        CROSS JOIN LATERAL (
            SELECT o.member_id, o.key
            FROM idempotency o
            WHERE o.project_id = g.project_id AND o.created_at < g.valid_since
            ORDER BY o.created_at
            LIMIT g.count_max) AS o) AS o
    WHERE i.project_id = o.project_id AND i.member_id = o.member_id AND i.key = o.key";

/// A key may still be there from a use that no longer counts.
const STORE_KEYS: &str = "
    INSERT INTO idempotency (project_id, member_id, key, arguments_hash, record_seq, was_duplicate, created_at, answer)
    SELECT unnest($1::uuid[]), unnest($2::uuid[]), unnest($3::text[]), unnest($4::bytea[]), unnest($5::bigint[]),
        unnest($6::boolean[]), unnest($7::bigint[]), NULL
    ON CONFLICT (project_id, member_id, key) DO UPDATE
    SET arguments_hash = excluded.arguments_hash, record_seq = excluded.record_seq,
        was_duplicate = excluded.was_duplicate, created_at = excluded.created_at, answer = NULL";

/// The rows of one table: a vector for each column, filled from what `push` is given. The columns are the statement's
/// values, in this order.
macro_rules! columns {
    ($name:ident$(<$life:lifetime>)? ($($given:ident: $of:ty),*) { $($column:ident: $kind:ty = $value:expr,)* }) => {
        #[derive(Default)]
        struct $name$(<$life>)? {
            $($column: Vec<$kind>,)*
        }

        impl$(<$life>)? $name$(<$life>)? {
            fn push(&mut self, $($given: $of),*) {
                $(self.$column.push($value);)*
            }

            fn values(&self) -> Vec<&(dyn ToSql + Sync)> {
                vec![$(&self.$column),*]
            }
        }
    };
}

// Where the logs end, and how many records there are.
columns!(Ends(project: &Locked) {
    projects: Uuid = project.id.uuid(),
    seqs: i64 = integer(project.seq),
    live_records: i64 = integer(project.live_records),
});

columns!(Records<'a>(record: &'a NewRecord, seq: Seq, no: WorkspaceNo, content_hash: ContentHash) {
    projects: Uuid = record.project.uuid(),
    seqs: i64 = integer(seq.0),
    ids: Uuid = record.id.uuid(),
    workspaces: i64 = integer(no.0),
    audiences: Vec<u8> = bytes_of(record.audience),
    authors: Uuid = record.author.uuid(),
    departments: Option<Uuid> = record.department.map(|department| department.uuid()),
    hashes: Vec<u8> = content_hash.as_bytes().to_vec(),
    checksums: i64 = Covered::of_new(record, seq, no).checksum(&record.embedding),
    are_keys_given: bool = record.fact_key.is_given,
    confidences: Option<f64> = record.fact.confidence,
    valid_until: Option<i64> = micros_opt(record.fact.valid_until),
    created_at: i64 = micros(record.created_at),
    fact_keys: &'a str = &record.fact_key.text,
    sources: Option<&'a str> = record.fact.source.as_deref(),
    source_ids: Option<&'a str> = record.fact.source_id.as_deref(),
    source_hashes: Option<&'a str> = record.fact.source_hash.as_deref(),
    source_revisions: Option<&'a str> = record.fact.source_revision.as_deref(),
    contents: &'a str = &record.fact.content,
    embeddings: &'a [u8] = &record.embedding,
    are_cautioned: bool = record.is_cautioned,
    updated_at: i64 = micros(record.updated_at()),
    tags: Option<String> = record.fact.tags.to_lines(),
    occurred_at: Option<&'a str> = record.fact.occurred_at.as_ref().map(Occurred::as_str),
    api_keys: Option<Uuid> = record.key.map(|key| key.uuid()),
});

columns!(Workspaces<'a>(record: &'a NewRecord, seq: Seq) {
    projects: Uuid = record.project.uuid(),
    numbers: i64 = integer(seq.0),
    created_at: i64 = micros(record.created_at),
    names: &'a str = record.workspace.as_str(),
});

columns!(Audiences(record: &NewRecord, no: WorkspaceNo) {
    projects: Uuid = record.project.uuid(),
    workspaces: i64 = integer(no.0),
    audiences: Vec<u8> = bytes_of(record.audience),
});

columns!(Sources<'a>(record: &NewRecord, place: Place<'a>, known: String, seq: Seq) {
    projects: Uuid = place.0,
    ids: &'a str = place.1,
    workspaces: i64 = integer(place.2.0),
    audiences: Vec<u8> = bytes_of(record.audience),
    seqs: i64 = integer(seq.0),
    moments: i64 = micros(record.created_at),
    hashes: String = known,
});

// Sources that were seen with several hashes.
columns!(Disputed<'a>(place: Place<'a>) {
    projects: Uuid = place.0,
    ids: &'a str = place.1,
    workspaces: i64 = integer(place.2.0),
});

columns!(Keys<'a>(record: &NewRecord, key: &'a Idempotency, seq: Seq, was_duplicate: bool) {
    projects: Uuid = record.project.uuid(),
    members: Uuid = key.member.uuid(),
    keys: &'a str = &key.key,
    arguments: &'a [u8] = &key.arguments_hash,
    seqs: i64 = integer(seq.0),
    were_duplicates: bool = was_duplicate,
    created_at: i64 = micros(record.created_at),
});

columns!(Outdated(record: &NewRecord, key: &Idempotency) {
    projects: Uuid = record.project.uuid(),
    valid_since: i64 = micros(key.valid_since),
});

/// A source of a project, in a workspace.
type Place<'a> = (Uuid, &'a str, WorkspaceNo);

fn bytes_of(audience: Audience) -> Vec<u8> {
    AudienceBytes::of(audience).as_slice().to_vec()
}

#[derive(Default)]
pub(super) struct NewRows<'a> {
    ends: Ends,
    records: Records<'a>,
    workspaces: Workspaces<'a>,
    audiences: Audiences,
    sources: Sources<'a>,
    disputed: Disputed<'a>,
    keys: Keys<'a>,
    outdated: Outdated,
    known_audiences: HashSet<(Uuid, WorkspaceNo, Audience)>,
    /// The row of each source: of two sightings in one statement the later one counts.
    source_rows: HashMap<(Place<'a>, Audience), usize>,
    first_hashes: HashMap<Place<'a>, String>,
}

impl<'a> NewRows<'a> {
    /// Takes a place in the log for a record, and in its workspace, which comes into being where there is none.
    pub(super) fn add(
        &mut self,
        project: &mut Locked,
        workspace: Option<WorkspaceNo>,
        insert: &'a Insert,
        content_hash: ContentHash,
    ) -> (Seq, WorkspaceNo) {
        let record = &insert.record;
        let seq = project.take_seq();
        project.live_records += 1;
        if workspace.is_none() {
            self.workspaces.push(record, seq);
        }
        let no = workspace.unwrap_or(WorkspaceNo(seq.0));
        if self.known_audiences.insert((record.project.uuid(), no, record.audience)) {
            self.audiences.push(record, no);
        }
        self.records.push(record, seq, no, content_hash);
        self.add_source(record, no, seq);
        (seq, no)
    }

    /// Makes the hash that came with a save the newest known one of its source.
    pub(super) fn add_source(&mut self, record: &'a NewRecord, no: WorkspaceNo, seq: Seq) {
        let Some((source_id, hash)) = record.sighting() else { return };
        let place = (record.project.uuid(), source_id, no);
        let known = known_after_save(None, hash);
        if !confirms_hash(self.first_hashes.entry(place).or_insert_with(|| known.clone()), hash) {
            self.disputed.push(place);
        }
        let sources = &mut self.sources;
        match self.source_rows.get(&(place, record.audience)) {
            Some(&row) => {
                let known = known_after_save(Some(&sources.hashes[row]), hash);
                (sources.seqs[row], sources.moments[row], sources.hashes[row]) =
                    (integer(seq.0), micros(record.created_at), known);
            }
            None => {
                self.source_rows.insert((place, record.audience), sources.ids.len());
                sources.push(record, place, known, seq);
            }
        }
    }

    /// Remembers the idempotency key of a save.
    pub(super) fn add_key(&mut self, insert: &'a Insert, seq: Seq, was_duplicate: bool) {
        if let Some(key) = &insert.idempotency {
            self.keys.push(&insert.record, key, seq, was_duplicate);
            self.outdated.push(&insert.record, key);
        }
    }

    /// Also writes where the log of a project ends now.
    pub(super) fn end(&mut self, project: &Locked) {
        self.ends.push(project);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.records.ids.is_empty() && self.sources.ids.is_empty() && self.keys.keys.is_empty()
    }

    /// The statements that write all of it: one for records, and one for each of the rest that there is.
    pub(super) fn asks(&self) -> Vec<Ask<'_>> {
        let mut asks = Vec::new();
        if !self.workspaces.numbers.is_empty() {
            asks.push(ask(STORE_WORKSPACES, &self.workspaces.values()));
        }
        if !(self.records.ids.is_empty() && self.ends.projects.is_empty()) {
            let values = [self.audiences.values(), self.ends.values(), self.records.values()].concat();
            asks.push(ask(STORE, &values));
        }
        if !self.sources.ids.is_empty() {
            let values = [self.sources.values(), self.disputed.values(), vec![&DIGEST]].concat();
            asks.push(ask(NOTE_KNOWN_HASHES, &values));
        }
        if !self.keys.keys.is_empty() {
            asks.push(ask(DELETE_OUTDATED_KEYS, &[self.outdated.values(), vec![&OUTDATED_PER_KEY]].concat()));
            asks.push(ask(STORE_KEYS, &self.keys.values()));
        }
        asks
    }
}
