//! New records of one project on their way into the tables, column by column: a statement takes whole columns, however many
//! records there are.

use std::collections::{HashMap, HashSet};

use mnemon_core::{Audience, ContentHash, NewRecord, ProjectId, Seq, WorkspaceNo};
use uuid::Uuid;

use super::project::Locked;
use super::rows::{AudienceBytes, integer, micros, micros_opt};
use super::sources::NOTE_KNOWN_HASHES;
use super::transaction::{Ask, ask};
use crate::Insert;
use crate::checksum::Covered;

/// How many outdated idempotency keys a save with a key takes away: more than it adds, so they can't pile up.
const OUTDATED_PER_KEY: i64 = 4;

pub(super) struct NewRows<'a> {
    project: Uuid,
    records: Records<'a>,
    workspaces: Workspaces<'a>,
    audiences: Audiences,
    sources: Sources<'a>,
    keys: Keys<'a>,
}

#[derive(Default)]
struct Records<'a> {
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
}

#[derive(Default)]
struct Workspaces<'a> {
    numbers: Vec<i64>,
    created_at: Vec<i64>,
    names: Vec<&'a str>,
}

#[derive(Default)]
struct Audiences {
    known: HashSet<(WorkspaceNo, Audience)>,
    workspaces: Vec<i64>,
    audiences: Vec<Vec<u8>>,
}

#[derive(Default)]
struct Sources<'a> {
    /// Where each stands in the columns: of two sightings in one statement the later one counts.
    places: HashMap<(&'a str, Audience), usize>,
    /// The first hash of each source.
    first: HashMap<&'a str, &'a str>,
    /// Sources that were seen with several hashes.
    disputed: Vec<&'a str>,
    ids: Vec<&'a str>,
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
    outdated_before: i64,
    outdated_max: i64,
}

impl<'a> NewRows<'a> {
    pub(super) fn of(project: ProjectId) -> Self {
        Self {
            project: project.uuid(),
            records: Records::default(),
            workspaces: Workspaces::default(),
            audiences: Audiences::default(),
            sources: Sources::default(),
            keys: Keys { outdated_before: i64::MAX, ..Keys::default() },
        }
    }

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
        self.audiences.add(no, record.audience);
        self.records.add(record, seq, no, content_hash);
        if let Some((source_id, hash)) = record.fact.sighting() {
            self.sources.add(record, source_id, hash, seq);
        }
        (seq, no)
    }

    /// Remembers the idempotency key of a save.
    pub(super) fn add_key(&mut self, insert: &'a Insert, seq: Seq) {
        let Some(key) = &insert.idempotency else { return };
        self.keys.members.push(key.member.uuid());
        self.keys.keys.push(&key.key);
        self.keys.arguments.push(&key.arguments_hash);
        self.keys.seqs.push(integer(seq.0));
        self.keys.created_at.push(micros(insert.record.created_at));
        self.keys.outdated_before = self.keys.outdated_before.min(micros(key.valid_since));
        self.keys.outdated_max += OUTDATED_PER_KEY;
    }

    /// The statements that write all of it.
    pub(super) fn asks(&self) -> Vec<Ask<'_>> {
        const WORKSPACES: &str = "
            INSERT INTO workspace (project_id, no, created_at, deleted_at, name)
            SELECT $1, g.no, g.created_at, NULL, g.name
            FROM unnest($2::bigint[], $3::bigint[], $4::text[]) AS g (no, created_at, name)";
        const AUDIENCES: &str = "
            INSERT INTO workspace_audience (project_id, workspace_no, audience)
            SELECT $1, g.workspace_no, g.audience
            FROM unnest($2::bigint[], $3::bytea[]) AS g (workspace_no, audience)
            ON CONFLICT DO NOTHING";
        let mut asks = Vec::new();
        if self.records.seqs.is_empty() {
            return asks;
        }
        let (workspaces, audiences, sources) = (&self.workspaces, &self.audiences, &self.sources);
        if !workspaces.numbers.is_empty() {
            asks.push(ask(
                WORKSPACES,
                &[&self.project, &workspaces.numbers, &workspaces.created_at, &workspaces.names],
            ));
        }
        asks.push(ask(AUDIENCES, &[&self.project, &audiences.workspaces, &audiences.audiences]));
        asks.push(self.records.ask(&self.project));
        if !sources.ids.is_empty() {
            asks.push(ask(
                NOTE_KNOWN_HASHES,
                &[
                    &self.project,
                    &sources.ids,
                    &sources.audiences,
                    &sources.seqs,
                    &sources.moments,
                    &sources.hashes,
                    &sources.disputed,
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
        self.numbers.push(integer(seq.0));
        self.created_at.push(micros(record.created_at));
        self.names.push(record.workspace.as_str());
        WorkspaceNo(seq.0)
    }
}

impl Audiences {
    fn add(&mut self, no: WorkspaceNo, audience: Audience) {
        if self.known.insert((no, audience)) {
            self.workspaces.push(integer(no.0));
            self.audiences.push(AudienceBytes::of(audience).as_slice().to_vec());
        }
    }
}

impl<'a> Sources<'a> {
    fn add(&mut self, record: &'a NewRecord, source_id: &'a str, hash: &'a str, seq: Seq) {
        let (seq, at) = (integer(seq.0), micros(record.created_at));
        if *self.first.entry(source_id).or_insert(hash) != hash {
            self.disputed.push(source_id);
        }
        if let Some(place) = self.places.get(&(source_id, record.audience)) {
            (self.seqs[*place], self.moments[*place], self.hashes[*place]) = (seq, at, hash);
            return;
        }
        self.places.insert((source_id, record.audience), self.ids.len());
        self.ids.push(source_id);
        self.audiences.push(AudienceBytes::of(record.audience).as_slice().to_vec());
        self.seqs.push(seq);
        self.moments.push(at);
        self.hashes.push(hash);
    }
}

impl<'a> Records<'a> {
    fn add(&mut self, record: &'a NewRecord, seq: Seq, no: WorkspaceNo, content_hash: ContentHash) {
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
    }

    fn ask<'b>(&'b self, project: &'b Uuid) -> Ask<'b> {
        const INSERT: &str = "
            INSERT INTO record (project_id, seq, id, workspace_no, audience, author_id, department_id, content_hash,
                checksum, is_key_given, confidence, valid_until, created_at, updated_at, forgotten_at, fact_key, source,
                source_id, source_hash, source_revision, content, embedding, is_cautioned)
            SELECT $1, g.seq, g.id, g.workspace_no, g.audience, g.author_id, g.department_id, g.content_hash,
                g.checksum, g.is_key_given, g.confidence, g.valid_until, g.created_at, g.created_at, NULL, g.fact_key,
                g.source, g.source_id, g.source_hash, g.source_revision, g.content, g.embedding,
                g.is_cautioned
            FROM unnest($2::bigint[], $3::uuid[], $4::bigint[], $5::bytea[], $6::uuid[], $7::uuid[], $8::bytea[],
                $9::bigint[], $10::boolean[], $11::double precision[], $12::bigint[], $13::bigint[], $14::text[],
                $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::bytea[], $21::boolean[])
                AS g (seq, id, workspace_no, audience, author_id, department_id, content_hash, checksum, is_key_given,
                    confidence, valid_until, created_at, fact_key, source, source_id, source_hash, source_revision,
                    content, embedding, is_cautioned)";
        ask(
            INSERT,
            &[
                project,
                &self.seqs,
                &self.ids,
                &self.workspaces,
                &self.audiences,
                &self.authors,
                &self.departments,
                &self.hashes,
                &self.checksums,
                &self.are_keys_given,
                &self.confidences,
                &self.valid_until,
                &self.created_at,
                &self.fact_keys,
                &self.sources,
                &self.source_ids,
                &self.source_hashes,
                &self.source_revisions,
                &self.contents,
                &self.embeddings,
                &self.are_cautioned,
            ],
        )
    }
}

impl Keys<'_> {
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
