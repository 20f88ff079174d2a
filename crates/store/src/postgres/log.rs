//! A project's change log, and snapshots of indexes derived from it.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use mnemon_core::{ProjectId, Seq, WorkspaceName, WorkspaceNo};
use tokio_postgres::Row;

use super::PostgresStore;
use super::connect::Pool;
use super::error::Fault;
use super::replicas::{Answer, Visit};
use super::rows::{Cells, integer, read_audiences};
use super::snapshots;
use super::transaction::{Tenant, Tx, ask};
use super::twice;
use crate::interface::log::{Place, cut, dedup_sightings, read_present, read_sighting};
use crate::{Change, KeptImage, Log, Present, Snapshot, SnapshotImage, StoreError, Tail, Workspace};

#[async_trait]
impl Log for PostgresStore {
    async fn find_workspace(&self, project: ProjectId, name: &WorkspaceName) -> Result<Option<Workspace>, StoreError> {
        const SELECT: &str = "
            SELECT w.no, ARRAY(
                SELECT a.audience
                FROM workspace_audience a
                WHERE a.project_id = w.project_id AND a.workspace_no = w.no
                ORDER BY a.audience)
            FROM workspace w
            WHERE w.project_id = $1 AND w.name = $2 AND w.deleted_at IS NULL";
        let rows = self.ask(Tenant::project(project), SELECT, &[&project.uuid(), &name.as_str()]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let no = WorkspaceNo(Cells::new(row, "workspace", || format!("{project}/{name}")).count(0, "no")?);
        Ok(Some(Workspace { no, audiences: read_audiences(row, 1, project, no)? }))
    }

    async fn tail(
        &self,
        project: ProjectId,
        workspace: WorkspaceNo,
        after: Seq,
        rows_max: usize,
    ) -> Result<Tail, StoreError> {
        let place = Piece { project, no: workspace, after, rows_max: rows_max.max(1) };
        let tail = twice(|| load_tail(&self.pool, place, None)).await;
        let left_out = || StoreError::Away("PostgreSQL left an answer out".to_owned());
        tail.map_err(|fault| fault.error)?.ok_or_else(left_out)
    }

    async fn tail_at_least(
        &self,
        project: ProjectId,
        workspace: WorkspaceNo,
        after: Seq,
        rows_max: usize,
        at_least: Seq,
    ) -> Result<Tail, StoreError> {
        if let Some((replicas, _)) = &self.replicas {
            let place = Piece { project, no: workspace, after, rows_max: rows_max.max(1) };
            let read = replicas.read(async |visit| {
                let tail = load_tail(&visit.pool, place, Some((&visit, at_least))).await?;
                // A life that ended here may be one that has not begun here yet: the primary knows.
                Ok(Answer::of(tail.filter(|tail| tail.is_active)))
            });
            if let Some(Some(tail)) = read.await {
                return Ok(tail);
            }
        }
        self.tail(project, workspace, after, rows_max).await
    }

    fn epoch(&self) -> u64 {
        self.pool.epoch()
    }

    async fn last_seq(&self, project: ProjectId) -> Result<Option<Seq>, StoreError> {
        let rows = self.ask(Tenant::project(project), SEQ, &[&project.uuid()]).await?;
        rows.first().map(|row| read_seq(row, project)).transpose()
    }

    async fn save_snapshot(
        &self,
        project: ProjectId,
        snapshot: Snapshot<Arc<dyn SnapshotImage>>,
    ) -> Result<(), StoreError> {
        snapshots::save(&self.pool, project, snapshot).await
    }

    async fn find_snapshot(
        &self,
        project: ProjectId,
        workspace: WorkspaceNo,
    ) -> Result<Option<Snapshot<KeptImage>>, StoreError> {
        let rows =
            self.ask(Tenant::project(project), snapshots::SELECT, &[&project.uuid(), &integer(workspace.0)]).await?;
        rows.first().map(|row| snapshots::read(row, project, workspace)).transpose()
    }

    async fn find_snapshot_at_least(
        &self,
        project: ProjectId,
        workspace: WorkspaceNo,
        at_least: Seq,
    ) -> Result<Option<Snapshot<KeptImage>>, StoreError> {
        if let Some((replicas, _)) = &self.replicas {
            let read = replicas.read(async |visit| {
                let tx = Tx::read(&visit.pool, Tenant::project(project)).await?;
                let (id, no) = (project.uuid(), integer(workspace.0));
                let asks = vec![Visit::standing(), ask(SEQ, &[&id]), ask(snapshots::SELECT, &[&id, &no])];
                let answers = tx.finish(asks).await?;
                let [standing, end, found] = answers.as_slice() else {
                    return Err(Fault::away("PostgreSQL left an answer out"));
                };
                let end = end.first().map(|row| read_seq(row, project)).transpose()?;
                let counts = visit.is_of_the_primary(standing) && end.is_some_and(|end| end >= at_least);
                let found = found.first().map(|row| snapshots::read(row, project, workspace)).transpose()?;
                Ok(Answer::of(counts.then_some(found)))
            });
            if let Some(Some(found)) = read.await {
                return Ok(found);
            }
        }
        self.find_snapshot(project, workspace).await
    }
}

/// A place in the log of a workspace, and how much to read from there.
#[derive(Clone, Copy)]
struct Piece {
    project: ProjectId,
    no: WorkspaceNo,
    after: Seq,
    rows_max: usize,
}

const SEQ: &str = "SELECT seq FROM project WHERE id = $1";

fn read_seq(row: &Row, project: ProjectId) -> Result<Seq, StoreError> {
    Ok(Seq(Cells::new(row, "project", || project.to_string()).count(0, "seq")?))
}

/// Reads a piece of the log. On a replica, `None` if it has not replayed as much as it must.
async fn load_tail(pool: &Arc<Pool>, piece: Piece, visit: Option<(&Visit, Seq)>) -> Result<Option<Tail>, Fault> {
    const ACTIVE: &str = "
        SELECT ARRAY(
            SELECT a.audience
            FROM workspace_audience a
            WHERE a.project_id = w.project_id AND a.workspace_no = w.no
            ORDER BY a.audience)
        FROM workspace w
        WHERE w.project_id = $1 AND w.no = $2 AND w.deleted_at IS NULL";
    // Where live records were saved. Forgotten ones can be skipped: a reader that knew them learns of it from the
    // change.
    const SAVES: &str = "
        SELECT seq, seq, seq, id, workspace_no, audience, author_id, department_id, is_key_given, confidence,
            valid_until, created_at, updated_at, fact_key, source, source_id, source_hash, source_revision, content,
            checksum, is_cautioned, tags, occurred_at, embedding
        FROM record
        WHERE project_id = $1 AND workspace_no = $2 AND seq > $3 AND forgotten_at IS NULL
        ORDER BY seq
        LIMIT $4";
    const CHANGES: &str = "
        SELECT c.seq, c.record_seq, r.seq, r.id, r.workspace_no, r.audience, r.author_id, r.department_id,
            r.is_key_given, r.confidence, r.valid_until, r.created_at, r.updated_at, r.fact_key, r.source,
            r.source_id, r.source_hash, r.source_revision, r.content, r.checksum, r.is_cautioned, r.tags, r.occurred_at,
            r.embedding
        FROM change c
        LEFT JOIN record r ON r.project_id = c.project_id AND r.seq = c.record_seq
            AND r.workspace_no = c.workspace_no AND r.forgotten_at IS NULL
        WHERE c.project_id = $1 AND c.workspace_no = $2 AND c.seq > $3
        ORDER BY c.seq
        LIMIT $4";
    // Where knowledge about the workspace's sources changed. What came with a live record can be skipped: an index that
    // learns of the record learns everything known about its source. What was handed over together shares a position,
    // and a piece has all of it or nothing.
    const SIGHTINGS: &str = "
        SELECT GREATEST(s.known_seq, s.handed_seq), s.source_id, s.audience, s.known_seq, s.known_hash, s.confirmed_seq,
            s.confirmed_hash
        FROM source s
        WHERE s.project_id = $1 AND s.workspace_no = $2 AND GREATEST(s.known_seq, s.handed_seq) > $3
            AND (s.handed_seq > 0 OR NOT EXISTS (
                SELECT 1
                FROM record r
                WHERE r.project_id = $1 AND r.seq = s.known_seq AND r.workspace_no = $2
                    AND r.forgotten_at IS NULL))
        ORDER BY GREATEST(s.known_seq, s.handed_seq)
        FETCH FIRST ($4) ROWS WITH TIES";
    // Everything known about the sources of those records.
    const KNOWN: &str = "
        SELECT s.source_id, s.audience, s.known_seq, s.known_hash, s.confirmed_seq, s.confirmed_hash
        FROM (
            SELECT r.source_id
            FROM (
                SELECT source_id
                FROM record
                WHERE project_id = $1 AND workspace_no = $2 AND seq > $3 AND forgotten_at IS NULL
                ORDER BY seq
                LIMIT $4) AS r
            WHERE r.source_id IS NOT NULL
            UNION
            SELECT r.source_id
            FROM (
                SELECT record_seq
                FROM change
                WHERE project_id = $1 AND workspace_no = $2 AND seq > $3
                ORDER BY seq
                LIMIT $4) AS c
            JOIN record r ON r.project_id = $1 AND r.seq = c.record_seq AND r.workspace_no = $2
                AND r.forgotten_at IS NULL
            WHERE r.source_id IS NOT NULL) AS g
        JOIN source s ON s.project_id = $1 AND s.source_id = g.source_id AND s.workspace_no = $2";
    let Piece { project, no, after, rows_max } = piece;
    let (id, workspace, from, rows) = (project.uuid(), integer(no.0), integer(after.0), integer(rows_max as u64));
    let tx = Tx::read(pool, Tenant::project(project)).await?.of_a_call();
    let mut asks: Vec<_> = visit.iter().map(|_| Visit::standing()).collect();
    asks.extend([
        ask(SEQ, &[&id]),
        ask(ACTIVE, &[&id, &workspace]),
        ask(SAVES, &[&id, &workspace, &from, &rows]),
        ask(CHANGES, &[&id, &workspace, &from, &rows]),
        ask(SIGHTINGS, &[&id, &workspace, &from, &rows]),
        ask(KNOWN, &[&id, &workspace, &from, &rows]),
    ]);
    let mut answers = tx.finish(asks).await?;
    let standing = visit.map(|_| answers.remove(0));
    let [end, active, saves, changes, sightings, known] = answers.as_slice() else {
        return Err(Fault::away("PostgreSQL left an answer out"));
    };
    let end = end.first().map(|row| read_seq(row, project)).transpose()?;
    let end = end.ok_or_else(|| StoreError::no_project(project))?;
    if let (Some((visit, at_least)), Some(standing)) = (visit, &standing)
        && (!visit.is_of_the_primary(standing) || end < at_least)
    {
        return Ok(None);
    }
    let Some(active) = active.first() else {
        return Ok(Some(Tail::ended(end)));
    };
    let audiences = read_audiences(active, 0, project, no)?;
    let mut piece = Vec::with_capacity(saves.len() + changes.len() + sightings.len());
    for row in saves.iter().chain(changes) {
        let cells = Cells::new(row, "change", || project.to_string());
        let record = cells.count_opt(1, "record_seq")?.map(|seq| What::Record(Seq(seq), row));
        piece.push(Place { at: Seq(cells.count(0, "seq")?), what: record.unwrap_or(What::Workspace) });
    }
    for row in sightings {
        let at = Seq(Cells::new(row, "source", || project.to_string()).count(0, "known_seq")?);
        piece.push(Place { at, what: What::Sighting(row) });
    }
    let upto = cut(&mut piece, rows_max, end);
    let (mut touched, mut sightings) = (BTreeMap::new(), Vec::new());
    for place in piece {
        match place.what {
            What::Record(seq, row) => drop(touched.insert(seq, row)),
            What::Sighting(row) => sightings.push(read_sighting(row, 1, project)?),
            What::Workspace => {}
        }
    }
    let change = |(seq, row)| {
        let present = find_present(row, project, seq);
        // What a replica can't read is the primary's to explain.
        let present = if visit.is_some() { present? } else { pool.damaged.leave_out(present)? };
        Ok(present.map_or(Change::Absent(seq), |present| Change::Present(Box::new(present))))
    };
    let changes = touched.into_iter().map(change).collect::<Result<_, StoreError>>()?;
    for row in known {
        sightings.push(read_sighting(row, 0, project)?);
    }
    dedup_sightings(&mut sightings);
    Ok(Some(Tail { upto, is_end: upto == end, is_active: true, audiences, changes, sightings }))
}
/// What happened at a position in the log, and the row that says so.
enum What<'a> {
    Record(Seq, &'a Row),
    Sighting(&'a Row),
    Workspace,
}

fn find_present(row: &Row, project: ProjectId, seq: Seq) -> Result<Option<Present>, StoreError> {
    let found = Cells::new(row, "record", || format!("{project}/{seq}")).count_opt(2, "seq")?;
    found.map(|_| read_present(row, 2, project)).transpose()
}
