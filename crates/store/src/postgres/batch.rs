//! Stores waiting saves together, in one transaction and two round trips: one locks the projects and asks what the saves
//! would conflict with, one writes and commits.
//!
//! No two saves of a batch could meet each other (`writer.rs` sees to it), so what each meets can be asked before any is
//! written. The few that meet an earlier record or key, or supersede others, go the long way (`insert.rs`), in the
//! same transaction.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use mnemon_core::{ContentHash, ProjectId, WorkspaceNo};
use tokio_postgres::Row;
use uuid::Uuid;

use super::connect::Pool;
use super::error::{Fault, no_such_project};
use super::insert::insert;
use super::new_rows::NewRows;
use super::project::{self, Locked};
use super::rows::Cells;
use super::transaction::{Ask, Tenant, Tx, ask, open_people};
use crate::{Insert, Inserted, StoreError};

/// A save, with the hash that its duplicates have.
pub(super) struct Save {
    pub(super) insert: Insert,
    pub(super) content_hash: ContentHash,
}

type Outcome = Result<Inserted, StoreError>;

/// Stores all of the saves, or none and says why. The outcomes are in the order of the saves.
pub(super) async fn store(pool: &Arc<Pool>, saves: &[&Save]) -> Result<Vec<Outcome>, Fault> {
    let mut groups = group(saves);
    let Some(first) = groups.first() else { return Ok(Vec::new()) };
    let tx = Tx::write(pool, first.tenant.clone()).await?;
    look(&tx, &mut groups).await?;
    let mut outcomes: Vec<Option<Outcome>> = saves.iter().map(|_| None).collect();
    for group in &mut groups {
        group.decide(&mut outcomes);
    }
    let has_meeting = groups.iter().any(|group| !group.meeting.is_empty());
    if has_meeting {
        for group in &mut groups {
            group.store_one_by_one(&tx, &mut outcomes).await?;
        }
    }
    let mut last = Vec::new();
    for group in &mut groups {
        last.extend(group.last_asks());
    }
    tx.finish(last).await?;
    let lost = || Err(StoreError::Failed("a save was left out of its batch".to_owned()));
    Ok(outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(lost)).collect())
}

/// The saves by project, in the order of project ids: other nodes lock the same projects in the same order.
fn group<'a>(saves: &[&'a Save]) -> Vec<Group<'a>> {
    let mut groups: BTreeMap<ProjectId, Group<'a>> = BTreeMap::new();
    for (nth, save) in saves.iter().enumerate() {
        let project = save.insert.record.project;
        groups.entry(project).or_insert_with(|| Group::new(project)).saves.push((nth, save));
    }
    groups.into_values().collect()
}

/// The saves into one project, and what is known about it.
struct Group<'a> {
    id: ProjectId,
    tenant: Tenant,
    saves: Vec<(usize, &'a Save)>,
    /// `None` if there is no such project.
    locked: Option<Locked>,
    authors: HashSet<Uuid>,
    workspaces: HashMap<String, WorkspaceNo>,
    /// Which of the saves meet an earlier record or key.
    meets: HashSet<usize>,
    rows: NewRows<'a>,
    meeting: Vec<(usize, &'a Save)>,
}

/// The questions about one project, as arrays: one value per save, except for the keys.
struct Question<'a> {
    id: Uuid,
    authors: Vec<Uuid>,
    workspaces: Vec<&'a str>,
    hashes: Vec<&'a [u8]>,
    key_of: Vec<usize>,
    key_members: Vec<Uuid>,
    keys: Vec<&'a str>,
}

impl<'a> Question<'a> {
    fn of(group: &Group<'a>) -> Self {
        let records = || group.saves.iter().map(|(_, save)| &save.insert.record);
        let with_key = |(at, (_, save)): (usize, &(usize, &'a Save))| Some((at, save.insert.idempotency.as_ref()?));
        let keys: Vec<_> = group.saves.iter().enumerate().filter_map(with_key).collect();
        Self {
            id: group.id.uuid(),
            authors: records().map(|record| record.author.uuid()).collect(),
            workspaces: group.saves.iter().map(|(_, save)| save.insert.record.workspace.as_str()).collect(),
            hashes: group.saves.iter().map(|(_, save)| save.content_hash.as_bytes().as_slice()).collect(),
            key_of: keys.iter().map(|(at, _)| *at).collect(),
            key_members: keys.iter().map(|(_, key)| key.member.uuid()).collect(),
            keys: keys.iter().map(|(_, key)| key.key.as_str()).collect(),
        }
    }

    /// The lock comes first: what is read after it sees everything that was written under it. `LATERAL` with a limit looks up
    /// each value on its own; with any other join, the server may read all of the project's records once per value.
    fn asks(&self) -> Vec<Ask<'_>> {
        const AUTHORS: &str = "
            SELECT m.id
            FROM project p
            JOIN member m ON m.account_id = p.account_id
            WHERE p.id = $1 AND m.id = ANY($2)";
        const WORKSPACES: &str =
            "SELECT name, no FROM workspace WHERE project_id = $1 AND name = ANY($2) AND deleted_at IS NULL";
        const DUPLICATES: &str = "
            SELECT g.nth
            FROM unnest($2::text[], $3::bytea[]) WITH ORDINALITY AS g (name, hash, nth)
            CROSS JOIN LATERAL (
                SELECT w.no
                FROM workspace w
                WHERE w.project_id = $1 AND w.name = g.name AND w.deleted_at IS NULL
                LIMIT 1) AS w
            CROSS JOIN LATERAL (
                SELECT 1
                FROM record r
                WHERE r.project_id = $1 AND r.workspace_no = w.no AND r.content_hash = g.hash AND r.forgotten_at IS NULL
                LIMIT 1) AS r";
        const KEYS: &str = "
            SELECT g.nth
            FROM unnest($2::uuid[], $3::text[]) WITH ORDINALITY AS g (member_id, key, nth)
            CROSS JOIN LATERAL (
                SELECT 1
                FROM idempotency i
                WHERE i.project_id = $1 AND i.member_id = g.member_id AND i.key = g.key
                LIMIT 1) AS i";
        vec![
            open_people(),
            ask(project::LOCK, &[&self.id]),
            ask(AUTHORS, &[&self.id, &self.authors]),
            ask(WORKSPACES, &[&self.id, &self.workspaces]),
            ask(DUPLICATES, &[&self.id, &self.workspaces, &self.hashes]),
            ask(KEYS, &[&self.id, &self.key_members, &self.keys]),
        ]
    }
}

/// How many answers each project's questions have, including the one that selects the project.
const ANSWERS: usize = 7;

/// Locks the projects and reads everything that decides about the saves, in one round trip.
async fn look(tx: &Tx, groups: &mut [Group<'_>]) -> Result<(), Fault> {
    let questions: Vec<Question<'_>> = groups.iter().map(Question::of).collect();
    let tenants: Vec<Tenant> = groups.iter().map(|group| group.tenant.clone()).collect();
    let mut asks = Vec::with_capacity(groups.len() * ANSWERS);
    for (tenant, question) in tenants.iter().zip(&questions) {
        asks.push(tenant.turn());
        asks.extend(question.asks());
    }
    let answers = tx.flight(asks).await?;
    for ((group, question), answers) in groups.iter_mut().zip(&questions).zip(answers.chunks_exact(ANSWERS)) {
        let [_, _, locked, authors, workspaces, duplicates, keys] = answers else { continue };
        group.locked = project::read(locked.first(), group.id)?;
        group.authors = authors.iter().map(|row| row.get(0)).collect();
        for row in workspaces {
            let cells = Cells::new(row, "workspace", || group.id.to_string());
            group.workspaces.insert(cells.text(0, "name")?, WorkspaceNo(cells.count(1, "no")?));
        }
        group.meets = numbers(duplicates).collect();
        group.meets.extend(numbers(keys).filter_map(|nth| question.key_of.get(nth)));
    }
    Ok(())
}

/// Positions in an array, which SQL counts from one.
fn numbers(rows: &[Row]) -> impl Iterator<Item = usize> {
    rows.iter().filter_map(|row| usize::try_from(row.get::<_, i64>(0) - 1).ok())
}

impl<'a> Group<'a> {
    fn new(id: ProjectId) -> Self {
        Self {
            id,
            tenant: Tenant::project(id),
            saves: Vec::new(),
            locked: None,
            authors: HashSet::new(),
            workspaces: HashMap::new(),
            meets: HashSet::new(),
            rows: NewRows::of(id),
            meeting: Vec::new(),
        }
    }

    /// Decides about every save that meets nothing, and sets the others aside.
    fn decide(&mut self, outcomes: &mut [Option<Outcome>]) {
        for (at, (nth, save)) in std::mem::take(&mut self.saves).into_iter().enumerate() {
            let Some(locked) = &mut self.locked else {
                outcomes[nth] = Some(Err(no_such_project(self.id)));
                continue;
            };
            let Save { insert, content_hash } = save;
            let author = insert.record.author;
            if !self.authors.contains(&author.uuid()) {
                outcomes[nth] = Some(Err(StoreError::Failed(format!("no member {author}"))));
                continue;
            }
            if self.meets.contains(&at) || insert.supersede.is_some() {
                self.meeting.push((nth, save));
                continue;
            }
            if insert.records_max.is_some_and(|max| locked.live_records >= max) {
                outcomes[nth] = Some(Ok(Inserted::LimitReached));
                continue;
            }
            let name = insert.record.workspace.as_str();
            let workspace = self.workspaces.get(name).copied();
            let (seq, workspace_no) = self.rows.add(locked, workspace, insert, *content_hash);
            self.rows.add_key(insert, seq);
            self.workspaces.insert(name.to_owned(), workspace_no);
            outcomes[nth] = Some(Ok(Inserted::New { seq, workspace_no, superseded: Vec::new() }));
        }
    }

    /// Writes what is new, then handles the saves that meet an earlier record or key.
    async fn store_one_by_one(&mut self, tx: &Tx, outcomes: &mut [Option<Outcome>]) -> Result<(), Fault> {
        let rows = std::mem::replace(&mut self.rows, NewRows::of(self.id));
        let mut asks = vec![self.tenant.turn(), open_people()];
        asks.extend(rows.asks());
        tx.flight(asks).await?;
        for (nth, save) in std::mem::take(&mut self.meeting) {
            let Some(locked) = &mut self.locked else { continue };
            outcomes[nth] = Some(Ok(insert(tx, locked, &save.insert, save.content_hash).await?));
        }
        Ok(())
    }

    /// What is sent together with the commit.
    fn last_asks(&mut self) -> Vec<Ask<'_>> {
        let Some(locked) = &mut self.locked else { return Vec::new() };
        let mut asks = vec![self.tenant.turn()];
        asks.extend(self.rows.asks());
        asks.push(locked.flush());
        asks
    }
}
