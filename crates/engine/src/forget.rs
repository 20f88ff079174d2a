//! Forgets records: one, or every one from a source.

use mnemon_core::{RecordId, Scope, Seq, WorkspaceName};

use mnemon_store::audit_subject;
use mnemon_traces::span;
use tracing::Instrument;

use crate::cleaning::{cleaned, cleaned_workspace};
use crate::{Admission, CallContext, CallError, Engine, Tool, ToolCall};

/// What the audit log says in the place of a source that only some may know.
const HIDDEN_SOURCE: &str = "(a source of drafts)";

/// What to forget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Forget {
    /// One record, by the id that the caller sent.
    Record(String),
    /// Every record from a source that the caller can see.
    Source { source_id: String, workspace: Option<WorkspaceName> },
}

/// What was forgotten, oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forgotten {
    pub ids: Vec<RecordId>,
    /// How many records that were forgotten long ago are gone for good, to make room for these.
    pub purged: u64,
}

impl ToolCall for Forget {
    const TOOL: Tool = Tool::Forget;
}

impl Engine {
    /// Soft-deletes records. Once this returns, no search returns them.
    pub async fn forget(
        &self,
        ctx: &CallContext,
        _admission: Admission<Forget>,
        forget: Forget,
    ) -> Result<Forgotten, CallError> {
        let ids = match forget {
            Forget::Record(id) => self.forget_record(ctx, &id).await?,
            Forget::Source { source_id, workspace } => self.forget_source(ctx, source_id, workspace).await?,
        };
        let purged = self.purge_beyond(ctx.project(), &self.plan_limits(ctx), ids.len(), ctx.now).await;
        Ok(Forgotten { ids, purged })
    }

    /// A malformed id, an unknown id, a forgotten record and a hidden record all get the same answer.
    async fn forget_record(&self, ctx: &CallContext, written: &str) -> Result<Vec<RecordId>, CallError> {
        let not_found = || CallError::NotFound(written.to_owned());
        let id: RecordId = written.trim().parse().map_err(|_| not_found())?;
        // One look-up whatever comes of it, so that storage does the same work for a hidden record as for an absent
        // one.
        let found = self.store.find_place(ctx.project(), id).instrument(span!("store")).await?;
        let (seq, audience) = found.filter(|(_, audience)| ctx.viewer().sees(audience)).ok_or_else(not_found)?;
        let audit = self.audit(ctx, "record.forget", audit_subject(id, audience));
        let ids = self.store.forget(ctx.project(), &[seq], audit).instrument(span!("store")).await?;
        if ids.is_empty() { Err(not_found()) } else { Ok(ids) }
    }

    async fn forget_source(
        &self,
        ctx: &CallContext,
        source_id: String,
        workspace: Option<WorkspaceName>,
    ) -> Result<Vec<RecordId>, CallError> {
        let source_id = cleaned(source_id);
        let workspace = workspace.map(cleaned_workspace).transpose()?;
        let listing = self.store.list_by_source(ctx.project(), &source_id, workspace.as_ref());
        let records = listing.instrument(span!("store")).await?;
        let visible: Vec<_> = records.iter().filter(|record| ctx.viewer().sees(&record.audience)).collect();
        let seqs: Vec<Seq> = visible.iter().map(|record| record.seq).collect();
        if seqs.is_empty() {
            return Ok(Vec::new());
        }
        // Others read the audit log. Of what they can't see it says that something was forgotten, and not from what
        // source.
        let is_known_to_all = visible.iter().any(|record| record.audience.scope() == Scope::Shared);
        let subject = if is_known_to_all { source_id } else { HIDDEN_SOURCE.to_owned() };
        let audit = self.audit(ctx, "source.forget", subject);
        Ok(self.store.forget(ctx.project(), &seqs, audit).instrument(span!("store")).await?)
    }
}
