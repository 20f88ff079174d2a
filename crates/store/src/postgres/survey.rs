//! All live records of a project, and what is known of their sources.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use async_trait::async_trait;
use mnemon_core::{Audience, MemberId, ProjectId, Seq};
use tokio_postgres::Row;

use super::PostgresStore;
use super::connect::Pool;
use super::error::Fault;
use super::listing::{WORKSPACES, read_workspace};
use super::rows::{AudienceBytes, Cells, integer, micros_opt};
use super::transaction::{Tenant, Tx, ask};
use crate::interface::sources::read_part;
use crate::interface::survey::{read_holdings, read_surveyed};
use crate::{Holdings, Since, StoreError, Survey, Surveyed, Surveys};

#[async_trait]
impl Surveys for PostgresStore {
    async fn survey(&self, project: ProjectId, since: Option<Since>) -> Result<Survey, StoreError> {
        match since {
            None => self.attempt(|| survey_all(&self.pool, project)).await,
            Some(since) => self.attempt(|| survey_changes(&self.pool, project, since)).await,
        }
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

async fn survey_all(pool: &Arc<Pool>, project: ProjectId) -> Result<Survey, Fault> {
    const RECORDS: &str = "
        SELECT seq, id, workspace_no, audience, is_key_given, CASE WHEN is_key_given THEN fact_key END, content_hash,
            source_id, source_hash, valid_until, updated_at
        FROM record
        WHERE project_id = $1 AND forgotten_at IS NULL";
    const PARTS: &str = "
        SELECT source_id, workspace_no, audience, known_seq, confirmed_seq, known_hash, confirmed_hash, moved_to,
            known_at, confirmed_at, confirmed_by
        FROM source
        WHERE project_id = $1";
    let id = project.uuid();
    let tx = Tx::read(pool, Tenant::project(project)).await?;
    let asks = [SEQ, WORKSPACES, RECORDS, PARTS].map(|sql| ask(sql, &[&id]));
    let answers = tx.finish(Vec::from(asks)).await?;
    let [seqs, workspaces, records, parts] = answers.as_slice() else {
        return Err(Fault::away("PostgreSQL left an answer out"));
    };
    Ok(read_survey(project, seqs, workspaces, records, parts)?)
}

async fn survey_changes(pool: &Arc<Pool>, project: ProjectId, since: Since) -> Result<Survey, Fault> {
    // The log is ordered by workspace, so each is asked, deleted ones too.
    const CHANGED: &str = "
        SELECT c.record_seq
        FROM workspace w
        JOIN change c ON c.project_id = w.project_id AND c.workspace_no = w.no
        WHERE w.project_id = $1 AND c.project_id = $1 AND c.seq > $2 AND c.record_seq IS NOT NULL";
    const RECORDS: &str = "
        SELECT seq, id, workspace_no, audience, is_key_given, CASE WHEN is_key_given THEN fact_key END, content_hash,
            source_id, source_hash, valid_until, updated_at
        FROM record
        WHERE project_id = $1 AND seq > $2 AND forgotten_at IS NULL
        UNION
        SELECT r.seq, r.id, r.workspace_no, r.audience, r.is_key_given, CASE WHEN r.is_key_given THEN r.fact_key END,
            r.content_hash, r.source_id, r.source_hash, r.valid_until, r.updated_at
        FROM workspace w
        JOIN change c ON c.project_id = w.project_id AND c.workspace_no = w.no
        JOIN record r ON r.project_id = c.project_id AND r.seq = c.record_seq
        WHERE w.project_id = $1 AND c.project_id = $1 AND r.project_id = $1 AND c.seq > $2 AND r.forgotten_at IS NULL";
    const PARTS: &str = "
        SELECT source_id, workspace_no, audience, known_seq, confirmed_seq, known_hash, confirmed_hash, moved_to,
            known_at, confirmed_at, confirmed_by
        FROM source
        WHERE project_id = $1 AND source_id IN (
            SELECT source_id
            FROM source
            WHERE project_id = $1 AND GREATEST(known_seq, handed_seq) > $2
            UNION ALL
            SELECT source_id
            FROM source
            WHERE project_id = $1 AND $3::bigint IS NOT NULL AND confirmed_at >= $3)
        ORDER BY source_id, workspace_no, audience";
    let (id, after, confirmed) = (project.uuid(), integer(since.seq.0), micros_opt(since.confirmed));
    let tx = Tx::read(pool, Tenant::project(project)).await?;
    let asks = vec![
        ask(SEQ, &[&id]),
        ask(WORKSPACES, &[&id]),
        ask(RECORDS, &[&id, &after]),
        ask(PARTS, &[&id, &after, &confirmed]),
        ask(CHANGED, &[&id, &after]),
    ];
    let answers = tx.finish(asks).await?;
    let [seqs, workspaces, records, parts, changed] = answers.as_slice() else {
        return Err(Fault::away("PostgreSQL left an answer out"));
    };
    let mut survey = read_survey(project, seqs, workspaces, records, parts)?;
    let mut touched: BTreeSet<Seq> = survey.records.iter().map(|record| record.summary.seq).collect();
    for row in changed {
        touched.insert(Seq(Cells::new(row, "change", || project.to_string()).count(0, "record_seq")?));
    }
    survey.touched = touched.into_iter().collect();
    Ok(survey)
}

fn read_survey(
    project: ProjectId,
    seqs: &[Row],
    workspaces: &[Row],
    records: &[Row],
    parts: &[Row],
) -> Result<Survey, StoreError> {
    let seq = seqs.first().map(|row| Cells::new(row, "project", || project.to_string()).count(0, "seq"));
    let mut living = HashMap::new();
    let mut records: Vec<Surveyed> = records.iter().map(|row| read_surveyed(row, project)).collect::<Result<_, _>>()?;
    records.sort_unstable_by_key(|record| record.summary.seq);
    Ok(Survey {
        seq: Seq(seq.transpose()?.unwrap_or(0)),
        workspaces: workspaces.iter().map(|row| read_workspace(row, project, &mut living)).collect::<Result<_, _>>()?,
        records,
        touched: Vec::new(),
        parts: parts.iter().map(|row| read_part(row, project)).collect::<Result<_, _>>()?,
    })
}
