//! What is known of sources, per audience.

use async_trait::async_trait;
use mnemon_core::{Audience, ProjectId, Seq, Timestamp};

use super::PostgresStore;
use super::error::Fault;
use super::project;
use super::rows::{AudienceBytes, integer, micros};
use super::transaction::{Tenant, Tx, ask};
use crate::acts::sources::read_part;
use crate::{SourcePart, Sources, StoreError};

#[async_trait]
impl Sources for PostgresStore {
    async fn list_sources(&self, project: ProjectId, source_ids: &[&str]) -> Result<Vec<SourcePart>, StoreError> {
        const SELECT: &str = "
            SELECT source_id, audience, known_seq, confirmed_seq, known_hash, confirmed_hash
            FROM source
            WHERE project_id = $1 AND source_id = ANY($2)
            ORDER BY source_id, audience";
        let rows = self.ask(Tenant::project(project), SELECT, &[&project.uuid(), &source_ids]).await?;
        rows.iter().map(|row| read_part(row, project)).collect()
    }

    async fn observe_source(
        &self,
        project: ProjectId,
        source_id: &str,
        hash: &str,
        at: Timestamp,
    ) -> Result<Seq, StoreError> {
        self.attempt(|| async {
            let tx = Tx::write(&self.pool, Tenant::project(project)).await?;
            let mut locked = project::lock(&tx, project).await?;
            let seq = locked.take_seq();
            let everybody = AudienceBytes::of(Audience::Shared);
            let (id, place, at, everybody) = (project.uuid(), integer(seq.0), micros(at), everybody.as_slice());
            let confirm = ask(CONFIRM, &[&id, &source_id, &everybody, &place, &at, &hash]);
            tx.finish(vec![confirm, locked.flush()]).await?;
            Ok(seq)
        })
        .await
    }
}

/// Makes a hash that was seen the newest known and the confirmed one, for everybody: what everybody may see is joined
/// with what each audience knows, and the later sighting wins.
const CONFIRM: &str = "
    INSERT INTO source (project_id, source_id, audience, known_seq, confirmed_seq, updated_at, known_hash, confirmed_hash)
    VALUES ($1, $2, $3, $4, $4, $5, $6, $6)
    ON CONFLICT (project_id, source_id, audience) DO UPDATE
    SET known_seq = excluded.known_seq, confirmed_seq = excluded.confirmed_seq, updated_at = excluded.updated_at,
        known_hash = excluded.known_hash, confirmed_hash = excluded.confirmed_hash";

/// Makes hashes that came with saves the newest known ones of their sources, for those who may see the saves. No source
/// may occur twice for one audience.
pub(super) const NOTE_KNOWN_HASHES: &str = "
    INSERT INTO source (project_id, source_id, audience, known_seq, confirmed_seq, updated_at, known_hash, confirmed_hash)
    SELECT $1, g.source_id, g.audience, g.seq, 0, g.at, g.hash, NULL
    FROM unnest($2::text[], $3::bytea[], $4::bigint[], $5::bigint[], $6::text[])
        AS g (source_id, audience, seq, at, hash)
    ON CONFLICT (project_id, source_id, audience) DO UPDATE
    SET known_seq = excluded.known_seq, updated_at = excluded.updated_at, known_hash = excluded.known_hash";

/// Makes a hash that came with one save the newest known one.
pub(super) async fn note_known_hash(
    tx: &Tx,
    project: ProjectId,
    source_id: &str,
    audience: Audience,
    hash: &str,
    seq: Seq,
    at: Timestamp,
) -> Result<(), Fault> {
    let audience = AudienceBytes::of(audience);
    let (sources, audiences, hashes) = (vec![source_id], vec![audience.as_slice()], vec![hash]);
    let (seqs, moments) = (vec![integer(seq.0)], vec![micros(at)]);
    tx.rows(NOTE_KNOWN_HASHES, &[&project.uuid(), &sources, &audiences, &seqs, &moments, &hashes]).await?;
    Ok(())
}
