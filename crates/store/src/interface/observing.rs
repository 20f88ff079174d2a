//! How what is known about sources changes: by looking at them, by restoring records, and when a member leaves. What a
//! save says about its source is written with the save.

use mnemon_core::{Audience, MemberId, ProjectId, Seq, Timestamp, WorkspaceName, WorkspaceNo};

use super::log::find_workspace;
use super::sources::{LIST, PARTS, read_part, split_by_news};
use super::trail::{LOOKS, note_look, read_earlier_look};
use super::{AdoptedSource, Look, Observation, SourcePart};
use crate::StoreError;
use crate::rows::Cells;
use crate::statement::{Cell, Statement, Transaction, Values, statement};

/// Makes an observation the newest known one for everybody: readers combine what everybody may know with what their
/// audience knows, and the later sighting wins.
pub(crate) async fn observe<T: Transaction>(
    tx: &mut T,
    project: ProjectId,
    workspace: Option<&WorkspaceName>,
    Observation { source_id, seen }: &Observation,
    look: Look,
) -> Result<Option<Seq>, T::Error> {
    // The living workspace of a name; and, where all are meant, those that know a source or have records from it, ended
    // ones too because they may be restored.
    const WORKSPACES: &str = "
        SELECT workspace_no
        FROM source
        WHERE project_id = $1 AND source_id = $2 AND $4
        UNION
        SELECT workspace_no
        FROM record /* INDEXED BY record_source */
        WHERE project_id = $1 AND source_id = $2 AND source_id IS NOT NULL AND forgotten_at IS NULL AND $4
        UNION
        SELECT no
        FROM workspace
        WHERE project_id = $1 AND name = $3 AND deleted_at IS NULL";
    // The hash and its rank are part of what indexes know, so a change of them has a place in the log: $7. Looking once
    // more at what was confirmed has none.
    const CONFIRM: &str = "
        UPDATE source
        SET handed_seq = COALESCE($7, handed_seq), confirmed_seq = known_seq, confirmed_hash = known_hash,
            confirmed_at = $5, confirmed_by = $6
        WHERE project_id = $1 AND source_id = $2 AND workspace_no = ANY($3) AND audience = $4
            AND known_hash IS NOT NULL";
    const UPSERT: &str = "
        INSERT INTO source (project_id, source_id, workspace_no, audience, known_seq, known_at, known_hash, moved_to,
            confirmed_seq, confirmed_at, confirmed_by, confirmed_hash)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $7)
        ON CONFLICT (project_id, source_id, workspace_no, audience) DO UPDATE
        SET known_at = CASE WHEN source.known_hash IS NOT DISTINCT FROM excluded.known_hash THEN source.known_at
                ELSE excluded.known_at END,
            known_seq = excluded.known_seq, known_hash = excluded.known_hash, moved_to = excluded.moved_to,
            confirmed_by =
                CASE WHEN excluded.confirmed_at IS NULL THEN source.confirmed_by ELSE excluded.confirmed_by END,
            confirmed_at = COALESCE(excluded.confirmed_at, source.confirmed_at),
            confirmed_seq = CASE WHEN excluded.confirmed_seq > source.confirmed_seq THEN excluded.confirmed_seq
                ELSE source.confirmed_seq END,
            confirmed_hash = COALESCE(excluded.confirmed_hash, source.confirmed_hash)";
    let default = WorkspaceName::default();
    let name = workspace.unwrap_or(&default).as_str();
    let reads = vec![
        statement!(WORKSPACES, project, source_id, name, workspace.is_none()),
        statement!(LIST, project, Cell::list([source_id.as_str()])),
        statement!(LOOKS, project, source_id),
    ];
    let answers = tx.lock(project, reads).await?.ok_or_else(|| StoreError::no_project(project))?;
    let [workspaces, parts, looks] = answers.as_slice() else { return Err(StoreError::no_project(project).into()) };
    let read = |row: &Values| Cells::new(row, "source", || format!("{project}/{source_id}")).count(0, "workspace_no");
    let workspaces = workspaces.iter().map(|row| read(row).map(WorkspaceNo)).collect::<Result<Vec<_>, _>>()?;
    let parts = parts.iter().map(|row| read_part(row, project)).collect::<Result<Vec<_>, _>>()?;
    let looks = looks.iter().map(|row| read_earlier_look(row, project)).collect::<Result<Vec<_>, _>>()?;
    for no in &workspaces {
        for note in note_look((project, *no, source_id), seen, look, &looks) {
            tx.put(note).await?;
        }
    }
    let (news, known) = split_by_news(workspaces, &parts, seen);
    let (same, newly): (Vec<_>, Vec<_>) = known.into_iter().partition(|no| is_confirmed(&parts, *no));
    let seq = if news.is_empty() && newly.is_empty() { None } else { Some(tx.take_seq(project)?) };
    for (known, place) in [(same, None), (newly, seq)] {
        if !known.is_empty() {
            let known = Cell::list(known);
            tx.put(statement!(CONFIRM, project, source_id, known, Audience::Shared, look.at, look.by, place)).await?;
        }
    }
    let Some(seq) = seq else { return Ok(None) };
    let confirmed = seen.hash().map(|_| look);
    for no in news {
        let upsert = statement!(
            UPSERT,
            project,
            source_id,
            no,
            Audience::Shared,
            seq,
            look.at,
            seen.hash(),
            seen.moved_to(),
            confirmed.map_or(Seq(0), |_| seq),
            confirmed.map(|look| look.at),
            confirmed.and_then(|look| look.by)
        );
        tx.put(upsert).await?;
    }
    Ok(Some(seq))
}

/// Whether confirming what everybody knows of the source in a workspace changes nothing but when that was.
fn is_confirmed(parts: &[SourcePart], no: WorkspaceNo) -> bool {
    let shared = parts.iter().find(|part| part.workspace_no == no && part.audience == Audience::Shared);
    shared.is_none_or(|SourcePart { state, .. }| {
        let is_same = state.confirmed_hash == state.known_hash && state.confirmed_seq == state.known_seq;
        is_same || state.known_hash.is_none()
    })
}

pub(crate) async fn adopt<T: Transaction>(
    tx: &mut T,
    project: ProjectId,
    source: &AdoptedSource,
    at: Timestamp,
) -> Result<bool, T::Error> {
    const INSERT: &str = "
        INSERT INTO source (project_id, source_id, workspace_no, audience, known_seq, confirmed_seq, known_at,
            confirmed_at, known_hash, confirmed_hash, moved_to)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
        ON CONFLICT DO NOTHING
        RETURNING 1";
    let AdoptedSource { workspace, source_id, audience, known, confirmed_hash } = source;
    tx.lock(project, Vec::new()).await?.ok_or_else(|| StoreError::no_project(project))?;
    let Some(no) = find_workspace(tx, project, workspace).await? else { return Ok(false) };
    let parts = tx.run(statement!(PARTS, project, source_id, no)).await?;
    let parts = parts.iter().map(|row| read_part(row, project)).collect::<Result<Vec<_>, _>>()?;
    if parts.iter().any(|part| part.audience == *audience) {
        return Ok(false);
    }
    let seq = tx.take_seq(project)?;
    let confirmed = confirmed_hash.as_ref().map(|_| (seq, at));
    let insert = statement!(
        INSERT,
        project,
        source_id,
        no,
        *audience,
        seq,
        confirmed.map_or(Seq(0), |(seq, _)| seq),
        at,
        confirmed.map(|(_, at)| at),
        known.hash(),
        confirmed_hash.as_ref(),
        known.moved_to()
    );
    tx.put(insert).await?;
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
            SET known_seq = CASE WHEN excluded.known_seq > source.known_seq THEN excluded.known_seq ELSE source.known_seq END,
                confirmed_seq = CASE WHEN excluded.confirmed_seq > source.confirmed_seq THEN excluded.confirmed_seq
                    ELSE source.confirmed_seq END,
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

/// Takes what is known about sources along to another workspace, for records that are restored there. It gets a
/// position in the log, so that every index that follows the log learns of it.
pub(crate) fn carry<'a>(
    project: ProjectId,
    source_ids: impl Iterator<Item = &'a str>,
    from: WorkspaceNo,
    to: WorkspaceNo,
    place: Seq,
) -> Statement {
    const UPSERT: &str = joined_by_newest!(
        "
        INSERT INTO source (project_id, source_id, workspace_no, audience, known_seq, confirmed_seq, handed_seq,
            known_at, confirmed_at, confirmed_by, known_hash, confirmed_hash, moved_to)
        SELECT project_id, source_id, $4, audience, known_seq, confirmed_seq, $5, known_at, confirmed_at,
            confirmed_by, known_hash, confirmed_hash, moved_to
        FROM source
        WHERE project_id = $1 AND source_id = ANY($2) AND workspace_no = $3"
    );
    statement!(UPSERT, project, Cell::list(source_ids), from, to, place)
}

/// Merges what only a member knew about sources into what only the heir knows; of two sightings the later one counts.
/// They get a new position in the log, so that every index notices.
pub(crate) async fn hand_over<T: Transaction>(
    tx: &mut T,
    project: ProjectId,
    from: MemberId,
    to: Option<MemberId>,
) -> Result<(), T::Error> {
    const KNOWS: &str = "SELECT 1 FROM source WHERE project_id = $1 AND audience = $2 LIMIT 1";
    const UPSERT: &str = joined_by_newest!(
        "
        INSERT INTO source (project_id, source_id, workspace_no, audience, known_seq, confirmed_seq, handed_seq,
            known_at, confirmed_at, confirmed_by, known_hash, confirmed_hash, moved_to)
        SELECT project_id, source_id, workspace_no, $3, known_seq, confirmed_seq, $4, known_at, confirmed_at,
            confirmed_by, known_hash, confirmed_hash, moved_to
        FROM source
        WHERE project_id = $1 AND audience = $2"
    );
    const DELETE: &str = "DELETE FROM source WHERE project_id = $1 AND audience = $2";
    let old = Audience::Author(from);
    if let Some(to) = to
        && !tx.run(statement!(KNOWS, project, old)).await?.is_empty()
    {
        let place = tx.take_seq(project)?;
        tx.put(statement!(UPSERT, project, old, Audience::Author(to), place)).await?;
    }
    tx.put(statement!(DELETE, project, old)).await
}
