//! Checks the freshness of all records from one source.

use mnemon_core::{
    Access, RecordId, Status, WorkspaceName, join_hashes, newest_visible_source, of_other_kinds, shown_hash,
};
use mnemon_guard::Field;
use mnemon_store::{Look, Observation, RecordSummary, Seen, StoreError};
use mnemon_traces::span;
use tracing::Instrument;

use crate::cleaning::{cleaned, cleaned_workspace};
use crate::freshness::{Claim, Judged, judge_by};
use crate::{Admission, CallContext, CallError, Engine, Tool, ToolCall};

/// How many different hashes of one source are shown and compared.
pub(crate) const HASHES_MAX: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Validate {
    pub source_id: String,
    /// What the caller has just seen, if anything.
    pub seen: Option<Seen>,
    /// Where; in every workspace if none is named.
    pub workspace: Option<WorkspaceName>,
}

/// The status of the source's records, ids oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Validated {
    pub source_id: String,
    /// The hash they were compared with; none if the source is gone or was never seen.
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
    /// Compares the records of a source with its state. What the caller has seen is recorded, unless memory is
    /// read-only for the caller; the answer is the same either way.
    pub async fn validate(
        &self,
        ctx: &CallContext,
        _admission: Admission<Validate>,
        validate: Validate,
    ) -> Result<Validated, CallError> {
        let source_id = cleaned(validate.source_id);
        let workspace = validate.workspace.map(cleaned_workspace).transpose()?;
        let observed = validate.seen.map(|seen| Observation { source_id: source_id.clone(), seen: cleaned_seen(seen) });
        if let Some(observation) = &observed {
            // The next reader of the source sees all of it.
            self.check_texts(ctx, None, texts(observation)).await?;
        }
        let listing = self.store.list_with_standing(ctx.project(), &source_id, workspace.as_ref());
        let (mut records, standing) = listing.instrument(span!("store")).await?;
        let observed = observed.map(|observation| compared(observation, &records));
        if let Some(observation) = observed.clone().filter(|_| may_note(ctx)) {
            let (by, key) = (Some(ctx.credential.member), Some(ctx.credential.key));
            let look = Look { by, key, at: ctx.now };
            let noting = self.store.observe_source(ctx.project(), workspace.as_ref(), observation, look);
            noting.instrument(span!("store")).await?;
        }
        records.retain(|record| ctx.viewer().sees(&record.audience));
        let claims: Vec<Claim<'_>> = records.iter().map(Claim::of_summary).collect();
        let judged = judge_by(&standing, ctx.viewer(), ctx.now, &claims, observed.as_ref().as_slice());
        let statuses: Vec<Status> = judged.iter().map(Judged::status).collect();
        let current_source_hash = match observed.map(|observation| observation.seen) {
            Some(Seen::Hash(hash)) => Some(shown_hash(&hash).to_owned()),
            Some(Seen::Gone { .. }) => None,
            None => self.newest_hash(ctx, workspace.as_ref(), &source_id).await?,
        };
        Ok(summary(source_id, current_source_hash, &records, &statuses))
    }

    /// The newest hash that the caller knows for a source; of several workspaces the latest seen.
    async fn newest_hash(
        &self,
        ctx: &CallContext,
        workspace: Option<&WorkspaceName>,
        source_id: &str,
    ) -> Result<Option<String>, StoreError> {
        let mut parts = self.store.list_sources(ctx.project(), &[source_id]).await?;
        if let Some(name) = workspace {
            let no = self.store.find_workspace(ctx.project(), name).await?.map(|workspace| workspace.no);
            parts.retain(|part| Some(part.workspace_no) == no);
        }
        let newest = newest_visible_source(ctx.viewer(), parts.iter().map(|part| (&part.audience, &part.state)));
        Ok(newest.known_hash.map(|known| shown_hash(&known).to_owned()))
    }
}

fn cleaned_seen(seen: Seen) -> Seen {
    match seen {
        Seen::Hash(hash) => Seen::Hash(cleaned(hash)),
        Seen::Gone { moved_to } => Seen::Gone { moved_to: moved_to.map(cleaned) },
    }
}

/// What was seen, beside the hashes of other kinds that the source's records have: nobody knows whether those changed.
fn compared(Observation { source_id, seen }: Observation, records: &[RecordSummary]) -> Observation {
    let seen = match seen {
        Seen::Hash(hash) => Seen::Hash(join_hashes(&[&hash], &uncompared(&hash, records))),
        gone @ Seen::Gone { .. } => gone,
    };
    Observation { source_id, seen }
}

/// Hashes of records that can't be compared with this one, a few.
pub(crate) fn uncompared<'a>(hash: &str, records: &'a [RecordSummary]) -> Vec<&'a str> {
    let mut hashes = of_other_kinds(hash, records.iter().rev().filter_map(|record| record.source_hash.as_deref()));
    hashes.sort_unstable();
    hashes.dedup();
    hashes.truncate(HASHES_MAX);
    hashes
}

fn texts(Observation { source_id, seen }: &Observation) -> impl Iterator<Item = (Field, &str)> {
    let told = match seen {
        Seen::Hash(hash) => vec![(Field::Hash, hash.as_str()), (Field::Name, hash.as_str())],
        Seen::Gone { moved_to } => moved_to.iter().map(|path| (Field::Source, path.as_str())).collect(),
    };
    std::iter::once((Field::Source, source_id.as_str())).chain(told)
}

fn may_note(ctx: &CallContext) -> bool {
    ctx.credential.access == Access::Write && ctx.subscription.allows_writing()
}

fn summary(
    source_id: String,
    current_source_hash: Option<String>,
    records: &[RecordSummary],
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
