//! Checks the freshness of all records from one source.

use mnemon_core::{Access, RecordId, Status, WorkspaceName};
use mnemon_guard::Field;
use mnemon_store::Brief;

use crate::cleaning::{cleaned, cleaned_workspace};
use crate::freshness::{Claim, Observed};
use crate::{Admission, CallContext, CallError, Engine, Tool, ToolCall};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Validate {
    pub source_id: String,
    /// The hash that the caller has just seen.
    pub current_source_hash: Option<String>,
    pub workspace: Option<WorkspaceName>,
}

/// The status of the source's records, ids oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Validated {
    pub source_id: String,
    /// The hash they were compared with.
    pub current_source_hash: Option<String>,
    /// How many the caller sees.
    pub checked: usize,
    pub verified: usize,
    /// How many are not confirmed.
    pub unverified: usize,
    pub stale: Vec<RecordId>,
    pub conflicting: Vec<RecordId>,
}

impl ToolCall for Validate {
    const TOOL: Tool = Tool::ValidateMemory;
}

impl Engine {
    /// Compares the records of a source with its hash. A hash that the caller gives is recorded, in one row, unless memory is
    /// read-only for the caller; the answer is the same either way.
    pub async fn validate(
        &self,
        ctx: &CallContext,
        _admission: Admission<Validate>,
        validate: Validate,
    ) -> Result<Validated, CallError> {
        let source_id = cleaned(validate.source_id);
        let given = validate.current_source_hash.map(cleaned);
        let workspace = validate.workspace.map(cleaned_workspace).transpose()?;
        if let Some(hash) = &given {
            // Whoever asks about the source next reads both.
            let texts =
                [(Field::Source, source_id.as_str()), (Field::Hash, hash.as_str()), (Field::Name, hash.as_str())];
            self.check_texts(ctx, texts.into_iter()).await?;
        }
        if let Some(hash) = given.as_ref().filter(|_| may_note(ctx)) {
            self.store.observe_source(ctx.project(), &source_id, hash, ctx.now).await?;
            self.surveyed.recheck(ctx.project());
        }
        let mut records = self.store.list_by_source(ctx.project(), &source_id, workspace.as_ref()).await?;
        records.retain(|record| ctx.viewer().sees(&record.audience));
        let claims: Vec<Claim<'_>> = records.iter().map(Claim::of_brief).collect();
        let observed = given.as_deref().map(|hash| Observed { source_id: &source_id, hash });
        let judged = self.judge(ctx, &claims, observed).await?;
        let statuses: Vec<Status> = judged.into_iter().map(|judged| judged.status).collect();
        let current_source_hash = match given {
            Some(hash) => Some(hash),
            None => self.newest_hash(ctx, &source_id).await?,
        };
        Ok(summary(source_id, current_source_hash, &records, &statuses))
    }
}

fn may_note(ctx: &CallContext) -> bool {
    ctx.credential.access == Access::Write && ctx.subscription.allows_writing()
}

fn summary(
    source_id: String,
    current_source_hash: Option<String>,
    records: &[Brief],
    statuses: &[Status],
) -> Validated {
    let count = |wanted: Status| statuses.iter().filter(|status| **status == wanted).count();
    let ids = |wanted: Status| {
        let pairs = records.iter().zip(statuses).filter(|(_, status)| **status == wanted);
        pairs.map(|(record, _)| record.id).collect()
    };
    Validated {
        source_id,
        current_source_hash,
        checked: records.len(),
        verified: count(Status::Verified),
        unverified: count(Status::Unverified),
        stale: ids(Status::Stale),
        conflicting: ids(Status::Conflict),
    }
}
