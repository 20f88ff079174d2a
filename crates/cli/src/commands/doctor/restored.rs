//! Reads everything that a database holds, as after a restore: every record with its checksum, by both ways that the
//! service reads it, and the counts against each other.

use anyhow::{Context, bail};
use mnemon_core::{Audience, ProjectId, Seq};
use mnemon_store::{Change, Portion, Store, Stretch, WorkspaceRow};

/// How many rows are read at a time.
const ROWS: usize = 500;
/// How many accounts are listed at a time.
const ACCOUNTS: usize = 200;

/// Checks all accounts, and says what was read.
pub async fn check(store: &dyn Store) -> anyhow::Result<String> {
    let (mut accounts, mut projects, mut records, mut after) = (0, 0, 0, None);
    loop {
        let page = store.list_accounts(after, ACCOUNTS).await?;
        for account in &page {
            for project in store.list_projects(account.id).await? {
                let read = check_project(store, project.id).await;
                records += read.with_context(|| format!("project {} of account {}", project.id, account.id))?;
                projects += 1;
            }
        }
        accounts += page.len();
        after = page.last().map(|account| account.id);
        if page.len() < ACCOUNTS {
            break;
        }
    }
    if accounts == 0 {
        bail!("the database is empty: there is no account in it");
    }
    Ok(format!("{records} records in {projects} project(s) of {accounts} account(s) read; all checksums match"))
}

async fn check_project(store: &dyn Store, project: ProjectId) -> anyhow::Result<u64> {
    let workspaces = store.list_workspaces(project).await?;
    let expected: u64 = store.list_sizes(project).await?.iter().map(|size| size.records).sum();
    let shown = read_shown(store, project, &workspaces).await?;
    let mut indexed = 0;
    for workspace in &workspaces {
        indexed += read_indexed(store, project, workspace).await?;
    }
    if shown != expected || indexed != expected {
        let damaged = store.figures().damaged_records;
        bail!(
            "{expected} records are counted, but {shown} can be read and {indexed} are in the log; the checksum does not \
             match in {damaged}; restore again"
        );
    }
    Ok(expected)
}

/// The records as answers show them.
async fn read_shown(store: &dyn Store, project: ProjectId, workspaces: &[WorkspaceRow]) -> anyhow::Result<u64> {
    let mut audiences: Vec<Audience> = workspaces.iter().flat_map(|row| row.audiences.iter().copied()).collect();
    audiences.sort_unstable();
    audiences.dedup();
    let upto = store.last_seq(project).await?.unwrap_or_default();
    let (mut stretch, mut count) = (Stretch { audiences, workspace: None, after: Seq(0), upto }, 0);
    loop {
        let records = store.list_onward(project, stretch.clone(), Portion::of_rows(ROWS)).await?;
        let Some(last) = records.last() else { return Ok(count) };
        stretch.after = last.seq;
        count += records.len() as u64;
    }
}

/// The records as an index takes them from the log.
async fn read_indexed(store: &dyn Store, project: ProjectId, workspace: &WorkspaceRow) -> anyhow::Result<u64> {
    let (mut living, mut after) = (std::collections::HashSet::new(), Seq(0));
    loop {
        let tail = store.tail(project, workspace.no, after, ROWS).await?;
        for change in &tail.changes {
            match change {
                Change::Present(present) => living.insert(present.seq),
                Change::Absent(seq) => living.remove(seq),
            };
        }
        after = tail.upto;
        if tail.is_end {
            return Ok(living.len() as u64);
        }
    }
}
