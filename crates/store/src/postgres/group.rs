//! The saves of a flight into one project, and what is decided about them once the project is locked.

use std::collections::{BTreeMap, HashMap};

use mnemon_core::{ProjectId, WorkspaceNo};

use super::batch::{Outcome, Save};
use super::error::{Fault, no_such_project};
use super::insert::insert;
use super::known_projects::{Known, KnownProjects};
use super::new_rows::NewRows;
use super::project::Locked;
use super::transaction::{Tenant, Tx, open_people};
use crate::{Inserted, StoreError};

/// In the order in which projects are locked.
pub(super) type Groups<'a> = BTreeMap<ProjectId, Group<'a>>;

pub(super) struct Group<'a> {
    pub(super) id: ProjectId,
    pub(super) saves: Vec<(usize, &'a Save)>,
    /// What was known of the project before, until it was found to be different.
    pub(super) known: Option<Known>,
    /// `None` if there is no such project.
    pub(super) locked: Option<Locked>,
    appearance: Option<u64>,
    /// The active workspaces, also those that the batch itself brings into being.
    pub(super) workspaces: HashMap<&'a str, WorkspaceNo>,
    /// Saves that meet an earlier record or key.
    meeting: Vec<(usize, &'a Save)>,
    /// Whether the saves may be stored already, by a flight that lost its connection.
    pub(super) is_repeated: bool,
}

/// What decides about a save.
#[derive(Default)]
pub(super) struct Facts {
    pub(super) has_author: bool,
    /// Whether it meets an earlier record or key.
    pub(super) meets: bool,
}

impl<'a> Group<'a> {
    pub(super) fn new(id: ProjectId, known: Option<Known>) -> Self {
        let (saves, meeting, workspaces) = (Vec::new(), Vec::new(), HashMap::new());
        Self { id, saves, known, locked: None, appearance: None, workspaces, meeting, is_repeated: false }
    }

    /// The project is locked, and this is how it was found.
    pub(super) fn lock(&mut self, seq: u64, live_records: u64, appearance: Option<u64>) {
        let is_as_left = |known: &Known| known.seq == seq && known.live_records == live_records;
        let mut known = self.known.take().filter(is_as_left);
        if let Some(known) = &mut known {
            known.is_steady = true;
        }
        self.known = known;
        self.locked = Some(Locked::new(self.id, seq, live_records));
        self.appearance = appearance;
    }

    /// Undoes whatever was decided: it was not so.
    pub(super) fn unlock(&mut self) {
        (self.locked, self.appearance) = (None, None);
        self.workspaces.clear();
        self.meeting.clear();
    }

    pub(super) fn meets(&self) -> bool {
        !self.meeting.is_empty()
    }

    /// Remembers how the flight leaves the project.
    pub(super) fn note(self, known: &KnownProjects) {
        let Some(locked) = self.locked else { return };
        let mut now = self.known.unwrap_or_default();
        (now.seq, now.live_records, now.appearance) = (locked.seq, locked.live_records, self.appearance);
        self.workspaces.iter().for_each(|(name, no)| now.note_workspace(name, *no));
        known.put(self.id, now);
    }

    /// Decides about every save that meets nothing, and sets the others aside.
    pub(super) fn decide<'f>(
        &mut self,
        facts: impl Fn(usize) -> &'f Facts,
        rows: &mut NewRows<'a>,
        outcomes: &mut [Option<Outcome>],
    ) {
        for &(nth, save) in &self.saves {
            let Save { insert, content_hash, appearance } = save;
            if appearance.is_some() && *appearance != self.appearance {
                outcomes[nth] = Some(Ok(None));
                continue;
            }
            let Some(locked) = &mut self.locked else {
                outcomes[nth] = Some(Err(no_such_project(self.id)));
                continue;
            };
            if appearance.is_none() && !facts(nth).has_author {
                outcomes[nth] = Some(Err(StoreError::Failed(format!("no member {}", insert.record.author))));
                continue;
            }
            // The few saves that create a workspace go one by one: only they need the count of workspaces.
            let begins_workspace =
                insert.workspaces_max.is_some() && !self.workspaces.contains_key(insert.record.workspace.as_str());
            if facts(nth).meets || insert.supersede.is_some() || begins_workspace {
                self.meeting.push((nth, save));
                continue;
            }
            if insert.records_max.is_some_and(|max| locked.live_records >= max) {
                outcomes[nth] = Some(Ok(Some(Inserted::LimitReached)));
                continue;
            }
            let name = insert.record.workspace.as_str();
            let workspace = self.workspaces.get(name).copied();
            let (seq, workspace_no) = rows.add(locked, workspace, insert, *content_hash);
            rows.add_key(insert, seq);
            self.workspaces.insert(name, workspace_no);
            outcomes[nth] = Some(Ok(Some(Inserted::New { seq, workspace_no, superseded: Vec::new() })));
        }
    }

    /// Handles the saves that meet an earlier record or key, after what is new was written.
    pub(super) async fn store_one_by_one(&mut self, tx: &Tx, outcomes: &mut [Option<Outcome>]) -> Result<(), Fault> {
        let Some(locked) = self.locked.as_mut().filter(|_| !self.meeting.is_empty()) else { return Ok(()) };
        let tenant = Tenant::project(self.id);
        tx.flight(vec![tenant.turn(), open_people()]).await?;
        for (nth, save) in std::mem::take(&mut self.meeting) {
            let inserted = insert(tx, locked, &save.insert, save.content_hash, self.is_repeated).await?;
            outcomes[nth] = Some(Ok(Some(inserted)));
        }
        Ok(())
    }
}
