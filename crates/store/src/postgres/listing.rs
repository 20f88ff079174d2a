//! Lists of what a project holds: its workspaces and its records, page by page.

use std::collections::HashMap;
use std::sync::Arc;

use mnemon_core::{Audience, ProjectId, Record, Seq, WorkspaceName, WorkspaceNo};
use tokio_postgres::Row;
use uuid::Uuid;

use super::bodies::{BY_SEQ, read_stored};
use super::connect::Pool;
use super::error::Fault;
use super::rows::{AudienceBytes, Cells, integer, places, read_audiences};
use super::transaction::{Tenant, Tx, ask};
use crate::interface::records::Filling;
use crate::interface::stored::Stored;
use crate::{Listed, Portion, RecordFilter, StoreError, Stretch, WorkspaceRow};

/// The active workspaces of a project.
pub(super) const WORKSPACES: &str = "
    SELECT w.no, w.name, w.created_at, ARRAY(
        SELECT a.audience
        FROM workspace_audience a
        WHERE a.project_id = w.project_id AND a.workspace_no = w.no
        ORDER BY a.audience)
    FROM workspace w
    WHERE w.project_id = $1 AND w.deleted_at IS NULL
    ORDER BY w.name";

/// The positions of records, with the bytes of their own texts as [`Record::text_bytes`] counts them. PostgreSQL knows
/// the length of a long text without reading it.
macro_rules! sized {
    ($from:literal) => {
        concat!(
            "
        SELECT r.seq, (octet_length(r.content) + octet_length(
            concat(r.fact_key, r.source, r.source_id, r.source_hash, r.source_revision)))::bigint AS text_bytes",
            $from
        )
    };
}

pub(super) async fn list_records(
    pool: &Arc<Pool>,
    project: ProjectId,
    filter: &RecordFilter,
    before: Option<Seq>,
    portion: Portion,
) -> Result<Vec<Listed>, Fault> {
    let (mut found, mut before, mut rest) = (Vec::new(), before, portion);
    // Readers take a short page for the last one, so further records fill the places of damaged ones.
    loop {
        let tx = Tx::read(pool, Tenant::project_and_people(project)).await?;
        let seqs = list_places(&tx, project, filter, before, rest).await?;
        let read = read_places(tx, pool, project, &seqs).await?;
        let is_whole = read.len() == seqs.len();
        rest = rest.without(read.iter().map(|stored| &stored.record));
        found.extend(read);
        if is_whole || rest.is_over() {
            break;
        }
        before = seqs.last().copied();
    }
    found.sort_unstable_by_key(|stored| std::cmp::Reverse(stored.record.seq));
    Ok(found.into_iter().map(Listed::from).collect())
}

/// The records at these positions, without the damaged ones.
async fn read_places(tx: Tx, pool: &Pool, project: ProjectId, seqs: &[Seq]) -> Result<Vec<Stored>, Fault> {
    let rows = tx.finish(vec![ask(BY_SEQ, &[&project.uuid(), &places(seqs)])]).await?;
    let rows = rows.first().map(Vec::as_slice).unwrap_or_default();
    let read = rows.iter().map(|row| pool.damaged.leave_out(read_stored(row, project).map(Some)));
    Ok(read.filter_map(Result::transpose).collect::<Result<_, StoreError>>()?)
}

pub(super) async fn list_onward(
    pool: &Arc<Pool>,
    project: ProjectId,
    stretch: &Stretch,
    portion: Portion,
) -> Result<Vec<Record>, Fault> {
    const SELECT: &str = sized!(
        "
        FROM record r
        JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
        WHERE r.project_id = $1 AND r.seq > $2 AND r.seq <= $3 AND r.forgotten_at IS NULL AND w.deleted_at IS NULL
            AND r.audience = ANY($4) AND ($5::text IS NULL OR w.name = $5)
            AND EXISTS (SELECT 1 FROM project p WHERE p.id = $1 AND p.deleted_at IS NULL)
        ORDER BY r.seq
        LIMIT $6"
    );
    let audiences: Vec<AudienceBytes> = stretch.audiences.iter().map(|audience| AudienceBytes::of(*audience)).collect();
    let audiences: Vec<&[u8]> = audiences.iter().map(AudienceBytes::as_slice).collect();
    let name = stretch.workspace.as_ref().map(WorkspaceName::as_str);
    let (mut found, mut place, mut rest) = (Vec::new(), stretch.after, portion);
    loop {
        let (after, upto, rows_max) = (integer(place.0), integer(stretch.upto.0), integer(rest.rows_max as u64));
        let tx = Tx::read(pool, Tenant::project_and_people(project)).await?;
        let rows = tx.rows(SELECT, &[&project.uuid(), &after, &upto, &audiences, &name, &rows_max]).await?;
        let rows = rows.iter().map(|row| read_place(row, project)).collect::<Result<Vec<_>, _>>()?;
        let seqs = first_of(rows, rest);
        let read = read_places(tx, pool, project, &seqs).await?;
        let is_whole = read.len() == seqs.len();
        rest = rest.without(read.iter().map(|stored| &stored.record));
        found.extend(read);
        match seqs.last() {
            Some(last) if !is_whole && !rest.is_over() => place = *last,
            _ => break,
        }
    }
    found.retain(Stored::is_alive);
    found.sort_unstable_by_key(|stored| stored.record.seq);
    Ok(found.into_iter().map(|stored| stored.record).collect())
}

/// Reads no, name, created_at and the audiences.
pub(super) fn read_workspace(row: &Row, project: ProjectId) -> Result<WorkspaceRow, StoreError> {
    let cells = Cells::new(row, "workspace", || project.to_string());
    let no = WorkspaceNo(cells.count(0, "no")?);
    Ok(WorkspaceRow {
        no,
        name: cells.workspace_name(1, "name")?,
        created_at: cells.time(2, "created_at")?,
        audiences: read_audiences(row, 3, project, no)?,
    })
}

pub(super) fn read_counts(
    rows: &[Row],
    project: ProjectId,
) -> Result<HashMap<WorkspaceNo, Vec<(Audience, u64)>>, StoreError> {
    let mut counts: HashMap<_, Vec<_>> = HashMap::new();
    for row in rows {
        let cells = Cells::new(row, "record", || project.to_string());
        let no = WorkspaceNo(cells.count(0, "workspace_no")?);
        counts.entry(no).or_default().push((cells.audience(1, "audience")?, cells.count(2, "seq")?));
    }
    Ok(counts)
}

/// What every list can be narrowed by.
macro_rules! narrowed {
    ($from:literal) => {
        concat!(
            sized!($from),
            "
            AND ($6::bytea[] IS NULL OR r.audience = ANY($6)) AND ($7::uuid[] IS NULL OR r.author_id = ANY($7))
            AND ($8::text IS NULL OR r.is_key_given AND r.fact_key = $8)
            AND ($9::boolean IS NULL OR (r.source_id IS NOT NULL) = $9)
            AND ($10::boolean IS NULL OR $10 = EXISTS (
                SELECT 1
                FROM source s
                WHERE s.project_id = r.project_id AND s.source_id = r.source_id AND s.workspace_no = r.workspace_no
                    AND strpos(' ' || s.confirmed_hash || ' ', ' ' || r.source_hash || ' ') > 0))
            AND ($11::bigint[] IS NULL OR r.seq = ANY($11))
        ORDER BY r.seq DESC
        LIMIT $3"
        )
    };
}

/// The positions of the living records, or of those that were forgotten or ended with their workspace, newest first.
async fn list_places(
    tx: &Tx,
    project: ProjectId,
    filter: &RecordFilter,
    before: Option<Seq>,
    portion: Portion,
) -> Result<Vec<Seq>, Fault> {
    const FORGOTTEN: &str = narrowed!(
        "
        FROM record r
        JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
        WHERE r.project_id = $1 AND r.seq < $2 AND r.forgotten_at IS NOT NULL
            AND EXISTS (SELECT 1 FROM project p WHERE p.id = $1 AND p.deleted_at IS NULL)
            AND ($4::text IS NULL OR w.name = $4) AND ($5::text IS NULL OR r.source_id = $5)"
    );
    // One deleted workspace after the other, each by its own index: a join could walk through every living record, of
    // which hardly any is in such a place.
    const OF_DELETED: &str = concat!(
        "
        SELECT gone.seq, gone.text_bytes
        FROM (
            SELECT no
            FROM workspace
            WHERE project_id = $1 AND deleted_at IS NOT NULL AND ($4::text IS NULL OR name = $4)
                AND EXISTS (SELECT 1 FROM project p WHERE p.id = $1 AND p.deleted_at IS NULL)
            OFFSET 0) w
        CROSS JOIN LATERAL (",
        narrowed!(
            "
            FROM record r
            WHERE r.project_id = $1 AND r.workspace_no = w.no AND r.seq < $2 AND r.forgotten_at IS NULL
                AND ($5::text IS NULL OR r.source_id = $5)"
        ),
        ") gone
        ORDER BY gone.seq DESC
        LIMIT $3"
    );
    const LIVING: &str = narrowed!(
        "
        FROM record r
        JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
        WHERE r.project_id = $1 AND r.seq < $2 AND r.forgotten_at IS NULL AND w.deleted_at IS NULL
            AND ($4::text IS NULL OR w.name = $4) AND ($5::text IS NULL OR r.source_id = $5)"
    );
    const AMONG: &str = narrowed!(
        "
        FROM record r
        JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
        WHERE r.project_id = $1 AND r.seq = ANY($11) AND r.seq < $2 AND r.forgotten_at IS NULL AND w.deleted_at IS NULL
            AND ($4::text IS NULL OR w.name = $4) AND ($5::text IS NULL OR r.source_id = $5)"
    );
    const OF_KEY: &str = narrowed!(
        "
        FROM workspace w
        JOIN record r ON r.project_id = w.project_id AND r.workspace_no = w.no AND r.fact_key = $8
        WHERE w.project_id = $1 AND w.deleted_at IS NULL AND r.is_key_given AND r.forgotten_at IS NULL AND r.seq < $2
            AND ($4::text IS NULL OR w.name = $4) AND ($5::text IS NULL OR r.source_id = $5)"
    );
    let selects: &[&str] = match filter {
        RecordFilter { is_forgotten: true, .. } => &[FORGOTTEN, OF_DELETED],
        RecordFilter { among: Some(_), .. } => &[AMONG],
        RecordFilter { fact_key: Some(_), .. } => &[OF_KEY],
        _ => &[LIVING],
    };
    let before = before.map_or(i64::MAX, |seq| integer(seq.0));
    let name = filter.workspace.as_ref().map(WorkspaceName::as_str);
    let audiences: Option<Vec<AudienceBytes>> =
        filter.audiences.as_ref().map(|all| all.iter().map(|audience| AudienceBytes::of(*audience)).collect());
    let audiences: Option<Vec<&[u8]>> = audiences.as_ref().map(|all| all.iter().map(AudienceBytes::as_slice).collect());
    let authors: Option<Vec<Uuid>> = filter.authors.as_ref().map(|all| all.iter().map(|id| id.uuid()).collect());
    let among = filter.among.as_deref().map(places);
    let values: [&(dyn tokio_postgres::types::ToSql + Sync); 11] = [
        &project.uuid(),
        &before,
        &integer(portion.rows_max as u64),
        &name,
        &filter.source_id,
        &audiences,
        &authors,
        &filter.fact_key,
        &filter.has_source,
        &filter.is_confirmed,
        &among,
    ];
    let mut found = Vec::new();
    for select in selects {
        for row in tx.rows(select, &values).await? {
            found.push(read_place(&row, project)?);
        }
    }
    found.sort_unstable_by_key(|(seq, _)| std::cmp::Reverse(*seq));
    Ok(first_of(found, portion))
}

/// Reads seq and text_bytes.
fn read_place(row: &Row, project: ProjectId) -> Result<(Seq, usize), StoreError> {
    let cells = Cells::new(row, "record", || project.to_string());
    let bytes = cells.count(1, "content")?;
    Ok((Seq(cells.count(0, "seq")?), usize::try_from(bytes).unwrap_or(usize::MAX)))
}

/// As many of the records as a portion takes, each given with its bytes.
fn first_of(found: Vec<(Seq, usize)>, portion: Portion) -> Vec<Seq> {
    let mut filling = Filling::new(portion);
    let last = found.iter().position(|(_, bytes)| filling.add(*bytes));
    let count = last.map_or(found.len(), |last| last + 1);
    found.into_iter().take(count).map(|(seq, _)| seq).collect()
}
