//! Usage figures of a project.

use std::collections::BTreeMap;

use mnemon_core::{KeyId, ProjectId};
use mnemon_store::{Day, Usage};

use super::{AdminContext, AdminError};
use crate::Engine;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageReport {
    /// Live records that the caller can see.
    pub records: u64,
    /// Bytes of their text.
    pub bytes: u64,
    /// The figures of each day, oldest first.
    pub days: Vec<(Day, KeyUsage)>,
    /// The figures of each key over all those days.
    pub keys: Vec<(KeyId, KeyUsage)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeyUsage {
    /// Calls admitted.
    pub calls: u64,
    pub saves: u64,
    pub searches: u64,
    pub rejections: u64,
    /// Bytes of text saved.
    pub bytes: u64,
}

impl KeyUsage {
    fn add(&mut self, row: &Usage) {
        self.calls += row.calls;
        self.saves += row.saves;
        self.searches += row.searches;
        self.rejections += row.rejections;
        self.bytes += row.bytes;
    }
}

impl Engine {
    /// The figures of the last days, including today. Whoever is no admin sees those of its own keys.
    pub async fn show_usage(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        days: u16,
    ) -> Result<UsageReport, AdminError> {
        let project = self.readable_project(ctx, project).await?;
        self.flush_usage().await?;
        let today = crate::usage::day_of(ctx.now);
        let from = Day(today.0 - i32::from(days.max(1)) + 1);
        let mut rows = self.store.list_usage(project.id, from, today).await?;
        if let Some(caller) = ctx.not_admin() {
            let own = self.store.list_member_keys(caller.account, caller.member).await?;
            rows.retain(|row| own.iter().any(|key| key.id == row.key));
        }
        let sizes = self.store.list_sizes(project.id).await?;
        let viewer = ctx.viewer();
        let seen = || sizes.iter().filter(|size| viewer.sees(&size.audience));
        let (mut per_day, mut per_key) = (BTreeMap::<Day, KeyUsage>::new(), BTreeMap::<KeyId, KeyUsage>::new());
        // A row without figures only records that a key was used to administer; it is not a day of use.
        let counted = |row: &&Usage| row.calls + row.saves + row.searches + row.rejections > 0;
        for row in rows.iter().filter(counted) {
            per_day.entry(row.day).or_default().add(row);
            per_key.entry(row.key).or_default().add(row);
        }
        Ok(UsageReport {
            records: seen().map(|size| size.records).sum(),
            bytes: seen().map(|size| size.bytes).sum(),
            days: per_day.into_iter().collect(),
            keys: per_key.into_iter().collect(),
        })
    }
}
