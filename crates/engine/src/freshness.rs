//! Derives the status of records for one reader: what the reader knows about their sources, and which records conflict.

use std::collections::HashMap;

use mnemon_core::{
    ContentHash, ProjectId, Record, RecordId, Seq, SourceState, Status, Timestamp, Viewer, WorkspaceNo, confirms_hash,
    newest_visible_source, shown_hash,
};
use mnemon_store::{Brief, SourcePart, StoreError};

use crate::{CallContext, Engine};

/// A record's status, and the records that conflict with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    pub status: Status,
    /// Visible records that are not stale and have different content under the same key. Empty for a stale record.
    pub rivals: Vec<RecordId>,
}

/// What a judgement needs to know about a record.
pub(crate) struct Claim<'a> {
    seq: Seq,
    workspace_no: WorkspaceNo,
    given_key: Option<&'a str>,
    content_hash: ContentHash,
    source_id: Option<&'a str>,
    source_hash: Option<&'a str>,
    valid_until: Option<Timestamp>,
}

impl<'a> Claim<'a> {
    pub(crate) fn of_record(record: &'a Record) -> Self {
        let (given_key, fact) = (record.fact_key.chosen(), &record.fact);
        Self {
            seq: record.seq,
            workspace_no: record.workspace_no,
            given_key,
            // Only records with a caller-given key are compared, so the others are not hashed.
            content_hash: given_key.map_or(ContentHash::from_bytes([0; 16]), |_| ContentHash::of(&fact.content)),
            source_id: fact.source_id.as_deref(),
            source_hash: fact.source_hash.as_deref(),
            valid_until: fact.valid_until,
        }
    }

    pub(crate) fn of_brief(brief: &'a Brief) -> Self {
        Self {
            seq: brief.seq,
            workspace_no: brief.workspace_no,
            given_key: brief.given_fact_key.as_deref(),
            content_hash: brief.content_hash,
            source_id: brief.source_id.as_deref(),
            source_hash: brief.source_hash.as_deref(),
            valid_until: brief.valid_until,
        }
    }
}

/// A source whose hash the caller has just seen, whether or not it may be recorded.
pub(crate) struct Observed<'a> {
    pub(crate) source_id: &'a str,
    /// One, or several of the same content.
    pub(crate) hash: &'a str,
}

/// What the reader knows about sources.
struct Knowledge(HashMap<String, SourceState>);

impl Knowledge {
    fn from_parts(viewer: &Viewer, parts: &[SourcePart]) -> Self {
        let mut by_source: HashMap<&str, Vec<&SourcePart>> = HashMap::new();
        for part in parts {
            by_source.entry(&part.source_id).or_default().push(part);
        }
        let newest = |parts: Vec<&SourcePart>| {
            newest_visible_source(viewer, parts.iter().map(|part| (&part.audience, &part.state)))
        };
        Self(by_source.into_iter().map(|(id, parts)| (id.to_owned(), newest(parts))).collect())
    }

    fn of(&self, source_id: Option<&str>) -> SourceState {
        source_id.and_then(|id| self.0.get(id)).cloned().unwrap_or_default()
    }

    fn is_stale(&self, claim: &Claim<'_>, now: Timestamp) -> bool {
        Status::is_stale(now, claim.valid_until, claim.source_hash, &self.of(claim.source_id))
    }
}

/// Records by the key that they have in their workspace.
struct Rivals<'a>(HashMap<(WorkspaceNo, &'a str), Vec<(RecordId, Claim<'a>)>>);

impl<'a> Rivals<'a> {
    fn of(briefs: impl Iterator<Item = &'a Brief>) -> Self {
        let mut by_key: HashMap<_, Vec<_>> = HashMap::new();
        for brief in briefs {
            if let Some(key) = brief.given_fact_key.as_deref() {
                by_key.entry((brief.workspace_no, key)).or_default().push((brief.id, Claim::of_brief(brief)));
            }
        }
        Self(by_key)
    }

    fn claims(&self) -> impl Iterator<Item = &Claim<'a>> {
        self.0.values().flatten().map(|(_, claim)| claim)
    }

    fn under_key_of<'b>(&'b self, claim: &Claim<'b>) -> &'b [(RecordId, Claim<'b>)] {
        let found = claim.given_key.and_then(|key| self.0.get(&(claim.workspace_no, key)));
        found.map(Vec::as_slice).unwrap_or_default()
    }
}

impl Engine {
    /// Judges records for the caller, in the given order.
    pub(crate) async fn judge(
        &self,
        ctx: &CallContext,
        claims: &[Claim<'_>],
        observed: Option<Observed<'_>>,
    ) -> Result<Vec<Judged>, StoreError> {
        self.judge_for(ctx.project(), ctx.viewer(), ctx.now, claims, observed.as_slice()).await
    }

    /// Judges records for a reader, in the given order.
    pub(crate) async fn judge_for(
        &self,
        project: ProjectId,
        viewer: &Viewer,
        now: Timestamp,
        claims: &[Claim<'_>],
        observed: &[Observed<'_>],
    ) -> Result<Vec<Judged>, StoreError> {
        let briefs = self.visible_rivals(project, viewer, claims).await?;
        let rivals = Rivals::of(briefs.iter());
        let involved = claims.iter().chain(rivals.claims());
        let knowledge = self.knowledge(project, viewer, involved, observed).await?;
        Ok(claims.iter().map(|claim| judge_one(claim, &rivals, &knowledge, now)).collect())
    }

    /// The records that the caller can see under the keys of these claims.
    async fn visible_rivals(
        &self,
        project: ProjectId,
        viewer: &Viewer,
        claims: &[Claim<'_>],
    ) -> Result<Vec<Brief>, StoreError> {
        let mut keys: Vec<(WorkspaceNo, &str)> =
            claims.iter().filter_map(|claim| Some((claim.workspace_no, claim.given_key?))).collect();
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        keys.sort_unstable();
        keys.dedup();
        let mut rivals = self.store.list_by_fact_key(project, &keys).await?;
        rivals.retain(|rival| viewer.sees(&rival.audience));
        Ok(rivals)
    }

    /// What the caller knows about the sources of these claims.
    async fn knowledge<'a>(
        &self,
        project: ProjectId,
        viewer: &Viewer,
        claims: impl Iterator<Item = &'a Claim<'a>>,
        observed: &[Observed<'_>],
    ) -> Result<Knowledge, StoreError> {
        // A record without a hash can't be outdated by its source, so that source need not be loaded.
        let mut ids: Vec<&str> =
            claims.filter(|claim| claim.source_hash.is_some()).filter_map(|c| c.source_id).collect();
        ids.sort_unstable();
        ids.dedup();
        let parts = if ids.is_empty() { Vec::new() } else { self.store.list_sources(project, &ids).await? };
        let Knowledge(mut known) = Knowledge::from_parts(viewer, &parts);
        for Observed { source_id, hash } in observed {
            let state = known.entry((*source_id).to_owned()).or_default();
            // One of several known hashes of a content says nothing new about the others; storage sees it the same way.
            let known = state.known_hash.take().filter(|known| confirms_hash(known, hash));
            state.known_hash = Some(known.unwrap_or_else(|| (*hash).to_owned()));
            state.confirmed_hash.clone_from(&state.known_hash);
        }
        Ok(Knowledge(known))
    }

    /// The living records that the reader sees under the same key with different content, stale ones left out.
    pub(crate) async fn rivals_of(
        &self,
        project: ProjectId,
        viewer: &Viewer,
        now: Timestamp,
        record: &Record,
    ) -> Result<Vec<Brief>, StoreError> {
        let own = Claim::of_record(record);
        let mut briefs = self.visible_rivals(project, viewer, std::slice::from_ref(&own)).await?;
        let claims: Vec<Claim<'_>> = briefs.iter().map(Claim::of_brief).collect();
        let knowledge = self.knowledge(project, viewer, claims.iter(), &[]).await?;
        let is_rival: Vec<bool> =
            claims.iter().map(|rival| disputes(rival, &own) && !knowledge.is_stale(rival, now)).collect();
        let mut is_rival = is_rival.into_iter();
        briefs.retain(|_| is_rival.next().unwrap_or(false));
        Ok(briefs)
    }

    /// What the reader knows about a source.
    pub(crate) async fn known_source(
        &self,
        project: ProjectId,
        viewer: &Viewer,
        source_id: &str,
    ) -> Result<SourceState, StoreError> {
        let parts = self.store.list_sources(project, &[source_id]).await?;
        Ok(newest_known(viewer, &parts, source_id))
    }

    /// The newest hash that the caller knows for a source.
    pub(crate) async fn newest_hash(&self, ctx: &CallContext, source_id: &str) -> Result<Option<String>, StoreError> {
        let known = self.known_source(ctx.project(), ctx.viewer(), source_id).await?.known_hash;
        Ok(known.map(|known| shown_hash(&known).to_owned()))
    }
}

/// When the reader's newest hash of a source was seen, and when the source was last confirmed.
pub(crate) fn moments_of(
    viewer: &Viewer,
    parts: &[SourcePart],
    source_id: &str,
) -> (Option<Timestamp>, Option<Timestamp>) {
    let own = || parts.iter().filter(|part| part.source_id == source_id && viewer.sees(&part.audience));
    let known = own().filter(|part| part.state.known_hash.is_some()).max_by_key(|part| part.state.known_seq);
    let confirmed =
        own().filter(|part| part.state.confirmed_hash.is_some()).max_by_key(|part| part.state.confirmed_seq);
    (known.and_then(|part| part.known_at), confirmed.and_then(|part| part.confirmed_at))
}

pub(crate) fn newest_known(viewer: &Viewer, parts: &[SourcePart], source_id: &str) -> SourceState {
    let parts = parts.iter().filter(|part| part.source_id == source_id);
    newest_visible_source(viewer, parts.map(|part| (&part.audience, &part.state)))
}

fn judge_one(claim: &Claim<'_>, rivals: &Rivals<'_>, knowledge: &Knowledge, now: Timestamp) -> Judged {
    let mut disputing = Vec::new();
    let source = knowledge.of(claim.source_id);
    let status = Status::derive(now, claim.valid_until, claim.source_hash, &source, || {
        let under_key = rivals.under_key_of(claim).iter();
        let against = under_key.filter(|(_, rival)| disputes(rival, claim) && !knowledge.is_stale(rival, now));
        disputing.extend(against.map(|(id, _)| *id));
        !disputing.is_empty()
    });
    Judged { status, rivals: disputing }
}

fn disputes(rival: &Claim<'_>, claim: &Claim<'_>) -> bool {
    claim.given_key.is_some()
        && rival.given_key == claim.given_key
        && rival.workspace_no == claim.workspace_no
        && rival.seq != claim.seq
        && rival.content_hash != claim.content_hash
}
