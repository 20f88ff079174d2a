//! All live records of a project, and what is known of their sources.

use std::collections::{BTreeSet, HashMap};

use async_trait::async_trait;
use mnemon_core::{Audience, MemberId, ProjectId, Seq};
use rusqlite::{Connection, Params};

use super::SqliteStore;
use super::listing::list_workspaces_with;
use super::log::load_seq;
use super::rows::{AudienceBytes, Cells, integer, micros};
use super::sources::load_parts;
use crate::interface::sources::read_part;
use crate::interface::survey::{read_holdings, read_surveyed};
use crate::{Holdings, Since, SourcePart, StoreError, Survey, Surveyed, Surveys};

#[async_trait]
impl Surveys for SqliteStore {
    async fn survey(&self, project: ProjectId, since: Option<Since>) -> Result<Survey, StoreError> {
        self.readers
            .read_long(move |conn| match since {
                None => survey_all(conn, project),
                Some(since) => survey_changes(conn, project, since),
            })
            .await
    }

    async fn count_holdings(&self, project: ProjectId, member: MemberId) -> Result<Holdings, StoreError> {
        self.readers.read_long(move |conn| count_holdings(conn, project, member)).await
    }
}

fn count_holdings(conn: &Connection, project: ProjectId, member: MemberId) -> Result<Holdings, StoreError> {
    const SELECT: &str = "
        SELECT COUNT(*), COALESCE(SUM(r.audience = ?3), 0),
            (SELECT COUNT(*) FROM session s WHERE s.project_id = ?1 AND s.member_id = ?2)
        FROM record r
        WHERE r.project_id = ?1 AND (r.author_id = ?2 OR r.audience = ?3)";
    let draft = AudienceBytes::of(Audience::Author(member));
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((project.to_bytes(), member.to_bytes(), draft.as_slice()))?;
    rows.next()?.map_or(Ok(Holdings::default()), |row| read_holdings(row, project))
}

/// One walk through the table in its own order: an index would be followed by a look-up of each row.
fn survey_all(conn: &Connection, project: ProjectId) -> Result<Survey, StoreError> {
    const RECORDS: &str = "
        SELECT seq, id, workspace_no, audience, is_key_given, fact_key, content_hash, source_id, source_hash,
            valid_until, updated_at
        FROM record
        WHERE project_id = ?1 AND +forgotten_at IS NULL
        ORDER BY seq";
    const PARTS: &str = "
        SELECT source_id, workspace_no, audience, known_seq, confirmed_seq, known_hash, confirmed_hash, moved_to,
            known_at, confirmed_at, confirmed_by
        FROM source
        WHERE project_id = ?1";
    let id = project.to_bytes();
    let mut parts = Vec::new();
    let mut statement = conn.prepare_cached(PARTS)?;
    let mut rows = statement.query([id])?;
    while let Some(row) = rows.next()? {
        parts.push(read_part(row, project)?);
    }
    Ok(Survey {
        seq: load_seq(conn, project)?.unwrap_or_default(),
        workspaces: list_workspaces_with(conn, project, HashMap::new())?,
        records: list_records(conn, project, RECORDS, [id])?,
        touched: Vec::new(),
        parts,
    })
}

fn survey_changes(conn: &Connection, project: ProjectId, since: Since) -> Result<Survey, StoreError> {
    const SAVED: &str = "
        SELECT seq, id, workspace_no, audience, is_key_given, fact_key, content_hash, source_id, source_hash,
            valid_until, updated_at
        FROM record
        WHERE project_id = ?1 AND seq > ?2 AND +forgotten_at IS NULL
        ORDER BY seq";
    const ONE: &str = "
        SELECT seq, id, workspace_no, audience, is_key_given, fact_key, content_hash, source_id, source_hash,
            valid_until, updated_at
        FROM record
        WHERE project_id = ?1 AND seq = ?2 AND +forgotten_at IS NULL";
    let (id, after) = (project.to_bytes(), integer(since.seq.0));
    let mut records = list_records(conn, project, SAVED, (id, after))?;
    let mut touched: BTreeSet<Seq> = list_changed(conn, project, since.seq)?.into_iter().collect();
    for seq in touched.range(..=since.seq) {
        records.extend(list_records(conn, project, ONE, (id, integer(seq.0)))?);
    }
    touched.extend(records.iter().map(|record| record.summary.seq));
    Ok(Survey {
        seq: load_seq(conn, project)?.unwrap_or_default(),
        workspaces: list_workspaces_with(conn, project, HashMap::new())?,
        records,
        touched: touched.into_iter().collect(),
        parts: list_news(conn, project, since)?,
    })
}

fn list_records(
    conn: &Connection,
    project: ProjectId,
    select: &str,
    values: impl Params,
) -> Result<Vec<Surveyed>, StoreError> {
    let mut statement = conn.prepare_cached(select)?;
    let mut rows = statement.query(values)?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        records.push(read_surveyed(row, project)?);
    }
    Ok(records)
}

/// The records that something happened to. The log is ordered by workspace, so each is asked, deleted ones too.
fn list_changed(conn: &Connection, project: ProjectId, after: Seq) -> Result<Vec<Seq>, StoreError> {
    const SELECT: &str = "
        SELECT c.record_seq
        FROM workspace w
        CROSS JOIN change c ON c.project_id = w.project_id AND c.workspace_no = w.no
        WHERE w.project_id = ?1 AND c.seq > ?2 AND c.record_seq IS NOT NULL";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((project.to_bytes(), integer(after.0)))?;
    let mut seqs = Vec::new();
    while let Some(row) = rows.next()? {
        seqs.push(Seq(Cells::new(row, "change", || project.to_string()).count(0, "record_seq")?));
    }
    Ok(seqs)
}

/// All parts of the sources of which something has become known.
fn list_news(conn: &Connection, project: ProjectId, since: Since) -> Result<Vec<SourcePart>, StoreError> {
    const SEEN: &str = "
        SELECT source_id
        FROM source
        WHERE project_id = ?1 AND MAX(known_seq, handed_seq) > ?2";
    const CONFIRMED: &str = "SELECT source_id FROM source WHERE project_id = ?1 AND confirmed_at >= ?2";
    let id = project.to_bytes();
    let mut ids = list_ids(conn, project, SEEN, (id, integer(since.seq.0)))?;
    if let Some(from) = since.confirmed {
        ids.extend(list_ids(conn, project, CONFIRMED, (id, micros(from)))?);
    }
    let mut parts = Vec::new();
    for source_id in ids {
        parts.extend(load_parts(conn, project, &source_id, None)?);
    }
    Ok(parts)
}

fn list_ids(
    conn: &Connection,
    project: ProjectId,
    select: &str,
    values: impl Params,
) -> Result<BTreeSet<String>, StoreError> {
    let mut statement = conn.prepare_cached(select)?;
    let mut rows = statement.query(values)?;
    let mut ids = BTreeSet::new();
    while let Some(row) = rows.next()? {
        ids.insert(Cells::new(row, "source", || project.to_string()).text(0, "source_id")?);
    }
    Ok(ids)
}
