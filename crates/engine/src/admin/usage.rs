//! Usage figures of a project.

use std::collections::BTreeMap;

use mnemon_core::{KeyId, PlanLimits, PlanName, ProjectId};
use mnemon_store::{Day, Usage};

use super::{AdminContext, AdminError};
use crate::Engine;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageReport {
    /// Live records that the caller can see.
    pub records: u64,
    /// The account's plan, and what it allows.
    pub plan: Option<(PlanName, PlanLimits)>,
    /// Every day, oldest first.
    pub days: Vec<DayUsage>,
    /// The figures of each key over all those days.
    pub keys: Vec<(KeyId, KeyUsage)>,
    /// The sum of those days.
    pub total: KeyUsage,
    /// The sum of as many days before them.
    pub before: KeyUsage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DayUsage {
    pub day: Day,
    pub figures: KeyUsage,
    /// How many records the project had at its end, as the plan counts them. Unknown before there were figures, and
    /// shown to admins alone: others don't know about everybody's records.
    pub records: Option<u64>,
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
    /// Calls that were refused because one connection made too many.
    pub refused_by_connection: u64,
    /// Calls that were refused because the project made too many.
    pub refused_by_project: u64,
}

impl KeyUsage {
    fn add(&mut self, row: &Usage) {
        self.calls += row.calls;
        self.saves += row.saves;
        self.searches += row.searches;
        self.rejections += row.rejections;
        self.bytes += row.bytes;
        self.refused_by_connection += row.refused_by_connection;
        self.refused_by_project += row.refused_by_project;
    }

    /// A row without figures only records that a key was used to administer.
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl Engine {
    /// The figures of the last days, including today. Members who are not admins see those of their own keys.
    pub async fn show_usage(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        days: u16,
    ) -> Result<UsageReport, AdminError> {
        let project = self.readable_project(ctx, project).await?;
        self.flush_usage_of(project.id).await?;
        let days = i32::from(days.max(1));
        let today = crate::usage::day_of(ctx.now);
        let from = Day(today.0 - days + 1);
        let mut rows = self.store.list_usage(project.id, Day(from.0 - days), today).await?;
        if let Some(caller) = ctx.not_admin() {
            let own = self.store.list_member_keys(caller.account, caller.member).await?;
            rows.retain(|row| own.iter().any(|key| key.id == row.key));
        }
        let (mut total, mut before) = (KeyUsage::default(), KeyUsage::default());
        let (mut per_day, mut per_key) = (BTreeMap::<Day, KeyUsage>::new(), BTreeMap::<KeyId, KeyUsage>::new());
        for row in &rows {
            if row.day < from {
                before.add(row);
                continue;
            }
            total.add(row);
            per_day.entry(row.day).or_default().add(row);
            per_key.entry(row.key).or_default().add(row);
        }
        let records = self.records_by_day(ctx, project.id, from, today).await?;
        let day = |(number, records)| {
            let day = Day(number);
            DayUsage { day, figures: per_day.get(&day).copied().unwrap_or_default(), records }
        };
        let account = self.find_account_or_absent(project.account).await?;
        Ok(UsageReport {
            records: self.count_records(ctx, project.id).await?,
            plan: account.plan().map(|plan| (plan, *self.plans.limits(plan))),
            days: (from.0..=today.0).zip(records).map(day).collect(),
            keys: per_key.into_iter().filter(|(_, figures)| !figures.is_nothing()).collect(),
            total,
            before,
        })
    }

    /// How many live records the caller can see.
    async fn count_records(&self, ctx: &AdminContext, project: ProjectId) -> Result<u64, AdminError> {
        let mut count = 0;
        self.each_workspace(project, &ctx.viewer(), ctx.now, |_, records| {
            count += records.count() as u64;
        })
        .await?;
        Ok(count)
    }

    /// The bytes of the texts of all live records that the caller can see. Looks at each of them.
    pub async fn count_bytes(&self, ctx: &AdminContext, project: ProjectId) -> Result<u64, AdminError> {
        let project = self.readable_project(ctx, project).await?;
        let (sizes, viewer) = (self.store.list_sizes(project.id).await?, ctx.viewer());
        Ok(sizes.iter().filter(|size| viewer.sees(&size.audience)).map(|size| size.bytes).sum())
    }

    /// How many records the project had at the end of each day: a day without figures ended as the day before.
    async fn records_by_day(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        from: Day,
        today: Day,
    ) -> Result<Vec<Option<u64>>, AdminError> {
        let known = match ctx.not_admin() {
            Some(_) => Vec::new(),
            None => self.store.list_record_days(project, from, today).await?,
        };
        let latest = |day: i32| known.iter().rev().find(|(known, _)| known.0 <= day).map(|(_, records)| *records);
        Ok((from.0..=today.0).map(latest).collect())
    }
}
