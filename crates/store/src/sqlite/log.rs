//! A project's change log, and snapshots of indexes derived from it: a row for each, and a file (`snapshot_files.rs`).

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use async_trait::async_trait;
use mnemon_core::{Audience, ProjectId, Seq, WorkspaceName, WorkspaceNo};
use rusqlite::{Connection, OptionalExtension, params};

use super::SqliteStore;
use super::batch::{Tx, find_living};
use super::rows::{Cells, find, integer};
use crate::damaged::Damaged;
use crate::interface::log::{Place, cut, dedup_sightings, read_present, read_sighting};
use crate::{Change, KeptImage, Log, Present, Sighting, Snapshot, SnapshotImage, StoreError, Tail, Workspace};

/// A tail of at most this many positions is read on the calling thread; see [`super::readers::Readers::read`].
const SHORT_TAIL_MAX: u64 = 64;

#[async_trait]
impl Log for SqliteStore {
    async fn find_workspace(&self, project: ProjectId, name: &WorkspaceName) -> Result<Option<Workspace>, StoreError> {
        self.readers.read_at_once(|conn| {
            let Some(no) = find_living(conn, project, name)? else { return Ok(None) };
            Ok(Some(Workspace { no, audiences: list_audiences(conn, project, no)? }))
        })
    }

    async fn tail(
        &self,
        project: ProjectId,
        workspace: WorkspaceNo,
        after: Seq,
        rows_max: usize,
    ) -> Result<Tail, StoreError> {
        let damaged = Arc::clone(&self.damaged);
        let read = move |conn: &Connection| tail(conn, project, workspace, after, rows_max.max(1), &damaged);
        let last = self.last_seq(project).await?.unwrap_or_default();
        if last.0.saturating_sub(after.0) <= SHORT_TAIL_MAX {
            self.readers.read_at_once(read)
        } else {
            self.readers.read_long(read).await
        }
    }

    fn epoch(&self) -> u64 {
        // One process owns the directory: no other can take over while it runs.
        0
    }

    async fn last_seq(&self, project: ProjectId) -> Result<Option<Seq>, StoreError> {
        if let Some(seq) = self.memory.seqs.find(project) {
            return Ok(Some(seq));
        }
        let Some(seq) = self.readers.read(|conn| load_seq(conn, project))? else { return Ok(None) };
        self.memory.seqs.raise(project, seq);
        Ok(self.memory.seqs.find(project))
    }

    async fn save_snapshot(
        &self,
        project: ProjectId,
        snapshot: Snapshot<Arc<dyn SnapshotImage>>,
    ) -> Result<(), StoreError> {
        let Snapshot { workspace, seq, image } = snapshot;
        let written = self.snapshot_files.write(image).await?;
        let row = Row { project, workspace, seq, file: written.name().to_owned() };
        let replaced = self.writer.write(move |tx| save_snapshot(tx, &row)).await?;
        match replaced {
            Replaced::File(old) => {
                written.keep();
                self.snapshot_files.remove(&old);
            }
            Replaced::Nothing => written.keep(),
            Replaced::IsNewer => {}
        }
        Ok(())
    }

    async fn find_snapshot(
        &self,
        project: ProjectId,
        workspace: WorkspaceNo,
    ) -> Result<Option<Snapshot<KeptImage>>, StoreError> {
        // Between reading the row and opening its file, a newer one may have taken its place.
        for _ in 0..2 {
            let Some((seq, name)) = self.readers.read_at_once(|conn| find_snapshot(conn, project, workspace))? else {
                return Ok(None);
            };
            if let Some(file) = self.snapshot_files.open(&name)? {
                return Ok(Some(Snapshot { workspace, seq, image: KeptImage::File(file) }));
            }
        }
        Ok(None)
    }
}

pub(super) fn load_seq(conn: &Connection, project: ProjectId) -> Result<Option<Seq>, StoreError> {
    const SELECT: &str = "SELECT seq FROM project WHERE id = ?1";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query([project.to_bytes()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(Seq(Cells::new(row, "project", || project.to_string()).count(0, "seq")?)))
}

pub(super) fn list_audiences(
    conn: &Connection,
    project: ProjectId,
    no: WorkspaceNo,
) -> Result<Vec<Audience>, StoreError> {
    const SELECT: &str = "
        SELECT audience
        FROM workspace_audience
        WHERE project_id = ?1 AND workspace_no = ?2
        ORDER BY audience";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((project.to_bytes(), integer(no.0)))?;
    let mut audiences = Vec::new();
    while let Some(row) = rows.next()? {
        let cells = Cells::new(row, "workspace_audience", || format!("{project}/{}", no.0));
        audiences.push(cells.audience(0, "audience")?);
    }
    Ok(audiences)
}

fn tail(
    conn: &Connection,
    project: ProjectId,
    no: WorkspaceNo,
    after: Seq,
    rows_max: usize,
    damaged: &Damaged,
) -> Result<Tail, StoreError> {
    let end = load_seq(conn, project)?.ok_or_else(|| StoreError::no_project(project))?;
    if !is_active(conn, project, no)? {
        return Ok(Tail::ended(end));
    }
    let mut piece = list_saves(conn, project, no, after, rows_max)?;
    piece.extend(list_changes(conn, project, no, after, rows_max)?);
    piece.extend(list_sightings(conn, project, no, after, rows_max)?);
    let upto = cut(&mut piece, rows_max, end);
    let (mut touched, mut sightings) = (BTreeSet::new(), Vec::new());
    for place in piece {
        match place.what {
            What::Record(seq) => drop(touched.insert(seq)),
            What::Sighting(sighting) => sightings.push(sighting),
            What::Workspace => {}
        }
    }
    let change = |seq| {
        let present = damaged.leave_out(find_present(conn, project, no, seq))?;
        Ok(present.map_or(Change::Absent(seq), |present| Change::Present(Box::new(present))))
    };
    let changes: Vec<Change> = touched.into_iter().map(change).collect::<Result<_, StoreError>>()?;
    sightings.extend(load_sightings(conn, project, no, &changes)?);
    dedup_sightings(&mut sightings);
    let audiences = list_audiences(conn, project, no)?;
    Ok(Tail { upto, is_end: upto == end, is_active: true, audiences, changes, sightings })
}

/// What happened at a position in the log.
enum What {
    Record(Seq),
    Sighting(Sighting),
    Workspace,
}

pub(super) fn is_active(conn: &Connection, project: ProjectId, no: WorkspaceNo) -> Result<bool, StoreError> {
    const SELECT: &str = "SELECT 1 FROM workspace WHERE project_id = ?1 AND no = ?2 AND deleted_at IS NULL";
    let values = (project.to_bytes(), integer(no.0));
    Ok(conn.prepare_cached(SELECT)?.query_row(values, |_| Ok(())).optional()?.is_some())
}

/// Where live records were saved. Forgotten ones can be skipped: a reader that knew them learns of it from the change.
fn list_saves(
    conn: &Connection,
    project: ProjectId,
    no: WorkspaceNo,
    after: Seq,
    rows_max: usize,
) -> Result<Vec<Place<What>>, StoreError> {
    const SELECT: &str = "
        SELECT seq
        FROM record INDEXED BY record_workspace
        WHERE project_id = ?1 AND workspace_no = ?2 AND seq > ?3 AND forgotten_at IS NULL
        ORDER BY seq
        LIMIT ?4";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((project.to_bytes(), integer(no.0), integer(after.0), integer(rows_max as u64)))?;
    let mut places = Vec::new();
    while let Some(row) = rows.next()? {
        let seq = Seq(Cells::new(row, "record", || project.to_string()).count(0, "seq")?);
        places.push(Place { at: seq, what: What::Record(seq) });
    }
    Ok(places)
}

fn list_changes(
    conn: &Connection,
    project: ProjectId,
    no: WorkspaceNo,
    after: Seq,
    rows_max: usize,
) -> Result<Vec<Place<What>>, StoreError> {
    const SELECT: &str = "
        SELECT seq, record_seq
        FROM change
        WHERE project_id = ?1 AND workspace_no = ?2 AND seq > ?3
        ORDER BY seq
        LIMIT ?4";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((project.to_bytes(), integer(no.0), integer(after.0), integer(rows_max as u64)))?;
    let mut places = Vec::new();
    while let Some(row) = rows.next()? {
        let cells = Cells::new(row, "change", || project.to_string());
        let record = cells.count_opt(1, "record_seq")?.map(|seq| What::Record(Seq(seq)));
        places.push(Place { at: Seq(cells.count(0, "seq")?), what: record.unwrap_or(What::Workspace) });
    }
    Ok(places)
}

/// Where knowledge about the workspace's sources changed. What came with a live record can be skipped: an index that
/// learns of the record learns everything known about its source. What was handed over together shares a position, and
/// a piece has all of it or nothing.
fn list_sightings(
    conn: &Connection,
    project: ProjectId,
    no: WorkspaceNo,
    after: Seq,
    rows_max: usize,
) -> Result<Vec<Place<What>>, StoreError> {
    let mut places = sightings_within(conn, project, no, (after, None), Some(rows_max))?;
    if let Some(last) = places.last().map(|place| place.at).filter(|_| places.len() == rows_max) {
        places.retain(|place| place.at < last);
        places.extend(sightings_within(conn, project, no, (Seq(last.0 - 1), Some(last)), None)?);
    }
    Ok(places)
}

fn sightings_within(
    conn: &Connection,
    project: ProjectId,
    no: WorkspaceNo,
    (after, upto): (Seq, Option<Seq>),
    rows_max: Option<usize>,
) -> Result<Vec<Place<What>>, StoreError> {
    const SELECT: &str = "
        SELECT MAX(s.known_seq, s.handed_seq), s.source_id, s.audience, s.known_seq, s.known_hash, s.confirmed_seq,
            s.confirmed_hash
        FROM source s INDEXED BY source_place
        WHERE s.project_id = ?1 AND s.workspace_no = ?2 AND MAX(s.known_seq, s.handed_seq) > ?3
            AND (?5 IS NULL OR MAX(s.known_seq, s.handed_seq) <= ?5)
            AND (s.handed_seq > 0 OR NOT EXISTS (
                SELECT 1
                FROM record r
                WHERE r.project_id = ?1 AND r.seq = s.known_seq AND r.workspace_no = ?2 AND r.forgotten_at IS NULL))
        ORDER BY MAX(s.known_seq, s.handed_seq)
        LIMIT ?4";
    let mut statement = conn.prepare_cached(SELECT)?;
    // A negative limit is none.
    let rows_max = rows_max.map_or(-1, |rows_max| integer(rows_max as u64));
    let upto = upto.map(|upto| integer(upto.0));
    let mut rows = statement.query((project.to_bytes(), integer(no.0), integer(after.0), rows_max, upto))?;
    let mut places = Vec::new();
    while let Some(row) = rows.next()? {
        let at = Seq(Cells::new(row, "source", || project.to_string()).count(0, "known_seq")?);
        places.push(Place { at, what: What::Sighting(read_sighting(row, 1, project)?) });
    }
    Ok(places)
}

/// Everything known about the sources of these records.
fn load_sightings(
    conn: &Connection,
    project: ProjectId,
    no: WorkspaceNo,
    changes: &[Change],
) -> Result<Vec<Sighting>, StoreError> {
    const SELECT: &str = "
        SELECT source_id, audience, known_seq, known_hash, confirmed_seq, confirmed_hash
        FROM source
        WHERE project_id = ?1 AND source_id = ?2 AND workspace_no = ?3";
    let source_of = |change: &Change| match change {
        Change::Present(present) => present.fact.source_id.clone(),
        Change::Absent(_) => None,
    };
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut sightings = Vec::new();
    for source_id in changes.iter().filter_map(source_of).collect::<BTreeSet<_>>() {
        let mut rows = statement.query((project.to_bytes(), source_id, integer(no.0)))?;
        while let Some(row) = rows.next()? {
            sightings.push(read_sighting(row, 0, project)?);
        }
    }
    Ok(sightings)
}

fn find_present(
    conn: &Connection,
    project: ProjectId,
    no: WorkspaceNo,
    seq: Seq,
) -> Result<Option<Present>, StoreError> {
    const SELECT: &str = "
        SELECT seq, id, workspace_no, audience, author_id, department_id, is_key_given, confidence, valid_until,
            created_at, updated_at, fact_key, source, source_id, source_hash, source_revision, content, checksum,
            is_cautioned, tags, occurred_at, embedding
        FROM record
        WHERE project_id = ?1 AND seq = ?2 AND workspace_no = ?3 AND forgotten_at IS NULL";
    find(conn, SELECT, (project.to_bytes(), integer(seq.0), integer(no.0)), |row| read_present(row, 0, project))
}

/// A snapshot's row.
struct Row {
    project: ProjectId,
    workspace: WorkspaceNo,
    seq: Seq,
    file: String,
}

/// What a snapshot takes the place of.
enum Replaced {
    Nothing,
    File(String),
    /// It is not taken: it came too late.
    IsNewer,
}

/// Stores a snapshot of an active workspace unless there is a newer one.
///
/// One that was taken before a purge and arrives after it is dropped: it still contains the purged text.
fn save_snapshot(tx: &mut Tx<'_>, row: &Row) -> Result<Replaced, StoreError> {
    const UPSERT: &str = "
        INSERT INTO snapshot (project_id, workspace_no, seq, file)
        SELECT w.project_id, w.no, ?3, ?4
        FROM workspace w
        WHERE w.project_id = ?1 AND w.no = ?2 AND w.deleted_at IS NULL AND NOT EXISTS (
            SELECT 1
            FROM change c
            WHERE c.project_id = ?1 AND c.workspace_no = ?2 AND c.seq > ?3 AND c.kind = 'purge')
        ON CONFLICT (project_id, workspace_no) DO UPDATE
        SET seq = excluded.seq, file = excluded.file
        WHERE excluded.seq >= seq";
    let before = find_snapshot(tx.conn, row.project, row.workspace)?;
    let values = params![row.project.to_bytes(), integer(row.workspace.0), integer(row.seq.0), row.file];
    if tx.conn.prepare_cached(UPSERT)?.execute(values)? == 0 {
        return Ok(Replaced::IsNewer);
    }
    Ok(before.map_or(Replaced::Nothing, |(_, file)| Replaced::File(file)))
}

/// How far the snapshot of a workspace goes, and its file.
fn find_snapshot(
    conn: &Connection,
    project: ProjectId,
    workspace: WorkspaceNo,
) -> Result<Option<(Seq, String)>, StoreError> {
    const SELECT: &str = "SELECT seq, file FROM snapshot WHERE project_id = ?1 AND workspace_no = ?2";
    let mut statement = conn.prepare_cached(SELECT)?;
    let mut rows = statement.query((project.to_bytes(), integer(workspace.0)))?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let cells = Cells::new(row, "snapshot", || format!("{project}/{}", workspace.0));
    Ok(Some((Seq(cells.count(0, "seq")?), cells.text(1, "file")?)))
}

/// The files of the snapshots of a project, or of all.
pub(super) fn list_snapshot_files(
    conn: &Connection,
    project: Option<ProjectId>,
) -> Result<HashSet<String>, StoreError> {
    const SELECT: &str = "SELECT file FROM snapshot WHERE project_id = ?1 OR ?1 IS NULL";
    let mut statement = conn.prepare_cached(SELECT)?;
    let names = statement.query_map([project.map(|id| id.to_bytes())], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}
