//! Every record of a project that a reader sees, with its status. The search indexes know each record's source, hash,
//! key and end, and follow the log; storage adds which sources were confirmed, because confirming what is known takes
//! no place there.

use std::collections::HashMap;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use mnemon_core::{
    Audience, ProjectId, Scope, Seq, Status, Timestamp, Viewer, WorkspaceNo, confirms_hash, newest_visible_source,
};
use mnemon_store::{SourcePart, StoreError, WorkspaceRow};

use crate::Engine;
use crate::indexes::Slot;

/// How many indexes are brought up to date at a time.
const FOLLOWED_AT_ONCE: usize = 8;

/// A record without its text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stood<'a> {
    pub(crate) seq: Seq,
    audience: Audience,
    /// The number of its source among those of its workspace.
    pub(crate) source_no: Option<u32>,
    pub(crate) source_id: Option<&'a str>,
    pub(crate) source_hash: Option<&'a str>,
    pub(crate) fact_key: Option<&'a str>,
    pub(crate) saved_at: Timestamp,
    pub(crate) status: Status,
}

impl Stood<'_> {
    pub(crate) const fn scope(&self) -> Scope {
        self.audience.scope()
    }
}

/// What every audience knows of a project's sources. The parts of one source of a workspace are next to each other.
pub(crate) struct SourceParts(Vec<SourcePart>);

impl SourceParts {
    /// For questions to which verified and unverified records are the same.
    pub(crate) const fn unknown() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn by_source(&self) -> HashMap<(WorkspaceNo, &str), &[SourcePart]> {
        let own = self.0.chunk_by(|a, b| (a.workspace_no, &a.source_id) == (b.workspace_no, &b.source_id));
        own.map(|parts| ((parts[0].workspace_no, parts[0].source_id.as_str()), parts)).collect()
    }

    /// The confirmed hashes that the viewer knows, by workspace.
    fn confirmed(&self, viewer: &Viewer) -> HashMap<WorkspaceNo, Vec<(&str, String)>> {
        let mut confirmed: HashMap<WorkspaceNo, Vec<(&str, String)>> = HashMap::new();
        for ((no, source_id), parts) in self.by_source() {
            if parts.iter().all(|part| part.state.confirmed_hash.is_none()) {
                continue;
            }
            let state = newest_visible_source(viewer, parts.iter().map(|part| (&part.audience, &part.state)));
            if let Some(hash) = state.confirmed_hash {
                confirmed.entry(no).or_default().push((source_id, hash));
            }
        }
        confirmed
    }
}

impl Engine {
    pub(crate) async fn source_parts(&self, project: ProjectId) -> Result<SourceParts, StoreError> {
        Ok(SourceParts(self.store.list_all_sources(project).await?))
    }

    /// Calls `each` for every active workspace, by name, with the records in it that the viewer sees, in no particular
    /// order. The parts have to be read before: an index that is newer than they are says at most that a record is
    /// stale by now.
    pub(crate) async fn each_workspace(
        &self,
        project: ProjectId,
        viewer: &Viewer,
        now: Timestamp,
        parts: &SourceParts,
        mut each: impl FnMut(&WorkspaceRow, &mut dyn Iterator<Item = Stood<'_>>),
    ) -> Result<Vec<WorkspaceRow>, StoreError> {
        let mut confirmed = parts.confirmed(viewer);
        let seq = self.store.last_seq(project).await?.unwrap_or_default();
        let rows = self.store.list_workspaces(project).await?;
        let followed = async |row: WorkspaceRow| {
            let slot = self.indexes.current(project, &row.name, seq).await?;
            Ok::<_, StoreError>((row, slot))
        };
        // One after the other, so that the indexes of a large project need not be in memory together.
        let mut indexes = stream::iter(rows).map(followed).buffered(FOLLOWED_AT_ONCE);
        let mut seen = Vec::new();
        while let Some((row, slot)) = indexes.try_next().await? {
            // Gone since the list was read.
            let Some(slot) = slot else { continue };
            let confirmed = confirmed.remove(&row.no).unwrap_or_default();
            slot.stand(viewer, now, &confirmed, |records| each(&row, records));
            seen.push(row);
        }
        Ok(seen)
    }
}

impl Slot {
    fn stand(
        &self,
        viewer: &Viewer,
        now: Timestamp,
        confirmed: &[(&str, String)],
        take: impl FnOnce(&mut dyn Iterator<Item = Stood<'_>>),
    ) {
        self.read(|index, audiences| {
            let visible: Vec<bool> = audiences.iter().map(|audience| viewer.sees(audience)).collect();
            let confirmed: HashMap<u32, &str> =
                confirmed.iter().filter_map(|(id, hash)| Some((index.source_no(id)?, hash.as_str()))).collect();
            let is_confirmed = |source: Option<u32>, hash: Option<&str>| {
                let known = source.and_then(|source| confirmed.get(&source));
                known.zip(hash).is_some_and(|(known, own)| confirms_hash(known, own))
            };
            let mut records = index.standings(&visible, now.as_microsecond()).map(|record| Stood {
                seq: Seq(record.seq),
                audience: audiences[record.audience.0 as usize],
                source_no: record.source_no,
                source_id: record.source_id,
                source_hash: record.source_hash,
                fact_key: record.fact_key,
                saved_at: Timestamp::from_second(i64::from(record.updated_at)).unwrap_or(Timestamp::MIN),
                status: match record.is_stale {
                    true => Status::Stale,
                    false if record.is_disputed => Status::Conflict,
                    false if is_confirmed(record.source_no, record.source_hash) => Status::Verified,
                    false => Status::Unverified,
                },
            });
            take(&mut records);
        });
    }
}
