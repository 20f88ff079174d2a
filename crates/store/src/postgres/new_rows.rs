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
use crate::Insert;
use crate::checksum::Covered;

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
        content, embedding, is_cautioned, updated_at, tags, occurred_at)
    SELECT unnest($7::uuid[]), unnest($8::bigint[]), unnest($9::uuid[]), unnest($10::bigint[]), unnest($11::bytea[]),
        unnest($12::uuid[]), unnest($13::uuid[]), unnest($14::bytea[]), unnest($15::bigint[]),
        unnest($16::boolean[]), unnest($17::double precision[]), unnest($18::bigint[]), unnest($19::bigint[]),
        unnest($20::text[]), unnest($21::text[]), unnest($22::text[]), unnest($23::text[]), unnest($24::text[]),
        unnest($25::text[]), unnest($26::bytea[]), unnest($27::boolean[]), unnest($28::bigint[]),
        unnest($29::text[]), unnest($30::text[])";

/// Few batches bring a workspace into being.
const STORE_WORKSPACES: &str = "
    INSERT INTO workspace (project_id, no, created_at, deleted_at, name)
    SELECT unnest($1::uuid[]), unnest($2::bigint[]), unnest($3::bigint[]), NULL, unnest($4::text[])";

/// For each new idempotency key, takes four outdated ones of its project away: more than are added, so they can't
/// pile up.
const DELETE_OUTDATED_KEYS: &str = "
    DELETE FROM idempotency i
    USING (
        SELECT g.project_id, o.member_id, o.key
        FROM (
            SELECT k.project_id, MIN(k.valid_since) AS valid_since, 4 * COUNT(*) AS count_max
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

#[derive(Default)]
pub(super) struct NewRows<'a> {
    projects: Projects,
    records: Records<'a>,
    workspaces: Workspaces<'a>,
    audiences: Audiences,
    sources: Sources<'a>,
    keys: Keys<'a>,
}

/// The logs' ends, and how many records there are.
#[derive(Default)]
struct Projects {
    ids: Vec<Uuid>,
    seqs: Vec<i64>,
    live_records: Vec<i64>,
}

#[derive(Default)]
struct Records<'a> {
    projects: Vec<Uuid>,
    seqs: Vec<i64>,
    ids: Vec<Uuid>,
    workspaces: Vec<i64>,
    audiences: Vec<Vec<u8>>,
    authors: Vec<Uuid>,
    departments: Vec<Option<Uuid>>,
    hashes: Vec<Vec<u8>>,
    checksums: Vec<i64>,
    are_keys_given: Vec<bool>,
    confidences: Vec<Option<f64>>,
    valid_until: Vec<Option<i64>>,
    created_at: Vec<i64>,
    fact_keys: Vec<&'a str>,
    sources: Vec<Option<&'a str>>,
    source_ids: Vec<Option<&'a str>>,
    source_hashes: Vec<Option<&'a str>>,
    source_revisions: Vec<Option<&'a str>>,
    contents: Vec<&'a str>,
    embeddings: Vec<&'a [u8]>,
    are_cautioned: Vec<bool>,
    updated_at: Vec<i64>,
    tags: Vec<Option<String>>,
    occurred_at: Vec<Option<&'a str>>,
}

#[derive(Default)]
struct Workspaces<'a> {
    projects: Vec<Uuid>,
    numbers: Vec<i64>,
    created_at: Vec<i64>,
    names: Vec<&'a str>,
}

#[derive(Default)]
struct Audiences {
    known: HashSet<(Uuid, WorkspaceNo, Audience)>,
    projects: Vec<Uuid>,
    workspaces: Vec<i64>,
    audiences: Vec<Vec<u8>>,
}

/// A source of a project, in a workspace.
type Place<'a> = (Uuid, &'a str, WorkspaceNo);

#[derive(Default)]
struct Sources<'a> {
    /// Where each is in the columns: of two sightings in one statement the later one counts.
    rows: HashMap<(Place<'a>, Audience), usize>,
    first_hashes: HashMap<Place<'a>, String>,
    /// Sources that were seen with several hashes.
    disputed: Disputed<'a>,
    projects: Vec<Uuid>,
    ids: Vec<&'a str>,
    workspaces: Vec<i64>,
    audiences: Vec<Vec<u8>>,
    seqs: Vec<i64>,
    moments: Vec<i64>,
    hashes: Vec<String>,
}

#[derive(Default)]
struct Disputed<'a> {
    projects: Vec<Uuid>,
    ids: Vec<&'a str>,
    workspaces: Vec<i64>,
}

#[derive(Default)]
struct Keys<'a> {
    projects: Vec<Uuid>,
    members: Vec<Uuid>,
    keys: Vec<&'a str>,
    arguments: Vec<&'a [u8]>,
    seqs: Vec<i64>,
    were_duplicates: Vec<bool>,
    created_at: Vec<i64>,
    valid_since: Vec<i64>,
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
        let no = workspace.unwrap_or_else(|| self.workspaces.add(record, seq));
        self.audiences.add(record, no);
        self.records.add(record, seq, no, content_hash);
        self.add_source(record, no, seq);
        (seq, no)
    }

    /// Makes the hash that came with a save the newest known one of its source.
    pub(super) fn add_source(&mut self, record: &'a NewRecord, no: WorkspaceNo, seq: Seq) {
        if let Some((source_id, hash)) = record.sighting() {
            self.sources.add(record, (record.project.uuid(), source_id, no), hash, seq);
        }
    }

    /// Remembers the idempotency key of a save.
    pub(super) fn add_key(&mut self, insert: &'a Insert, seq: Seq, was_duplicate: bool) {
        self.keys.add(insert, seq, was_duplicate);
    }

    /// Also writes where the log of a project ends now.
    pub(super) fn end(&mut self, project: &Locked) {
        self.projects.ids.push(project.id.uuid());
        self.projects.seqs.push(integer(project.seq));
        self.projects.live_records.push(integer(project.live_records));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.records.ids.is_empty() && self.sources.ids.is_empty() && self.keys.keys.is_empty()
    }

    /// The statements that write all of it: one for records, and one for each of the rest that there is.
    pub(super) fn asks(&self) -> Vec<Ask<'_>> {
        let mut asks = Vec::new();
        if !self.workspaces.numbers.is_empty() {
            asks.push(self.workspaces.ask());
        }
        if !(self.records.ids.is_empty() && self.projects.ids.is_empty()) {
            asks.push(ask(STORE, &self.values()));
        }
        if !self.sources.ids.is_empty() {
            asks.push(self.sources.ask());
        }
        if !self.keys.keys.is_empty() {
            asks.extend(self.keys.asks());
        }
        asks
    }

    fn values(&self) -> [&(dyn ToSql + Sync); 30] {
        let Self { projects, records, audiences, .. } = self;
        [
            &audiences.projects,
            &audiences.workspaces,
            &audiences.audiences,
            &projects.ids,
            &projects.seqs,
            &projects.live_records,
            &records.projects,
            &records.seqs,
            &records.ids,
            &records.workspaces,
            &records.audiences,
            &records.authors,
            &records.departments,
            &records.hashes,
            &records.checksums,
            &records.are_keys_given,
            &records.confidences,
            &records.valid_until,
            &records.created_at,
            &records.fact_keys,
            &records.sources,
            &records.source_ids,
            &records.source_hashes,
            &records.source_revisions,
            &records.contents,
            &records.embeddings,
            &records.are_cautioned,
            &records.updated_at,
            &records.tags,
            &records.occurred_at,
        ]
    }
}

impl<'a> Workspaces<'a> {
    fn add(&mut self, record: &'a NewRecord, seq: Seq) -> WorkspaceNo {
        self.projects.push(record.project.uuid());
        self.numbers.push(integer(seq.0));
        self.created_at.push(micros(record.created_at));
        self.names.push(record.workspace.as_str());
        WorkspaceNo(seq.0)
    }

    fn ask(&self) -> Ask<'_> {
        ask(STORE_WORKSPACES, &[&self.projects, &self.numbers, &self.created_at, &self.names])
    }
}

impl Audiences {
    fn add(&mut self, record: &NewRecord, no: WorkspaceNo) {
        let (project, audience) = (record.project.uuid(), record.audience);
        if self.known.insert((project, no, audience)) {
            self.projects.push(project);
            self.workspaces.push(integer(no.0));
            self.audiences.push(AudienceBytes::of(audience).as_slice().to_vec());
        }
    }
}

impl<'a> Sources<'a> {
    fn add(&mut self, record: &NewRecord, place: Place<'a>, hash: &str, seq: Seq) {
        let ((project, source_id, no), seq, at) = (place, integer(seq.0), micros(record.created_at));
        let known = known_after_save(None, hash);
        if !confirms_hash(self.first_hashes.entry(place).or_insert_with(|| known.clone()), hash) {
            self.disputed.projects.push(project);
            self.disputed.ids.push(source_id);
            self.disputed.workspaces.push(integer(no.0));
        }
        if let Some(row) = self.rows.get(&(place, record.audience)) {
            let known = known_after_save(Some(&self.hashes[*row]), hash);
            (self.seqs[*row], self.moments[*row], self.hashes[*row]) = (seq, at, known);
            return;
        }
        self.rows.insert((place, record.audience), self.ids.len());
        self.projects.push(project);
        self.ids.push(source_id);
        self.workspaces.push(integer(no.0));
        self.audiences.push(AudienceBytes::of(record.audience).as_slice().to_vec());
        self.seqs.push(seq);
        self.moments.push(at);
        self.hashes.push(known);
    }

    fn ask(&self) -> Ask<'_> {
        let values: [&(dyn ToSql + Sync); 11] = [
            &self.projects,
            &self.ids,
            &self.workspaces,
            &self.audiences,
            &self.seqs,
            &self.moments,
            &self.hashes,
            &self.disputed.projects,
            &self.disputed.ids,
            &self.disputed.workspaces,
            &DIGEST,
        ];
        ask(NOTE_KNOWN_HASHES, &values)
    }
}

impl<'a> Records<'a> {
    fn add(&mut self, record: &'a NewRecord, seq: Seq, no: WorkspaceNo, content_hash: ContentHash) {
        self.projects.push(record.project.uuid());
        self.seqs.push(integer(seq.0));
        self.ids.push(record.id.uuid());
        self.workspaces.push(integer(no.0));
        self.audiences.push(AudienceBytes::of(record.audience).as_slice().to_vec());
        self.authors.push(record.author.uuid());
        self.departments.push(record.department.map(|department| department.uuid()));
        self.hashes.push(content_hash.as_bytes().to_vec());
        self.checksums.push(Covered::of_new(record, seq, no).checksum(&record.embedding));
        self.are_keys_given.push(record.fact_key.is_given);
        self.confidences.push(record.fact.confidence);
        self.valid_until.push(micros_opt(record.fact.valid_until));
        self.created_at.push(micros(record.created_at));
        self.fact_keys.push(&record.fact_key.text);
        self.sources.push(record.fact.source.as_deref());
        self.source_ids.push(record.fact.source_id.as_deref());
        self.source_hashes.push(record.fact.source_hash.as_deref());
        self.source_revisions.push(record.fact.source_revision.as_deref());
        self.contents.push(&record.fact.content);
        self.embeddings.push(&record.embedding);
        self.are_cautioned.push(record.is_cautioned);
        self.updated_at.push(micros(record.updated_at()));
        self.tags.push(record.fact.tags.to_lines());
        self.occurred_at.push(record.fact.occurred_at.as_ref().map(Occurred::as_str));
    }
}

impl<'a> Keys<'a> {
    fn add(&mut self, insert: &'a Insert, seq: Seq, was_duplicate: bool) {
        let Some(key) = &insert.idempotency else { return };
        self.projects.push(insert.record.project.uuid());
        self.members.push(key.member.uuid());
        self.keys.push(&key.key);
        self.arguments.push(&key.arguments_hash);
        self.seqs.push(integer(seq.0));
        self.were_duplicates.push(was_duplicate);
        self.created_at.push(micros(insert.record.created_at));
        self.valid_since.push(micros(key.valid_since));
    }

    fn asks(&self) -> [Ask<'_>; 2] {
        let values: [&(dyn ToSql + Sync); 7] = [
            &self.projects,
            &self.members,
            &self.keys,
            &self.arguments,
            &self.seqs,
            &self.were_duplicates,
            &self.created_at,
        ];
        [ask(DELETE_OUTDATED_KEYS, &[&self.projects, &self.valid_since]), ask(STORE_KEYS, &values)]
    }
}
