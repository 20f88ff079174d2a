//! Forgets records: one, or every one from a source.

use mnemon_core::{RecordId, Seq, WorkspaceName};

use crate::{Admission, CallContext, CallError, Engine, Tool, ToolCall};

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
        match forget {
            Forget::Record(id) => self.forget_record(ctx, &id).await,
            Forget::Source { source_id, workspace } => self.forget_source(ctx, source_id, workspace).await,
        }
    }

    /// A malformed id, an unknown id, a forgotten record and a hidden record all get the same answer.
    async fn forget_record(&self, ctx: &CallContext, written: &str) -> Result<Forgotten, CallError> {
        let not_found = || CallError::NotFound(written.to_owned());
        let id: RecordId = written.trim().parse().map_err(|_| not_found())?;
        let record = self.store.find(ctx.project(), id).await?;
        let record = record.filter(|record| ctx.viewer().sees(&record.audience)).ok_or_else(not_found)?;
        let audit = self.audit(ctx, "record.forget", record.id.to_string());
        let ids = self.store.forget(ctx.project(), &[record.seq], audit).await?;
        if ids.is_empty() { Err(not_found()) } else { Ok(Forgotten { ids }) }
    }

    async fn forget_source(
        &self,
        ctx: &CallContext,
        source_id: String,
        workspace: Option<WorkspaceName>,
    ) -> Result<Forgotten, CallError> {
        let records = self.store.list_by_source(ctx.project(), &source_id, workspace.as_ref()).await?;
        let visible = records.iter().filter(|record| ctx.viewer().sees(&record.audience));
        let seqs: Vec<Seq> = visible.map(|record| record.seq).collect();
        if seqs.is_empty() {
            return Ok(Forgotten { ids: Vec::new() });
        }
        let audit = self.audit(ctx, "source.forget", source_id);
        let ids = self.store.forget(ctx.project(), &seqs, audit).await?;
        Ok(Forgotten { ids })
    }
}
