//! The audit log.

use std::collections::HashMap;

use mnemon_core::{AccountId, AuditId, MemberId, Timestamp};
use mnemon_store::{Actor, AuditEntry, AuditFilter};

use super::{AdminContext, AdminError};
use crate::Engine;

/// An audit row, with how many things it affected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditLine {
    pub entry: AuditEntry,
    /// How many records or keys were affected.
    pub affected: u64,
}

/// A page of the audit log, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditPage {
    pub lines: Vec<AuditLine>,
    /// Where the next page starts, if there may be one.
    pub next: Option<(Timestamp, AuditId)>,
}

/// A page ends with the row that fills this.
const PAGE_BYTES: usize = 512 << 10;

fn entry_bytes(entry: &AuditEntry) -> usize {
    let names = [&entry.actor_name, &entry.subject_name];
    size_of::<AuditEntry>() + entry.subject.len() + names.into_iter().flatten().map(String::len).sum::<usize>()
}

impl Engine {
    /// The newest rows of an account's audit log that fit.
    pub async fn list_audit(
        &self,
        ctx: &AdminContext,
        account: AccountId,
        filter: AuditFilter,
        limit: usize,
    ) -> Result<AuditPage, AdminError> {
        self.admin_account(ctx, account).await?;
        let mut rows = self.store.search_audit(account, filter, limit + 1).await?;
        let mut bytes = 0;
        let within = rows.iter().take_while(|(entry, _)| {
            let is_within = bytes < PAGE_BYTES;
            bytes += entry_bytes(entry);
            is_within
        });
        let limit = limit.min(within.count());
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().filter(|_| has_more).map(|(entry, _)| (entry.at, entry.id));
        self.name_actors(account, &mut rows).await?;
        let lines = rows.into_iter().map(|(entry, affected)| AuditLine { entry, affected }).collect();
        Ok(AuditPage { lines, next })
    }

    /// Rows of before names were kept get the name that the member has now.
    async fn name_actors(&self, account: AccountId, rows: &mut [(AuditEntry, u64)]) -> Result<(), AdminError> {
        let is_nameless = |entry: &AuditEntry| entry.actor_name.is_none() && matches!(entry.actor, Actor::Member(_));
        if !rows.iter().any(|(entry, _)| is_nameless(entry)) {
            return Ok(());
        }
        let members = self.store.list_members(account).await?;
        let names: HashMap<MemberId, String> = members.into_iter().map(|member| (member.id, member.name)).collect();
        for (entry, _) in rows.iter_mut().filter(|(entry, _)| is_nameless(entry)) {
            if let Actor::Member(member) = entry.actor {
                entry.actor_name = names.get(&member).cloned();
            }
        }
        Ok(())
    }
}
