//! How the records of a project stand.

use std::sync::Arc;

use async_trait::async_trait;
use mnemon_core::{Audience, MemberId, ProjectId, Seq};

use super::PostgresStore;
use super::connect::Pool;
use super::error::Fault;
use super::listing::{WORKSPACES, read_workspace};
use super::rows::{AudienceBytes, Cells};
use super::sources;
use super::transaction::{Tenant, Tx, ask};
use crate::acts::records::read_brief;
use crate::acts::sources::read_part;
use crate::acts::survey::{add_confirmed, living_by_workspace, once_each, read_holdings, read_place, sources_of};
use crate::{Holdings, Place, StoreError, Survey, Surveys};

#[async_trait]
impl Surveys for PostgresStore {
    async fn survey(&self, project: ProjectId) -> Result<Survey, StoreError> {
        self.attempt(|| survey(&self.pool, project)).await
    }

    async fn count_holdings(&self, project: ProjectId, member: MemberId) -> Result<Holdings, StoreError> {
        const SELECT: &str = "
            SELECT COUNT(*), COUNT(*) FILTER (WHERE r.audience = $3),
                (SELECT COUNT(*) FROM session s WHERE s.project_id = $1 AND s.member_id = $2)
            FROM record r
            WHERE r.project_id = $1 AND (r.author_id = $2 OR r.audience = $3)";
        let draft = AudienceBytes::of(Audience::Author(member));
        let draft = draft.as_slice();
        let rows = self.ask(Tenant::project(project), SELECT, &[&project.uuid(), &member.uuid(), &draft]).await?;
        rows.first().map_or(Ok(Holdings::default()), |row| read_holdings(row, project))
    }
}

const SEQ: &str = "SELECT seq FROM project WHERE id = $1 AND deleted_at IS NULL";

const PLACES: &str = "
    SELECT w.no, w.name, r.audience, r.records, r.sourceless, r.last_saved_at
    FROM (
        SELECT workspace_no, audience, COUNT(*) AS records, COUNT(*) FILTER (WHERE source_id IS NULL) AS sourceless,
            MAX(updated_at) AS last_saved_at
        FROM record
        WHERE project_id = $1 AND forgotten_at IS NULL
        GROUP BY workspace_no, audience) r
    JOIN workspace w ON w.project_id = $1 AND w.no = r.workspace_no AND w.deleted_at IS NULL
    ORDER BY w.name, r.audience";

const CONFIRMED: &str = "
    SELECT r.workspace_no, r.audience, COUNT(*)
    FROM source s
    JOIN record r ON r.project_id = s.project_id AND r.source_id = s.source_id
        AND strpos(' ' || s.confirmed_hash || ' ', ' ' || r.source_hash || ' ') > 0
    WHERE s.project_id = $1 AND r.project_id = $1 AND r.forgotten_at IS NULL
    GROUP BY r.workspace_no, r.audience";

const ENDING: &str = "
    SELECT r.seq, r.id, r.workspace_no, r.audience, r.is_key_given, r.fact_key, r.content_hash, r.source_id,
        r.source_hash, r.valid_until
    FROM record r
    JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no AND w.deleted_at IS NULL
    WHERE r.project_id = $1 AND r.valid_until IS NOT NULL AND r.forgotten_at IS NULL";

const OUTDATED: &str = "
    SELECT r.seq, r.id, r.workspace_no, r.audience, r.is_key_given, r.fact_key, r.content_hash, r.source_id,
        r.source_hash, r.valid_until
    FROM source s
    JOIN record r ON r.project_id = s.project_id AND r.source_id = s.source_id
        AND strpos(' ' || translate(s.known_hash, '?', '') || ' ', ' ' || r.source_hash || ' ') = 0
    JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no AND w.deleted_at IS NULL
    WHERE s.project_id = $1 AND r.project_id = $1 AND r.forgotten_at IS NULL";

const SHARING: &str = "
    SELECT r.seq, r.id, r.workspace_no, r.audience, r.is_key_given, r.fact_key, r.content_hash, r.source_id,
        r.source_hash, r.valid_until
    FROM (
        SELECT workspace_no, fact_key
        FROM record
        WHERE project_id = $1 AND is_key_given AND forgotten_at IS NULL
        GROUP BY workspace_no, fact_key
        HAVING COUNT(*) > 1) k
    JOIN workspace w ON w.project_id = $1 AND w.no = k.workspace_no AND w.deleted_at IS NULL
    JOIN record r ON r.project_id = $1 AND r.workspace_no = k.workspace_no AND r.fact_key = k.fact_key
        AND r.is_key_given AND r.forgotten_at IS NULL";

async fn survey(pool: &Arc<Pool>, project: ProjectId) -> Result<Survey, Fault> {
    let id = project.uuid();
    let tx = Tx::read(pool, Tenant::project(project)).await?;
    let asks = [SEQ, WORKSPACES, PLACES, CONFIRMED, ENDING, OUTDATED, SHARING].map(|sql| ask(sql, &[&id]));
    let answers = tx.flight(Vec::from(asks)).await?;
    let [seqs, rows, counts, confirmed, found @ ..] = answers.as_slice() else {
        return Err(Fault::away("PostgreSQL left an answer out"));
    };
    let seq = seqs.first().map(|row| Cells::new(row, "project", || project.to_string()).count(0, "seq"));
    let mut places: Vec<Place> = counts.iter().map(|row| read_place(row, project)).collect::<Result<_, _>>()?;
    for row in confirmed {
        add_confirmed(&mut places, row, project)?;
    }
    let mut living = living_by_workspace(&places);
    let workspaces = rows.iter().map(|row| read_workspace(row, project, &mut living)).collect::<Result<_, _>>()?;
    let suspects = found.iter().flatten().map(|row| read_brief(row, project)).collect::<Result<Vec<_>, _>>()?;
    let suspects = once_each(suspects);
    let rows = tx.finish(vec![ask(sources::LIST, &[&id, &sources_of(&suspects)])]).await?;
    let parts = rows.iter().flatten().map(|row| read_part(row, project)).collect::<Result<_, _>>()?;
    Ok(Survey { seq: Seq(seq.transpose()?.unwrap_or(0)), workspaces, places, suspects, parts })
}
