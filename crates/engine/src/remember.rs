//! Saves a fact, decision or note.

mod idempotency;

use jiff::SignedDuration;
use mnemon_core::{
    Audience, DepartmentId, Fact, FactKey, KeyId, MemberId, NewRecord, PlanLimits, ProjectId, Record, RecordId,
    SUPERSEDES_MAX, Scope, Seq, SourceState, Status, Timestamp, WorkspaceName, WorkspaceNo, plain_hash,
};
use mnemon_guard::Field;
use mnemon_recall::Embedding;
use mnemon_store::{Idempotency, Insert, Inserted, Replay, Standing, StoreError, Supersede};
use mnemon_traces::span;
use tracing::Instrument;

use crate::cleaning::Cleaner;
use crate::freshness::{Claim, Judged, judge_saved};
use crate::indexes::{Saved, to_stored};
use crate::similar::SimilarRecord;
use crate::usage::Counted;
use crate::{Admission, CallContext, CallError, Engine, Tool, ToolCall};
use idempotency::{KeptAnswer, arguments_hash, check_key};

/// How long an idempotency key is kept.
const IDEMPOTENCY_HOURS: i64 = 24;

#[derive(Debug, Clone, PartialEq)]
pub struct Remember {
    pub fact: Fact,
    pub workspace: WorkspaceName,
    pub scope: Scope,
    /// The fact key, if the caller gave one.
    pub fact_key: Option<FactKey>,
    /// Records that this one takes the place of, by the ids that the caller sent.
    pub supersedes: Vec<String>,
    /// Whether it also takes the place of every record that the caller sees under the same fact key in that workspace.
    pub replace: bool,
    /// Makes a repeated call return the first call's answer.
    pub idempotency_key: Option<String>,
}

/// The result of a save.
#[derive(Debug, Clone, PartialEq)]
pub struct Remembered {
    pub record: Record,
    pub status: Status,
    /// The records that conflict with it.
    pub conflicts_with: Vec<RecordId>,
    /// Whether an equal record already existed.
    pub is_duplicate: bool,
    pub redacted: usize,
    /// The records that it took the place of, oldest first.
    pub superseded: Vec<RecordId>,
    /// How many records that were forgotten long ago are gone for good, to make room for those.
    pub purged: u64,
    /// Records that say nearly the same, best first; none for a duplicate.
    pub similar: Vec<SimilarRecord>,
}

/// A call whose arguments are in order, without its secrets.
struct Draft {
    call: Remember,
    superseded: Vec<RecordId>,
    idempotency: Option<Idempotency>,
    redacted: usize,
}

impl Draft {
    fn of(ctx: &CallContext, call: Remember) -> Result<Self, CallError> {
        if call.fact.source_hash.is_some() && call.fact.source_id.is_none() {
            return Err(CallError::Argument("source_id is required when source_hash is provided".to_owned()));
        }
        let superseded = superseded(&call)?;
        let idempotency = idempotency(ctx, &call)?;
        let (call, redacted) = without_secrets(call)?;
        Ok(Self { call, superseded, idempotency, redacted })
    }
}

/// What is kept of a save while storage stores it.
struct Saving {
    new: NewRecord,
    embedding: Embedding,
    idempotency_key: Option<String>,
    redacted: usize,
}

impl Remember {
    /// Where the text comes from, if it is for everybody in the project.
    pub(crate) fn open_source(&self) -> Option<&str> {
        let source = self.fact.source_id.as_deref().or(self.fact.source.as_deref());
        source.filter(|_| self.scope == Scope::Shared)
    }
}

impl ToolCall for Remember {
    const TOOL: Tool = Tool::Remember;
}

impl Engine {
    /// Saves a record. Once this returns, the record is durable and the next search finds it.
    pub async fn remember(
        &self,
        ctx: &CallContext,
        _admission: Admission<Remember>,
        call: Remember,
    ) -> Result<Remembered, CallError> {
        let draft = Draft::of(ctx, call)?;
        self.counts.redacted_secrets.add(draft.redacted as u64);
        let checking = self.check_texts(ctx, draft.call.open_source(), texts(&draft.call));
        let is_cautioned = checking.instrument(span!("guard")).await?;
        let (insert, saving) = self.to_insert(ctx, draft, is_cautioned)?;
        let stored = self.store.insert_with_standing(insert).instrument(span!("store")).await?;
        self.note_saved(ctx, saving, stored).await
    }

    /// What storage is asked for, and what has to be done once it has stored it.
    fn to_insert(&self, ctx: &CallContext, draft: Draft, is_cautioned: bool) -> Result<(Insert, Saving), CallError> {
        let Draft { call, superseded, idempotency, redacted } = draft;
        let same_key = call.replace;
        let written = Self::written(ctx, call.scope, is_cautioned)?;
        let (record, embedding) = self.new_record(ctx.project(), call, written);
        let supersede = (same_key || !superseded.is_empty()).then(|| Supersede {
            ids: superseded,
            same_key,
            viewer: ctx.viewer().clone(),
            audit: self.audit(ctx, "record.supersede", record.id.to_string()),
        });
        let idempotency_key = idempotency.as_ref().map(|idempotency| idempotency.key.clone());
        let saving = Saving { new: record.clone(), embedding, idempotency_key, redacted };
        let PlanLimits { records_max, workspaces_max, .. } = self.plan_limits(ctx);
        Ok((Insert { record, records_max, workspaces_max, idempotency, supersede }, saving))
    }

    /// Shows what was stored to the next search, and makes the answer.
    async fn note_saved(
        &self,
        ctx: &CallContext,
        saving: Saving,
        (inserted, standing): (Inserted, Option<Standing>),
    ) -> Result<Remembered, CallError> {
        let Saving { new, embedding, idempotency_key, redacted } = saving;
        let (record, is_duplicate, superseded) = match inserted {
            Inserted::New { seq, workspace_no, superseded } => {
                let saved = Saved { seq, workspace_no, record: &new, embedding: &embedding };
                self.indexes.add_saved(ctx.project(), &new.workspace, saved).await;
                self.usage.count(ctx, Counted::Save { bytes: new.fact.content.len() });
                (stored(ctx, new, seq, workspace_no), false, superseded)
            }
            Inserted::Duplicate { record, superseded } => (*record, true, superseded),
            Inserted::NotFound(id) => return Err(CallError::NotFound(id.to_string())),
            Inserted::Replayed(replay) => return Box::pin(self.replay(ctx, *replay, new.id, redacted)).await,
            Inserted::KeyReused => return Err(CallError::IdempotencyKeyReused),
            Inserted::LimitReached => return Err(CallError::MemoryLimit),
            Inserted::TooManyWorkspaces => return Err(CallError::WorkspaceLimit),
        };
        // From here on the record is durable: an error would make the caller save it again.
        let judged = match &standing {
            Some(standing) => Ok(judge_saved(ctx, &record, standing)),
            None => self.judge_record(ctx, &record).await,
        };
        let is_judged = judged.is_ok();
        let (status, conflicts_with) = judged.map_or_else(
            |error| {
                tracing::warn!(%error, "could not compare a saved record with others; its answer names no conflicts");
                (status_alone(ctx, &record), Vec::new())
            },
            |judged| (judged.status(), judged.rivals),
        );
        let similar = if is_duplicate { Vec::new() } else { self.similar_to(ctx, &record).await };
        let purged = self.purge_beyond(ctx.project(), &self.plan_limits(ctx), superseded.len(), ctx.now).await;
        let answer = Remembered { record, status, conflicts_with, is_duplicate, redacted, superseded, purged, similar };
        if let Some(key) = idempotency_key.filter(|_| is_judged) {
            let kept = KeptAnswer::of(&answer).to_json();
            let saved = self.store.save_answer(ctx.project(), ctx.credential.member, &key, kept).await;
            if let Err(error) = saved {
                tracing::warn!(%error, "could not keep an answer; a repeated call computes it from the record");
            }
        }
        Ok(answer)
    }

    /// The answer of the first call, again. If that call ended before its answer was kept, the answer is computed from
    /// the record: either way nothing is stored twice.
    async fn replay(
        &self,
        ctx: &CallContext,
        replay: Replay,
        asked_for: RecordId,
        redacted: usize,
    ) -> Result<Remembered, CallError> {
        // A member who has left the department no longer sees what was saved for it.
        let record = replay.record.filter(|record| ctx.viewer().sees(&record.audience));
        let record = record.ok_or_else(|| CallError::NotFound(asked_for.to_string()))?;
        let judged = self.judge_record(ctx, &record).await?;
        let (is_duplicate, superseded) = (replay.was_duplicate, replay.superseded);
        let (status, conflicts_with) = (judged.status(), judged.rivals);
        let (purged, similar) = (0, Vec::new());
        let mut answer =
            Remembered { record, status, conflicts_with, is_duplicate, redacted, superseded, purged, similar };
        let kept = replay.answer.and_then(|kept| KeptAnswer::restore(&kept, &mut answer));
        for (id, score) in kept.unwrap_or_default() {
            let found = self.store.find(ctx.project(), id).await?.filter(|record| ctx.viewer().sees(&record.audience));
            answer.similar.extend(found.map(|record| SimilarRecord::of(&record, score)));
        }
        Ok(answer)
    }

    async fn judge_record(&self, ctx: &CallContext, record: &Record) -> Result<Judged, StoreError> {
        let mut judged = self.judge(ctx, &[Claim::of_record(record)], &[]).await?;
        Ok(judged.pop().expect("one claim gives one judgement"))
    }

    /// Whose record a save makes: the caller's own, of now.
    fn written(ctx: &CallContext, scope: Scope, is_cautioned: bool) -> Result<Written, CallError> {
        let (author, department) = (ctx.credential.member, ctx.credential.department);
        let audience = Audience::of(scope, author, department).ok_or_else(|| {
            let text = "scope department requires a member who belongs to a department; use shared or draft";
            CallError::Argument(text.to_owned())
        })?;
        let (id, created_at) = (None, ctx.now);
        let key = Some(ctx.credential.key);
        Ok(Written { id, author, department, audience, is_cautioned, key, created_at, refreshed_elsewhere_at: None })
    }

    /// The record as storage takes it, whether it is saved or imported.
    pub(crate) fn new_record(&self, project: ProjectId, call: Remember, by: Written) -> (NewRecord, Embedding) {
        let id = by.id.unwrap_or_else(|| RecordId::new(self.ids.uuid(by.created_at)));
        let embedding = self.model.encode(&call.fact.content);
        let record = NewRecord {
            id,
            project,
            workspace: call.workspace,
            audience: by.audience,
            author: by.author,
            department: by.department,
            fact_key: call.fact_key.unwrap_or_else(|| FactKey::made(&call.fact.content, id)),
            fact: call.fact,
            is_cautioned: by.is_cautioned,
            key: by.key,
            created_at: by.created_at,
            refreshed_elsewhere_at: by.refreshed_elsewhere_at,
            embedding: to_stored(self.model, &embedding),
        };
        (record, embedding)
    }
}

/// What a new record has beside what its caller wrote.
pub(crate) struct Written {
    /// A new one, unless the record brings its own.
    pub(crate) id: Option<RecordId>,
    pub(crate) author: MemberId,
    pub(crate) department: Option<DepartmentId>,
    pub(crate) audience: Audience,
    pub(crate) is_cautioned: bool,
    /// With which key it is saved.
    pub(crate) key: Option<KeyId>,
    pub(crate) created_at: Timestamp,
    /// When it was last refreshed, if that was elsewhere.
    pub(crate) refreshed_elsewhere_at: Option<Timestamp>,
}

/// What can be said of a record without reading anything else.
fn status_alone(ctx: &CallContext, record: &Record) -> Status {
    let is_stale = Status::is_stale(ctx.now, record.fact.valid_until, None, &SourceState::default());
    if is_stale { Status::Stale } else { Status::Unverified }
}

/// The records that the call names to supersede. A malformed id gets the answer of an unknown one.
fn superseded(call: &Remember) -> Result<Vec<RecordId>, CallError> {
    if call.replace && call.fact_key.is_none() {
        return Err(CallError::Argument("fact_key is required when replace is true".to_owned()));
    }
    if call.supersedes.len() > SUPERSEDES_MAX {
        return Err(CallError::Argument(format!("supersedes must list at most {SUPERSEDES_MAX} ids")));
    }
    let parse = |written: &String| written.trim().parse().map_err(|_| CallError::NotFound(written.clone()));
    call.supersedes.iter().map(parse).collect()
}

pub(crate) fn idempotency(ctx: &CallContext, call: &Remember) -> Result<Option<Idempotency>, CallError> {
    let Some(key) = call.idempotency_key.clone() else { return Ok(None) };
    check_key(&key)?;
    let window = SignedDuration::from_hours(IDEMPOTENCY_HOURS);
    let valid_since = ctx.now.saturating_sub(window).unwrap_or(Timestamp::MIN);
    Ok(Some(Idempotency { member: ctx.credential.member, key, arguments_hash: arguments_hash(call), valid_since }))
}

/// Every text of a call that somebody reads later, and what it is.
pub(crate) fn texts(call: &Remember) -> impl Iterator<Item = (Field, &str)> {
    let fact_key = call.fact_key.as_ref().map(|key| key.text.as_str());
    let Fact {
        content,
        source,
        source_id,
        source_hash,
        source_revision,
        confidence: _,
        valid_until: _,
        tags,
        occurred_at: _, // nothing but digits
    } = &call.fact;
    let texts = [
        (Field::Content, Some(content.as_str())),
        (Field::Workspace, Some(call.workspace.as_str())),
        (Field::FactKey, fact_key),
        (Field::Source, source.as_deref()),
        (Field::Source, source_id.as_deref()),
        (Field::Hash, source_hash.as_deref()),
        (Field::Hash, source_revision.as_deref()),
        // The alphabet of hashes has dashes and dots, which can be between words: read as a name, these are separated.
        (Field::Name, source_hash.as_deref()),
        (Field::Name, source_revision.as_deref()),
    ];
    let tags = tags.as_slice().iter().map(|tag| (Field::FactKey, tag.as_str()));
    texts.into_iter().filter_map(|(field, text)| Some((field, text?))).chain(tags)
}

/// Replaces secrets in every text field, and counts them. The hash gets its one spelling.
pub(crate) fn without_secrets(mut call: Remember) -> Result<(Remember, usize), CallError> {
    let mut cleaner = Cleaner::default();
    let Fact {
        content,
        source,
        source_id,
        source_hash,
        source_revision,
        confidence: _,
        valid_until: _,
        tags,
        occurred_at: _,
    } = &mut call.fact;
    cleaner.text(content);
    cleaner.workspace(&mut call.workspace)?;
    if let Some(key) = &mut call.fact_key {
        cleaner.text(&mut key.text);
    }
    let texts = [source, source_id, source_hash, source_revision];
    texts.into_iter().flatten().chain(tags.iter_mut()).for_each(|text| cleaner.text(text));
    if let Some(hash) = &mut call.fact.source_hash {
        *hash = plain_hash(hash);
    }
    Ok((call, cleaner.count))
}

/// The stored form of a new save.
fn stored(ctx: &CallContext, new: NewRecord, seq: Seq, workspace_no: WorkspaceNo) -> Record {
    Record {
        id: new.id,
        seq,
        workspace_no,
        workspace: new.workspace,
        audience: new.audience,
        author: new.author,
        author_name: Some(ctx.credential.member_name.clone()),
        department_name: ctx.credential.department_name.clone(),
        fact_key: new.fact_key,
        fact: new.fact,
        is_cautioned: new.is_cautioned,
        created_at: new.created_at,
        updated_at: new.created_at,
    }
}
