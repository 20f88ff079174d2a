//! Lists of the records that a project holds, page by page.

use mnemon_core::{ProjectId, Record, Seq, WorkspaceName};

use super::lists::Filling;
use super::stored::{BY_SEQ, Stored, read_stored};
use super::{Listed, Portion, RecordFilter, Stretch};
use crate::StoreError;
use crate::rows::Cells;
use crate::statement::{Cell, Sql, Statement, Values, statement};
use crate::tenant::Tenant;

/// The positions of records, with the bytes of their own texts as [`Record::text_bytes`] counts them. Both engines know
/// the length of a long text without reading it.
macro_rules! sized {
    ($from:literal) => {
        concat!(
            "
            SELECT r.seq, CAST(octet_length(r.content) + octet_length(
                concat(r.fact_key, r.source, r.source_id, r.source_hash, r.source_revision)) AS BIGINT) AS text_bytes",
            $from
        )
    };
}

/// What every list can be narrowed by.
macro_rules! narrowed {
    ($from:literal, $order:literal) => {
        concat!(
            sized!($from),
            "
            AND r.seq < $2 AND EXISTS (SELECT 1 FROM project p WHERE p.id = $1 AND p.deleted_at IS NULL)
            AND (r.source_id = $5 OR $5 IS NULL)
            AND (r.audience = ANY($6) OR $6 IS NULL) AND (r.author_id = ANY($7) OR $7 IS NULL)
            AND (r.is_key_given AND r.fact_key = $8 OR $8 IS NULL)
            AND ((r.source_id IS NOT NULL) = $9 OR $9 IS NULL)
            AND (EXISTS (
                SELECT 1
                FROM source s
                WHERE s.project_id = r.project_id AND s.source_id = r.source_id AND s.workspace_no = r.workspace_no
                    AND REPLACE(' ' || s.confirmed_hash || ' ', ' ' || r.source_hash || ' ', '')
                        <> ' ' || s.confirmed_hash || ' ') = $10 OR $10 IS NULL)
            AND (r.seq = ANY($11) OR $11 IS NULL)
            ORDER BY ",
            $order,
            " DESC
            LIMIT $3"
        )
    };
}

/// Records before a position in the log, newest first.
pub(crate) async fn list_records<S: Sql + ?Sized>(
    store: &S,
    project: ProjectId,
    filter: &RecordFilter,
    mut before: Option<Seq>,
    portion: Portion,
) -> Result<Vec<Listed>, StoreError> {
    let (mut found, mut rest) = (Vec::new(), portion);
    // Readers take a short page for the last one, so further records fill the places of damaged ones.
    loop {
        let mut places = Vec::new();
        for select in selects(store, project, filter, before, rest.rows_max).await? {
            places.extend(read_places(&store.select(Tenant::project(project), select).await?, project)?);
        }
        places.sort_unstable_by_key(|(seq, _)| std::cmp::Reverse(*seq));
        let seqs = first_of(places, rest);
        let read = load(store, project, &seqs).await?;
        let is_whole = read.len() == seqs.len();
        rest = rest.without(read.iter().map(|stored| &stored.record));
        found.extend(read.into_iter().filter(|stored| stored.is_alive() != filter.is_forgotten));
        if is_whole || rest.is_over() {
            break;
        }
        before = seqs.last().copied();
    }
    found.sort_unstable_by_key(|stored| std::cmp::Reverse(stored.record.seq));
    Ok(found.into_iter().map(Listed::from).collect())
}

/// The records of a stretch of the log, oldest first.
pub(crate) async fn list_onward<S: Sql + ?Sized>(
    store: &S,
    project: ProjectId,
    stretch: &Stretch,
    portion: Portion,
) -> Result<Vec<Record>, StoreError> {
    const SELECT: &str = sized!(
        "
        FROM record r
        CROSS JOIN workspace w
        WHERE r.project_id = $1 AND r.seq > $2 AND r.seq <= $3 AND r.forgotten_at IS NULL
            AND w.project_id = r.project_id AND w.no = r.workspace_no AND w.deleted_at IS NULL
            AND r.audience = ANY($4) AND (w.name = $5 OR $5 IS NULL)
            AND EXISTS (SELECT 1 FROM project p WHERE p.id = $1 AND p.deleted_at IS NULL)
        ORDER BY r.seq
        LIMIT $6"
    );
    let (mut found, mut place, mut rest) = (Vec::new(), stretch.after, portion);
    loop {
        let audiences = Cell::list(stretch.audiences.iter().copied());
        let name = stretch.workspace.as_ref().map(WorkspaceName::as_str);
        let select = statement!(SELECT, project, place, stretch.upto, audiences, name, rest.rows_max);
        let rows = store.select(Tenant::project(project), select).await?;
        let seqs = first_of(read_places(&rows, project)?, rest);
        let read = load(store, project, &seqs).await?;
        let is_whole = read.len() == seqs.len();
        rest = rest.without(read.iter().map(|stored| &stored.record));
        found.extend(read.into_iter().filter(Stored::is_alive).map(|stored| stored.record));
        match seqs.last() {
            Some(last) if !is_whole && !rest.is_over() => place = *last,
            _ => break,
        }
    }
    found.sort_unstable_by_key(|record| record.seq);
    Ok(found)
}

/// The statements that find the places of a list, each by the index that leads to them directly.
async fn selects<S: Sql + ?Sized>(
    store: &S,
    project: ProjectId,
    filter: &RecordFilter,
    before: Option<Seq>,
    rows_max: usize,
) -> Result<Vec<Statement>, StoreError> {
    const AMONG: &str = narrowed!(
        "
        FROM record r
        CROSS JOIN workspace w
        WHERE r.project_id = $1 AND r.seq = ANY($11) AND r.forgotten_at IS NULL
            AND w.project_id = r.project_id AND w.no = r.workspace_no AND w.deleted_at IS NULL
            AND (w.name = $4 OR $4 IS NULL)",
        "r.seq"
    );
    const OF_KEY: &str = narrowed!(
        "
        FROM workspace w /* INDEXED BY workspace_living */
        CROSS JOIN record r /* INDEXED BY record_fact_key */
        WHERE w.project_id = $1 AND w.deleted_at IS NULL AND r.project_id = w.project_id AND r.workspace_no = w.no
            AND r.fact_key = $8 AND r.is_key_given /* = 1 */ AND r.forgotten_at IS NULL
            AND (w.name = $4 OR $4 IS NULL)",
        "r.seq"
    );
    const OF_SOURCE: &str = narrowed!(
        "
        FROM record r /* INDEXED BY record_source */
        CROSS JOIN workspace w
        WHERE r.project_id = $1 AND r.source_id = $5 AND r.source_id IS NOT NULL AND r.forgotten_at IS NULL
            AND w.project_id = r.project_id AND w.no = r.workspace_no AND w.deleted_at IS NULL
            AND (w.name = $4 OR $4 IS NULL)",
        "r.seq"
    );
    const OF_WORKSPACE: &str = narrowed!(
        "
        FROM record r /* INDEXED BY record_workspace */
        WHERE r.project_id = $1 AND r.forgotten_at IS NULL AND r.workspace_no = (
            SELECT w.no
            FROM workspace w
            WHERE w.project_id = $1 AND w.name = $4 AND w.deleted_at IS NULL)",
        "r.seq"
    );
    const ALL: &str = narrowed!(
        "
        FROM record r
        CROSS JOIN workspace w
        WHERE r.project_id = $1 AND r.forgotten_at IS NULL
            AND w.project_id = r.project_id AND w.no = r.workspace_no AND w.deleted_at IS NULL
            AND (w.name = $4 OR $4 IS NULL)",
        "r.seq"
    );
    const FORGOTTEN: &str = narrowed!(
        "
        FROM record r /* INDEXED BY record_forgotten */
        CROSS JOIN workspace w
        WHERE r.project_id = $1 AND r.forgotten_at IS NOT NULL
            AND w.project_id = r.project_id AND w.no = r.workspace_no AND (w.name = $4 OR $4 IS NULL)",
        "r.seq"
    );
    // A sum as the order keeps PostgreSQL from walking through every living record, of which hardly any is in such a
    // place.
    const OF_DELETED: &str = narrowed!(
        "
        FROM record r /* INDEXED BY record_workspace */
        WHERE r.project_id = $1 AND r.workspace_no = ANY($4) AND r.forgotten_at IS NULL",
        "r.seq + 0"
    );
    const DELETED: &str = "
        SELECT no
        FROM workspace
        WHERE project_id = $1 AND deleted_at IS NOT NULL AND (name = $2 OR $2 IS NULL)";
    let name = || filter.workspace.as_ref().map(WorkspaceName::as_str);
    let of = |sql, place| narrow(sql, project, filter, before, rows_max, place);
    if filter.is_forgotten {
        let rows = store.select_few(Tenant::project(project), statement!(DELETED, project, name())).await?;
        let forgotten = of(FORGOTTEN, name().into());
        if rows.is_empty() {
            return Ok(vec![forgotten]);
        }
        let deleted = Cell::List(rows.into_iter().flatten().collect());
        return Ok(vec![forgotten, of(OF_DELETED, deleted)]);
    }
    let select = match filter {
        RecordFilter { among: Some(_), .. } => AMONG,
        RecordFilter { fact_key: Some(_), .. } => OF_KEY,
        RecordFilter { source_id: Some(_), .. } => OF_SOURCE,
        RecordFilter { workspace: Some(_), .. } => OF_WORKSPACE,
        _ => ALL,
    };
    Ok(vec![of(select, name().into())])
}

/// A statement whose fourth value says where.
fn narrow(
    sql: &'static str,
    project: ProjectId,
    filter: &RecordFilter,
    before: Option<Seq>,
    rows_max: usize,
    place: Cell,
) -> Statement {
    statement!(
        sql,
        project,
        before.unwrap_or(Seq(u64::MAX)),
        rows_max,
        place,
        filter.source_id.as_ref(),
        filter.audiences.as_ref().map(|all| Cell::list(all.iter().copied())),
        filter.authors.as_ref().map(|all| Cell::list(all.iter().copied())),
        filter.fact_key.as_ref(),
        filter.has_source,
        filter.is_confirmed,
        filter.among.as_ref().map(|all| Cell::list(all.iter().copied()))
    )
}

/// Reads rows of seq and text_bytes.
fn read_places(rows: &[Values], project: ProjectId) -> Result<Vec<(Seq, usize)>, StoreError> {
    let read = |row: &Values| {
        let cells = Cells::new(row, "record", || project.to_string());
        let bytes = cells.count(1, "content")?;
        Ok((Seq(cells.count(0, "seq")?), usize::try_from(bytes).unwrap_or(usize::MAX)))
    };
    rows.iter().map(read).collect()
}

/// As many of the records as a portion takes, each given with its bytes.
fn first_of(found: Vec<(Seq, usize)>, portion: Portion) -> Vec<Seq> {
    let mut filling = Filling::new(portion);
    let last = found.iter().position(|(_, bytes)| filling.add(*bytes));
    let count = last.map_or(found.len(), |last| last + 1);
    found.into_iter().take(count).map(|(seq, _)| seq).collect()
}

/// The records at these positions, without the damaged ones.
async fn load<S: Sql + ?Sized>(store: &S, project: ProjectId, seqs: &[Seq]) -> Result<Vec<Stored>, StoreError> {
    let select = statement!(BY_SEQ, project, Cell::list(seqs.iter().copied()));
    let rows = store.select(Tenant::project_and_people(project), select).await?;
    let read = rows.iter().map(|row| store.damaged().leave_out(read_stored(row, project).map(Some)));
    read.filter_map(Result::transpose).collect()
}
