//! Stores saves of many projects in one transaction of two round trips. The first locks the projects and asks for
//! everything that the decisions need (`look_over.rs`); the second writes (`new_rows.rs`), reads what the answers
//! need (`standing.rs`) and commits.
//!
//! No two saves of a batch conflict (`queue.rs` sees to it), so what each finds can be asked before any is written.
//! The few that repeat an earlier record or key, or replace others, take statements of their own (`insert.rs`): in
//! the same transaction if the batch has one project, otherwise later, so that the other projects don't wait for
//! them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mnemon_core::{ProjectId, WorkspaceNo};
use uuid::Uuid;

use super::connect::Pool;
use super::error::{Again, Fault};
use super::insert::{Concerned, Pending, insert};
use super::look_over::{Facts, LookedOver, look_over};
use super::new_rows::NewRows;
use super::project::Locked;
use super::save::{Lock, Outcome, Save};
use super::standing::Standings;
use super::transaction::{Tenant, Tx};
use super::try_out;
use crate::interface::saving::{Decision, Found, decide};
use crate::{Basis, Inserted, StoreError};

/// Stores the saves, or none of them and says why. The outcomes are in the order of the saves; `None` for those that
/// have to be stored again with their project alone.
pub(super) async fn store(pool: &Arc<Pool>, saves: &[&Save], lock: Lock) -> Result<Vec<Option<Outcome>>, Fault> {
    if saves.is_empty() {
        return Ok(Vec::new());
    }
    let attempts = AtomicUsize::new(0);
    let attempt = || {
        // A lost connection leaves open whether the batch was stored, so from then on each save looks for itself first.
        let may_be_stored = attempts.fetch_add(1, Ordering::Relaxed) > 0 || lock == Lock::Wait;
        Batch { saves, lock, may_be_stored }.store(pool)
    };
    let stored = try_out(attempt).await;
    stored.map_err(|fault| if fault.again == Again::Lost { fault.while_committing() } else { fault })
}

struct Batch<'a, 's> {
    saves: &'s [&'a Save],
    lock: Lock,
    may_be_stored: bool,
}

/// A locked project, as the saves so far leave it.
struct Project<'a> {
    locked: Locked,
    seq_before: u64,
    /// The workspaces that the batch has begun.
    begun: HashMap<&'a str, WorkspaceNo>,
}

type Projects<'a> = BTreeMap<ProjectId, Project<'a>>;

/// What was decided about the saves, in their order.
#[derive(Default)]
struct Decided<'a> {
    inserted: Vec<Option<Result<Inserted, StoreError>>>,
    rows: NewRows<'a>,
    /// The places of saves that need statements of their own.
    apart: Vec<(usize, Facts)>,
}

/// What is to be done about a save.
enum Step {
    Done(Result<Inserted, StoreError>),
    /// It needs statements of its own.
    Apart(Facts),
    /// It can't be stored in this batch.
    Aside,
}

impl<'a> Batch<'a, '_> {
    async fn store(self, pool: &Arc<Pool>) -> Result<Vec<Option<Outcome>>, Fault> {
        let ids = self.project_ids();
        let tx = Tx::write(pool, Tenant::projects(&ids)).await?.of_a_call();
        let LookedOver { projects, facts } = look_over(&tx, &ids, self.saves, self.lock, self.may_be_stored).await?;
        let mut projects: Projects<'a> = projects.into_iter().map(|locked| (locked.id, Project::new(locked))).collect();
        let Decided { mut inserted, mut rows, apart } = self.decide_all(&mut projects, facts);
        let only = projects.values_mut().next().filter(|_| ids.len() == 1);
        let mut pending = Pending::default();
        if let Some(project) = only.filter(|_| !apart.is_empty()) {
            pending.add_rows(std::mem::take(&mut rows));
            self.store_apart(&tx, &mut pending, &mut project.locked, apart, &mut inserted).await?;
        }
        projects.values().filter(|project| project.is_changed()).for_each(|project| rows.end(&project.locked));
        let standings = self.standings(&inserted);
        let mut asks = pending.asks();
        asks.extend(rows.asks());
        asks.extend(standings.ask());
        let mut answers = tx.finish_repeatable(asks).await?;
        let mut found = standings.read(answers.pop().unwrap_or_default());
        let with_standing = |(nth, inserted): (usize, Option<Result<Inserted, StoreError>>)| {
            inserted.map(|inserted| inserted.map(|inserted| (inserted, found.remove(&nth))))
        };
        Ok(inserted.into_iter().enumerate().map(with_standing).collect())
    }

    /// Projects are locked in the order of their ids, here and on other nodes.
    fn project_ids(&self) -> Vec<Uuid> {
        let mut ids: Vec<Uuid> = self.saves.iter().map(|save| save.insert.record.project.uuid()).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    fn decide_all(&self, projects: &mut Projects<'a>, facts: Vec<Facts>) -> Decided<'a> {
        let mut decided = Decided::default();
        for (nth, (save, facts)) in self.saves.iter().zip(facts).enumerate() {
            let project = projects.get_mut(&save.insert.record.project);
            let done = match self.decide(save, project, facts, &mut decided.rows) {
                Step::Done(done) => Some(done),
                Step::Aside => None,
                Step::Apart(facts) => {
                    decided.apart.push((nth, facts));
                    None
                }
            };
            decided.inserted.push(done);
        }
        decided
    }

    /// Decides about a save, and adds its rows if nothing is in its way.
    fn decide(&self, save: &'a Save, project: Option<&mut Project<'a>>, facts: Facts, rows: &mut NewRows<'a>) -> Step {
        let (insert, record) = (&save.insert, &save.insert.record);
        let Some(project) = project else {
            // It does not exist, or somebody else holds its lock.
            let is_absent = self.lock == Lock::Wait;
            return if is_absent { Step::Done(Err(StoreError::no_project(record.project))) } else { Step::Aside };
        };
        match facts.itself {
            Some((seq, workspace_no)) if insert.supersede.is_none() => {
                return Step::Done(Ok(Inserted::New { seq, workspace_no, superseded: Vec::new() }));
            }
            None if !facts.has_author => {
                return Step::Done(Err(StoreError::Failed(format!("no member {}", record.author))));
            }
            _ if insert.supersede.is_some() => return Step::Apart(facts),
            _ => {}
        }
        let workspace = project.begun.get(record.workspace.as_str()).copied().or(facts.workspace);
        match decide(insert, project.found(&facts, workspace)) {
            Decision::Refuse(inserted) => Step::Done(Ok(inserted)),
            Decision::Replay(_) | Decision::Refresh { .. } => Step::Apart(facts),
            Decision::Write { .. } => {
                let (seq, workspace_no) = rows.add(&mut project.locked, workspace, insert, save.content_hash);
                rows.add_key(insert, seq, false);
                if workspace.is_none() {
                    project.begun.insert(record.workspace.as_str(), workspace_no);
                }
                Step::Done(Ok(Inserted::New { seq, workspace_no, superseded: Vec::new() }))
            }
        }
    }

    /// Decides about saves that need statements of their own, after the others.
    async fn store_apart(
        &self,
        tx: &Tx,
        pending: &mut Pending<'a>,
        project: &mut Locked,
        apart: Vec<(usize, Facts)>,
        inserted: &mut [Option<Result<Inserted, StoreError>>],
    ) -> Result<(), Fault> {
        let mut is_changed = false;
        for (nth, facts) in apart {
            let save = self.saves[nth];
            is_changed |= !pending.is_empty();
            // What was found before may have been changed by the saves that were decided since.
            let facts = if is_changed {
                tx.ask_all(std::mem::take(pending).asks()).await?;
                look_again(tx, save).await?
            } else {
                facts
            };
            let concerned = Concerned::read(tx, save, &facts).await?;
            inserted[nth] = Some(Ok(insert(project, save, facts, concerned, pending)?));
        }
        Ok(())
    }

    /// What the answers to the saves need to know.
    fn standings<'i>(&self, inserted: &'i [Option<Result<Inserted, StoreError>>]) -> Standings<'i>
    where
        'a: 'i,
    {
        let mut standings = Standings::default();
        for (nth, (save, inserted)) in self.saves.iter().zip(inserted).enumerate() {
            let Some(Ok(inserted)) = inserted.as_ref().filter(|_| save.wants_standing) else { continue };
            let record = &save.insert.record;
            match inserted {
                Inserted::New { workspace_no, .. } => {
                    standings.add(nth, record.project, Basis::of(*workspace_no, &record.fact_key, &record.fact));
                }
                Inserted::Duplicate { record: found, .. } => {
                    standings.add(nth, record.project, Basis::of(found.workspace_no, &found.fact_key, &found.fact));
                }
                _ => {}
            }
        }
        standings
    }
}

async fn look_again(tx: &Tx, save: &Save) -> Result<Facts, Fault> {
    let id = save.insert.record.project.uuid();
    let looked = look_over(tx, &[id], &[save], Lock::Wait, false).await?;
    Ok(looked.facts.into_iter().next().unwrap_or_default())
}

impl Project<'_> {
    fn new(locked: Locked) -> Self {
        Self { seq_before: locked.seq, locked, begun: HashMap::new() }
    }

    /// Whatever is written takes a place in the log.
    fn is_changed(&self) -> bool {
        self.locked.seq != self.seq_before
    }

    fn found(&self, facts: &Facts, workspace: Option<WorkspaceNo>) -> Found {
        Found {
            earlier: facts.earlier.clone(),
            superseded: Ok(Vec::new()),
            duplicate: facts.duplicate,
            live_records: self.locked.live_records,
            workspace,
            workspaces: facts.workspaces + self.begun.len() as u64,
        }
    }
}
