//! Moves all data from one engine to another, in either direction: tenant by tenant, table by table, piece by piece.
//!
//! Each piece is stored in one transaction together with a note of how far the copy is, so that a transfer stopped at
//! any moment continues where it was. At the end every table of every tenant is read again on both sides and compared
//! by count and hash; only then can the target be used.
//!
//! The tables are found in the schema, not listed here: a table added by a later migration is moved too. Derived and
//! short-lived data stays behind ([`LEFT_BEHIND`]).

mod ends;
mod hash;
mod sql;
mod table;
#[cfg(all(test, feature = "testing"))]
mod tests;

use async_trait::async_trait;
use mnemon_core::to_hex;

pub use ends::{StorageEnd, transfer_everything};
pub(crate) use hash::Fingerprint;
pub(crate) use sql::{Dialect, Order, quoted};
pub(crate) use table::{Cell, Row, Scope, Table, in_order_of_references};

use crate::StoreError;

/// How many rows are moved at a time.
const PIECE_ROWS: usize = 1_000;

/// Tables without anybody's memory: the schema's own, derived data, data that expires within a minute or a day, and
/// this transfer's notes.
pub(crate) const LEFT_BEHIND: &[&str] =
    &["migration", "heartbeat", "snapshot", "oauth_code", "console_session", "call_window", "node", NOTES_TABLE];

/// Where the target notes how far the copy is. Its presence means: not finished, do not use.
pub(crate) const NOTES_TABLE: &str = "transfer";

/// Whose rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tenant {
    Service,
    Account([u8; 16]),
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

    /// The tenant's name in the notes.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Service => "service".to_owned(),
            Self::Account(id) => format!("account {}", to_hex(id)),
            Self::Project(id) => format!("project {}", to_hex(id)),
        }
    }
}

/// How far the copy of one table of one tenant is.
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

    /// All projects of an account by id, including deleted ones.
    async fn projects(&mut self, account: [u8; 16]) -> Result<Vec<[u8; 16]>, StoreError>;

    /// Rows of a tenant in key order, after the given row.
    async fn read(
        &mut self,
        table: &Table,
        tenant: Tenant,
        after: Option<&Row>,
        rows_max: usize,
    ) -> Result<Vec<Row>, StoreError>;

    /// How many rows a table has in total; `None` if that can't be counted.
    async fn count(&mut self, table: &Table) -> Result<Option<u64>, StoreError>;

    /// The data of a transfer into this end that was started and not finished, if any.
    async fn begun(&mut self) -> Result<Option<String>, StoreError>;

    /// Starts the notes for a transfer of this data.
    async fn begin(&mut self, source: &str) -> Result<(), StoreError>;

    /// How far the copy of a table is, and its last row.
    async fn note(&mut self, table: &Table, tenant: Tenant) -> Result<Note, StoreError>;

    /// Stores rows together with the note, all or nothing.
    async fn write(&mut self, table: &Table, tenant: Tenant, rows: &[Row], note: Note) -> Result<(), StoreError>;

    /// The last row of a tenant in key order.
    async fn last(&mut self, table: &Table, tenant: Tenant) -> Result<Option<Row>, StoreError>;

    /// Removes the notes: the target can be used from now on.
    async fn finish(&mut self) -> Result<(), StoreError>;
}

/// Progress of a transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    pub step: Step,
    pub table: String,
    /// Rows of all tables so far, in this step.
    pub rows: u64,
    /// Tenants finished in this step.
    pub tenants: usize,
    pub tenants_all: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Copy,
    /// Both sides are read again and compared.
    Verify,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Transferred {
    /// Rows per table, by name; all of them were compared.
    pub tables: Vec<(String, u64)>,
    pub accounts: usize,
    pub projects: usize,
    /// Rows that an earlier, interrupted transfer had already copied.
    pub rows_before: u64,
}

/// The error of a service that is started on an incomplete target.
pub(crate) fn unfinished() -> StoreError {
    StoreError::Failed(
        "a transfer into this storage is not finished: run the same `mnemon transfer` again, or empty the storage"
            .to_owned(),
    )
}

/// Moves everything and compares it. `tell` receives progress.
pub(crate) async fn transfer(
    from: &mut dyn Side,
    to: &mut dyn Side,
    tell: &mut (dyn FnMut(&Progress) + Send),
) -> Result<Transferred, StoreError> {
    let tables = matching_tables(from, to).await?;
    let tenants = tenants_of(from).await?;
    let source = fingerprint_of(&tenants);
    check_target(to, &source).await?;
    let mut moved = Transferred {
        accounts: tenants.iter().filter(|tenant| matches!(tenant, Tenant::Account(_))).count(),
        projects: tenants.iter().filter(|tenant| matches!(tenant, Tenant::Project(_))).count(),
        ..Transferred::default()
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
        let text =
            format!("the two databases differ: {ours:?} here, {theirs:?} there; upgrade both to the same version");
        return Err(StoreError::Failed(text));
    }
    if ours.len() != theirs.len() {
        return Err(StoreError::Failed(
            "the two databases have different tables; upgrade both to the same version".into(),
        ));
    }
    Ok(in_order_of_references(ours))
}

/// All tenants, owners before what they own.
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

/// The target must be empty, or contain an unfinished transfer of the same data.
async fn check_target(to: &mut dyn Side, source: &str) -> Result<(), StoreError> {
    match to.begun().await? {
        Some(begun) if begun == source => Ok(()),
        Some(_) => Err(StoreError::Failed(
            "the target contains an unfinished transfer of other data; finish that one, or use an empty target"
                .to_owned(),
        )),
        None if to.accounts().await?.is_empty() => to.begin(source).await,
        None => Err(StoreError::Failed(
            "the target already contains accounts; use an empty target, because nothing is merged or overwritten"
                .to_owned(),
        )),
    }
}

/// Copies what is missing of one table of one tenant. Returns how many rows were already there.
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
        // Rows that refer to their own table must be sorted, which needs all of them at once; such tables are small.
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
    moved: &mut Transferred,
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
                    "table {} of {} differs after the copy: {} rows here, {} there, or different contents. Somebody wrote to it \
                     meanwhile: stop every service on both, use an empty target, and run the transfer again",
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

/// The number of a tenant's rows in a table, and a hash over them in key order.
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
