//! Moving everything from one engine to another, in either direction: tenant by tenant, table by table, a piece at a time.
//!
//! Each piece is stored in one transaction together with the note how far the copy has come, so that a transfer that was
//! stopped at any moment goes on where it was. In the end every table of every tenant is read again on both sides and
//! compared by count and hash; only then the target may be served from.
//!
//! The tables are found in the schema and not listed here: a table that a later migration adds is moved as well. What is
//! derived or lives for a minute stays behind ([`LEFT_BEHIND`]).

mod ends;
mod hash;
mod sql;
mod table;
#[cfg(all(test, feature = "testing"))]
mod tests;

use async_trait::async_trait;

pub use ends::{StorageEnd, move_everything};
pub(crate) use hash::Fingerprint;
pub(crate) use sql::{Dialect, Order, quoted};
pub(crate) use table::{Cell, Row, Scope, Table, in_order_of_references};

use crate::StoreError;

/// How many rows are moved at once.
const PIECE_ROWS: usize = 1_000;

/// Tables that say nothing about anybody's memory: the schema's own, what is derived, what ends within a minute, and this
/// transfer's notes.
pub(crate) const LEFT_BEHIND: &[&str] =
    &["migration", "heartbeat", "snapshot", "oauth_code", "call_window", NOTES_TABLE];

/// Where the target notes how far the copy has come. Its presence means: not finished, do not serve.
pub(crate) const NOTES_TABLE: &str = "transfer";

/// Whose rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tenant {
    /// Nobody's.
    Service,
    /// One account's.
    Account([u8; 16]),
    /// One project's.
    Project([u8; 16]),
}

impl Tenant {
    /// Whether a table's rows belong to this kind of tenant.
    fn owns(self, scope: Scope) -> bool {
        matches!(
            (self, scope),
            (Self::Service, Scope::Service)
                | (Self::Account(_), Scope::Account(_))
                | (Self::Project(_), Scope::Project(_))
        )
    }

    /// The tenant as the notes name it.
    pub(crate) fn name(self) -> String {
        let hex = |id: [u8; 16]| id.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        match self {
            Self::Service => "service".to_owned(),
            Self::Account(id) => format!("account {}", hex(id)),
            Self::Project(id) => format!("project {}", hex(id)),
        }
    }
}

/// How far the copy of one table of one tenant has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) rows: u64,
    pub(crate) is_done: bool,
}

/// One end of a transfer.
#[async_trait]
pub(crate) trait Side: Send {
    /// All tables with their columns and keys.
    async fn tables(&mut self) -> Result<Vec<Table>, StoreError>;

    /// All accounts, by id.
    async fn accounts(&mut self) -> Result<Vec<[u8; 16]>, StoreError>;

    /// All projects of an account, deleted ones included, by id.
    async fn projects(&mut self, account: [u8; 16]) -> Result<Vec<[u8; 16]>, StoreError>;

    /// Rows of a tenant in the order of the table's key, those after a row.
    async fn read(
        &mut self,
        table: &Table,
        tenant: Tenant,
        after: Option<&Row>,
        rows_max: usize,
    ) -> Result<Vec<Row>, StoreError>;

    /// How many rows a table has, of whoever they are; `None` where no one may know that.
    async fn count(&mut self, table: &Table) -> Result<Option<u64>, StoreError>;

    /// Whose data a transfer into this end was begun with, if one was begun and not finished.
    async fn begun(&mut self) -> Result<Option<String>, StoreError>;

    /// Begins to note down a transfer of this data.
    async fn begin(&mut self, source: &str) -> Result<(), StoreError>;

    /// How far the copy of a table has come, and its last row.
    async fn note(&mut self, table: &Table, tenant: Tenant) -> Result<Note, StoreError>;

    /// Stores rows together with the note. Everything or nothing.
    async fn write(&mut self, table: &Table, tenant: Tenant, rows: &[Row], note: Note) -> Result<(), StoreError>;

    /// The last row of a tenant in the order of the table's key.
    async fn last(&mut self, table: &Table, tenant: Tenant) -> Result<Option<Row>, StoreError>;

    /// Takes the notes away: the target may be served from now on.
    async fn finish(&mut self) -> Result<(), StoreError>;
}

/// What is told while a transfer runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// What is done with the table.
    pub step: Step,
    /// The table.
    pub table: String,
    /// Rows of all tables so far, in this step.
    pub rows: u64,
    /// Tenants that are done, in this step.
    pub tenants: usize,
    /// All tenants.
    pub tenants_all: usize,
}

/// What a transfer does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Rows are copied.
    Copy,
    /// Both sides are read again and compared.
    Verify,
}

/// What was moved.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Moved {
    /// How many rows of each table, by name; all of them were compared.
    pub tables: Vec<(String, u64)>,
    /// How many accounts.
    pub accounts: usize,
    /// How many projects.
    pub projects: usize,
    /// How many rows an earlier, interrupted transfer had already brought.
    pub rows_before: u64,
}

/// What a service is told that is started on a target before everything has arrived.
pub(crate) fn unfinished() -> StoreError {
    StoreError::Failed(
        "a move into this storage was begun and is not finished: run the same `mnemon migrate` again, or empty it"
            .to_owned(),
    )
}

/// Moves everything and compares it. `tell` hears of the progress.
pub(crate) async fn transfer(
    from: &mut dyn Side,
    to: &mut dyn Side,
    tell: &mut (dyn FnMut(&Progress) + Send),
) -> Result<Moved, StoreError> {
    let tables = matching_tables(from, to).await?;
    let tenants = tenants_of(from).await?;
    let source = fingerprint_of(&tenants);
    check_target(to, &source).await?;
    let mut moved = Moved {
        accounts: tenants.iter().filter(|tenant| matches!(tenant, Tenant::Account(_))).count(),
        projects: tenants.iter().filter(|tenant| matches!(tenant, Tenant::Project(_))).count(),
        ..Moved::default()
    };
    let mut progress =
        Progress { step: Step::Copy, table: String::new(), rows: 0, tenants: 0, tenants_all: tenants.len() };
    for tenant in &tenants {
        for table in tables.iter().filter(|table| tenant.owns(table.scope)) {
            progress.table.clone_from(&table.name);
            moved.rows_before += copy(from, to, table, *tenant, &mut progress, tell).await?;
        }
        progress.tenants += 1;
    }
    verify(from, to, &tables, &tenants, &mut moved, tell).await?;
    to.finish().await?;
    Ok(moved)
}

/// The tables of both sides, which must be the same, in an order in which rows find what they refer to.
async fn matching_tables(from: &mut dyn Side, to: &mut dyn Side) -> Result<Vec<Table>, StoreError> {
    let (mut ours, mut theirs) = (from.tables().await?, to.tables().await?);
    ours.sort_by(|a, b| a.name.cmp(&b.name));
    theirs.sort_by(|a, b| a.name.cmp(&b.name));
    let shape = |tables: &[Table]| -> Vec<(String, Vec<String>, Vec<usize>)> {
        tables.iter().map(|table| (table.name.clone(), table.columns.clone(), table.key.clone())).collect()
    };
    if let Some((ours, theirs)) = shape(&ours).iter().zip(&shape(&theirs)).find(|(a, b)| a != b) {
        let text = format!("the two databases differ: {ours:?} here, {theirs:?} there; bring both to the same version");
        return Err(StoreError::Failed(text));
    }
    if ours.len() != theirs.len() {
        return Err(StoreError::Failed("the two databases have different tables; bring both to one version".into()));
    }
    Ok(in_order_of_references(ours))
}

/// Everybody, owners before what they own.
async fn tenants_of(from: &mut dyn Side) -> Result<Vec<Tenant>, StoreError> {
    let mut tenants = vec![Tenant::Service];
    for account in from.accounts().await? {
        tenants.push(Tenant::Account(account));
        tenants.extend(from.projects(account).await?.into_iter().map(Tenant::Project));
    }
    Ok(tenants)
}

fn fingerprint_of(tenants: &[Tenant]) -> String {
    let mut fingerprint = Fingerprint::default();
    tenants.iter().for_each(|tenant| fingerprint.add_text(&tenant.name()));
    fingerprint.finish()
}

/// The target must be empty, or hold an unfinished transfer of the same data.
async fn check_target(to: &mut dyn Side, source: &str) -> Result<(), StoreError> {
    match to.begun().await? {
        Some(begun) if begun == source => Ok(()),
        Some(_) => Err(StoreError::Failed(
            "the target holds an unfinished transfer of other data; finish that one, or give an empty target"
                .to_owned(),
        )),
        None if to.accounts().await?.is_empty() => to.begin(source).await,
        None => Err(StoreError::Failed(
            "the target holds accounts already; give an empty one, nothing is ever mixed or overwritten".to_owned(),
        )),
    }
}

/// Copies what is missing of one table of one tenant. Answers how many rows were there already.
async fn copy(
    from: &mut dyn Side,
    to: &mut dyn Side,
    table: &Table,
    tenant: Tenant,
    progress: &mut Progress,
    tell: &mut (dyn FnMut(&Progress) + Send),
) -> Result<u64, StoreError> {
    let mut note = to.note(table, tenant).await?;
    let before = note.rows;
    progress.rows += note.rows;
    let mut last = if note.rows > 0 && !note.is_done { to.last(table, tenant).await? } else { None };
    while !note.is_done {
        tell(progress);
        // Rows that refer to their own table need all of it at once, to be brought into order; such tables are small.
        let rows_max = if table.refers_to_itself() { usize::MAX } else { PIECE_ROWS };
        let rows = from.read(table, tenant, last.as_ref(), rows_max).await?;
        note = Note { rows: note.rows + rows.len() as u64, is_done: rows.len() < rows_max };
        progress.rows += rows.len() as u64;
        let stored = table.owners_first(rows.clone());
        to.write(table, tenant, &stored, note).await?;
        last = rows.into_iter().next_back().or(last);
    }
    Ok(before)
}

/// Reads both sides again and compares them.
async fn verify(
    from: &mut dyn Side,
    to: &mut dyn Side,
    tables: &[Table],
    tenants: &[Tenant],
    moved: &mut Moved,
    tell: &mut (dyn FnMut(&Progress) + Send),
) -> Result<(), StoreError> {
    let mut progress =
        Progress { step: Step::Verify, table: String::new(), rows: 0, tenants: 0, tenants_all: tenants.len() };
    let mut counts = vec![0; tables.len()];
    for tenant in tenants {
        for (table, count) in tables.iter().zip(&mut counts).filter(|(table, _)| tenant.owns(table.scope)) {
            progress.table.clone_from(&table.name);
            tell(&progress);
            let (ours, theirs) = (digest(from, table, *tenant).await?, digest(to, table, *tenant).await?);
            if ours != theirs {
                return Err(StoreError::Failed(format!(
                    "table {} of {} differs after the copy: {} rows here, {} there, or other contents. Somebody wrote \
                     meanwhile: stop every service on both, give an empty target, and run the transfer again",
                    table.name,
                    tenant.name(),
                    ours.0,
                    theirs.0
                )));
            }
            *count += ours.0;
            progress.rows += ours.0;
        }
        progress.tenants += 1;
    }
    for (table, count) in tables.iter().zip(counts) {
        let all = [from.count(table).await?, to.count(table).await?];
        if all.into_iter().flatten().any(|all| all != count) {
            let text = format!("table {} has rows that belong to nobody; they were not moved", table.name);
            return Err(StoreError::Failed(text));
        }
        moved.tables.push((table.name.clone(), count));
    }
    moved.tables.sort();
    Ok(())
}

/// The number of a tenant's rows in a table, and a hash over them in the order of the key.
async fn digest(side: &mut dyn Side, table: &Table, tenant: Tenant) -> Result<(u64, String), StoreError> {
    let mut fingerprint = Fingerprint::default();
    let (mut count, mut last): (u64, Option<Row>) = (0, None);
    loop {
        let rows = side.read(table, tenant, last.as_ref(), PIECE_ROWS).await?;
        for row in &rows {
            fingerprint.add_row(table, row);
        }
        count += rows.len() as u64;
        let is_end = rows.len() < PIECE_ROWS;
        last = rows.into_iter().next_back();
        if is_end {
            return Ok((count, fingerprint.finish()));
        }
    }
}
