//! How the records of a project stand.

use async_trait::async_trait;
use mnemon_core::{Audience, MemberId, ProjectId};
use rusqlite::Connection;

use super::SqliteStore;
use super::listing::list_workspaces_with;
use super::log::load_seq;
use super::rows::AudienceBytes;
use super::sources::load_parts;
use crate::acts::records::read_brief;
use crate::acts::survey::{add_confirmed, living_by_workspace, once_each, read_holdings, read_place, sources_of};
use crate::{Brief, Holdings, Place, StoreError, Survey, Surveys};

#[async_trait]
impl Surveys for SqliteStore {
    async fn survey(&self, project: ProjectId) -> Result<Survey, StoreError> {
        self.readers.read_long(move |conn| survey(conn, project)).await
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

fn survey(conn: &Connection, project: ProjectId) -> Result<Survey, StoreError> {
    let seq = load_seq(conn, project)?.unwrap_or_default();
    let places = list_places(conn, project)?;
    let workspaces = list_workspaces_with(conn, project, living_by_workspace(&places))?;
    let suspects = list_suspects(conn, project)?;
    let mut parts = Vec::new();
    for source_id in sources_of(&suspects) {
        parts.extend(load_parts(conn, project, source_id)?);
    }
    Ok(Survey { seq, workspaces, places, suspects, parts })
}

fn list_places(conn: &Connection, project: ProjectId) -> Result<Vec<Place>, StoreError> {
    const COUNT: &str = "
        SELECT w.no, w.name, r.audience, COUNT(*), SUM(r.source_id IS NULL), MAX(r.updated_at)
        FROM workspace w INDEXED BY workspace_living
        CROSS JOIN record r INDEXED BY record_workspace ON r.project_id = w.project_id AND r.workspace_no = w.no
        WHERE w.project_id = ?1 AND w.deleted_at IS NULL AND r.forgotten_at IS NULL
        GROUP BY w.no, r.audience
        ORDER BY w.name, r.audience";
    // Nobody but everybody confirms: see `observe_source`. A content may have several hashes: see `mnemon_core::join_hashes`.
    const CONFIRMED: &str = "
        SELECT r.workspace_no, r.audience, COUNT(*)
        FROM source s
        CROSS JOIN record r INDEXED BY record_source ON r.project_id = s.project_id AND r.source_id = s.source_id
        WHERE s.project_id = ?1 AND r.forgotten_at IS NULL
            AND instr(' ' || s.confirmed_hash || ' ', ' ' || r.source_hash || ' ') > 0
        GROUP BY r.workspace_no, r.audience";
    let mut places = Vec::new();
    let mut statement = conn.prepare_cached(COUNT)?;
    let mut rows = statement.query([project.to_bytes()])?;
    while let Some(row) = rows.next()? {
        places.push(read_place(row, project)?);
    }
    let mut statement = conn.prepare_cached(CONFIRMED)?;
    let mut rows = statement.query([project.to_bytes()])?;
    while let Some(row) = rows.next()? {
        add_confirmed(&mut places, row, project)?;
    }
    Ok(places)
}

fn list_suspects(conn: &Connection, project: ProjectId) -> Result<Vec<Brief>, StoreError> {
    const ENDING: &str = "
        SELECT r.seq, r.id, r.workspace_no, r.audience, r.is_key_given, r.fact_key, r.content_hash, r.source_id,
            r.source_hash, r.valid_until
        FROM record r INDEXED BY record_ending
        CROSS JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
        WHERE r.project_id = ?1 AND r.valid_until IS NOT NULL AND r.forgotten_at IS NULL AND w.deleted_at IS NULL";
    const OUTDATED: &str = "
        SELECT r.seq, r.id, r.workspace_no, r.audience, r.is_key_given, r.fact_key, r.content_hash, r.source_id,
            r.source_hash, r.valid_until
        FROM source s
        CROSS JOIN record r INDEXED BY record_source ON r.project_id = s.project_id AND r.source_id = s.source_id
        CROSS JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
        WHERE s.project_id = ?1 AND r.forgotten_at IS NULL AND w.deleted_at IS NULL
            AND instr(' ' || replace(s.known_hash, '?', '') || ' ', ' ' || r.source_hash || ' ') = 0";
    const SHARING: &str = "
        SELECT r.seq, r.id, r.workspace_no, r.audience, r.is_key_given, r.fact_key, r.content_hash, r.source_id,
            r.source_hash, r.valid_until
        FROM (
            SELECT workspace_no, fact_key
            FROM record INDEXED BY record_fact_key
            WHERE project_id = ?1 AND is_key_given = 1 AND forgotten_at IS NULL
            GROUP BY workspace_no, fact_key
            HAVING COUNT(*) > 1) k
        CROSS JOIN workspace w ON w.project_id = ?1 AND w.no = k.workspace_no
        CROSS JOIN record r INDEXED BY record_fact_key
            ON r.project_id = ?1 AND r.workspace_no = k.workspace_no AND r.fact_key = k.fact_key
        WHERE w.deleted_at IS NULL AND r.is_key_given = 1 AND r.forgotten_at IS NULL";
    let mut suspects = Vec::new();
    for select in [ENDING, OUTDATED, SHARING] {
        let mut statement = conn.prepare_cached(select)?;
        let mut rows = statement.query([project.to_bytes()])?;
        while let Some(row) = rows.next()? {
            suspects.push(read_brief(row, project)?);
        }
    }
    Ok(once_each(suspects))
}
