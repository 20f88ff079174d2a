//! New records on their way into the tables, column by column: one statement takes whole columns, however many records and
//! projects there are.

use std::collections::{HashMap, HashSet};

use mnemon_core::{Audience, ContentHash, NewRecord, ProjectId, Seq, WorkspaceNo};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::project::Locked;
use super::rows::{AudienceBytes, integer, micros, micros_opt};
use super::sources::NOTE_KNOWN_HASHES;
use super::transaction::{Ask, ask};
use crate::Insert;
use crate::checksum::Covered;

/// The statement that writes records, with more parts before. All parts of one statement see the tables as they were before
/// it, and references are checked at its end. Columns are unnested side by side: as a source of rows (`FROM unnest(...)`), the
/// server would store each of them first.
macro_rules! store {
    ($more:literal, $condition:literal) => {
        concat!(
            "WITH ",
            $more,
            "
            audiences AS (
                INSERT INTO workspace_audience (project_id, workspace_no, audience)
                SELECT unnest($1::uuid[]), unnest($2::bigint[]), unnest($3::bytea[])",
            $condition,
            "
                ON CONFLICT DO NOTHING),
            ends AS (
                UPDATE project p
                SET seq = g.seq, live_records = g.live_records
                FROM (
                    SELECT unnest($4::uuid[]) AS id, unnest($5::bigint[]) AS seq, unnest($6::bigint[]) AS live_records",
            $condition,
            ") AS g
                WHERE p.id = g.id)
            INSERT INTO record (project_id, seq, id, workspace_no, audience, author_id, department_id, content_hash,
                checksum, is_key_given, confidence, valid_until, created_at, fact_key, source, source_id, source_hash,
                source_revision, content, embedding, is_cautioned, updated_at)
            SELECT unnest($7::uuid[]), unnest($8::bigint[]), unnest($9::uuid[]), unnest($10::bigint[]),
                unnest($11::bytea[]), unnest($12::uuid[]), unnest($13::uuid[]), unnest($14::bytea[]),
                unnest($15::bigint[]), unnest($16::boolean[]), unnest($17::double precision[]), unnest($18::bigint[]),
                unnest($19::bigint[]), unnest($20::text[]), unnest($21::text[]), unnest($22::text[]),
                unnest($23::text[]), unnest($24::text[]), unnest($25::text[]), unnest($26::bytea[]),
                unnest($27::boolean[]), unnest($28::bigint[])",
            $condition
        )
    };
}

const STORE: &str = store!("", "");
/// Writes only if `check_saves` found everything as expected, in the same transaction.
const STORE_IF_CHECKED: &str = store!("", " WHERE current_setting('mnemon.is_checked', true) = 'yes'");
/// Few batches bring a workspace into being, and the server prepares even a part that has nothing to do.
const STORE_WITH_WORKSPACES: &str = store!(
    "workspaces AS (
                INSERT INTO workspace (project_id, no, created_at, deleted_at, name)
                SELECT unnest($29::uuid[]), unnest($30::bigint[]), unnest($31::bigint[]), NULL, unnest($32::text[])),",
    ""
);

/// How many outdated idempotency keys a save with a key takes away: more than it adds, so they can't pile up.
const OUTDATED_PER_KEY: i64 = 4;

#[derive(Default)]
pub(super) struct NewRows<'a> {
    projects: Projects,
    records: Records<'a>,
    workspaces: Workspaces<'a>,
    audiences: Audiences,
    /// What few saves bring along, project by project.
    rest: Vec<Rest<'a>>,
}

/// The log's ends, and how many records there are.
#[derive(Default)]
struct Projects {
    ids: Vec<Uuid>,
    seqs: Vec<i64>,
    live_records: Vec<i64>,
}

struct Rest<'a> {
    project: Uuid,
    sources: Sources<'a>,
    keys: Keys<'a>,
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

#[derive(Default)]
struct Sources<'a> {
    /// Where each stands in the columns: of two sightings in one statement the later one counts.
    places: HashMap<(&'a str, WorkspaceNo, Audience), usize>,
    /// The first hash of each source.
    first: HashMap<(&'a str, WorkspaceNo), &'a str>,
    /// Sources that were seen with several hashes, and in which workspaces.
    disputed: Vec<&'a str>,
    disputed_in: Vec<i64>,
    ids: Vec<&'a str>,
    workspaces: Vec<i64>,
    audiences: Vec<Vec<u8>>,
    seqs: Vec<i64>,
    moments: Vec<i64>,
    hashes: Vec<&'a str>,
}

#[derive(Default)]
struct Keys<'a> {
    members: Vec<Uuid>,
    keys: Vec<&'a str>,
    arguments: Vec<&'a [u8]>,
    seqs: Vec<i64>,
    created_at: Vec<i64>,
    outdated_before: Option<i64>,
    outdated_max: i64,
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
        if let Some((source_id, hash)) = record.sighting() {
            self.rest(record.project).sources.add(record, no, (source_id, hash), seq);
        }
        (seq, no)
    }

    /// Remembers the idempotency key of a save.
    pub(super) fn add_key(&mut self, insert: &'a Insert, seq: Seq) {
        if insert.idempotency.is_some() {
            self.rest(insert.record.project).keys.add(insert, seq);
        }
    }

    /// Also writes where the log of a project ends now.
    pub(super) fn end(&mut self, project: &Locked) {
        self.projects.ids.push(project.id.uuid());
        self.projects.seqs.push(integer(project.seq));
        self.projects.live_records.push(integer(project.live_records));
    }

    /// Saves come project by project, so the last one is the one asked for, or there is none yet.
    fn rest(&mut self, project: ProjectId) -> &mut Rest<'a> {
        let project = project.uuid();
        if self.rest.last().is_none_or(|rest| rest.project != project) {
            self.rest.push(Rest { project, sources: Sources::default(), keys: Keys::default() });
        }
        self.rest.last_mut().expect("one was just added")
    }

    /// The statements that write all of it: one, and a few more for sources and idempotency keys.
    pub(super) fn asks(&self) -> Vec<Ask<'_>> {
        let mut asks = vec![self.store()];
        for rest in &self.rest {
            asks.extend(rest.asks());
        }
        asks
    }

    /// The one statement, for saves that are sent with what they expect and bring nothing else along.
    pub(super) fn store_if_checked(&self) -> Ask<'_> {
        ask(STORE_IF_CHECKED, &self.values())
    }

    fn store(&self) -> Ask<'_> {
        let (values, workspaces) = (self.values(), &self.workspaces);
        if workspaces.numbers.is_empty() {
            return ask(STORE, &values);
        }
        let new: [&(dyn ToSql + Sync); 4] =
            [&workspaces.projects, &workspaces.numbers, &workspaces.created_at, &workspaces.names];
        ask(STORE_WITH_WORKSPACES, &[&values[..], &new].concat())
    }

    fn values(&self) -> [&(dyn ToSql + Sync); 28] {
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
        ]
    }
}

impl Rest<'_> {
    fn asks(&self) -> Vec<Ask<'_>> {
        let (mut asks, sources) = (Vec::new(), &self.sources);
        if !sources.ids.is_empty() {
            asks.push(ask(
                NOTE_KNOWN_HASHES,
                &[
                    &self.project,
                    &sources.ids,
                    &sources.workspaces,
                    &sources.audiences,
                    &sources.seqs,
                    &sources.moments,
                    &sources.hashes,
                    &sources.disputed,
                    &sources.disputed_in,
                ],
            ));
        }
        if !self.keys.keys.is_empty() {
            asks.extend(self.keys.asks(&self.project));
        }
        asks
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
    fn add(&mut self, record: &'a NewRecord, no: WorkspaceNo, (source_id, hash): (&'a str, &'a str), seq: Seq) {
        let (seq, at) = (integer(seq.0), micros(record.created_at));
        if *self.first.entry((source_id, no)).or_insert(hash) != hash {
            self.disputed.push(source_id);
            self.disputed_in.push(integer(no.0));
        }
        if let Some(place) = self.places.get(&(source_id, no, record.audience)) {
            (self.seqs[*place], self.moments[*place], self.hashes[*place]) = (seq, at, hash);
            return;
        }
        self.places.insert((source_id, no, record.audience), self.ids.len());
        self.ids.push(source_id);
        self.workspaces.push(integer(no.0));
        self.audiences.push(AudienceBytes::of(record.audience).as_slice().to_vec());
        self.seqs.push(seq);
        self.moments.push(at);
        self.hashes.push(hash);
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
    }
}

impl<'a> Keys<'a> {
    fn add(&mut self, insert: &'a Insert, seq: Seq) {
        let Some(key) = &insert.idempotency else { return };
        self.members.push(key.member.uuid());
        self.keys.push(&key.key);
        self.arguments.push(&key.arguments_hash);
        self.seqs.push(integer(seq.0));
        self.created_at.push(micros(insert.record.created_at));
        let valid_since = micros(key.valid_since);
        self.outdated_before = Some(self.outdated_before.map_or(valid_since, |before| before.min(valid_since)));
        self.outdated_max += OUTDATED_PER_KEY;
    }

    /// Takes a few outdated keys away and adds the new ones; none of them is there.
    fn asks<'b>(&'b self, project: &'b Uuid) -> [Ask<'b>; 2] {
        const DELETE: &str = "
            DELETE FROM idempotency
            WHERE project_id = $1 AND (member_id, key) IN (
                SELECT i.member_id, i.key
                FROM idempotency i
                WHERE i.project_id = $1 AND i.created_at < $2
                ORDER BY i.created_at
                LIMIT $3)";
        const INSERT: &str = "
            INSERT INTO idempotency
                (project_id, member_id, key, arguments_hash, record_seq, was_duplicate, created_at, answer)
            SELECT $1, g.member_id, g.key, g.arguments_hash, g.seq, FALSE, g.created_at, NULL
            FROM unnest($2::uuid[], $3::text[], $4::bytea[], $5::bigint[], $6::bigint[])
                AS g (member_id, key, arguments_hash, seq, created_at)";
        [
            ask(DELETE, &[project, &self.outdated_before, &self.outdated_max]),
            ask(INSERT, &[project, &self.members, &self.keys, &self.arguments, &self.seqs, &self.created_at]),
        ]
    }
}
