//! What each audience knows about sources.

use async_trait::async_trait;
use mnemon_core::{Audience, NewRecord, ProjectId, Seq, Timestamp};
use rusqlite::{Connection, params};

use super::SqliteStore;
use super::batch::Tx;
use super::known_records::Touched;
use super::rows::{AudienceBytes, integer, micros};
use crate::acts::sources::{Seen, is_news, kept_hash, read_part};
use crate::{AdoptedSource, SourcePart, Sources, StoreError};

#[async_trait]
impl Sources for SqliteStore {
    async fn list_sources(&self, project: ProjectId, source_ids: &[&str]) -> Result<Vec<SourcePart>, StoreError> {
        self.readers.read_at_once(|conn| {
            let mut parts = Vec::new();
            let mut asked = source_ids.to_vec();
            asked.sort_unstable();
            asked.dedup();
            for source_id in asked {
                parts.extend(load_parts(conn, project, source_id)?);
            }
            Ok(parts)
        })
    }

    async fn observe_source(
        &self,
        project: ProjectId,
        source_id: &str,
        hash: &str,
        at: Timestamp,
    ) -> Result<Option<Seq>, StoreError> {
        let (source_id, hash) = (source_id.to_owned(), hash.to_owned());
        self.writer.write(move |tx| observe_source(tx, project, &source_id, &hash, at)).await
    }

    async fn adopt_source(&self, project: ProjectId, source: AdoptedSource, at: Timestamp) -> Result<bool, StoreError> {
        self.writer.write(move |tx| adopt_source(tx, project, &source, at)).await
    }
}

pub(super) fn load_parts(
    conn: &Connection,
    project: ProjectId,
    source_id: &str,
) -> Result<Vec<SourcePart>, StoreError> {
    const SELECT: &str = "
        SELECT source_id, audience, known_seq, confirmed_seq, known_hash, confirmed_hash, known_at,
            confirmed_at
        FROM source
        WHERE project_id = ?1 AND source_id = ?2
        ORDER BY audience";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((project.to_bytes(), source_id))?;
    let mut parts = Vec::new();
    while let Some(row) = rows.next()? {
        parts.push(read_part(row, project)?);
    }
    Ok(parts)
}

/// Makes a hash that came with a save the newest known one of its source, for those who may see the save. Calls `place` only
/// if that is news.
pub(super) fn note_known_hash(
    tx: &mut Tx<'_>,
    record: &NewRecord,
    place: impl FnOnce(&mut Tx<'_>) -> Result<Seq, StoreError>,
) -> Result<(), StoreError> {
    const UPSERT: &str = "
        INSERT INTO source (project_id, source_id, audience, known_seq, confirmed_seq, updated_at, known_hash,
            confirmed_hash, known_at)
        VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, NULL, ?5)
        ON CONFLICT (project_id, source_id, audience) DO UPDATE
        SET known_at = excluded.known_at, known_seq = excluded.known_seq, updated_at = excluded.updated_at, known_hash = excluded.known_hash";
    let Some((source_id, hash)) = record.sighting() else { return Ok(()) };
    let parts = load_parts(tx.conn, record.project, source_id)?;
    if !is_news(&parts, record.audience, Seen::Saved(hash)) {
        return Ok(());
    }
    let hash = kept_hash(&parts, record.audience, hash);
    let seq = place(tx)?;
    tx.conn.prepare_cached(UPSERT)?.execute(params![
        record.project.to_bytes(),
        source_id,
        AudienceBytes::of(record.audience).as_slice(),
        integer(seq.0),
        micros(record.created_at),
        hash,
    ])?;
    Ok(())
}

/// Makes a hash the newest known and confirmed one for everybody: readers combine what everybody may know with what their
/// audience knows, and the later sighting wins.
fn observe_source(
    tx: &mut Tx<'_>,
    project: ProjectId,
    source_id: &str,
    hash: &str,
    at: Timestamp,
) -> Result<Option<Seq>, StoreError> {
    const UPSERT: &str = "
        INSERT INTO source (project_id, source_id, audience, known_seq, confirmed_seq, updated_at, known_hash,
            confirmed_hash, known_at, confirmed_at)
        VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6, ?6, ?5, ?5)
        ON CONFLICT (project_id, source_id, audience) DO UPDATE
        SET known_at = excluded.known_at, confirmed_at = excluded.confirmed_at, known_seq = excluded.known_seq, confirmed_seq = excluded.confirmed_seq, updated_at = excluded.updated_at,
            known_hash = excluded.known_hash, confirmed_hash = excluded.confirmed_hash";
    const CONFIRM: &str = "
        UPDATE source
        SET confirmed_seq = known_seq, confirmed_hash = known_hash, updated_at = ?4, confirmed_at = ?4
        WHERE project_id = ?1 AND source_id = ?2 AND audience = ?3";
    tx.touch_records(Touched::Nothing);
    tx.project(project)?;
    let everybody = AudienceBytes::of(Audience::Shared);
    let (id, everybody) = (project.to_bytes(), everybody.as_slice());
    if !is_news(&load_parts(tx.conn, project, source_id)?, Audience::Shared, Seen::Confirmed(hash)) {
        tx.conn.prepare_cached(CONFIRM)?.execute((id, source_id, everybody, micros(at)))?;
        return Ok(None);
    }
    let seq = tx.take_seq(project)?;
    tx.conn.prepare_cached(UPSERT)?.execute((id, source_id, everybody, integer(seq.0), micros(at), hash))?;
    Ok(Some(seq))
}

fn adopt_source(
    tx: &mut Tx<'_>,
    project: ProjectId,
    source: &AdoptedSource,
    at: Timestamp,
) -> Result<bool, StoreError> {
    const INSERT: &str = "
        INSERT INTO source (project_id, source_id, audience, known_seq, confirmed_seq, updated_at, known_hash,
            confirmed_hash, known_at, confirmed_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?6, ?9)";
    let AdoptedSource { source_id, audience, known_hash, confirmed_hash } = source;
    tx.touch_records(Touched::Nothing);
    tx.project(project)?;
    if load_parts(tx.conn, project, source_id)?.iter().any(|part| part.audience == *audience) {
        return Ok(false);
    }
    let seq = integer(tx.take_seq(project)?.0);
    let is_confirmed = confirmed_hash.is_some();
    tx.conn.prepare_cached(INSERT)?.execute(params![
        project.to_bytes(),
        source_id,
        AudienceBytes::of(*audience).as_slice(),
        seq,
        if is_confirmed { seq } else { 0 },
        micros(at),
        known_hash,
        confirmed_hash,
        is_confirmed.then(|| micros(at)),
    ])?;
    Ok(true)
}
