//! Derives the status of records for one reader: what the reader knows about their sources, and which records conflict.

use std::collections::{HashMap, HashSet};

use mnemon_core::{
    ContentHash, MemberId, ProjectId, Reason, Record, RecordId, Seq, SourceState, Status, Timestamp, Viewer,
    WorkspaceNo, confirms_hash, newest_visible_source,
};
use mnemon_store::{Basis, Observation, RecordSummary, Seen, SourcePart, Standing, StoreError};

use crate::{CallContext, Engine};

/// Why a record has its status, and the records that conflict with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Judged {
    pub(crate) reason: Reason,
    /// Where its source moved to, if it is gone and that is known.
    pub(crate) moved_to: Option<String>,
    /// Visible records that are not stale and have different content under the same key. Empty for a stale record.
    pub(crate) rivals: Vec<RecordId>,
}

impl Judged {
    pub(crate) const fn status(&self) -> Status {
        self.reason.status()
    }
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

    fn basis(&self) -> Basis<'a> {
        let &Self { workspace_no, given_key, source_id, .. } = self;
        Basis { workspace_no, given_key, source_id }
    }

    pub(crate) fn of_summary(summary: &'a RecordSummary) -> Self {
        Self {
            seq: summary.seq,
            workspace_no: summary.workspace_no,
            given_key: summary.given_fact_key.as_deref(),
            content_hash: summary.content_hash,
            source_id: summary.source_id.as_deref(),
            source_hash: summary.source_hash.as_deref(),
            valid_until: summary.valid_until,
        }
    }
}

/// What the reader knows about the sources of workspaces.
struct Knowledge(HashMap<(WorkspaceNo, String), SourceState>);

impl Knowledge {
    fn from_parts(viewer: &Viewer, parts: &[SourcePart]) -> Self {
        let mut by_source: HashMap<(WorkspaceNo, &str), Vec<&SourcePart>> = HashMap::new();
        for part in parts {
            by_source.entry((part.workspace_no, &part.source_id)).or_default().push(part);
        }
        let newest = |parts: Vec<&SourcePart>| {
            newest_visible_source(viewer, parts.iter().map(|part| (&part.audience, &part.state)))
        };
        Self(by_source.into_iter().map(|((no, id), parts)| ((no, id.to_owned()), newest(parts))).collect())
    }

    /// Takes over what the caller has just seen, whether or not it may be recorded.
    fn observe(&mut self, workspace: WorkspaceNo, Observation { source_id, seen }: &Observation) {
        let state = self.0.entry((workspace, source_id.clone())).or_default();
        state.is_gone = matches!(seen, Seen::Gone { .. });
        // One of several known hashes of a content says nothing new about the others; storage sees it the same way.
        let known = state.known_hash.take();
        if let Seen::Hash(hash) = seen {
            let known = known.filter(|known| confirms_hash(known, hash));
            state.known_hash = Some(known.unwrap_or_else(|| hash.clone()));
            state.confirmed_hash.clone_from(&state.known_hash);
        }
    }

    fn of(&self, claim: &Claim<'_>) -> SourceState {
        let key = claim.source_id.map(|id| (claim.workspace_no, id.to_owned()));
        key.and_then(|key| self.0.get(&key)).cloned().unwrap_or_default()
    }

    fn is_stale(&self, claim: &Claim<'_>, now: Timestamp) -> bool {
        Status::is_stale(now, claim.valid_until, claim.source_hash, &self.of(claim))
    }
}

/// Records by the key that they have in their workspace.
struct Rivals<'a>(HashMap<(WorkspaceNo, &'a str), Vec<(RecordId, Claim<'a>)>>);

impl<'a> Rivals<'a> {
    fn of(summaries: impl Iterator<Item = &'a RecordSummary>) -> Self {
        let mut by_key: HashMap<_, Vec<_>> = HashMap::new();
        for summary in summaries {
            if let Some(key) = summary.given_fact_key.as_deref() {
                by_key.entry((summary.workspace_no, key)).or_default().push((summary.id, Claim::of_summary(summary)));
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
        observed: &[&Observation],
    ) -> Result<Vec<Judged>, StoreError> {
        self.judge_for(ctx.project(), ctx.viewer(), ctx.now, claims, observed).await
    }

    /// Judges records for a reader, in the given order. What was just observed counts for the workspaces of the claims.
    pub(crate) async fn judge_for(
        &self,
        project: ProjectId,
        viewer: &Viewer,
        now: Timestamp,
        claims: &[Claim<'_>],
        observed: &[&Observation],
    ) -> Result<Vec<Judged>, StoreError> {
        let standing = self.standing_of(project, claims).await?;
        Ok(judge_by(&standing, viewer, now, claims, observed))
    }

    async fn standing_of(&self, project: ProjectId, claims: &[Claim<'_>]) -> Result<Standing, StoreError> {
        let mut bases: Vec<Basis<'_>> = claims.iter().map(Claim::basis).filter(|basis| !basis.is_nothing()).collect();
        bases.sort_unstable();
        bases.dedup();
        if bases.is_empty() { Ok(Standing::default()) } else { self.store.find_standing(project, &bases).await }
    }

    /// The living records that the reader sees under the same key with different content, stale ones left out.
    pub(crate) async fn rivals_of(
        &self,
        project: ProjectId,
        viewer: &Viewer,
        now: Timestamp,
        record: &Record,
    ) -> Result<Vec<RecordSummary>, StoreError> {
        let own = Claim::of_record(record);
        let Standing { mut under_key, sources } = self.standing_of(project, std::slice::from_ref(&own)).await?;
        let knowledge = Knowledge::from_parts(viewer, &sources);
        under_key.retain(|summary| {
            let rival = Claim::of_summary(summary);
            viewer.sees(&summary.audience) && disputes(&rival, &own) && !knowledge.is_stale(&rival, now)
        });
        Ok(under_key)
    }
}

/// What a reader knows about one source of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KnownSource {
    pub state: SourceState,
    /// When its newest hash was seen, or that it is gone.
    pub known_at: Option<Timestamp>,
    /// When it was last confirmed.
    pub confirmed_at: Option<Timestamp>,
    /// By whom, if that is known.
    pub confirmed_by: Option<MemberId>,
}

impl KnownSource {
    /// Joins the parts of this source that the viewer may know.
    pub(crate) fn of(viewer: &Viewer, parts: &[SourcePart], workspace: WorkspaceNo, source_id: &str) -> Self {
        let is_meant = |part: &&SourcePart| part.workspace_no == workspace && part.source_id == source_id;
        let own = || parts.iter().filter(is_meant).filter(|part| viewer.sees(&part.audience));
        let confirmed =
            own().filter(|part| part.state.confirmed_hash.is_some()).max_by_key(|part| part.state.confirmed_seq);
        Self {
            state: newest_visible_source(viewer, own().map(|part| (&part.audience, &part.state))),
            known_at: own().max_by_key(|part| part.state.known_seq).and_then(|part| part.known_at),
            confirmed_at: confirmed.and_then(|part| part.confirmed_at),
            confirmed_by: confirmed.and_then(|part| part.confirmed_by),
        }
    }
}

/// Judges a record for the caller who saved it, by what the save brought along.
pub(crate) fn judge_saved(ctx: &CallContext, record: &Record, standing: &Standing) -> Judged {
    let mut judged = judge_by(standing, ctx.viewer(), ctx.now, &[Claim::of_record(record)], &[]);
    judged.pop().expect("one claim gives one judgement")
}

/// Judges records for a reader by what was read of their standing. What was just observed counts for the workspaces of
/// the claims and of their rivals.
pub(crate) fn judge_by(
    standing: &Standing,
    viewer: &Viewer,
    now: Timestamp,
    claims: &[Claim<'_>],
    observed: &[&Observation],
) -> Vec<Judged> {
    let rivals = Rivals::of(standing.under_key.iter().filter(|rival| viewer.sees(&rival.audience)));
    let mut knowledge = Knowledge::from_parts(viewer, &standing.sources);
    for observation in observed {
        let involved = claims.iter().chain(rivals.claims());
        let meant = involved.filter(|claim| claim.source_id == Some(observation.source_id.as_str()));
        let workspaces: HashSet<WorkspaceNo> = meant.map(|claim| claim.workspace_no).collect();
        workspaces.into_iter().for_each(|no| knowledge.observe(no, observation));
    }
    claims.iter().map(|claim| judge_one(claim, &rivals, &knowledge, now)).collect()
}

fn judge_one(claim: &Claim<'_>, rivals: &Rivals<'_>, knowledge: &Knowledge, now: Timestamp) -> Judged {
    let mut disputing = Vec::new();
    let source = knowledge.of(claim);
    let reason = Reason::derive(now, claim.valid_until, claim.source_hash, &source, || {
        let under_key = rivals.under_key_of(claim).iter();
        let against = under_key.filter(|(_, rival)| disputes(rival, claim) && !knowledge.is_stale(rival, now));
        disputing.extend(against.map(|(id, _)| *id));
        !disputing.is_empty()
    });
    Judged { reason, moved_to: source.moved_to, rivals: disputing }
}

fn disputes(rival: &Claim<'_>, claim: &Claim<'_>) -> bool {
    claim.given_key.is_some()
        && rival.given_key == claim.given_key
        && rival.workspace_no == claim.workspace_no
        && rival.seq != claim.seq
        && rival.content_hash != claim.content_hash
}
