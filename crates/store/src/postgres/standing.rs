//! What the status of records depends on beside themselves, by one statement: the records under their keys, and what is
//! known about the sources of all of these. A save reads it in its own transaction.

use std::collections::HashMap;

use mnemon_core::ProjectId;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::rows::{Cells, integer};
use super::transaction::{Ask, ask};
use crate::interface::sources::read_part_from;
use crate::interface::summaries::read_brief_from;
use crate::{Basis, SourcePart, Standing, StoreError};

/// One row for each record under a key and each part of its source, and for each part of the own source. `OFFSET 0`
/// keeps the server from joining all sources of a name, whatever projects they belong to.
macro_rules! standing {
    ($of:literal) => {
        concat!(
            "
    SELECT g.nth, r.seq, r.id, r.workspace_no, r.audience, r.is_key_given, r.fact_key, r.content_hash, r.source_id,
        r.source_hash, r.valid_until, s.source_id, s.workspace_no, s.audience, s.known_seq, s.confirmed_seq,
        s.known_hash, s.confirmed_hash, s.moved_to, s.known_at, s.confirmed_at, s.confirmed_by
    FROM (",
            $of,
            ") AS g
    CROSS JOIN LATERAL (
        SELECT r.seq, r.id, r.workspace_no, r.audience, r.is_key_given, r.fact_key, r.content_hash, r.source_id,
            r.source_hash, r.valid_until
        FROM record r
        WHERE r.project_id = g.project_id AND r.workspace_no = g.workspace_no AND r.fact_key = g.fact_key
            AND r.is_key_given AND r.forgotten_at IS NULL AND EXISTS (
                SELECT 1
                FROM workspace w
                WHERE w.project_id = g.project_id AND w.no = g.workspace_no AND w.deleted_at IS NULL)
        UNION ALL
        SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, g.source_id, NULL, NULL
        WHERE g.source_id IS NOT NULL) AS r
    LEFT JOIN LATERAL (
        SELECT s.source_id, s.workspace_no, s.audience, s.known_seq, s.confirmed_seq, s.known_hash, s.confirmed_hash,
            s.moved_to, s.known_at, s.confirmed_at, s.confirmed_by
        FROM source s
        WHERE s.project_id = g.project_id AND s.source_id = r.source_id AND s.workspace_no = g.workspace_no
        OFFSET 0) AS s ON TRUE"
        )
    };
}

const SELECT: &str = standing!(
    "
        SELECT unnest($1::uuid[]) AS project_id, unnest($2::bigint[]) AS workspace_no, unnest($3::text[]) AS fact_key,
            unnest($4::text[]) AS source_id, generate_series(0::bigint, cardinality($1::uuid[]) - 1) AS nth"
);

/// That of all living records of a source, of one workspace or of all.
pub(super) const STANDING_BY_SOURCE: &str = standing!(
    "
        SELECT DISTINCT r.project_id, r.workspace_no, CASE WHEN r.is_key_given THEN r.fact_key END AS fact_key,
            r.source_id, 0::bigint AS nth
        FROM record r
        JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
        WHERE r.project_id = $1 AND r.source_id = $2 AND r.forgotten_at IS NULL AND w.deleted_at IS NULL
            AND ($3::text IS NULL OR w.name = $3)"
);
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
    pub(super) fn add(&mut self, place: usize, project: ProjectId, basis: Basis<'a>) {
        if basis.is_nothing() {
            self.alone.push(place);
            return;
        }
        self.places.push(place);
        self.ids.push(project);
        self.projects.push(project.uuid());
        self.workspaces.push(integer(basis.workspace_no.0));
        self.keys.push(basis.given_key);
        self.sources.push(basis.source_id);
    }

    /// The statement that reads them, if there is anything to read. Comes after everything was written.
    pub(super) fn ask(&self) -> Option<Ask<'_>> {
        let values: [&(dyn ToSql + Sync); 4] = [&self.projects, &self.workspaces, &self.keys, &self.sources];
        (!self.places.is_empty()).then(|| ask(SELECT, &values))
    }

    /// By place. The records are stored by now, so a row that can't be read must not fail a save: its caller is left
    /// without a standing, and asks for itself.
    pub(super) fn read(&self, rows: Vec<Row>) -> HashMap<usize, Standing> {
        let mut standings: HashMap<usize, Standing> =
            self.alone.iter().map(|place| (*place, Standing::default())).collect();
        if self.places.is_empty() {
            return standings;
        }
        let mut by_nth: HashMap<i64, Vec<&Row>> = HashMap::new();
        rows.iter().for_each(|row| by_nth.entry(row.get(0)).or_default().push(row));
        for ((nth, place), id) in (0..).zip(&self.places).zip(&self.ids) {
            let own = by_nth.remove(&nth).unwrap_or_default();
            standings.extend(joined(own.into_iter(), *id).ok().map(|standing| (*place, standing)));
        }
        standings
    }
}

/// All of these rows together.
pub(super) fn joined<'r>(rows: impl Iterator<Item = &'r Row>, project: ProjectId) -> Result<Standing, StoreError> {
    let mut standing = Standing::default();
    for row in rows {
        let cells = Cells::new(row, "record", || project.to_string());
        if cells.id_opt::<Uuid>(RECORD + 1, "id")?.is_some() {
            standing.under_key.push(read_brief_from(row, RECORD, project)?);
        }
        if cells.text_opt(SOURCE, "source_id")?.is_some() {
            standing.sources.push(read_part_from(row, SOURCE, project)?);
        }
    }
    standing.under_key.sort_unstable_by_key(|summary| summary.seq);
    standing.under_key.dedup_by_key(|summary| summary.seq);
    // A source comes once for each record that names it.
    let of = |part: &SourcePart| (part.workspace_no, part.audience, part.source_id.clone());
    standing.sources.sort_by_cached_key(of);
    standing.sources.dedup_by_key(|part| of(part));
    Ok(standing)
}
