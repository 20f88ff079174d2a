//! Sources, as far as the caller may know about them: listed, and checked many at a time.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use mnemon_core::{
    Access, ProjectId, RecordId, Status, WorkspaceName, WorkspaceNo, check_hash_text, check_source_text, join_hashes,
    shown_hash,
};
use mnemon_guard::{Field, redact};
use mnemon_store::{Look, Observation, RecordSummary, Seen, SourcePart};
use tokio::task::JoinSet;

use super::standing::StatusCounts;
use super::{AdminContext, AdminError};
use crate::cleaning::cleaned;
use crate::freshness::{Claim, Judged, KnownSource};
use crate::validate::{HASHES_MAX, uncompared};
use crate::{CallContext, Engine};

/// How many sources one request may check.
pub const SOURCES_MAX: usize = 500;
/// How many sightings are written at the same time: storage groups what waits together.
const WRITES_AT_ONCE: usize = 64;

/// A source of a workspace in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownSource {
    pub source_id: String,
    pub workspace: WorkspaceName,
    /// Live records that the caller can see.
    pub counts: StatusCounts,
    /// The different hashes that these records were saved with, newest first, at most eight.
    pub source_hashes: Vec<String>,
    /// What the caller knows about it.
    pub known: KnownSource,
}

impl ShownSource {
    /// The newest hash that the caller knows.
    pub fn current_source_hash(&self) -> Option<&str> {
        self.known.state.known_hash.as_deref().map(shown_hash)
    }
}

/// A page of sources, by id. The workspaces of one id are all on the same page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcePage {
    pub sources: Vec<ShownSource>,
    /// The id after which the next page starts, if there may be one.
    pub next: Option<String>,
}

/// A source as somebody has just seen it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenSource {
    pub source_id: String,
    pub state: SeenState,
}

/// Whether it was there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeenState {
    There {
        current_source_hash: String,
        /// The same content in other kinds of hashes.
        equal_hashes: Vec<String>,
        /// Hashes that could not be compared.
        unknown_hashes: Vec<String>,
    },
    Gone {
        moved_to: Option<String>,
    },
}

impl SeenSource {
    /// As storage keeps it: all hashes of one content in one text, and those of its records that can't be compared with
    /// them.
    fn observation(&self, records: &[RecordSummary]) -> Observation {
        let seen = match &self.state {
            SeenState::Gone { moved_to } => Seen::Gone { moved_to: moved_to.clone() },
            SeenState::There { current_source_hash, equal_hashes, unknown_hashes } => {
                let own: Vec<&str> =
                    std::iter::once(current_source_hash).chain(equal_hashes).map(String::as_str).collect();
                let mut unknown: Vec<&str> = unknown_hashes.iter().map(String::as_str).collect();
                // Who names hashes of several kinds has compared those.
                if let [only] = own.as_slice() {
                    unknown.extend(uncompared(only, records));
                }
                Seen::Hash(join_hashes(&own, &unknown))
            }
        };
        Observation { source_id: self.source_id.clone(), seen }
    }
}

/// What holds of a source's records after it was seen, ids oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedSource {
    pub source_id: String,
    /// How many records the caller sees.
    pub checked: usize,
    pub verified: usize,
    pub unverified: usize,
    pub stale: Vec<RecordId>,
    pub conflicting: Vec<RecordId>,
}

/// How many sources of a list are read at a time.
const READ_MAX: usize = 100;
/// A page ends with the read that fills this.
const PAGE_BYTES: usize = 1 << 20;

/// What a record takes while its source is listed.
fn summary_bytes(summary: &RecordSummary) -> usize {
    let texts = [&summary.given_fact_key, &summary.source_id, &summary.source_hash];
    size_of::<RecordSummary>() + texts.into_iter().flatten().map(String::len).sum::<usize>()
}

impl Engine {
    /// Lists the sources of which the caller can see a live record, of one workspace or of all.
    pub async fn list_sources(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        workspace: Option<&WorkspaceName>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<SourcePage, AdminError> {
        let project = self.readable_project(ctx, project).await?.id;
        let mut names = self.workspace_names(project).await?;
        names.retain(|_, name| workspace.is_none_or(|wanted| wanted == name));
        let viewer = ctx.viewer();
        let (mut found, mut after): (Vec<Vec<RecordSummary>>, _) = (Vec::new(), after.map(str::to_owned));
        let mut bytes = 0;
        while found.len() <= limit && bytes < PAGE_BYTES {
            let wanted = (limit + 1 - found.len()).min(READ_MAX);
            let mut summaries = self.store.list_after_source(project, after.as_deref(), wanted).await?;
            let Some(last) = summaries.last().and_then(|summary| summary.source_id.clone()) else { break };
            after = Some(last);
            summaries.retain(|summary| viewer.sees(&summary.audience) && names.contains_key(&summary.workspace_no));
            bytes += summaries.iter().map(summary_bytes).sum::<usize>();
            found.extend(summaries.chunk_by(|a, b| a.source_id == b.source_id).map(<[RecordSummary]>::to_vec));
        }
        let has_more = found.len() > limit;
        found.truncate(limit);
        let next = found.last().and_then(|summaries| summaries.first()?.source_id.clone());
        // The last source that was read may be hidden: what comes after it is what is still to read.
        let next = if has_more { next } else { after.filter(|_| bytes >= PAGE_BYTES) };
        let sources = self.show_sources(ctx, project, &names, found.concat()).await?;
        Ok(SourcePage { sources, next })
    }

    pub(super) async fn workspace_names(
        &self,
        project: ProjectId,
    ) -> Result<HashMap<WorkspaceNo, WorkspaceName>, AdminError> {
        let rows = self.store.list_workspaces(project).await?;
        Ok(rows.into_iter().map(|row| (row.no, row.name)).collect())
    }

    /// Records how sources of a workspace (or of all) look now, and says what that means for their records. A source of
    /// which the caller sees no record is answered as one without records, and nothing is recorded of it. Nothing is
    /// recorded either where memory is read-only for the caller; the answer is the same.
    pub async fn check_sources(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        workspace: Option<&WorkspaceName>,
        seen: &[SeenSource],
    ) -> Result<Vec<CheckedSource>, AdminError> {
        let project = self.readable_project(ctx, project).await?.id;
        self.check_seen(ctx, seen).await?;
        let viewer = ctx.viewer();
        let (mut summaries, mut observed) = (Vec::new(), Vec::new());
        for source in seen {
            let mut own = self.store.list_by_source(project, &source.source_id, workspace).await?;
            let observation = source.observation(&own);
            own.retain(|summary| viewer.sees(&summary.audience));
            if !own.is_empty() {
                observed.push(self.without_orders(ctx.call(), observation).await?);
            }
            summaries.extend(own);
        }
        if may_record(ctx) {
            self.record_sightings(ctx, project, workspace, &observed).await?;
        }
        let observed: Vec<&Observation> = observed.iter().collect();
        let claims: Vec<Claim<'_>> = summaries.iter().map(Claim::of_summary).collect();
        let judged = self.judge_for(project, &viewer, ctx.now, &claims, &observed).await?;
        let mut by_source: HashMap<&str, Vec<(&RecordSummary, Status)>> = HashMap::new();
        for (summary, judged) in summaries.iter().zip(&judged) {
            let source_id = summary.source_id.as_deref().unwrap_or_default();
            by_source.entry(source_id).or_default().push((summary, judged.status()));
        }
        let own = |source: &SeenSource| by_source.get(source.source_id.as_str()).map_or(&[][..], Vec::as_slice);
        Ok(seen.iter().map(|source| checked(source, own(source))).collect())
    }

    /// Summaries of one source are next to each other.
    async fn show_sources(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        names: &HashMap<WorkspaceNo, WorkspaceName>,
        mut summaries: Vec<RecordSummary>,
    ) -> Result<Vec<ShownSource>, AdminError> {
        let place = |summary: &RecordSummary| {
            (summary.source_id.clone(), names.get(&summary.workspace_no).cloned(), summary.seq)
        };
        summaries.sort_by_cached_key(place);
        let claims: Vec<Claim<'_>> = summaries.iter().map(Claim::of_summary).collect();
        let judged = self.judge_for(project, &ctx.viewer(), ctx.now, &claims, &[]).await?;
        let judged: Vec<(&RecordSummary, Status)> = summaries.iter().zip(judged.iter().map(Judged::status)).collect();
        let source_of = |summary: &RecordSummary| (summary.workspace_no, summary.source_id.clone());
        let by_source = || judged.chunk_by(|(a, _), (b, _)| source_of(a) == source_of(b));
        let mut ids: Vec<&str> = summaries.iter().filter_map(|summary| summary.source_id.as_deref()).collect();
        ids.dedup();
        let parts = self.store.list_sources(project, &ids).await?;
        Ok(by_source().filter_map(|group| self.show_source(ctx, group, names, &parts)).collect())
    }

    fn show_source(
        &self,
        ctx: &AdminContext,
        group: &[(&RecordSummary, Status)],
        names: &HashMap<WorkspaceNo, WorkspaceName>,
        parts: &[SourcePart],
    ) -> Option<ShownSource> {
        let first = group.first()?.0;
        let (source_id, workspace) = (first.source_id.clone()?, names.get(&first.workspace_no)?.clone());
        let mut source_hashes: Vec<String> = Vec::new();
        for hash in group.iter().rev().filter_map(|(summary, _)| summary.source_hash.as_ref()) {
            if source_hashes.len() < HASHES_MAX && !source_hashes.contains(hash) {
                source_hashes.push(hash.clone());
            }
        }
        let mut counts = StatusCounts::default();
        group.iter().for_each(|(_, status)| counts.count(*status));
        let known = KnownSource::of(&ctx.viewer(), parts, first.workspace_no, &source_id);
        Some(ShownSource { source_id, workspace, counts, source_hashes, known })
    }

    async fn check_seen(&self, ctx: &AdminContext, seen: &[SeenSource]) -> Result<(), AdminError> {
        let invalid = |text: String| Err(AdminError::Invalid(text));
        if seen.is_empty() || seen.len() > SOURCES_MAX {
            return invalid(format!("sources must list 1 to {SOURCES_MAX} sources"));
        }
        let mut listed = HashSet::new();
        for source in seen {
            let source_id = &source.source_id;
            if !listed.insert(source_id) {
                return invalid(format!("source '{source_id}' is listed twice"));
            }
            check_source_text("source_id", source_id).map_err(|error| AdminError::Invalid(error.to_string()))?;
            match &source.state {
                SeenState::There { current_source_hash, equal_hashes, unknown_hashes } => {
                    for (name, hashes) in [("equal_hashes", equal_hashes), ("unknown_hashes", unknown_hashes)] {
                        if hashes.len() > HASHES_MAX {
                            return invalid(format!("{name} of '{source_id}' must list at most {HASHES_MAX} hashes"));
                        }
                    }
                    for hash in std::iter::once(current_source_hash).chain(equal_hashes).chain(unknown_hashes) {
                        self.check_hash(ctx.call(), source_id, hash).await?;
                    }
                }
                SeenState::Gone { moved_to } => check_path(moved_to.as_deref())?,
            }
        }
        Ok(())
    }

    /// The next reader of the source sees where it moved to. A path that the guard refuses is left out: that the source
    /// is gone counts all the same.
    pub(super) async fn without_orders(
        &self,
        ctx: Option<&CallContext>,
        observation: Observation,
    ) -> Result<Observation, AdminError> {
        let Observation { source_id, seen: Seen::Gone { moved_to: Some(path) } } = observation else {
            return Ok(observation);
        };
        let path = cleaned(path);
        let is_refused = self.is_refused_label(ctx, &[Field::Source], &path).await?;
        Ok(Observation { source_id, seen: Seen::Gone { moved_to: (!is_refused).then_some(path) } })
    }

    /// The next reader of the source sees the hash. Its id came with a save, and was judged then.
    pub(super) async fn check_hash(
        &self,
        ctx: Option<&CallContext>,
        source_id: &str,
        hash: &str,
    ) -> Result<(), AdminError> {
        check_hash_text("current_source_hash", hash).map_err(|error| AdminError::Invalid(error.to_string()))?;
        let is_wrong = hash.is_empty() || redact(hash).count > 0;
        if is_wrong || self.is_refused_label(ctx, &[Field::Hash, Field::Name], hash).await? {
            return Err(AdminError::Invalid(format!("current_source_hash of '{source_id}' is not a hash")));
        }
        Ok(())
    }

    async fn record_sightings(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        workspace: Option<&WorkspaceName>,
        observed: &[Observation],
    ) -> Result<(), AdminError> {
        let key = ctx.credential().map(|credential| credential.key);
        let look = Look { by: ctx.member_of_caller(), key, at: ctx.now };
        for group in observed.chunks(WRITES_AT_ONCE) {
            let mut writes = JoinSet::new();
            for observation in group {
                let (store, workspace, observation) =
                    (Arc::clone(&self.store), workspace.cloned(), observation.clone());
                writes.spawn(async move { store.observe_source(project, workspace.as_ref(), observation, look).await });
            }
            while let Some(written) = writes.join_next().await {
                written.expect("a write neither panics nor is cancelled")?;
            }
        }
        Ok(())
    }
}

/// Whether this may be recorded as the place where a source moved to.
pub(super) fn check_path(moved_to: Option<&str>) -> Result<(), AdminError> {
    let checked = moved_to.map_or(Ok(()), |path| check_source_text("moved_to", path));
    checked.map_err(|error| AdminError::Invalid(error.to_string()))
}

fn may_record(ctx: &AdminContext) -> bool {
    ctx.credential().is_none_or(|credential| {
        credential.access == Access::Write && credential.subscription.state(ctx.now).allows_writing()
    })
}

fn checked(source: &SeenSource, own: &[(&RecordSummary, Status)]) -> CheckedSource {
    let of = |wanted: Status| own.iter().filter(move |(_, status)| *status == wanted);
    let ids = |wanted: Status| of(wanted).map(|(summary, _)| summary.id).collect();
    let count = |wanted: Status| of(wanted).count();
    CheckedSource {
        source_id: source.source_id.clone(),
        checked: own.len(),
        verified: count(Status::Verified),
        unverified: count(Status::Unverified),
        stale: ids(Status::Stale),
        conflicting: ids(Status::Conflict),
    }
}
