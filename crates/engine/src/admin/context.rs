//! What an assistant should know at the start of its work, or about a question, in a few lines.

use mnemon_core::{Project, ProjectId, QUERY_BYTES_MAX, Seq, Status, Viewer, WorkspaceName, to_hex};
use mnemon_guard::{Field, Verdict};
use mnemon_recall::{Filter, time_phrase};

use super::{AdminContext, AdminError};
use crate::digest::{self, Digest, Entry, Terms};
use crate::freshness::{Claim, KnownSource};
use crate::indexes::Asked;
use crate::when;
use crate::{Engine, GuardMode};

/// How many tokens a digest may be asked to fit: fewer leave no room for a record, and more are no digest.
const BUDGET_TOKENS: std::ops::RangeInclusive<usize> = 200..=20_000;
pub const BUDGET_TOKENS_DEFAULT: usize = 2_000;
/// Without a query, how many of the newest records are looked at.
const NEWEST_MAX: usize = 500;
/// With a query, how many hits are looked at.
const HITS_MAX: usize = 20;

/// What to put together.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextQuery {
    /// Only what answers this; without one, what is verified and recent.
    pub query: Option<String>,
    /// Without one, the one that the caller's key means.
    pub workspace: Option<WorkspaceName>,
    pub budget_tokens: usize,
    /// Only records that answer the query at least this well.
    pub score_min: f64,
}

/// A digest, and where it is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownContext {
    pub workspace: WorkspaceName,
    pub digest: Digest,
}

impl Engine {
    /// Puts together what the caller can see of a workspace, within a number of tokens.
    pub async fn show_context(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        asked: ContextQuery,
    ) -> Result<ShownContext, AdminError> {
        let project = self.readable_project(ctx, project).await?;
        check(&asked)?;
        let seq = self.store.last_seq(project.id).await?.unwrap_or_default();
        let workspace = asked.workspace.or_else(|| ctx.workspace_in(project.id)).unwrap_or_default();
        let slot = self.indexes.current(project.id, &workspace, seq).await?;
        let viewer = ctx.viewer();
        let slot = slot.filter(|slot| slot.is_visible_to(&viewer)).ok_or(AdminError::NotFound("workspace"))?;
        let (query, limit) = match &asked.query {
            Some(query) => (query.as_str(), HITS_MAX),
            // One more shows whether there are older ones.
            None => ("*", NEWEST_MAX + 1),
        };
        let filter = Filter::default();
        let time = time_phrase(query, when::day(ctx.now));
        let asked_for = Asked { query, limit, viewer: &viewer, now: ctx.now, time: time.as_ref(), scope: None, filter };
        let mut hits = slot.rank(&asked_for);
        let has_older = asked.query.is_none() && hits.len() > NEWEST_MAX;
        hits.truncate(NEWEST_MAX);
        hits.retain(|hit| asked.query.is_none() || hit.score >= asked.score_min);
        let seqs: Vec<Seq> = hits.iter().map(|hit| Seq(hit.seq)).collect();
        let entries = self.load_entries(ctx, &project, &seqs).await?;
        // Authors of records could not know it, so no text can imitate a line of the digest.
        let mark = format!("[{}]", &to_hex(self.ids.secret())[58..]);
        let rejects = self.guard_mode(project.account).await? == GuardMode::Reject;
        let is_refused = |text: &str| rejects && self.guard.judge(Field::Content, text) == Verdict::Refuse;
        let terms = Terms { budget_tokens: asked.budget_tokens, mark: &mark, is_refused: &is_refused };
        let digest = match asked.query {
            Some(_) => digest::of_hits(&workspace, entries, &terms),
            None => digest::of_workspace(&workspace, entries, has_older, &terms),
        };
        Ok(ShownContext { workspace, digest })
    }

    /// The records at these places that the caller can see, in this order, with their statuses.
    async fn load_entries(
        &self,
        ctx: &AdminContext,
        project: &Project,
        seqs: &[Seq],
    ) -> Result<Vec<Entry>, AdminError> {
        if seqs.is_empty() {
            return Ok(Vec::new());
        }
        let viewer = ctx.viewer();
        let mut records = self.store.load(project.id, seqs).await?;
        records.retain(|record| viewer.sees(&record.audience));
        let claims: Vec<Claim<'_>> = records.iter().map(Claim::of_record).collect();
        let judged = self.judge_for(project.id, &viewer, ctx.now, &claims, &[]).await?;
        let entries = records.into_iter().zip(judged);
        let mut entries: Vec<Entry> =
            entries.map(|(record, judged)| Entry { record, judged, confirmed_by: None }).collect();
        self.name_confirmers(project, &viewer, &mut entries).await?;
        Ok(entries)
    }

    /// Says of what is verified who looked: that the source is unchanged is their word.
    async fn name_confirmers(
        &self,
        project: &Project,
        viewer: &Viewer,
        entries: &mut [Entry],
    ) -> Result<(), AdminError> {
        let verified = || entries.iter().filter(|entry| entry.judged.status() == Status::Verified);
        let ids: Vec<&str> = verified().filter_map(|entry| entry.record.fact.source_id.as_deref()).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let parts = self.store.list_sources(project.id, &ids).await?;
        let members = self.store.list_members(project.account).await?;
        for entry in entries.iter_mut() {
            let record = &entry.record;
            let Some(source_id) = record.fact.source_id.as_deref() else { continue };
            let by = KnownSource::of(viewer, &parts, record.workspace_no, source_id).confirmed_by;
            let member = members.iter().find(|member| Some(member.id) == by);
            entry.confirmed_by = member.map(|member| member.name.clone());
        }
        Ok(())
    }
}

fn check(asked: &ContextQuery) -> Result<(), AdminError> {
    let invalid = |text: String| Err(AdminError::Invalid(text));
    let is_query = |query: &String| !query.trim().is_empty() && query.len() <= QUERY_BYTES_MAX;
    if !asked.query.as_ref().is_none_or(is_query) {
        return invalid(format!("query must be 1 to {QUERY_BYTES_MAX} bytes long"));
    }
    if !BUDGET_TOKENS.contains(&asked.budget_tokens) {
        let (from, to) = (BUDGET_TOKENS.start(), BUDGET_TOKENS.end());
        return invalid(format!("budget must be between {from} and {to} tokens"));
    }
    if !(0.0..=1.0).contains(&asked.score_min) {
        return invalid("min_score must be between 0 and 1".to_owned());
    }
    Ok(())
}
