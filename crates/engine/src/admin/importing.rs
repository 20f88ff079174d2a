//! Saves records that were exported elsewhere, many at a time. Each goes through what a save goes through: limits,
//! secrets, the guard, duplicates, the project's room. What a record brings along stays its own: its id, its moments,
//! and for admins its author.

mod places;
mod sources;

use std::collections::HashSet;

use futures_util::future::{join_all, try_join_all};
use mnemon_core::{
    Audience, Department, Fact, FactKey, Member, PlanLimits, Project, ProjectId, RecordId, Role, Scope, Timestamp,
    WorkspaceName,
};
use mnemon_store::{Insert, Inserted, Listed, Seen};

use super::{AdminContext, AdminError};
use crate::remember::{Written, idempotency, texts, without_secrets};
use crate::usage::Counted;
use crate::{CallContext, CallError, Engine, Remember};
use places::Taken;

/// An import on its way.
#[derive(Debug)]
pub struct Import {
    call: CallContext,
    is_dry_run: bool,
    members: Vec<Member>,
    departments: Vec<Department>,
    saved: u64,
}

/// What an import takes.
#[derive(Debug, Clone, PartialEq)]
pub enum ImportItem {
    Record(Box<ImportedRecord>),
    Source(ImportedSource),
}

/// A record from elsewhere. Its texts are checked by the same limits as a save's.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedRecord {
    /// Its id there. It keeps it unless the id is taken here.
    pub id: Option<RecordId>,
    pub fact: Fact,
    pub workspace: Option<WorkspaceName>,
    pub scope: Scope,
    /// Its key, if a caller chose it.
    pub fact_key: Option<FactKey>,
    pub author: Option<String>,
    pub department: Option<String>,
    pub created_at: Option<Timestamp>,
    pub updated_at: Option<Timestamp>,
    /// For a record without an id: makes a repeated import find the first one's record.
    pub idempotency_key: Option<String>,
}

/// What was known about a source elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedSource {
    pub source_id: String,
    /// `None`: every workspace with records of it. Exports were like that when a source belonged to its project.
    pub workspace: Option<WorkspaceName>,
    pub scope: Scope,
    pub department: Option<String>,
    pub known: Seen,
    pub confirmed_hash: Option<String>,
}

/// What became of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportOutcome {
    Saved {
        redacted: usize,
        is_cautioned: bool,
        /// Whether its author is no member here.
        is_by_other: bool,
    },
    /// It was here already.
    Present,
    /// What is known about a source was taken over, or was known here already.
    Source(bool),
    Refused(Refusal),
    /// A limit was reached. Nothing from this item on was looked at.
    Later {
        retry_after_seconds: u64,
        why: &'static str,
    },
}

/// Why an item was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// `invalid`, `guard`, `full` or `forgotten`.
    pub code: &'static str,
    pub text: String,
}

/// A record that passed all checks.
struct Ready {
    nth: usize,
    insert: Insert,
    outcome: ImportOutcome,
}

impl Engine {
    /// Begins an import into the project of the caller's key.
    pub async fn begin_import(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        is_dry_run: bool,
    ) -> Result<Import, AdminError> {
        let Some(call) = ctx.call() else {
            return Err(AdminError::Forbidden("importing requires the key of a member: the records need an author"));
        };
        // The same for every other project, whether it is there or not.
        if call.project() != project {
            return Err(AdminError::Forbidden("a key imports into its own project; use a key of the project you mean"));
        }
        let Project { account, .. } = self.readable_project(ctx, project).await?;
        ctx.need_write()?;
        let (members, departments) =
            (self.store.list_members(account).await?, self.store.list_departments(account).await?);
        Ok(Import { call: call.clone(), is_dry_run, members, departments, saved: 0 })
    }

    /// Takes the next items, and says what became of each, in their order. The records keep that order.
    pub async fn continue_import(
        &self,
        import: &mut Import,
        items: Vec<ImportItem>,
    ) -> Result<Vec<ImportOutcome>, AdminError> {
        let mut outcomes: Vec<Option<ImportOutcome>> = items.iter().map(|_| None).collect();
        let taken = self.taken_ids(import, &items).await?;
        let (mut ready, mut sources, mut ids) = (Vec::new(), Vec::new(), HashSet::new());
        for (nth, item) in items.into_iter().enumerate() {
            match item {
                ImportItem::Source(source) => sources.push((nth, source)),
                ImportItem::Record(mut record) => {
                    let here = taken.of(record.id);
                    if let Some(outcome) = self.met(import, &record, here) {
                        outcomes[nth] = Some(outcome);
                        continue;
                    }
                    record.id = record.id.filter(|id| !taken.is_taken(*id) && ids.insert(*id));
                    let prepared = match self.pass_import(import, &record) {
                        Ok(()) => self.prepare(import, *record).await?,
                        Err(outcome) => Err(outcome),
                    };
                    match prepared {
                        Ok((insert, outcome)) => ready.push(Ready { nth, insert, outcome }),
                        Err(outcome) => {
                            let is_end = matches!(outcome, ImportOutcome::Later { .. });
                            outcomes[nth] = Some(outcome);
                            if is_end {
                                break;
                            }
                        }
                    }
                }
            }
        }
        if import.is_dry_run {
            self.compare_ready(ready, &mut outcomes).await?;
        } else {
            self.save_ready(import, ready, &mut outcomes).await?;
        }
        for (nth, source) in sources {
            outcomes[nth] = Some(self.adopt(import, source).await?);
        }
        // Items after a stop have no outcome, and come last.
        Ok(outcomes.into_iter().flatten().collect())
    }

    /// Ends an import: the audit log says who imported how many records.
    pub async fn finish_import(&self, import: Import) -> Result<(), AdminError> {
        if import.saved > 0 {
            let subject = format!("{} records", import.saved);
            self.store.insert_audit(self.audit(&import.call, "record.import", subject)).await?;
        }
        Ok(())
    }

    async fn taken_ids(&self, import: &Import, items: &[ImportItem]) -> Result<Taken, AdminError> {
        let of_record = |item: &ImportItem| match item {
            ImportItem::Record(record) => record.id,
            ImportItem::Source(_) => None,
        };
        let ids: Vec<RecordId> = items.iter().filter_map(of_record).collect();
        let project = import.call.project();
        let here = try_join_all(ids.iter().map(|id| self.store.find_any(project, *id))).await?;
        Ok(Taken(here.into_iter().flatten().collect()))
    }

    /// What it means that a record with this id is here. `None`: it is none of the caller's, or another text.
    fn met(&self, import: &Import, record: &ImportedRecord, here: Option<&Listed>) -> Option<ImportOutcome> {
        let viewer = import.call.viewer();
        let here = here.filter(|here| viewer.sees(&here.record.audience))?;
        if here.record.fact.content != record.fact.content {
            return None;
        }
        if here.forgotten_at.is_none() {
            return Some(ImportOutcome::Present);
        }
        (import.call.credential.role == Role::Admin).then(|| {
            let id = here.record.id;
            refused("forgotten", format!("it was forgotten here; bring it back with `mnemon record restore {id}`"))
        })
    }

    /// Counts the bytes of a record towards what the plan lets in within an hour. A dry run stores nothing and takes
    /// none.
    fn pass_import(&self, import: &Import, record: &ImportedRecord) -> Result<(), ImportOutcome> {
        let fact = &record.fact;
        let labels = [&fact.source, &fact.source_id, &fact.source_hash, &fact.source_revision];
        let labels = labels.into_iter().flatten().chain(fact.tags.as_slice());
        let bytes = fact.content.len() + labels.map(String::len).sum::<usize>();
        let limits = self.plan_limits(&import.call);
        // An import may take long, and its last records are as young as it gets.
        let passed = match import.is_dry_run {
            true => Ok(()),
            false => self.rates.pass_import(import.call.project(), bytes as u64, &limits, self.clock.now()),
        };
        passed.map_err(|error| ImportOutcome::Later {
            retry_after_seconds: error.retry_after_seconds().unwrap_or(1),
            why: "the plan lets in no more imported text within an hour",
        })
    }

    /// Checks a record as a save would be checked, and makes what storage takes.
    async fn prepare(
        &self,
        import: &Import,
        given: ImportedRecord,
    ) -> Result<Result<(Insert, ImportOutcome), ImportOutcome>, AdminError> {
        let ctx = &import.call;
        if given.fact.source_hash.is_some() && given.fact.source_id.is_none() {
            return Ok(Err(refused("invalid", "source_id is required when source_hash is provided".to_owned())));
        }
        let (author, is_by_other) = import.author(given.author.as_deref());
        let department = match import.department(&given, author) {
            Ok(department) => department,
            Err(text) => return Ok(Err(refused("invalid", text))),
        };
        let Some(audience) = Audience::of(given.scope, author, department) else {
            let text = "scope department requires a department; name one of this account, or use shared or draft";
            return Ok(Err(refused("invalid", text.to_owned())));
        };
        let has_past = given.id.is_some() || given.created_at.is_some();
        let created_at = given.created_at.unwrap_or(ctx.now).min(ctx.now);
        let updated_at = given.updated_at.unwrap_or(created_at).clamp(created_at, ctx.now);
        let call = Remember {
            fact: given.fact,
            workspace: given.workspace.or_else(|| ctx.credential.workspace.clone()).unwrap_or_default(),
            scope: given.scope,
            fact_key: given.fact_key,
            supersedes: Vec::new(),
            replace: false,
            idempotency_key: given.idempotency_key,
        };
        let idempotency = match idempotency(ctx, &call) {
            Ok(idempotency) => idempotency,
            Err(error) => return refusal(error).map(Err),
        };
        let (call, redacted) = match without_secrets(call) {
            Ok(clean) => clean,
            Err(error) => return refusal(error).map(Err),
        };
        let is_cautioned = match self.check_texts(ctx, call.open_source(), texts(&call)).await {
            Ok(is_cautioned) => is_cautioned,
            Err(error) => return refusal(error).map(Err),
        };
        let written = Written {
            id: given.id,
            author,
            department,
            audience,
            is_cautioned,
            key: Some(ctx.credential.key),
            created_at,
            refreshed_elsewhere_at: has_past.then_some(updated_at),
        };
        let (record, _) = self.new_record(ctx.project(), call, written);
        let PlanLimits { records_max, workspaces_max, .. } = self.plan_limits(ctx);
        let insert = Insert { record, records_max, workspaces_max, idempotency, supersede: None };
        Ok(Ok((insert, ImportOutcome::Saved { redacted, is_cautioned, is_by_other })))
    }

    /// Says of each record whether it is new, and saves none.
    async fn compare_ready(&self, ready: Vec<Ready>, outcomes: &mut [Option<ImportOutcome>]) -> Result<(), AdminError> {
        let repeated = try_join_all(ready.iter().map(|ready| self.store.is_repeated(&ready.insert.record))).await?;
        for (ready, is_repeated) in ready.into_iter().zip(repeated) {
            outcomes[ready.nth] = Some(if is_repeated { ImportOutcome::Present } else { ready.outcome });
        }
        Ok(())
    }

    /// Hands the records to storage in their order, all at once: storage writes together what waits together.
    async fn save_ready(
        &self,
        import: &mut Import,
        ready: Vec<Ready>,
        outcomes: &mut [Option<ImportOutcome>],
    ) -> Result<(), AdminError> {
        let sizes: Vec<usize> = ready.iter().map(|ready| ready.insert.record.fact.content.len()).collect();
        let (places, inserts): (Vec<_>, Vec<_>) =
            ready.into_iter().map(|ready| ((ready.nth, ready.outcome), ready.insert)).unzip();
        let saved = join_all(inserts.into_iter().map(|insert| self.store.insert(insert))).await;
        for (((nth, outcome), bytes), saved) in places.into_iter().zip(sizes).zip(saved) {
            outcomes[nth] = Some(match saved? {
                Inserted::New { .. } => {
                    import.saved += 1;
                    self.usage.count(&import.call, Counted::Save { bytes });
                    if let ImportOutcome::Saved { redacted, .. } = &outcome {
                        self.counts.redacted_secrets.add(*redacted as u64);
                    }
                    outcome
                }
                Inserted::Duplicate { .. } | Inserted::Replayed(_) | Inserted::KeyReused => ImportOutcome::Present,
                Inserted::LimitReached => refused("full", "the project's memory limit is reached".to_owned()),
                Inserted::TooManyWorkspaces => {
                    refused("full", "the project's limit of workspaces is reached".to_owned())
                }
                Inserted::NotFound(id) => refused("invalid", format!("memory '{id}' not found")),
            });
        }
        Ok(())
    }
}

fn refused(code: &'static str, text: String) -> ImportOutcome {
    ImportOutcome::Refused(Refusal { code, text })
}

/// What a refused save means for an import.
fn refusal(error: CallError) -> Result<ImportOutcome, AdminError> {
    match error {
        CallError::Store(error) => Err(error.into()),
        CallError::ConnectionRate { retry_after_seconds } => {
            Ok(ImportOutcome::Later { retry_after_seconds, why: "too many texts were refused" })
        }
        CallError::Guard { reference } => {
            let text = format!("Memory rejected by Mnemon Guard; an admin can release it by its reference {reference}");
            Ok(refused("guard", text))
        }
        error => Ok(refused("invalid", error.to_string())),
    }
}
