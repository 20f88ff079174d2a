//! A project at a glance: what holds, what changed this week, what waits for somebody, and who uses it. One pass over
//! the indexes answers most of it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use mnemon_core::{KeyId, MemberId, ProjectId, Status};
use mnemon_store::{AuditFilter, Day, Usage, WorkspaceRow};

use super::standing::{ProjectStanding, Standing};
use super::{AdminContext, AdminError};
use crate::Engine;
use crate::guarding::{CAUTIONED, REJECTED};
use crate::standings::Stood;

/// How many days the charts show: this week and the one before.
pub const OVERVIEW_DAYS: i32 = 14;
const WEEK_DAYS: i32 = 7;
/// How much of each kind is named.
const NAMED_MAX: usize = 5;
/// How many audit rows of a week are read.
const AUDIT_ROWS: usize = 2_000;

/// A project at a glance, as far as the caller sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overview {
    pub standing: ProjectStanding,
    /// The days of the charts, oldest first; today is the last.
    pub days: Vec<OverviewDay>,
    pub week: Week,
    pub waiting: Waits,
    /// Who called in the last seven days, most calls first.
    pub users: Vec<User>,
    /// How many people that were.
    pub users_count: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverviewDay {
    pub day: Day,
    /// Living records that were saved, or brought up to date, on this day.
    pub saved: u64,
    pub calls: u64,
}

/// What happened in the last seven days, today included. Admins see the audit; to others most of it is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Week {
    pub saved: u64,
    pub saved_before: u64,
    pub calls: u64,
    pub calls_before: u64,
    pub forgotten: Option<u64>,
    pub replaced: Option<u64>,
    pub restored: Option<u64>,
}

/// What waits for somebody, and the first of each kind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Waits {
    pub conflicts: u64,
    /// Disputed keys by their workspace, with how many records dispute them.
    pub disputed_keys: Vec<(String, String, u64)>,
    /// How many there are.
    pub disputed_count: u64,
    /// Changed or gone sources by their workspace, with how many records are stale for that.
    pub changed_sources: Vec<(String, String, u64)>,
    pub changed_count: u64,
    /// Records that were refused in this project this week, or saved with a mark. For admins.
    pub refused: Option<u64>,
    /// Tools that are held back until an admin looks at them, by integration. For admins.
    pub tools: Option<Vec<(String, u64)>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub name: String,
    pub calls: u64,
    pub saves: u64,
}

/// What one pass over the records gathers.
#[derive(Default)]
struct Gathered {
    standing: ProjectStanding,
    disputed: HashMap<(String, String), u64>,
    changed: HashMap<(String, String), u64>,
    saved: BTreeMap<Day, u64>,
}

impl Gathered {
    fn take(&mut self, row: &WorkspaceRow, records: &mut dyn Iterator<Item = Stood<'_>>, from: Day) {
        let mut own = Standing::default();
        let (mut disputed, mut changed) = (HashMap::<&str, u64>::new(), HashMap::<&str, u64>::new());
        for record in records {
            let named = match own.count(&record) {
                Status::Conflict => record.fact_key().map(|key| disputed.entry(key)),
                Status::Stale => record.source_id().map(|source| changed.entry(source)),
                Status::Verified | Status::Unverified => None,
            };
            named.into_iter().for_each(|count| *count.or_default() += 1);
            let day = crate::usage::day_of(record.saved_at());
            if day >= from {
                *self.saved.entry(day).or_default() += 1;
            }
        }
        let name = || row.name.to_string();
        self.disputed.extend(disputed.into_iter().map(|(key, count)| ((name(), key.to_owned()), count)));
        self.changed.extend(changed.into_iter().map(|(source, count)| ((name(), source.to_owned()), count)));
        if own.counts.total() > 0 {
            self.standing.all.add(&own);
            self.standing.workspaces.insert(name(), own);
        }
    }
}

/// Those that concern the most records.
fn largest(counted: HashMap<(String, String), u64>) -> Vec<(String, String, u64)> {
    let mut all: Vec<_> = counted.into_iter().map(|((place, name), count)| (place, name, count)).collect();
    all.sort_unstable_by(|a, b| (Reverse(a.2), &a.0, &a.1).cmp(&(Reverse(b.2), &b.0, &b.1)));
    all.truncate(NAMED_MAX);
    all
}

impl Engine {
    /// The project at a glance, for everybody who reads in it.
    pub async fn show_overview(&self, ctx: &AdminContext, project: ProjectId) -> Result<Overview, AdminError> {
        let project = self.readable_project(ctx, project).await?;
        let today = crate::usage::day_of(ctx.now);
        let (from, week_from) = (Day(today.0 - OVERVIEW_DAYS + 1), Day(today.0 - WEEK_DAYS + 1));
        let mut gathered = Gathered::default();
        self.each_workspace(project.id, &ctx.viewer(), ctx.now, |row, records| {
            gathered.take(row, records, from);
        })
        .await?;
        self.flush_usage_of(project.id).await?;
        let mut usage = self.store.list_usage(project.id, from, today).await?;
        if let Some(caller) = ctx.not_admin() {
            let own = self.store.list_member_keys(caller.account, caller.member).await?;
            usage.retain(|row| own.iter().any(|key| key.id == row.key));
        }
        let days: Vec<OverviewDay> = (from.0..=today.0).map(|day| on_day(Day(day), &gathered.saved, &usage)).collect();
        let (users, users_count) = self.users_of(ctx, project.id, &usage, week_from).await?;
        let mut week = week_of(&days, week_from);
        let mut waiting = Waits {
            conflicts: gathered.standing.all.counts.conflict,
            disputed_count: gathered.disputed.len() as u64,
            changed_count: gathered.changed.len() as u64,
            disputed_keys: largest(gathered.disputed),
            changed_sources: largest(gathered.changed),
            ..Waits::default()
        };
        if ctx.not_admin().is_none() {
            self.tell_week(ctx, project.id, &mut week, &mut waiting).await?;
        }
        Ok(Overview { standing: gathered.standing, days, week, waiting, users, users_count })
    }

    /// What the audit log says of the last seven days, and which tools wait.
    async fn tell_week(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        week: &mut Week,
        waiting: &mut Waits,
    ) -> Result<(), AdminError> {
        const FORGETTING: [&str; 3] = ["record.forget", "record.keep", "source.forget"];
        const REPLACING: &str = "record.supersede";
        const RESTORING: &str = "record.restore";
        let actions = FORGETTING.into_iter().chain([REPLACING, RESTORING, REJECTED, CAUTIONED]);
        let since = ctx.now.saturating_sub(jiff::SignedDuration::from_hours(24 * i64::from(WEEK_DAYS)));
        let filter = AuditFilter {
            project: Some(project),
            actions: Some(actions.map(str::to_owned).collect()),
            from: Some(since.unwrap_or(mnemon_core::Timestamp::MIN)),
            ..AuditFilter::default()
        };
        let account = self.reachable_project(ctx, project).await?.account;
        let rows = self.store.search_audit(account, filter, AUDIT_ROWS).await?;
        let sum = |wanted: &[&str]| {
            rows.iter().filter(|(act, _)| wanted.contains(&&*act.action)).map(|(_, affected)| affected).sum::<u64>()
        };
        (week.forgotten, week.replaced) = (Some(sum(&FORGETTING)), Some(sum(&[REPLACING])));
        week.restored = Some(sum(&[RESTORING]));
        waiting.refused = Some(sum(&[REJECTED, CAUTIONED]));
        let (_, integrations) = self.list_integrations(ctx, project).await?;
        let held = integrations.iter().filter(|integration| integration.is_enabled).map(|integration| {
            let waits = integration.tools.iter().filter(|tool| tool.state.waits_for_admin()).count() as u64;
            (integration.name.clone(), waits)
        });
        waiting.tools = Some(held.filter(|(_, waits)| *waits > 0).collect());
        Ok(())
    }

    /// Who called since a day, most calls first, and how many there are.
    async fn users_of(
        &self,
        ctx: &AdminContext,
        project: ProjectId,
        usage: &[Usage],
        from: Day,
    ) -> Result<(Vec<User>, u64), AdminError> {
        let keys = self.store.list_keys(project).await?;
        let holders: HashMap<KeyId, MemberId> = keys.iter().map(|key| (key.id, key.member)).collect();
        let mut by_member: BTreeMap<MemberId, (u64, u64)> = BTreeMap::new();
        for row in usage.iter().filter(|row| row.day >= from && row.calls > 0) {
            let Some(member) = holders.get(&row.key) else { continue };
            let own = by_member.entry(*member).or_default();
            *own = (own.0 + row.calls, own.1 + row.saves);
        }
        let account = self.reachable_project(ctx, project).await?.account;
        let members = self.store.list_members(account).await?;
        let names: HashMap<MemberId, &str> = members.iter().map(|member| (member.id, member.name.as_str())).collect();
        let named = |member: &MemberId| names.get(member).map_or("somebody who left", |name| name).to_owned();
        let mut users: Vec<User> = by_member
            .iter()
            .map(|(member, (calls, saves))| User { name: named(member), calls: *calls, saves: *saves })
            .collect();
        users.sort_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.name.cmp(&b.name)));
        let count = users.len() as u64;
        users.truncate(NAMED_MAX);
        Ok((users, count))
    }
}

fn on_day(day: Day, saved: &BTreeMap<Day, u64>, usage: &[Usage]) -> OverviewDay {
    let calls = usage.iter().filter(|row| row.day == day).map(|row| row.calls).sum();
    OverviewDay { day, saved: saved.get(&day).copied().unwrap_or_default(), calls }
}

fn week_of(days: &[OverviewDay], from: Day) -> Week {
    let sum = |is_meant: fn(Day, Day) -> bool, pick: fn(&OverviewDay) -> u64| -> u64 {
        days.iter().filter(|day| is_meant(day.day, from)).map(pick).sum()
    };
    Week {
        saved: sum(|day, from| day >= from, |day| day.saved),
        saved_before: sum(|day, from| day < from, |day| day.saved),
        calls: sum(|day, from| day >= from, |day| day.calls),
        calls_before: sum(|day, from| day < from, |day| day.calls),
        ..Week::default()
    }
}
