//! One act on several records: forget, restore, tag, or move to another workspace or other readers. Each is looked at
//! as if it were the only one; what can't be done is told and changes nothing.

use mnemon_core::{Access, Audience, FactKey, Project, ProjectId, Record, RecordId, Scope, Seq, Tags, WorkspaceName};
use mnemon_store::{Actor, AdoptedSource, AuditEntry, Insert, Inserted, Listed, Seen, Supersede};

use super::records::moment_before;
use super::{AdminContext, AdminError};
use crate::cleaning::cleaned;
use crate::remember::Written;
use crate::{CallContext, CallError, Engine, Remember};

/// How many records one act takes.
pub const SEVERAL_MAX: usize = 200;

/// The acts that forget records, as the audit log calls them.
const FORGETTING: [&str; 6] =
    ["record.forget", "record.keep", "record.move", "record.supersede", "source.forget", "workspace.delete"];

/// What to do to each of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeveralAct {
    Forget,
    Restore,
    /// Adds tags and takes others away.
    Tag {
        add: Vec<String>,
        remove: Vec<String>,
    },
    /// To another workspace, to other readers, or both.
    Move {
        workspace: Option<WorkspaceName>,
        scope: Option<Scope>,
    },
}

/// What became of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Several {
    /// The records that were changed; of moved ones the new ids.
    pub done: Vec<RecordId>,
    /// Those that were not, and why.
    pub left: Vec<(RecordId, String)>,
    /// The acts that take it back, in this order.
    pub undo: Vec<(SeveralAct, Vec<RecordId>)>,
}

impl Several {
    fn note(&mut self, id: RecordId, outcome: Result<RecordId, AdminError>) -> Result<(), AdminError> {
        match outcome {
            Ok(done) => self.done.push(done),
            Err(error @ AdminError::Store(_)) => return Err(error),
            Err(error) => self.left.push((id, error.to_string())),
        }
        Ok(())
    }

    /// Notes how the tags of a record become again what they were. Records that need the same are named together.
    fn note_tags(&mut self, id: RecordId, before: &Tags, after: &Tags) {
        let only_in = |one: &Tags, other: &Tags| -> Vec<String> {
            one.as_slice().iter().filter(|tag| !other.as_slice().contains(tag)).cloned().collect()
        };
        let (add, remove) = (only_in(before, after), only_in(after, before));
        if add.is_empty() && remove.is_empty() {
            return;
        }
        let back = SeveralAct::Tag { add, remove };
        match self.undo.iter_mut().find(|(act, _)| *act == back) {
            Some((_, ids)) => ids.push(id),
            None => self.undo.push((back, vec![id])),
        }
    }
}

impl Engine {
    /// Does one act to several records of the project of the caller's key.
    pub async fn change_several(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        ids: &[RecordId],
        act: &SeveralAct,
    ) -> Result<Several, AdminError> {
        let call =
            ctx.call().ok_or(AdminError::Forbidden("the operator's token opens no project; sign in with a key"))?;
        let project = self.readable_project(ctx, project).await?;
        ctx.need_write()?;
        if call.credential.access != Access::Write {
            return Err(CallError::ReadOnlyKey.into());
        }
        if ids.is_empty() || ids.len() > SEVERAL_MAX {
            return Err(AdminError::Invalid(format!("choose 1 to {SEVERAL_MAX} records")));
        }
        if project.id != call.project() {
            let text = "the records belong to another project than your key; sign in with a key of it";
            return Err(AdminError::Conflict(text.to_owned()));
        }
        match act {
            SeveralAct::Forget => self.forget_several(ctx, &project, ids).await,
            SeveralAct::Restore => {
                let mut several = Several::default();
                for id in ids {
                    let restored = self.restore_record(ctx, *id).await.map(|_| *id);
                    several.note(*id, restored)?;
                }
                Ok(several)
            }
            SeveralAct::Tag { add, remove } => self.tag_several(ctx, call, &project, ids, (add, remove)).await,
            SeveralAct::Move { workspace, scope } => {
                if workspace.is_none() && scope.is_none() {
                    return Err(AdminError::Invalid("choose a workspace or who sees them".to_owned()));
                }
                self.move_several(ctx, call, &project, ids, (workspace.as_ref(), *scope)).await
            }
        }
    }

    /// All at one moment, so that the one act can be undone.
    async fn forget_several(
        &self,
        ctx: &AdminContext,
        project: &Project,
        ids: &[RecordId],
    ) -> Result<Several, AdminError> {
        let mut several = Several::default();
        let mut places: Vec<Seq> = Vec::new();
        for id in ids {
            match self.store.find_place(project.id, *id).await? {
                Some((seq, audience)) if ctx.viewer().sees(&audience) => places.push(seq),
                _ => several.left.push((*id, "not found".to_owned())),
            }
        }
        if !places.is_empty() {
            let subject = format!("{} records", places.len());
            let audit = self.admin_audit(ctx, project.account, Some(project.id), "record.forget", subject);
            several.done = self.store.forget(project.id, &places, audit).await?;
            self.purge_beyond_plan(ctx, project, several.done.len()).await;
            several.undo.push((SeveralAct::Restore, several.done.clone()));
        }
        Ok(several)
    }

    async fn tag_several(
        &self,
        ctx: &AdminContext,
        call: &CallContext,
        project: &Project,
        ids: &[RecordId],
        (add, remove): (&[String], &[String]),
    ) -> Result<Several, AdminError> {
        let clean = |tags: &[String]| tags.iter().map(|tag| cleaned(tag.clone())).collect::<Vec<_>>();
        let (add, remove) = (clean(add), clean(remove));
        let added = Tags::parse(&add).map_err(|error| AdminError::Invalid(error.to_string()))?;
        let texts = added.as_slice().iter().map(|tag| (mnemon_guard::Field::FactKey, tag.as_str()));
        self.check_texts(call, None, texts).await?;
        let removed: Vec<String> = remove.iter().map(|tag| tag.to_lowercase()).collect();
        let mut several = Several::default();
        let mut wanted: Vec<(Seq, Tags)> = Vec::new();
        for id in ids {
            let found = self.store.find(project.id, *id).await?;
            let Some(record) = found.filter(|record| ctx.viewer().sees(&record.audience)) else {
                several.left.push((*id, "not found".to_owned()));
                continue;
            };
            let kept = record.fact.tags.as_slice().iter().filter(|tag| !removed.contains(&tag.to_lowercase()));
            let all: Vec<String> = kept.chain(added.as_slice()).cloned().collect();
            match Tags::parse(&all) {
                Ok(tags) => {
                    several.note_tags(*id, &record.fact.tags, &tags);
                    wanted.push((record.seq, tags));
                    several.done.push(*id);
                }
                Err(error) => several.left.push((*id, error.to_string())),
            }
        }
        let subject = match ids {
            [one] => one.to_string(),
            _ => format!("{} records", several.done.len()),
        };
        let audit = self.admin_audit(ctx, project.account, Some(project.id), "record.tag", subject);
        self.store.retag(project.id, wanted, audit).await?;
        Ok(several)
    }

    async fn move_several(
        &self,
        ctx: &AdminContext,
        call: &CallContext,
        project: &Project,
        ids: &[RecordId],
        to: (Option<&WorkspaceName>, Option<Scope>),
    ) -> Result<Several, AdminError> {
        let (mut several, mut made, mut old) = (Several::default(), Vec::new(), Vec::new());
        for id in ids {
            let moved = self.move_one(ctx, call, project, *id, to).await;
            if let Ok((new, is_made)) = moved {
                made.extend(is_made.then_some(new));
                old.push(*id);
            }
            several.note(*id, moved.map(|(new, _)| new))?;
        }
        // The new ones go first: a project that is full has no room for both. One that was there before stays.
        let undo = [(SeveralAct::Forget, made), (SeveralAct::Restore, old)];
        several.undo.extend(undo.into_iter().filter(|(_, ids)| !ids.is_empty()));
        Ok(several)
    }

    /// The same record elsewhere takes the place of this one. It keeps its text, author and times, and what is known of
    /// its source goes with it. Answers with its id, and whether it was not there before.
    async fn move_one(
        &self,
        ctx: &AdminContext,
        call: &CallContext,
        project: &Project,
        id: RecordId,
        (workspace, scope): (Option<&WorkspaceName>, Option<Scope>),
    ) -> Result<(RecordId, bool), AdminError> {
        let found = self.store.find(project.id, id).await?;
        let record =
            found.filter(|record| ctx.viewer().sees(&record.audience)).ok_or(AdminError::NotFound("record"))?;
        let audience = match scope {
            None => record.audience,
            Some(scope) => readers(call, &record, scope)?,
        };
        let workspace = workspace.unwrap_or(&record.workspace).clone();
        if audience == record.audience && workspace == record.workspace {
            return Err(AdminError::Conflict("it is there already".to_owned()));
        }
        let written = Written {
            id: None,
            author: record.author,
            department: match audience {
                Audience::Department(department) => Some(department),
                _ => call.credential.department,
            },
            audience,
            is_cautioned: record.is_cautioned,
            key: Some(call.credential.key),
            created_at: record.created_at,
            // Its hash is no sighting of the source: it may be older than what is known there.
            refreshed_elsewhere_at: Some(record.updated_at),
        };
        let fact_key = record.fact_key.chosen().map(FactKey::given).transpose().map_err(CallError::from)?;
        let again = Remember {
            fact: record.fact.clone(),
            workspace: workspace.clone(),
            scope: audience.scope(),
            fact_key,
            supersedes: Vec::new(),
            replace: false,
            idempotency_key: None,
        };
        let is_cautioned = self.check_texts(call, again.open_source(), crate::remember::texts(&again)).await?;
        let written = Written { is_cautioned: is_cautioned || written.is_cautioned, ..written };
        let (new, _) = self.new_record(project.id, again, written);
        let to = new.id;
        let supersede = Supersede {
            ids: vec![id],
            same_key: false,
            viewer: ctx.viewer(),
            audit: self.admin_audit(ctx, project.account, Some(project.id), "record.move", to),
        };
        let limits = self.plan_limits(call);
        let (records_max, workspaces_max) = (limits.records_max.map(|max| max + 1), limits.workspaces_max);
        let insert = Insert { record: new, records_max, workspaces_max, idempotency: None, supersede: Some(supersede) };
        let moved = match self.store.insert(insert).await? {
            Inserted::New { .. } => (to, true),
            Inserted::Duplicate { record, .. } => (record.id, false),
            Inserted::NotFound(_) => return Err(AdminError::NotFound("record")),
            Inserted::TooManyWorkspaces => return Err(CallError::WorkspaceLimit.into()),
            Inserted::LimitReached | Inserted::Replayed(_) | Inserted::KeyReused => {
                return Err(CallError::MemoryLimit.into());
            }
        };
        self.take_knowledge_along(ctx, project, &record, workspace, audience).await?;
        Ok(moved)
    }

    /// What is known of a moved record's source becomes known where it is now, unless something is known there already.
    async fn take_knowledge_along(
        &self,
        ctx: &AdminContext,
        project: &Project,
        record: &Record,
        workspace: WorkspaceName,
        audience: Audience,
    ) -> Result<(), AdminError> {
        let Some(source_id) = &record.fact.source_id else { return Ok(()) };
        let parts = self.store.list_sources(project.id, &[source_id]).await?;
        let known = crate::freshness::KnownSource::of(&ctx.viewer(), &parts, record.workspace_no, source_id);
        let seen = match (known.state.known_hash, known.state.is_gone) {
            (Some(hash), _) => Seen::Hash(hash),
            (None, true) => Seen::Gone { moved_to: known.state.moved_to },
            (None, false) => return Ok(()),
        };
        let source = AdoptedSource {
            workspace,
            source_id: source_id.clone(),
            audience,
            known: seen,
            confirmed_hash: known.state.confirmed_hash,
        };
        self.store.adopt_source(project.id, source, ctx.now).await?;
        Ok(())
    }

    /// Whether somebody who is no admin may restore a record: the one who forgot it may.
    pub(super) async fn is_own_forget(
        &self,
        ctx: &AdminContext,
        project: &Project,
        listed: &Listed,
    ) -> Result<bool, AdminError> {
        let (Some(credential), Some(at)) = (ctx.credential(), listed.forgotten_at) else { return Ok(false) };
        if at < moment_before(ctx.now) || !ctx.viewer().sees(&listed.record.audience) {
            return Ok(false);
        }
        let acts = self.store.list_acts(project.account, project.id, "", &[at]).await?;
        let is_own = |act: &AuditEntry| act.actor == Actor::Member(credential.member);
        let forgets = |act: &&AuditEntry| FORGETTING.contains(&&*act.action);
        // Of several acts of one moment none is known to be the one.
        Ok(acts.iter().any(|act| forgets(&act)) && acts.iter().filter(forgets).all(is_own))
    }
}

/// Who sees a moved record: a draft is its author's alone.
fn readers(call: &CallContext, record: &Record, scope: Scope) -> Result<Audience, AdminError> {
    if scope == Scope::Draft && record.author != call.credential.member {
        return Err(AdminError::Conflict("only its author can make it a draft".to_owned()));
    }
    if scope == record.audience.scope() {
        return Ok(record.audience);
    }
    Audience::of(scope, call.credential.member, call.credential.department)
        .ok_or_else(|| AdminError::Conflict("you belong to no department".to_owned()))
}
