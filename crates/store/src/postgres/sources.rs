//! What each audience knows about sources.

use std::sync::Arc;

use async_trait::async_trait;
use mnemon_core::{Audience, NewRecord, ProjectId, Seq, Timestamp};
use tokio_postgres::types::ToSql;

use super::PostgresStore;
use super::connect::Pool;
use super::error::Fault;
use super::project;
use super::rows::{AudienceBytes, integer, micros};
use super::transaction::{Tenant, Tx, ask};
use crate::acts::sources::{Seen, is_news, read_part};
use crate::{AdoptedSource, SourcePart, Sources, StoreError};

#[async_trait]
impl Sources for PostgresStore {
    async fn list_sources(&self, project: ProjectId, source_ids: &[&str]) -> Result<Vec<SourcePart>, StoreError> {
        let rows = self.ask(Tenant::project(project), LIST, &[&project.uuid(), &source_ids]).await?;
        rows.iter().map(|row| read_part(row, project)).collect()
    }

    async fn observe_source(
        &self,
        project: ProjectId,
        source_id: &str,
        hash: &str,
        at: Timestamp,
    ) -> Result<Option<Seq>, StoreError> {
        self.attempt(|| observe_source(&self.pool, project, source_id, hash, at)).await
    }

    async fn adopt_source(&self, project: ProjectId, source: AdoptedSource, at: Timestamp) -> Result<bool, StoreError> {
        self.attempt(|| adopt_source(&self.pool, project, &source, at)).await
    }
}

async fn load_parts(tx: &Tx, project: ProjectId, source_id: &str) -> Result<Vec<SourcePart>, Fault> {
    let rows = tx.rows(LIST, &[&project.uuid(), &vec![source_id]]).await?;
    Ok(rows.iter().map(|row| read_part(row, project)).collect::<Result<_, _>>()?)
}

pub(super) const LIST: &str = "
    SELECT source_id, audience, known_seq, confirmed_seq, known_hash, confirmed_hash, known_at,
        confirmed_at
    FROM source
    WHERE project_id = $1 AND source_id = ANY($2)
    ORDER BY source_id, audience";

/// Makes hashes that came with saves the newest known ones of their sources, for those who may see the saves. A source may
/// occur once per audience. A hash that is no news keeps its position ([`is_news`]; the column may hold several, see `mnemon_core::join_hashes`). The last value lists the sources for
/// which another row of the same statement makes it news, because the condition can't see those rows.
pub(super) const NOTE_KNOWN_HASHES: &str = "
    INSERT INTO source (project_id, source_id, audience, known_seq, confirmed_seq, updated_at, known_hash, confirmed_hash,
        known_at)
    SELECT $1, g.source_id, g.audience, g.seq, 0, g.at, g.hash, NULL, g.at
    FROM unnest($2::text[], $3::bytea[], $4::bigint[], $5::bigint[], $6::text[])
        AS g (source_id, audience, seq, at, hash)
    ON CONFLICT (project_id, source_id, audience) DO UPDATE
    SET known_seq = excluded.known_seq, updated_at = excluded.updated_at, known_at = excluded.known_at,
        known_hash = CASE
            WHEN strpos(' ' || translate(source.known_hash, '?', '') || ' ', ' ' || excluded.known_hash || ' ') > 0
            THEN source.known_hash ELSE excluded.known_hash END
    WHERE source.known_hash IS NULL OR source.source_id = ANY($7)
        OR strpos(' ' || translate(source.known_hash, '?', '') || ' ', ' ' || excluded.known_hash || ' ') = 0
        OR EXISTS (
            SELECT 1
            FROM source o
            WHERE o.project_id = $1 AND o.source_id = excluded.source_id AND o.known_seq > source.known_seq
                AND (o.known_hash IS NULL OR
                    strpos(' ' || translate(o.known_hash, '?', '') || ' ', ' ' || excluded.known_hash || ' ') = 0))";

/// Makes a hash that came with one save the newest known one. Calls `place` only if that is news.
pub(super) async fn note_known_hash(tx: &Tx, record: &NewRecord, place: impl FnOnce() -> Seq) -> Result<(), Fault> {
    let Some((source_id, hash)) = record.sighting() else { return Ok(()) };
    if !is_news(&load_parts(tx, record.project, source_id).await?, record.audience, Seen::Saved(hash)) {
        return Ok(());
    }
    let audience = AudienceBytes::of(record.audience);
    let (sources, audiences, hashes) = (vec![source_id], vec![audience.as_slice()], vec![hash]);
    let (seqs, moments) = (vec![integer(place().0)], vec![micros(record.created_at)]);
    let values: [&(dyn ToSql + Sync); 7] =
        [&record.project.uuid(), &sources, &audiences, &seqs, &moments, &hashes, &sources];
    tx.rows(NOTE_KNOWN_HASHES, &values).await?;
    Ok(())
}

/// Makes a hash the newest known and confirmed one for everybody: readers combine what everybody may know with what their
/// audience knows, and the later sighting wins.
async fn observe_source(
    pool: &Arc<Pool>,
    project: ProjectId,
    source_id: &str,
    hash: &str,
    at: Timestamp,
) -> Result<Option<Seq>, Fault> {
    const UPSERT: &str = "
        INSERT INTO source (project_id, source_id, audience, known_seq, confirmed_seq, updated_at, known_hash,
            confirmed_hash, known_at, confirmed_at)
        VALUES ($1, $2, $3, $4, $4, $5, $6, $6, $5, $5)
        ON CONFLICT (project_id, source_id, audience) DO UPDATE
        SET known_at = excluded.known_at, confirmed_at = excluded.confirmed_at, known_seq = excluded.known_seq, confirmed_seq = excluded.confirmed_seq, updated_at = excluded.updated_at,
            known_hash = excluded.known_hash, confirmed_hash = excluded.confirmed_hash";
    const CONFIRM: &str = "
        UPDATE source
        SET confirmed_seq = known_seq, confirmed_hash = known_hash, updated_at = $4, confirmed_at = $4
        WHERE project_id = $1 AND source_id = $2 AND audience = $3";
    let everybody = AudienceBytes::of(Audience::Shared);
    let (id, at, everybody) = (project.uuid(), micros(at), everybody.as_slice());
    let tx = Tx::write(pool, Tenant::project(project)).await?;
    let mut locked = project::lock(&tx, project).await?;
    if !is_news(&load_parts(&tx, project, source_id).await?, Audience::Shared, Seen::Confirmed(hash)) {
        tx.finish(vec![ask(CONFIRM, &[&id, &source_id, &everybody, &at])]).await?;
        return Ok(None);
    }
    let seq = locked.take_seq();
    let place = integer(seq.0);
    let upsert = ask(UPSERT, &[&id, &source_id, &everybody, &place, &at, &hash]);
    tx.finish(vec![upsert, locked.flush()]).await?;
    Ok(Some(seq))
}

async fn adopt_source(
    pool: &Arc<Pool>,
    project: ProjectId,
    source: &AdoptedSource,
    at: Timestamp,
) -> Result<bool, Fault> {
    const INSERT: &str = "
        INSERT INTO source (project_id, source_id, audience, known_seq, confirmed_seq, updated_at, known_hash,
            confirmed_hash, known_at, confirmed_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $6, $9)";
    let AdoptedSource { source_id, audience, known_hash, confirmed_hash } = source;
    let tx = Tx::write(pool, Tenant::project(project)).await?;
    let mut locked = project::lock(&tx, project).await?;
    if load_parts(&tx, project, source_id).await?.iter().any(|part| part.audience == *audience) {
        return Ok(false);
    }
    let (id, at, audience) = (project.uuid(), micros(at), AudienceBytes::of(*audience));
    let seq = integer(locked.take_seq().0);
    let confirmed_seq = if confirmed_hash.is_some() { seq } else { 0 };
    let confirmed_at = confirmed_hash.as_ref().map(|_| at);
    let audience = audience.as_slice();
    let values = [
        &id as &(dyn ToSql + Sync),
        source_id,
        &audience,
        &seq,
        &confirmed_seq,
        &at,
        known_hash,
        confirmed_hash,
        &confirmed_at,
    ];
    let insert = ask(INSERT, &values);
    tx.finish(vec![insert, locked.flush()]).await?;
    Ok(true)
}
