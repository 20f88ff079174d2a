//! What the status of saved records depends on beside themselves, read in the transaction that saves them: the records
//! under their keys, and what is known about the sources of all of these.

use std::collections::HashMap;

use mnemon_core::{Fact, ProjectId, WorkspaceNo};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::rows::{Cells, integer};
use super::transaction::{Ask, ask};
use crate::interface::records::read_brief_from;
use crate::interface::sources::read_part_from;
use crate::{Standing, StoreError};

/// One row for each record under a key and each part of its source. A save without a key has only its own source.
/// `OFFSET 0` keeps the server from joining all sources of a name, whatever projects they belong to.
const SELECT: &str = "
    SELECT g.nth, r.seq, r.id, r.workspace_no, r.audience, r.is_key_given, r.fact_key, r.content_hash, r.source_id,
        r.source_hash, r.valid_until, s.source_id, s.workspace_no, s.audience, s.known_seq, s.confirmed_seq,
        s.known_hash, s.confirmed_hash, s.moved_to, s.known_at, s.confirmed_at, s.confirmed_by
    FROM (
        SELECT unnest($1::uuid[]) AS project_id, unnest($2::bigint[]) AS workspace_no, unnest($3::text[]) AS fact_key,
            unnest($4::text[]) AS source_id, generate_series(0::bigint, cardinality($1::uuid[]) - 1) AS nth) AS g
    CROSS JOIN LATERAL (
        SELECT r.seq, r.id, r.workspace_no, r.audience, r.is_key_given, r.fact_key, r.content_hash, r.source_id,
            r.source_hash, r.valid_until
        FROM record r
        WHERE r.project_id = g.project_id AND r.workspace_no = g.workspace_no AND r.fact_key = g.fact_key
            AND r.is_key_given AND r.forgotten_at IS NULL
        UNION ALL
        SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, g.source_id, NULL, NULL
        WHERE g.fact_key IS NULL) AS r
    LEFT JOIN LATERAL (
        SELECT s.source_id, s.workspace_no, s.audience, s.known_seq, s.confirmed_seq, s.known_hash, s.confirmed_hash,
            s.moved_to, s.known_at, s.confirmed_at, s.confirmed_by
        FROM source s
        WHERE s.project_id = g.project_id AND s.source_id = r.source_id AND s.workspace_no = g.workspace_no
        OFFSET 0) AS s ON TRUE";
const RECORD: usize = 1;
const SOURCE: usize = 11;

/// The records whose standing is asked for, by their places in the batch.
#[derive(Default)]
pub(super) struct Standings<'a> {
    /// Their status depends on nothing else.
    alone: Vec<usize>,
    places: Vec<usize>,
    ids: Vec<ProjectId>,
    projects: Vec<Uuid>,
    workspaces: Vec<i64>,
    keys: Vec<Option<&'a str>>,
    sources: Vec<Option<&'a str>>,
}

impl<'a> Standings<'a> {
    pub(super) fn add(
        &mut self,
        place: usize,
        project: ProjectId,
        no: WorkspaceNo,
        given_key: Option<&'a str>,
        fact: &'a Fact,
    ) {
        let source_id = fact.source_id.as_deref();
        if given_key.is_none() && source_id.is_none() {
            self.alone.push(place);
            return;
        }
        self.places.push(place);
        self.ids.push(project);
        self.projects.push(project.uuid());
        self.workspaces.push(integer(no.0));
        self.keys.push(given_key);
        self.sources.push(source_id);
    }

    /// The statement that reads them, if there is anything to read. Comes after everything was written.
    pub(super) fn ask(&self) -> Option<Ask<'_>> {
        let values: [&(dyn ToSql + Sync); 4] = [&self.projects, &self.workspaces, &self.keys, &self.sources];
        (!self.places.is_empty()).then(|| ask(SELECT, &values))
    }

    /// By place. The records are stored by now, so a row that can't be read must not fail a save: its caller is left
    /// without a standing, and asks for itself.
    pub(super) fn read(&self, rows: Vec<Row>) -> HashMap<usize, Standing> {
        let places = self.alone.iter().chain(&self.places);
        let mut standings: HashMap<usize, Standing> = places.map(|place| (*place, Standing::default())).collect();
        if self.places.is_empty() {
            return standings;
        }
        for row in &rows {
            let nth = usize::try_from(row.get::<_, i64>(0)).unwrap_or(usize::MAX);
            let (Some(place), Some(id)) = (self.places.get(nth), self.ids.get(nth)) else { continue };
            let is_read = standings.get_mut(place).is_none_or(|standing| add_row(standing, row, *id).is_ok());
            if !is_read {
                standings.remove(place);
            }
        }
        for standing in standings.values_mut() {
            standing.under_key.sort_unstable_by_key(|summary| summary.seq);
            standing.under_key.dedup_by_key(|summary| summary.seq);
        }
        standings
    }
}

fn add_row(standing: &mut Standing, row: &Row, project: ProjectId) -> Result<(), StoreError> {
    let cells = Cells::new(row, "record", || project.to_string());
    if cells.id_opt::<Uuid>(RECORD + 1, "id")?.is_some() {
        standing.under_key.push(read_brief_from(row, RECORD, project)?);
    }
    if cells.text_opt(SOURCE, "source_id")?.is_some() {
        standing.sources.push(read_part_from(row, SOURCE, project)?);
    }
    Ok(())
}
