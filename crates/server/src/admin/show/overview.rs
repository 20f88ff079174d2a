//! A project at a glance, as JSON.

use mnemon_core::RecordId;
use mnemon_engine::admin::{Overview, Several, SeveralAct};
use mnemon_protocol::admin::{
    ChangeSeveral, ConcernedJson, LeftJson, OverviewDayJson, OverviewJson, SeveralJson, UserJson, WaitsJson, WeekJson,
};

use super::standing::standing;

pub(crate) fn overview(overview: &Overview) -> OverviewJson {
    let concerned = |named: &[(String, String, u64)]| {
        let one = |(workspace, name, records): &(String, String, u64)| ConcernedJson {
            workspace: workspace.clone(),
            name: name.clone(),
            records: *records,
        };
        named.iter().map(one).collect()
    };
    let (week, waiting) = (&overview.week, &overview.waiting);
    let day = |day: &mnemon_engine::admin::OverviewDay| OverviewDayJson {
        day: super::date(day.day),
        saved: day.saved,
        calls: day.calls,
    };
    let user =
        |user: &mnemon_engine::admin::User| UserJson { name: user.name.clone(), calls: user.calls, saves: user.saves };
    OverviewJson {
        standing: standing(&overview.standing),
        days: overview.days.iter().map(day).collect(),
        week: WeekJson {
            saved: week.saved,
            saved_before: week.saved_before,
            calls: week.calls,
            calls_before: week.calls_before,
            forgotten: week.forgotten,
            replaced: week.replaced,
            restored: week.restored,
        },
        waiting: WaitsJson {
            conflicts: waiting.conflicts,
            disputed_keys: concerned(&waiting.disputed_keys),
            disputed_count: waiting.disputed_count,
            changed_sources: concerned(&waiting.changed_sources),
            changed_count: waiting.changed_count,
            refused: waiting.refused,
            tools: waiting.tools.as_ref().map(|tools| tools.iter().map(|(_, waits)| waits).sum()),
        },
        users: overview.users.iter().map(user).collect(),
        users_count: overview.users_count,
    }
}

pub(crate) fn several(several: &Several) -> SeveralJson {
    let left = |(id, why): &(RecordId, String)| LeftJson { memory_id: id.to_string(), why: why.clone() };
    SeveralJson {
        changed: several.done.len(),
        memory_ids: several.done.iter().map(ToString::to_string).collect(),
        left: several.left.iter().map(left).collect(),
        undo: undo(several),
    }
}

/// What takes an act on several records back, as it is asked for.
pub(crate) fn undo(several: &Several) -> Vec<ChangeSeveral> {
    let ask = |(act, ids): &(SeveralAct, Vec<RecordId>)| {
        let memory_ids = ids.iter().map(ToString::to_string).collect();
        let act_is = |word: &str| ChangeSeveral { memory_ids, act: word.to_owned(), ..ChangeSeveral::default() };
        match act.clone() {
            SeveralAct::Forget => act_is("forget"),
            SeveralAct::Restore => act_is("restore"),
            SeveralAct::Tag { add, remove } => ChangeSeveral { add_tags: add, remove_tags: remove, ..act_is("tag") },
            SeveralAct::Move { workspace, scope } => ChangeSeveral {
                workspace: workspace.map(|name| name.to_string()),
                scope: scope.map(|scope| scope.as_str().to_owned()),
                ..act_is("move")
            },
        }
    };
    several.undo.iter().map(ask).collect()
}
