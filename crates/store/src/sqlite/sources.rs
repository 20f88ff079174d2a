//! What is known of sources, per audience.

use async_trait::async_trait;
use mnemon_core::{Audience, ProjectId, Seq, Timestamp};
use rusqlite::{Connection, params};

use super::SqliteStore;
use super::known_records::Touched;
use super::rows::{AudienceBytes, integer, micros};
use crate::acts::sources::read_part;
use crate::{SourcePart, Sources, StoreError};

#[async_trait]
impl Sources for SqliteStore {
    async fn list_sources(&self, project: ProjectId, source_ids: &[&str]) -> Result<Vec<SourcePart>, StoreError> {
        self.readers.read_at_once(|conn| {
            let mut parts = Vec::new();
            let mut asked = source_ids.to_vec();
            asked.sort_unstable();
            asked.dedup();
            for source_id in asked {
                list_parts(conn, project, source_id, &mut parts)?;
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
    ) -> Result<Seq, StoreError> {
        let (source_id, hash) = (source_id.to_owned(), hash.to_owned());
        let act = move |tx: &mut super::batch::Tx<'_>| {
            tx.touch_records(Touched::Nothing);
            let seq = tx.take_seq(project)?;
            confirm(tx.conn, project, &source_id, &hash, seq, at)?;
            Ok(seq)
        };
        self.writer.write(act).await
    }
}

fn list_parts(
    conn: &Connection,
    project: ProjectId,
    source_id: &str,
    parts: &mut Vec<SourcePart>,
) -> Result<(), StoreError> {
    const SELECT: &str = "
        SELECT source_id, audience, known_seq, confirmed_seq, known_hash, confirmed_hash
        FROM source
        WHERE project_id = ?1 AND source_id = ?2
        ORDER BY audience";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((project.to_bytes(), source_id))?;
    while let Some(row) = rows.next()? {
        parts.push(read_part(row, project)?);
    }
    Ok(())
}

/// Makes a hash that came with a save the newest known one of its source, for those who may see the save.
pub(super) fn note_known_hash(
    conn: &Connection,
    project: ProjectId,
    source_id: &str,
    audience: Audience,
    hash: &str,
    seq: Seq,
    at: Timestamp,
) -> Result<(), StoreError> {
    const UPSERT: &str = "
        INSERT INTO source (project_id, source_id, audience, known_seq, confirmed_seq, updated_at, known_hash,
            confirmed_hash)
        VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, NULL)
        ON CONFLICT (project_id, source_id, audience) DO UPDATE
        SET known_seq = excluded.known_seq, updated_at = excluded.updated_at, known_hash = excluded.known_hash";
    let audience = AudienceBytes::of(audience);
    conn.prepare_cached(UPSERT)?.execute(params![
        project.to_bytes(),
        source_id,
        audience.as_slice(),
        integer(seq.0),
        micros(at),
        hash,
    ])?;
    Ok(())
}

/// Makes a hash that was seen the newest known and the confirmed one, for everybody: what everybody may see is joined
/// with what each audience knows, and the later sighting wins.
fn confirm(
    conn: &Connection,
    project: ProjectId,
    source_id: &str,
    hash: &str,
    seq: Seq,
    at: Timestamp,
) -> Result<(), StoreError> {
    const UPSERT: &str = "
        INSERT INTO source (project_id, source_id, audience, known_seq, confirmed_seq, updated_at, known_hash,
            confirmed_hash)
        VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6, ?6)
        ON CONFLICT (project_id, source_id, audience) DO UPDATE
        SET known_seq = excluded.known_seq, confirmed_seq = excluded.confirmed_seq, updated_at = excluded.updated_at,
            known_hash = excluded.known_hash, confirmed_hash = excluded.confirmed_hash";
    let everybody = AudienceBytes::of(Audience::Shared);
    conn.prepare_cached(UPSERT)?.execute(params![
        project.to_bytes(),
        source_id,
        everybody.as_slice(),
        integer(seq.0),
        micros(at),
        hash,
    ])?;
    Ok(())
}
