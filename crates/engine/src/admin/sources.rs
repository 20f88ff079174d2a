//! Sources, as far as the caller may know about them: listed, and checked many at a time.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use mnemon_core::{
    Access, ProjectId, RecordId, Status, Timestamp, check_hash_text, check_source_text, join_hashes, shown_hash,
};
use mnemon_guard::{Field, Verdict, redact};
use mnemon_store::{Brief, SourcePart};
use tokio::task::JoinSet;

use super::standing::StatusCounts;
use super::{AdminContext, AdminError, Authority};
use crate::Engine;
use crate::freshness::{Claim, Observed, moments_of, newest_known};

/// How many sources one request may check.
pub const SOURCES_MAX: usize = 500;
/// How many different hashes of one source are shown.
pub(super) const HASHES_MAX: usize = 8;
/// How many sightings are written at the same time: storage groups what waits together.
const WRITES_AT_ONCE: usize = 64;

/// A source in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownSource {
    pub source_id: String,
    /// Live records that the caller can see.
    pub counts: StatusCounts,
    /// The different hashes that these records were saved with, newest first, at most eight.
    pub source_hashes: Vec<String>,
    /// The newest hash that the caller knows.
    pub current_source_hash: Option<String>,
    /// When that hash was seen.
    pub known_at: Option<Timestamp>,
    /// When the source was last checked and found with a hash.
    pub confirmed_at: Option<Timestamp>,
}

/// A page of sources, by id.
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
    pub current_source_hash: String,
    /// The same content in other kinds of hashes.
    pub equal_hashes: Vec<String>,
    /// Hashes that could not be compared.
    pub unknown_hashes: Vec<String>,
}

impl SeenSource {
    fn hashes(&self) -> impl Iterator<Item = &str> {
        let all = std::iter::once(&self.current_source_hash).chain(&self.equal_hashes).chain(&self.unknown_hashes);
        all.map(String::as_str)
    }

    /// All of them, as storage keeps them.
    fn joined(&self) -> String {
        let own =
            std::iter::once(self.current_source_hash.as_str()).chain(self.equal_hashes.iter().map(String::as_str));
        let unknown: Vec<&str> = self.unknown_hashes.iter().map(String::as_str).collect();
        join_hashes(&own.collect::<Vec<_>>(), &unknown)
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

impl Engine {
    /// Lists the sources of which the caller can see a live record.
    pub async fn list_sources(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        after: Option<&str>,
        limit: usize,
    ) -> Result<SourcePage, AdminError> {
        let project = self.readable_project(ctx, project).await?.id;
        let viewer = ctx.viewer();
        let (mut sources, mut after): (Vec<ShownSource>, _) = (Vec::new(), after.map(str::to_owned));
        loop {
            let wanted = limit + 1 - sources.len();
            let mut briefs = self.store.list_after_source(project, after.as_deref(), wanted).await?;
            let Some(last) = briefs.last().and_then(|brief| brief.source_id.clone()) else { break };
            after = Some(last);
            briefs.retain(|brief| viewer.sees(&brief.audience));
            sources.extend(self.show_sources(ctx, project, &briefs).await?);
            if sources.len() > limit {
                break;
            }
        }
        let has_more = sources.len() > limit;
        sources.truncate(limit);
        let next = sources.last().filter(|_| has_more).map(|source| source.source_id.clone());
        Ok(SourcePage { sources, next })
    }

    /// Records how sources look now, and says what that means for their records. A source of which the caller sees no record
    /// is answered as one without records, and nothing is recorded of it. Nothing is recorded either where memory is read-only
    /// for the caller; the answer is the same.
    pub async fn check_sources(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        seen: &[SeenSource],
    ) -> Result<Vec<CheckedSource>, AdminError> {
        let project = self.readable_project(ctx, project).await?.id;
        self.check_seen(seen)?;
        let mut briefs = Vec::new();
        for source in seen {
            briefs.extend(self.store.list_by_source(project, &source.source_id, None).await?);
        }
        let viewer = ctx.viewer();
        briefs.retain(|brief| viewer.sees(&brief.audience));
        let visible: HashSet<&str> = briefs.iter().filter_map(|brief| brief.source_id.as_deref()).collect();
        let known: Vec<&SeenSource> =
            seen.iter().filter(|source| visible.contains(source.source_id.as_str())).collect();
        if may_record(ctx) {
            self.record_sightings(ctx, project, &known).await?;
        }
        let joined: Vec<String> = known.iter().map(|source| source.joined()).collect();
        let observed = known.iter().zip(&joined);
        let observed: Vec<Observed<'_>> =
            observed.map(|(source, hash)| Observed { source_id: &source.source_id, hash }).collect();
        let claims: Vec<Claim<'_>> = briefs.iter().map(Claim::of_brief).collect();
        let judged = self.judge_for(project, &viewer, ctx.now, &claims, &observed).await?;
        let mut by_source: HashMap<&str, Vec<(&Brief, Status)>> = HashMap::new();
        for (brief, judged) in briefs.iter().zip(&judged) {
            let source_id = brief.source_id.as_deref().unwrap_or_default();
            by_source.entry(source_id).or_default().push((brief, judged.status));
        }
        let own = |source: &SeenSource| by_source.get(source.source_id.as_str()).map_or(&[][..], Vec::as_slice);
        Ok(seen.iter().map(|source| checked(source, own(source))).collect())
    }

    async fn show_sources(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        briefs: &[Brief],
    ) -> Result<Vec<ShownSource>, AdminError> {
        let claims: Vec<Claim<'_>> = briefs.iter().map(Claim::of_brief).collect();
        let judged = self.judge_for(project, &ctx.viewer(), ctx.now, &claims, &[]).await?;
        let judged: Vec<(&Brief, Status)> = briefs.iter().zip(judged.iter().map(|judged| judged.status)).collect();
        let by_source = || judged.chunk_by(|(a, _), (b, _)| a.source_id == b.source_id);
        let ids: Vec<&str> = by_source().filter_map(|group| group[0].0.source_id.as_deref()).collect();
        let parts = self.store.list_sources(project, &ids).await?;
        Ok(by_source().filter_map(|group| self.show_source(ctx, group, &parts)).collect())
    }

    fn show_source(&self, ctx: &AdminContext, group: &[(&Brief, Status)], parts: &[SourcePart]) -> Option<ShownSource> {
        let source_id = group.first()?.0.source_id.clone()?;
        let mut source_hashes: Vec<String> = Vec::new();
        for hash in group.iter().rev().filter_map(|(brief, _)| brief.source_hash.as_ref()) {
            if source_hashes.len() < HASHES_MAX && !source_hashes.contains(hash) {
                source_hashes.push(hash.clone());
            }
        }
        let (known_at, confirmed_at) = moments_of(&ctx.viewer(), parts, &source_id);
        let mut counts = StatusCounts::default();
        group.iter().for_each(|(_, status)| counts.count(*status));
        Some(ShownSource {
            counts,
            known_at,
            confirmed_at,
            source_hashes,
            current_source_hash: newest_known(&ctx.viewer(), parts, &source_id)
                .known_hash
                .map(|known| shown_hash(&known).to_owned()),
            source_id,
        })
    }

    fn check_seen(&self, seen: &[SeenSource]) -> Result<(), AdminError> {
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
            for (name, hashes) in [("equal_hashes", &source.equal_hashes), ("unknown_hashes", &source.unknown_hashes)] {
                if hashes.len() > HASHES_MAX {
                    return invalid(format!("{name} of '{source_id}' must list at most {HASHES_MAX} hashes"));
                }
            }
            for hash in source.hashes() {
                self.check_hash(source_id, hash)?;
            }
        }
        Ok(())
    }

    /// Whoever asks about the source next reads the hash. Its id came with a save, and was judged then.
    pub(super) fn check_hash(&self, source_id: &str, hash: &str) -> Result<(), AdminError> {
        check_hash_text("current_source_hash", hash).map_err(|error| AdminError::Invalid(error.to_string()))?;
        let is_refused =
            [Field::Hash, Field::Name].iter().any(|field| self.guard.judge(*field, hash) == Verdict::Refuse);
        if hash.is_empty() || is_refused || redact(hash).count > 0 {
            return Err(AdminError::Invalid(format!("current_source_hash of '{source_id}' is not a hash")));
        }
        Ok(())
    }

    async fn record_sightings(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        seen: &[&SeenSource],
    ) -> Result<(), AdminError> {
        let now = ctx.now;
        for group in seen.chunks(WRITES_AT_ONCE) {
            let mut writes = JoinSet::new();
            for source in group {
                let (store, source) = (Arc::clone(&self.store), (*source).clone());
                writes.spawn(
                    async move { store.observe_source(project, &source.source_id, &source.joined(), now).await },
                );
            }
            while let Some(written) = writes.join_next().await {
                written.expect("a write neither panics nor is cancelled")?;
            }
        }
        self.surveyed.recheck(project);
        Ok(())
    }
}

fn may_record(ctx: &AdminContext) -> bool {
    match &ctx.authority {
        Authority::Operator => true,
        Authority::Member(credential) => {
            credential.access == Access::Write && credential.subscription.state(ctx.now).allows_writing()
        }
    }
}

fn checked(source: &SeenSource, own: &[(&Brief, Status)]) -> CheckedSource {
    let of = |wanted: Status| own.iter().filter(move |(_, status)| *status == wanted);
    let ids = |wanted: Status| of(wanted).map(|(brief, _)| brief.id).collect();
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
