//! What each audience knows about the sources of a workspace.

use async_trait::async_trait;
use mnemon_core::{NewRecord, ProjectId, Seq, Timestamp, WorkspaceName, WorkspaceNo};
use rusqlite::{Connection, params};

use super::SqliteStore;
use super::batch::Tx;
use super::rows::{AudienceBytes, integer, micros};
use super::statement::{at_once, run};
use crate::interface::observing;
use crate::interface::sources::{PARTS, Sight, is_news, kept_hash, read_part};
use crate::statement::statement;
use crate::{AdoptedSource, Look, Observation, SourcePart, Sources, StoreError};

#[async_trait]
impl Sources for SqliteStore {
    async fn observe_source(
        &self,
        project: ProjectId,
        workspace: Option<&WorkspaceName>,
        observation: Observation,
        look: Look,
    ) -> Result<Option<Seq>, StoreError> {
        let workspace = workspace.cloned();
        self.writer
            .write(move |tx| at_once(observing::observe(tx, project, workspace.as_ref(), &observation, look)))
            .await
    }

    async fn adopt_source(&self, project: ProjectId, source: AdoptedSource, at: Timestamp) -> Result<bool, StoreError> {
        self.writer.write(move |tx| at_once(observing::adopt(tx, project, &source, at))).await
    }
}

/// All parts of a source in one workspace.
pub(super) fn load_parts(
    conn: &Connection,
    project: ProjectId,
    source_id: &str,
    no: WorkspaceNo,
) -> Result<Vec<SourcePart>, StoreError> {
    run(conn, &statement!(PARTS, project, source_id, no))?.iter().map(|row| read_part(row, project)).collect()
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
    let parts = load_parts(tx.conn, record.project, source_id, no)?;
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
