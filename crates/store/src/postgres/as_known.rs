//! Stores the saves of a flight in one round trip, where this node was the last to write into their projects.
//!
//! The node decides about the saves by what it knows, and sends what it expects together with what it writes. The server locks
//! the projects, compares everything that the decisions rest on, and writes only if all of it is so. If anything is not, nothing
//! is written, and the flight asks first, as all others do.

use std::collections::HashSet;
use std::sync::Arc;

use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::batch::{Outcome, Save};
use super::connect::Pool;
use super::error::Fault;
use super::group::{Facts, Group, Groups};
use super::known_projects::{Known, KnownProjects};
use super::new_rows::NewRows;
use super::rows::integer;
use super::transaction::{Ask, Tenant, Tx, ask};
use crate::StoreError;

/// Tells whether everything is as expected. Then the statement behind it writes, and only then.
const CHECK: &str = "SELECT check_saves($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
/// What is expected of each save. `check_saves` has made sure of it.
const AS_EXPECTED: Facts = Facts { has_author: true, meets: false };

/// Stores all of the saves, or none if anything is not as it was left.
pub(super) async fn store<'a>(
    pool: &Arc<Pool>,
    known: &KnownProjects,
    saves: &[&'a Save],
    groups: &mut Groups<'a>,
) -> Result<Option<Vec<Option<Outcome>>>, Fault> {
    if !groups.values().all(is_known) || !known.is_promising() {
        return Ok(None);
    }
    let mut expected = Expected::default();
    groups.values_mut().for_each(|group| expected.add(group));
    let mut outcomes: Vec<Option<Outcome>> = saves.iter().map(|_| None).collect();
    let mut rows = NewRows::default();
    for group in groups.values_mut() {
        group.decide(|_| &AS_EXPECTED, &mut rows, &mut outcomes);
    }
    groups.values().filter_map(|group| group.locked.as_ref()).for_each(|locked| rows.end(locked));
    let tx = Tx::write(pool, Tenant::saves(&expected.projects)).await?.of_a_call();
    let answers = tx.finish_known(vec![expected.check(), rows.store_if_checked()]).await?;
    let answer = answers.first().and_then(|rows| rows.first());
    let is_so: bool = answer.ok_or_else(|| StoreError::Failed("PostgreSQL left an answer out".to_owned()))?.get(0);
    known.note_outcome(is_so);
    if !is_so {
        groups.values_mut().for_each(Group::unlock);
    }
    Ok(is_so.then_some(outcomes))
}

/// Whether nothing has to be asked about these saves. Few need more than the one statement that writes records.
fn is_known(group: &Group<'_>) -> bool {
    let Some(known) = group.known.as_ref().filter(|known| known.is_steady) else { return false };
    let is_plain = |save: &Save| {
        let insert = &save.insert;
        insert.supersede.is_none() && insert.idempotency.is_none() && insert.record.sighting().is_none()
    };
    let is_expected = |save: &Save| {
        save.appearance.is_none_or(|appearance| Some(appearance) == known.appearance)
            && known.workspace(save.insert.record.workspace.as_str()).is_some()
    };
    group.saves.iter().all(|(_, save)| is_plain(save) && is_expected(save))
}

/// What the decisions rest on, column by column.
#[derive(Default)]
struct Expected<'a> {
    projects: Vec<Uuid>,
    ends: Vec<i64>,
    counts: Vec<i64>,
    appearances: Vec<Option<i64>>,
    named_projects: Vec<Uuid>,
    named_numbers: Vec<i64>,
    names: Vec<&'a str>,
    author_projects: Vec<Uuid>,
    authors: Vec<Uuid>,
    of_projects: Vec<Uuid>,
    of_workspaces: Vec<i64>,
    hashes: Vec<&'a [u8]>,
}

impl<'a> Expected<'a> {
    /// Takes the project as locked, as it is known.
    fn add(&mut self, group: &mut Group<'a>) {
        let Some(Known { seq, live_records, appearance, .. }) = group.known else { return };
        let id = group.id.uuid();
        self.projects.push(id);
        self.ends.push(integer(seq));
        self.counts.push(integer(live_records));
        self.appearances.push(appearance.map(integer));
        group.lock(seq, live_records, appearance);
        let mut authors = HashSet::new();
        for (_, save) in &group.saves {
            let record = &save.insert.record;
            let name = record.workspace.as_str();
            let Some(no) = group.known.as_ref().and_then(|known| known.workspace(name)) else { continue };
            if group.workspaces.insert(name, no).is_none() {
                self.named_projects.push(id);
                self.named_numbers.push(integer(no.0));
                self.names.push(name);
            }
            if save.appearance.is_none() && authors.insert(record.author) {
                self.author_projects.push(id);
                self.authors.push(record.author.uuid());
            }
            self.of_projects.push(id);
            self.of_workspaces.push(integer(no.0));
            self.hashes.push(save.content_hash.as_bytes().as_slice());
        }
    }

    fn check(&self) -> Ask<'_> {
        let values: [&(dyn ToSql + Sync); 12] = [
            &self.projects,
            &self.ends,
            &self.counts,
            &self.appearances,
            &self.named_projects,
            &self.named_numbers,
            &self.names,
            &self.author_projects,
            &self.authors,
            &self.of_projects,
            &self.of_workspaces,
            &self.hashes,
        ];
        ask(CHECK, &values)
    }
}
