//! What each audience knows about the sources of a workspace.

use std::sync::Arc;

use async_trait::async_trait;
use mnemon_core::{Audience, NewRecord, ProjectId, Seq, Timestamp, WorkspaceName, WorkspaceNo};
use tokio_postgres::types::ToSql;

use super::PostgresStore;
use super::connect::Pool;
use super::error::Fault;
use super::project;
use super::rows::{AudienceBytes, Cells, integer, micros};
use super::transaction::{Tenant, Tx, ask};
use crate::interface::sources::{Sight, is_news, read_part, split_by_news};
use crate::{AdoptedSource, Look, Observation, SourcePart, Sources, StoreError};

#[async_trait]
impl Sources for PostgresStore {
    async fn list_sources(&self, project: ProjectId, source_ids: &[&str]) -> Result<Vec<SourcePart>, StoreError> {
        let rows = self.ask(Tenant::project(project), LIST, &[&project.uuid(), &source_ids]).await?;
        rows.iter().map(|row| read_part(row, project)).collect()
    }

    async fn list_all_sources(&self, project: ProjectId) -> Result<Vec<SourcePart>, StoreError> {
        const SELECT: &str = "
            SELECT source_id, workspace_no, audience, known_seq, confirmed_seq, known_hash, confirmed_hash, moved_to,
                known_at, confirmed_at, confirmed_by
            FROM source
            WHERE project_id = $1
            ORDER BY source_id, workspace_no, audience";
        let rows = self.ask(Tenant::project(project), SELECT, &[&project.uuid()]).await?;
        rows.iter().map(|row| read_part(row, project)).collect()
    }

    async fn observe_source(
        &self,
        project: ProjectId,
        workspace: Option<&WorkspaceName>,
        observation: Observation,
        look: Look,
    ) -> Result<Option<Seq>, StoreError> {
        self.attempt(|| observe_source(&self.pool, project, workspace, &observation, look)).await
    }

    async fn adopt_source(&self, project: ProjectId, source: AdoptedSource, at: Timestamp) -> Result<bool, StoreError> {
        self.attempt(|| adopt_source(&self.pool, project, &source, at)).await
    }
}

/// All parts of a source, in every workspace.
async fn load_parts(tx: &Tx, project: ProjectId, source_id: &str) -> Result<Vec<SourcePart>, Fault> {
    let rows = tx.rows(LIST, &[&project.uuid(), &vec![source_id]]).await?;
    Ok(rows.iter().map(|row| read_part(row, project)).collect::<Result<_, _>>()?)
}

/// All parts of a source in one workspace.
async fn load_parts_in(
    tx: &Tx,
    project: ProjectId,
    source_id: &str,
    no: WorkspaceNo,
) -> Result<Vec<SourcePart>, Fault> {
    const SELECT: &str = "
        SELECT source_id, workspace_no, audience, known_seq, confirmed_seq, known_hash, confirmed_hash, moved_to,
            known_at, confirmed_at, confirmed_by
        FROM source
        WHERE project_id = $1 AND source_id = $2 AND workspace_no = $3
        ORDER BY audience";
    let rows = tx.rows(SELECT, &[&project.uuid(), &source_id, &integer(no.0)]).await?;
    Ok(rows.iter().map(|row| read_part(row, project)).collect::<Result<_, _>>()?)
}

const LIST: &str = "
    SELECT source_id, workspace_no, audience, known_seq, confirmed_seq, known_hash, confirmed_hash, moved_to, known_at,
        confirmed_at, confirmed_by
    FROM source
    WHERE project_id = $1 AND source_id = ANY($2)
    ORDER BY source_id, workspace_no, audience";

/// What a digest looks like, as it is stored.
pub(super) const DIGEST: &str = "^((md5|sha1|sha256|sha512):)?([0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{128})$";

/// Makes hashes that came with saves the newest known ones of their sources, for those who may see the saves. A source
/// may occur once per workspace and audience. A hash that is no news keeps its position ([`is_news`]; the column may
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

/// Whether the hash that came with a save changes what anybody knows about its source.
pub(super) async fn is_news_of_source(tx: &Tx, record: &NewRecord, no: WorkspaceNo) -> Result<bool, Fault> {
    let Some((source_id, hash)) = record.sighting() else { return Ok(false) };
    let parts = load_parts_in(tx, record.project, source_id, no).await?;
    Ok(is_news(&parts, record.audience, Sight::Saved(hash)))
}

/// Makes an observation the newest known one for everybody: readers combine what everybody may know with what their
/// audience knows, and the later sighting wins.
async fn observe_source(
    pool: &Arc<Pool>,
    project: ProjectId,
    workspace: Option<&WorkspaceName>,
    Observation { source_id, seen }: &Observation,
    Look { by, at }: Look,
) -> Result<Option<Seq>, Fault> {
    const UPSERT: &str = "
        INSERT INTO source (project_id, source_id, workspace_no, audience, known_seq, confirmed_seq, known_at,
            confirmed_at, confirmed_by, known_hash, confirmed_hash, moved_to)
        SELECT $1, $2, g.no, $4, $5::bigint, CASE WHEN $7::text IS NULL THEN 0 ELSE $5 END, $6::bigint,
            CASE WHEN $7 IS NULL THEN NULL ELSE $6 END, CASE WHEN $7 IS NULL THEN NULL ELSE $9::uuid END, $7, $7, $8
        FROM unnest($3::bigint[]) AS g (no)
        ON CONFLICT (project_id, source_id, workspace_no, audience) DO UPDATE
        SET known_at = CASE WHEN source.known_hash IS NOT DISTINCT FROM excluded.known_hash THEN source.known_at
                ELSE excluded.known_at END,
            known_seq = excluded.known_seq, known_hash = excluded.known_hash, moved_to = excluded.moved_to,
            confirmed_by =
                CASE WHEN excluded.confirmed_at IS NULL THEN source.confirmed_by ELSE excluded.confirmed_by END,
            confirmed_at = COALESCE(excluded.confirmed_at, source.confirmed_at),
            confirmed_seq = GREATEST(excluded.confirmed_seq, source.confirmed_seq),
            confirmed_hash = COALESCE(excluded.confirmed_hash, source.confirmed_hash)";
    const CONFIRM: &str = "
        UPDATE source
        SET confirmed_seq = known_seq, confirmed_hash = known_hash, confirmed_at = $5, confirmed_by = $6
        WHERE project_id = $1 AND source_id = $2 AND workspace_no = ANY($3) AND audience = $4
            AND known_hash IS NOT NULL";
    let everybody = AudienceBytes::of(Audience::Shared);
    let (id, at, by, everybody) = (project.uuid(), micros(at), by.map(|by| by.uuid()), everybody.as_slice());
    let tx = Tx::write(pool, Tenant::project(project)).await?;
    let mut locked = project::lock(&tx, project).await?;
    let workspaces = match workspace {
        Some(name) => project::find_workspace(&tx, project, name).await?.into_iter().collect(),
        None => list_workspaces(&tx, project, source_id).await?,
    };
    let parts = match workspaces.as_slice() {
        [no] => load_parts_in(&tx, project, source_id, *no).await?,
        _ => load_parts(&tx, project, source_id).await?,
    };
    let (news, known) = split_by_news(workspaces, &parts, seen);
    let numbers = |list: Vec<WorkspaceNo>| list.into_iter().map(|no| integer(no.0)).collect::<Vec<i64>>();
    let (news, known) = (numbers(news), numbers(known));
    let confirm = ask(CONFIRM, &[&id, source_id, &known, &everybody, &at, &by]);
    if news.is_empty() {
        tx.finish(vec![confirm]).await?;
        return Ok(None);
    }
    let seq = locked.take_seq();
    let (place, hash, moved_to) = (integer(seq.0), seen.hash(), seen.moved_to());
    let upsert = ask(UPSERT, &[&id, source_id, &news, &everybody, &place, &at, &hash, &moved_to, &by]);
    tx.finish(vec![confirm, upsert, locked.flush()]).await?;
    Ok(Some(seq))
}

/// The workspaces that know a source or have records from it, ended ones too because they may be restored, and the
/// default one.
async fn list_workspaces(tx: &Tx, project: ProjectId, source_id: &str) -> Result<Vec<WorkspaceNo>, Fault> {
    const SELECT: &str = "
        SELECT workspace_no
        FROM source
        WHERE project_id = $1 AND source_id = $2
        UNION
        SELECT workspace_no
        FROM record
        WHERE project_id = $1 AND source_id = $2 AND forgotten_at IS NULL
        UNION
        SELECT no
        FROM workspace
        WHERE project_id = $1 AND name = $3 AND deleted_at IS NULL";
    let default = WorkspaceName::default();
    let rows = tx.rows(SELECT, &[&project.uuid(), &source_id, &default.as_str()]).await?;
    let read = |row| Cells::new(row, "source", || format!("{project}/{source_id}")).count(0, "workspace_no");
    Ok(rows.iter().map(|row| read(row).map(WorkspaceNo)).collect::<Result<_, _>>()?)
}

async fn adopt_source(
    pool: &Arc<Pool>,
    project: ProjectId,
    source: &AdoptedSource,
    at: Timestamp,
) -> Result<bool, Fault> {
    const INSERT: &str = "
        INSERT INTO source (project_id, source_id, workspace_no, audience, known_seq, confirmed_seq, known_at,
            confirmed_at, known_hash, confirmed_hash, moved_to)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
    let AdoptedSource { workspace, source_id, audience, known, confirmed_hash } = source;
    let tx = Tx::write(pool, Tenant::project(project)).await?;
    let mut locked = project::lock(&tx, project).await?;
    let Some(no) = project::find_workspace(&tx, project, workspace).await? else { return Ok(false) };
    if load_parts_in(&tx, project, source_id, no).await?.iter().any(|part| part.audience == *audience) {
        return Ok(false);
    }
    let (id, at, no, audience) = (project.uuid(), micros(at), integer(no.0), AudienceBytes::of(*audience));
    let seq = integer(locked.take_seq().0);
    let confirmed_seq = if confirmed_hash.is_some() { seq } else { 0 };
    let confirmed_at = confirmed_hash.as_ref().map(|_| at);
    let (audience, hash, moved_to) = (audience.as_slice(), known.hash(), known.moved_to());
    let values = [
        &id as &(dyn ToSql + Sync),
        source_id,
        &no,
        &audience,
        &seq,
        &confirmed_seq,
        &at,
        &confirmed_at,
        &hash,
        confirmed_hash,
        &moved_to,
    ];
    let insert = ask(INSERT, &values);
    tx.finish(vec![insert, locked.flush()]).await?;
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
            SET known_seq = GREATEST(source.known_seq, excluded.known_seq),
                confirmed_seq = GREATEST(source.confirmed_seq, excluded.confirmed_seq),
                handed_seq = excluded.handed_seq,
                known_at = CASE WHEN excluded.known_seq > source.known_seq THEN excluded.known_at ELSE source.known_at END,
                confirmed_at = CASE WHEN excluded.confirmed_seq > source.confirmed_seq THEN excluded.confirmed_at
                    ELSE source.confirmed_at END,
                confirmed_by = CASE WHEN excluded.confirmed_seq > source.confirmed_seq THEN excluded.confirmed_by
                    ELSE source.confirmed_by END,
                known_hash =
                    CASE WHEN excluded.known_seq > source.known_seq THEN excluded.known_hash ELSE source.known_hash END,
                confirmed_hash = CASE WHEN excluded.confirmed_seq > source.confirmed_seq THEN excluded.confirmed_hash
                    ELSE source.confirmed_hash END,
                moved_to = CASE WHEN excluded.known_seq > source.known_seq THEN excluded.moved_to ELSE source.moved_to END"
        )
    };
}
pub(super) use joined_by_newest;

/// Takes what is known about sources along to another workspace, for records that are restored there. It gets a
/// position in the log, so that every index that follows the log learns of it.
pub(super) async fn carry_sources(
    tx: &Tx,
    project: ProjectId,
    source_ids: &[&str],
    from: WorkspaceNo,
    to: WorkspaceNo,
    place: Seq,
) -> Result<(), Fault> {
    const UPSERT: &str = joined_by_newest!(
        "
        INSERT INTO source (project_id, source_id, workspace_no, audience, known_seq, confirmed_seq, handed_seq,
            known_at, confirmed_at, confirmed_by, known_hash, confirmed_hash, moved_to)
        SELECT project_id, source_id, $4, audience, known_seq, confirmed_seq, $5, known_at, confirmed_at,
            confirmed_by, known_hash, confirmed_hash, moved_to
        FROM source
        WHERE project_id = $1 AND source_id = ANY($2) AND workspace_no = $3"
    );
    let (from, to, place) = (integer(from.0), integer(to.0), integer(place.0));
    tx.rows(UPSERT, &[&project.uuid(), &source_ids, &from, &to, &place]).await?;
    Ok(())
}
