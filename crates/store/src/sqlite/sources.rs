//! What each audience knows about the sources of a workspace.

use async_trait::async_trait;
use mnemon_core::{Audience, NewRecord, ProjectId, Seq, Timestamp, WorkspaceName, WorkspaceNo};
use rusqlite::{Connection, params};

use super::SqliteStore;
use super::batch::Tx;
use super::rows::{AudienceBytes, Cells, integer, micros};
use crate::interface::sources::{Sight, is_news, kept_hash, read_part, split_by_news};
use crate::{AdoptedSource, Look, Observation, SourcePart, Sources, StoreError};

#[async_trait]
impl Sources for SqliteStore {
    async fn list_sources(&self, project: ProjectId, source_ids: &[&str]) -> Result<Vec<SourcePart>, StoreError> {
        self.readers.read_at_once(|conn| {
            let mut parts = Vec::new();
            let mut asked = source_ids.to_vec();
            asked.sort_unstable();
            asked.dedup();
            for source_id in asked {
                parts.extend(load_parts(conn, project, source_id, None)?);
            }
            Ok(parts)
        })
    }

    async fn list_all_sources(&self, project: ProjectId) -> Result<Vec<SourcePart>, StoreError> {
        const SELECT: &str = "
            SELECT source_id, workspace_no, audience, known_seq, confirmed_seq, known_hash, confirmed_hash, moved_to,
                known_at, confirmed_at, confirmed_by
            FROM source
            WHERE project_id = ?1
            ORDER BY source_id, workspace_no, audience";
        self.readers
            .read_long(move |conn| {
                let mut statement = conn.prepare_cached(SELECT)?;
                let mut rows = statement.query([project.to_bytes()])?;
                let mut parts = Vec::new();
                while let Some(row) = rows.next()? {
                    parts.push(read_part(row, project)?);
                }
                Ok(parts)
            })
            .await
    }

    async fn observe_source(
        &self,
        project: ProjectId,
        workspace: Option<&WorkspaceName>,
        observation: Observation,
        look: Look,
    ) -> Result<Option<Seq>, StoreError> {
        let workspace = workspace.cloned();
        self.writer.write(move |tx| observe_source(tx, project, workspace.as_ref(), &observation, look)).await
    }

    async fn adopt_source(&self, project: ProjectId, source: AdoptedSource, at: Timestamp) -> Result<bool, StoreError> {
        self.writer.write(move |tx| adopt_source(tx, project, &source, at)).await
    }
}

/// All parts of a source, in one workspace or in all.
pub(super) fn load_parts(
    conn: &Connection,
    project: ProjectId,
    source_id: &str,
    workspace: Option<WorkspaceNo>,
) -> Result<Vec<SourcePart>, StoreError> {
    const SELECT: &str = "
        SELECT source_id, workspace_no, audience, known_seq, confirmed_seq, known_hash, confirmed_hash, moved_to,
            known_at, confirmed_at, confirmed_by
        FROM source
        WHERE project_id = ?1 AND source_id = ?2 AND (?3 IS NULL OR workspace_no = ?3)
        ORDER BY workspace_no, audience";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((project.to_bytes(), source_id, workspace.map(|no| integer(no.0))))?;
    let mut parts = Vec::new();
    while let Some(row) = rows.next()? {
        parts.push(read_part(row, project)?);
    }
    Ok(parts)
}

/// Makes a hash that came with a save the newest known one of its source, for those who may see the save. Calls `place`
/// only if that is news.
pub(super) fn note_known_hash(
    tx: &mut Tx<'_>,
    record: &NewRecord,
    no: WorkspaceNo,
    place: impl FnOnce(&mut Tx<'_>) -> Result<Seq, StoreError>,
) -> Result<(), StoreError> {
    const UPSERT: &str = "
        INSERT INTO source (project_id, source_id, workspace_no, audience, known_seq, confirmed_seq, known_at,
            known_hash)
        VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6, ?7)
        ON CONFLICT (project_id, source_id, workspace_no, audience) DO UPDATE
        SET known_at = IIF(known_hash IS excluded.known_hash, known_at, excluded.known_at),
            known_seq = excluded.known_seq, known_hash = excluded.known_hash, moved_to = NULL";
    let Some((source_id, hash)) = record.sighting() else { return Ok(()) };
    let parts = load_parts(tx.conn, record.project, source_id, Some(no))?;
    if !is_news(&parts, record.audience, Sight::Saved(hash)) {
        return Ok(());
    }
    let hash = kept_hash(&parts, record.audience, hash);
    let seq = place(tx)?;
    tx.conn.prepare_cached(UPSERT)?.execute(params![
        record.project.to_bytes(),
        source_id,
        integer(no.0),
        AudienceBytes::of(record.audience).as_slice(),
        integer(seq.0),
        micros(record.created_at),
        hash,
    ])?;
    Ok(())
}

/// Makes an observation the newest known one for everybody: readers combine what everybody may know with what their
/// audience knows, and the later sighting wins.
fn observe_source(
    tx: &mut Tx<'_>,
    project: ProjectId,
    workspace: Option<&WorkspaceName>,
    Observation { source_id, seen }: &Observation,
    Look { by, at }: Look,
) -> Result<Option<Seq>, StoreError> {
    const UPSERT: &str = "
        INSERT INTO source (project_id, source_id, workspace_no, audience, known_seq, confirmed_seq, known_at,
            confirmed_at, confirmed_by, known_hash, confirmed_hash, moved_to)
        VALUES (?1, ?2, ?3, ?4, ?5, IIF(?7 IS NULL, 0, ?5), ?6, IIF(?7 IS NULL, NULL, ?6), IIF(?7 IS NULL, NULL, ?9),
            ?7, ?7, ?8)
        ON CONFLICT (project_id, source_id, workspace_no, audience) DO UPDATE
        SET known_at = IIF(known_hash IS excluded.known_hash, known_at, excluded.known_at),
            known_seq = excluded.known_seq, known_hash = excluded.known_hash, moved_to = excluded.moved_to,
            confirmed_by = IIF(excluded.confirmed_at IS NULL, confirmed_by, excluded.confirmed_by),
            confirmed_at = COALESCE(excluded.confirmed_at, confirmed_at),
            confirmed_seq = MAX(excluded.confirmed_seq, confirmed_seq),
            confirmed_hash = COALESCE(excluded.confirmed_hash, confirmed_hash)";
    const CONFIRM: &str = "
        UPDATE source
        SET confirmed_seq = known_seq, confirmed_hash = known_hash, confirmed_at = ?5, confirmed_by = ?6
        WHERE project_id = ?1 AND source_id = ?2 AND workspace_no = ?3 AND audience = ?4 AND known_hash IS NOT NULL";
    tx.project(project)?;
    let (id, everybody) = (project.to_bytes(), AudienceBytes::of(Audience::Shared));
    let by = by.map(|by| by.to_bytes());
    let (parts, workspaces) = match workspace {
        Some(name) => {
            let no = tx.find_workspace(project, name)?;
            (load_parts(tx.conn, project, source_id, no)?, no.into_iter().collect())
        }
        None => {
            let default = tx.find_workspace(project, &WorkspaceName::default())?;
            let workspaces = list_workspaces(tx.conn, project, source_id, default)?;
            (load_parts(tx.conn, project, source_id, None)?, workspaces)
        }
    };
    let (news, known) = split_by_news(workspaces, &parts, seen);
    for no in known {
        let values = (id, source_id, integer(no.0), everybody.as_slice(), micros(at), by);
        tx.conn.prepare_cached(CONFIRM)?.execute(values)?;
    }
    if news.is_empty() {
        return Ok(None);
    }
    let seq = tx.take_seq(project)?;
    for no in news {
        tx.conn.prepare_cached(UPSERT)?.execute(params![
            id,
            source_id,
            integer(no.0),
            everybody.as_slice(),
            integer(seq.0),
            micros(at),
            seen.hash(),
            seen.moved_to(),
            by,
        ])?;
    }
    Ok(Some(seq))
}

/// The workspaces that know a source or have records from it, ended ones too: they may be restored.
fn list_workspaces(
    conn: &Connection,
    project: ProjectId,
    source_id: &str,
    default: Option<WorkspaceNo>,
) -> Result<Vec<WorkspaceNo>, StoreError> {
    const SELECT: &str = "
        SELECT workspace_no
        FROM source
        WHERE project_id = ?1 AND source_id = ?2
        UNION
        SELECT workspace_no
        FROM record INDEXED BY record_source
        WHERE project_id = ?1 AND source_id = ?2 AND source_id IS NOT NULL AND forgotten_at IS NULL
        UNION
        SELECT ?3
        WHERE ?3 IS NOT NULL";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((project.to_bytes(), source_id, default.map(|no| integer(no.0))))?;
    let mut workspaces = Vec::new();
    while let Some(row) = rows.next()? {
        workspaces.push(WorkspaceNo(
            Cells::new(row, "source", || format!("{project}/{source_id}")).count(0, "workspace_no")?,
        ));
    }
    Ok(workspaces)
}

fn adopt_source(
    tx: &mut Tx<'_>,
    project: ProjectId,
    source: &AdoptedSource,
    at: Timestamp,
) -> Result<bool, StoreError> {
    const INSERT: &str = "
        INSERT INTO source (project_id, source_id, workspace_no, audience, known_seq, confirmed_seq, known_at,
            confirmed_at, known_hash, confirmed_hash, moved_to)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    let AdoptedSource { workspace, source_id, audience, known, confirmed_hash } = source;
    tx.project(project)?;
    let Some(no) = tx.find_workspace(project, workspace)? else { return Ok(false) };
    if load_parts(tx.conn, project, source_id, Some(no))?.iter().any(|part| part.audience == *audience) {
        return Ok(false);
    }
    let seq = integer(tx.take_seq(project)?.0);
    let is_confirmed = confirmed_hash.is_some();
    tx.conn.prepare_cached(INSERT)?.execute(params![
        project.to_bytes(),
        source_id,
        integer(no.0),
        AudienceBytes::of(*audience).as_slice(),
        seq,
        if is_confirmed { seq } else { 0 },
        micros(at),
        is_confirmed.then(|| micros(at)),
        known.hash(),
        confirmed_hash,
        known.moved_to(),
    ])?;
    Ok(true)
}

/// Adds rows about sources that came from elsewhere. Where there is one already the later sighting counts, and the
/// later confirmation.
macro_rules! joined_by_newest {
    ($select:literal) => {
        concat!(
            $select,
            "
            ON CONFLICT (project_id, source_id, workspace_no, audience) DO UPDATE
            SET known_seq = MAX(known_seq, excluded.known_seq),
                confirmed_seq = MAX(confirmed_seq, excluded.confirmed_seq),
                handed_seq = excluded.handed_seq,
                known_at = IIF(excluded.known_seq > known_seq, excluded.known_at, known_at),
                confirmed_at = IIF(excluded.confirmed_seq > confirmed_seq, excluded.confirmed_at, confirmed_at),
                confirmed_by = IIF(excluded.confirmed_seq > confirmed_seq, excluded.confirmed_by, confirmed_by),
                known_hash = IIF(excluded.known_seq > known_seq, excluded.known_hash, known_hash),
                confirmed_hash = IIF(excluded.confirmed_seq > confirmed_seq, excluded.confirmed_hash, confirmed_hash),
                moved_to = IIF(excluded.known_seq > known_seq, excluded.moved_to, moved_to)"
        )
    };
}
pub(super) use joined_by_newest;

/// Takes what is known about a source along to another workspace, for a record that is restored there. It gets the
/// position of that in the log, so that every index that follows the log learns of it.
pub(super) fn carry_source(
    conn: &Connection,
    project: ProjectId,
    source_id: &str,
    from: WorkspaceNo,
    to: WorkspaceNo,
    place: Seq,
) -> Result<(), StoreError> {
    const UPSERT: &str = joined_by_newest!(
        "
        INSERT INTO source (project_id, source_id, workspace_no, audience, known_seq, confirmed_seq, handed_seq,
            known_at, confirmed_at, confirmed_by, known_hash, confirmed_hash, moved_to)
        SELECT project_id, source_id, ?4, audience, known_seq, confirmed_seq, ?5, known_at, confirmed_at,
            confirmed_by, known_hash, confirmed_hash, moved_to
        FROM source
        WHERE project_id = ?1 AND source_id = ?2 AND workspace_no = ?3"
    );
    let values = (project.to_bytes(), source_id, integer(from.0), integer(to.0), integer(place.0));
    conn.prepare_cached(UPSERT)?.execute(values)?;
    Ok(())
}
