//! Lists of what a project holds: its workspaces and its records, page by page.

use mnemon_core::{Audience, ProjectId, Record, RecordId, Seq, WorkspaceName, WorkspaceNo};
use rusqlite::{Connection, Row, Rows, ToSql, params};

use super::batch::{find_living, is_living};
use super::bodies::{Bodies, find_seq};
use super::log::list_audiences;
use super::rows::{AudienceBytes, Cells, integer};
use crate::damaged::Damaged;
use crate::interface::records::Filling;
use crate::{Listed, Portion, RecordFilter, StoreError, Stretch, WorkspaceRow};

pub(super) fn list_workspaces(conn: &Connection, project: ProjectId) -> Result<Vec<WorkspaceRow>, StoreError> {
    const SELECT: &str = "
        SELECT no, name, created_at
        FROM workspace INDEXED BY workspace_living
        WHERE project_id = ?1 AND deleted_at IS NULL
        ORDER BY name";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([project.to_bytes()])?;
    let mut workspaces = Vec::new();
    while let Some(row) = rows.next()? {
        workspaces.push(read_workspace(conn, row, project)?);
    }
    Ok(workspaces)
}

/// Reads no, name and created_at.
pub(super) fn read_workspace(conn: &Connection, row: &Row<'_>, project: ProjectId) -> Result<WorkspaceRow, StoreError> {
    let cells = Cells::new(row, "workspace", || project.to_string());
    let no = WorkspaceNo(cells.count(0, "no")?);
    Ok(WorkspaceRow {
        no,
        name: cells.workspace_name(1, "name")?,
        created_at: cells.time(2, "created_at")?,
        audiences: list_audiences(conn, project, no)?,
    })
}

/// How many live records of a workspace each audience has.
pub(super) fn count_living_in(
    conn: &Connection,
    project: ProjectId,
    no: WorkspaceNo,
) -> Result<Vec<(Audience, u64)>, StoreError> {
    const SELECT: &str = "
        SELECT audience, COUNT(*)
        FROM record INDEXED BY record_workspace
        WHERE project_id = ?1 AND workspace_no = ?2 AND forgotten_at IS NULL
        GROUP BY audience";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((project.to_bytes(), integer(no.0)))?;
    let mut counts = Vec::new();
    while let Some(row) = rows.next()? {
        let cells = Cells::new(row, "record", || project.to_string());
        counts.push((cells.audience(0, "audience")?, cells.count(1, "seq")?));
    }
    Ok(counts)
}

pub(super) fn list_records(
    conn: &Connection,
    project: ProjectId,
    filter: &RecordFilter,
    before: Option<Seq>,
    portion: Portion,
    damaged: &Damaged,
) -> Result<Vec<Listed>, StoreError> {
    if !is_living(conn, project)? {
        return Ok(Vec::new());
    }
    let mut bodies = Bodies::new(conn, project);
    fill(
        before,
        portion,
        |before, rows_max| match filter.is_forgotten {
            true => list_gone(conn, project, filter, before, rows_max),
            false => list_living(conn, project, filter, before, rows_max),
        },
        |seq| Ok(damaged.leave_out(bodies.find(seq))?.map(Listed::from)),
        |listed| listed.record.text_bytes(),
    )
}

/// A page of readable records. Readers take a short page for the last one, so further records fill the places of
/// damaged ones.
fn fill<T>(
    mut place: Option<Seq>,
    portion: Portion,
    mut list: impl FnMut(Option<Seq>, usize) -> Result<Vec<Seq>, StoreError>,
    mut read: impl FnMut(Seq) -> Result<Option<T>, StoreError>,
    bytes: impl Fn(&T) -> usize,
) -> Result<Vec<T>, StoreError> {
    let (mut filling, mut page) = (Filling::new(portion), Vec::new());
    loop {
        let missing = portion.rows_max - page.len();
        let seqs = list(place, missing)?;
        for seq in &seqs {
            let Some(row) = read(*seq)? else { continue };
            let is_last = filling.add(bytes(&row));
            page.push(row);
            if is_last {
                return Ok(page);
            }
        }
        if seqs.len() < missing {
            return Ok(page);
        }
        place = seqs.last().copied();
    }
}

/// What every list can be narrowed by. Lists of ids are JSON arrays of hexadecimal numbers.
macro_rules! narrowed {
    ($select:literal) => {
        concat!(
            $select,
            "
            AND (?6 IS NULL OR r.audience IN (SELECT unhex(value) FROM json_each(?6)))
            AND (?7 IS NULL OR r.author_id IN (SELECT unhex(value) FROM json_each(?7)))
            AND (?8 IS NULL OR r.is_key_given = 1 AND r.fact_key = ?8)
            AND (?9 IS NULL OR (r.source_id IS NOT NULL) = ?9)
            AND (?10 IS NULL OR ?10 = EXISTS (
                SELECT 1
                FROM source s
                WHERE s.project_id = r.project_id AND s.source_id = r.source_id AND s.workspace_no = r.workspace_no
                    AND instr(' ' || s.confirmed_hash || ' ', ' ' || r.source_hash || ' ') > 0))
            AND (?11 IS NULL OR r.seq IN (SELECT value FROM json_each(?11)))
        ORDER BY r.seq DESC
        LIMIT ?3"
        )
    };
}

/// The values of a list's parameters, from the second on.
struct Narrowing<'a> {
    before: i64,
    rows_max: i64,
    source_id: Option<&'a str>,
    audiences: Option<String>,
    authors: Option<String>,
    fact_key: Option<&'a str>,
    has_source: Option<bool>,
    is_confirmed: Option<bool>,
    among: Option<String>,
}

impl<'a> Narrowing<'a> {
    fn of(filter: &'a RecordFilter, before: Option<Seq>, rows_max: usize) -> Self {
        let audience = |audience: &Audience| quoted_hex(AudienceBytes::of(*audience).as_slice());
        Self {
            before: before.map_or(i64::MAX, |seq| integer(seq.0)),
            rows_max: integer(rows_max as u64),
            source_id: filter.source_id.as_deref(),
            audiences: filter.audiences.as_ref().map(|all| json_array(all.iter().map(audience))),
            authors: filter.authors.as_ref().map(|all| json_array(all.iter().map(|id| quoted_hex(&id.to_bytes())))),
            fact_key: filter.fact_key.as_deref(),
            has_source: filter.has_source,
            is_confirmed: filter.is_confirmed,
            among: filter.among.as_ref().map(|all| json_array(all.iter().map(|seq| seq.0.to_string()))),
        }
    }

    /// Runs a statement whose fourth parameter says where.
    fn list(
        &self,
        conn: &Connection,
        select: &'static str,
        project: ProjectId,
        place: &dyn ToSql,
    ) -> Result<Vec<Seq>, StoreError> {
        let mut statement = conn.prepare_cached(select)?;
        let rows = statement.query(params![
            project.to_bytes(),
            self.before,
            self.rows_max,
            place,
            self.source_id,
            self.audiences,
            self.authors,
            self.fact_key,
            self.has_source,
            self.is_confirmed,
            self.among,
        ])?;
        read_seqs(rows, project)
    }
}

fn quoted_hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\"{digits}\"")
}

fn json_array(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

/// The positions of the living records, newest first, by the index that leads to them directly.
fn list_living(
    conn: &Connection,
    project: ProjectId,
    filter: &RecordFilter,
    before: Option<Seq>,
    rows_max: usize,
) -> Result<Vec<Seq>, StoreError> {
    const AMONG: &str = narrowed!(
        "
        SELECT r.seq
        FROM json_each(?11) j
        CROSS JOIN record r ON r.project_id = ?1 AND r.seq = j.value
        CROSS JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
        WHERE r.seq < ?2 AND r.forgotten_at IS NULL AND w.deleted_at IS NULL AND (?4 IS NULL OR r.workspace_no = ?4)
            AND (?5 IS NULL OR r.source_id = ?5)"
    );
    const OF_KEY: &str = narrowed!(
        "
        SELECT r.seq
        FROM workspace w INDEXED BY workspace_living
        CROSS JOIN record r INDEXED BY record_fact_key
            ON r.project_id = w.project_id AND r.workspace_no = w.no AND r.fact_key = ?8
        WHERE w.project_id = ?1 AND w.deleted_at IS NULL AND r.is_key_given = 1 AND r.forgotten_at IS NULL
            AND r.seq < ?2 AND (?4 IS NULL OR r.workspace_no = ?4) AND (?5 IS NULL OR r.source_id = ?5)"
    );
    const OF_SOURCE: &str = narrowed!(
        "
        SELECT r.seq
        FROM record r INDEXED BY record_source
        CROSS JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
        WHERE r.project_id = ?1 AND r.source_id = ?5 AND r.seq < ?2 AND r.forgotten_at IS NULL AND w.deleted_at IS NULL
            AND (?4 IS NULL OR r.workspace_no = ?4)"
    );
    const OF_WORKSPACE: &str = narrowed!(
        "
        SELECT r.seq
        FROM record r INDEXED BY record_workspace
        WHERE r.project_id = ?1 AND r.workspace_no = ?4 AND r.seq < ?2 AND r.forgotten_at IS NULL AND ?5 IS NULL"
    );
    const ALL: &str = narrowed!(
        "
        SELECT r.seq
        FROM record r
        CROSS JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
        WHERE r.project_id = ?1 AND r.seq < ?2 AND r.forgotten_at IS NULL AND w.deleted_at IS NULL
            AND ?4 IS NULL AND ?5 IS NULL"
    );
    let workspace = match &filter.workspace {
        Some(name) => match find_living(conn, project, name)? {
            Some(no) => Some(no),
            None => return Ok(Vec::new()),
        },
        None => None,
    };
    let select = match (filter, workspace) {
        (RecordFilter { among: Some(_), .. }, _) => AMONG,
        (RecordFilter { fact_key: Some(_), .. }, _) => OF_KEY,
        (RecordFilter { source_id: Some(_), .. }, _) => OF_SOURCE,
        (_, Some(_)) => OF_WORKSPACE,
        (_, None) => ALL,
    };
    let workspace = workspace.map(|no| integer(no.0));
    Narrowing::of(filter, before, rows_max).list(conn, select, project, &workspace)
}

/// The positions of the records that were forgotten, or that ended with their workspace, newest first.
fn list_gone(
    conn: &Connection,
    project: ProjectId,
    filter: &RecordFilter,
    before: Option<Seq>,
    rows_max: usize,
) -> Result<Vec<Seq>, StoreError> {
    const FORGOTTEN: &str = narrowed!(
        "
        SELECT r.seq
        FROM record r INDEXED BY record_forgotten
        CROSS JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
        WHERE r.project_id = ?1 AND r.seq < ?2 AND r.forgotten_at IS NOT NULL
            AND (?4 IS NULL OR w.name = ?4) AND (?5 IS NULL OR r.source_id = ?5)"
    );
    const OF_DELETED: &str = narrowed!(
        "
        SELECT r.seq
        FROM workspace w
        CROSS JOIN record r INDEXED BY record_workspace ON r.project_id = w.project_id AND r.workspace_no = w.no
        WHERE w.project_id = ?1 AND w.deleted_at IS NOT NULL AND r.seq < ?2 AND r.forgotten_at IS NULL
            AND (?4 IS NULL OR w.name = ?4) AND (?5 IS NULL OR r.source_id = ?5)"
    );
    let name = filter.workspace.as_ref().map(WorkspaceName::as_str);
    let narrowing = Narrowing::of(filter, before, rows_max);
    let mut seqs = narrowing.list(conn, FORGOTTEN, project, &name)?;
    seqs.extend(narrowing.list(conn, OF_DELETED, project, &name)?);
    seqs.sort_unstable_by(|a, b| b.cmp(a));
    seqs.truncate(rows_max);
    Ok(seqs)
}

fn read_seqs(mut rows: Rows<'_>, project: ProjectId) -> Result<Vec<Seq>, StoreError> {
    let mut seqs = Vec::new();
    while let Some(row) = rows.next()? {
        seqs.push(Seq(Cells::new(row, "record", || project.to_string()).count(0, "seq")?));
    }
    Ok(seqs)
}

pub(super) fn list_onward(
    conn: &Connection,
    project: ProjectId,
    stretch: Stretch,
    portion: Portion,
    damaged: &Damaged,
) -> Result<Vec<Record>, StoreError> {
    const SELECT: &str = "
        SELECT r.seq
        FROM record r
        CROSS JOIN workspace w ON w.project_id = r.project_id AND w.no = r.workspace_no
        WHERE r.project_id = ?1 AND r.seq > ?2 AND r.seq <= ?3 AND r.forgotten_at IS NULL AND w.deleted_at IS NULL
            AND r.audience IN (SELECT unhex(value) FROM json_each(?4)) AND (?5 IS NULL OR w.name = ?5)
        ORDER BY r.seq
        LIMIT ?6";
    if !is_living(conn, project)? {
        return Ok(Vec::new());
    }
    let audience = |audience: &Audience| quoted_hex(AudienceBytes::of(*audience).as_slice());
    let audiences = json_array(stretch.audiences.iter().map(audience));
    let list = |after: Option<Seq>, rows_max: usize| {
        let mut statement = conn.prepare_cached(SELECT)?;
        let rows = statement.query(params![
            project.to_bytes(),
            integer(after.unwrap_or_default().0),
            integer(stretch.upto.0),
            audiences,
            stretch.workspace.as_ref().map(WorkspaceName::as_str),
            integer(rows_max as u64),
        ])?;
        read_seqs(rows, project)
    };
    let mut bodies = Bodies::new(conn, project);
    let read = |seq| damaged.leave_out(bodies.find_living(seq));
    fill(Some(stretch.after), portion, list, read, Record::text_bytes)
}

pub(super) fn find_any(conn: &Connection, project: ProjectId, id: RecordId) -> Result<Option<Listed>, StoreError> {
    if !is_living(conn, project)? {
        return Ok(None);
    }
    let Some(seq) = find_seq(conn, project, id)? else { return Ok(None) };
    Ok(Bodies::new(conn, project).find(seq)?.map(Listed::from))
}
