//! What each audience knows about the sources of a workspace.

use async_trait::async_trait;
use mnemon_core::{ProjectId, Seq, Timestamp, WorkspaceName};

use super::PostgresStore;
use super::statement::Act;
use super::transaction::Tenant;
use crate::interface::observing;
use crate::{AdoptedSource, Look, Observation, Sources, StoreError};

#[async_trait]
impl Sources for PostgresStore {
    async fn observe_source(
        &self,
        project: ProjectId,
        workspace: Option<&WorkspaceName>,
        observation: Observation,
        look: Look,
    ) -> Result<Option<Seq>, StoreError> {
        self.attempt(|| async {
            let mut act = Act::begin(&self.pool, Tenant::project(project)).await?;
            let seq = observing::observe(&mut act, project, workspace, &observation, look).await?;
            act.end(seq).await
        })
        .await
    }

    async fn adopt_source(&self, project: ProjectId, source: AdoptedSource, at: Timestamp) -> Result<bool, StoreError> {
        self.attempt(|| async {
            let mut act = Act::begin(&self.pool, Tenant::project(project)).await?;
            let is_adopted = observing::adopt(&mut act, project, &source, at).await?;
            act.end(is_adopted).await
        })
        .await
    }
}

/// What a digest looks like, as it is stored.
pub(super) const DIGEST: &str = "^((md5|sha1|sha256|sha512):)?([0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{128})$";

/// Makes hashes that came with saves the newest known ones of their sources, for those who may see the saves. A source
/// may occur once per workspace and audience. A hash that is no news keeps its position (`is_news`; the column may
/// hold several, see `mnemon_core::join_hashes`). The last three values list the sources for which another row of the
/// same statement makes it news, because the condition can't see those rows. What was known by digests of other
/// algorithms stays, marked: this is `mnemon_core::known_after_save` in SQL.
pub(super) const NOTE_KNOWN_HASHES: &str = "
    INSERT INTO source (project_id, source_id, workspace_no, audience, known_seq, confirmed_seq, known_at, known_hash)
    SELECT unnest($1::uuid[]), unnest($2::text[]), unnest($3::bigint[]), unnest($4::bytea[]), unnest($5::bigint[]), 0,
        unnest($6::bigint[]), unnest($7::text[])
    ON CONFLICT (project_id, source_id, workspace_no, audience) DO UPDATE
    SET known_seq = excluded.known_seq, moved_to = NULL,
        known_at = CASE
            WHEN strpos(' ' || translate(source.known_hash, '?', '') || ' ', ' ' || split_part(excluded.known_hash, ' ', 1) || ' ') > 0
            THEN source.known_at ELSE excluded.known_at END,
        known_hash = CASE
            WHEN strpos(' ' || translate(source.known_hash, '?', '') || ' ', ' ' || split_part(excluded.known_hash, ' ', 1) || ' ') > 0
            THEN source.known_hash
            ELSE excluded.known_hash || COALESCE((
                SELECT string_agg(' ?' || part, '' ORDER BY n)
                FROM unnest(string_to_array(translate(source.known_hash, '?', ''), ' ')) WITH ORDINALITY AS p (part, n)
                WHERE part ~ $11 AND split_part(excluded.known_hash, ' ', 1) ~ $11
                    AND length(regexp_replace(part, '^.*:', ''))
                        <> length(regexp_replace(split_part(excluded.known_hash, ' ', 1), '^.*:', ''))), '') END
    WHERE source.known_hash IS NULL
        OR EXISTS (
            SELECT 1
            FROM unnest($8::uuid[], $9::text[], $10::bigint[]) AS d (project_id, source_id, workspace_no)
            WHERE d.project_id = source.project_id AND d.source_id = source.source_id
                AND d.workspace_no = source.workspace_no)
        OR strpos(' ' || translate(source.known_hash, '?', '') || ' ', ' ' || split_part(excluded.known_hash, ' ', 1) || ' ') = 0
        OR EXISTS (
            SELECT 1
            FROM source o
            WHERE o.project_id = excluded.project_id AND o.source_id = excluded.source_id
                AND o.workspace_no = excluded.workspace_no AND o.known_seq > source.known_seq
                AND (o.known_hash IS NULL OR
                    strpos(' ' || translate(o.known_hash, '?', '') || ' ', ' ' || split_part(excluded.known_hash, ' ', 1) || ' ') = 0))";
