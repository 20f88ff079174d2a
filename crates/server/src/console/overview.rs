//! Overview: what holds, what changed this week, what waits for somebody, and who uses it.

use askama::Template;
use axum::response::Response;
use mnemon_core::Status;
use mnemon_engine::admin::{Overview, OverviewDay};
use mnemon_engine::console::ConsoleError;

use super::parts::{self as p, Html};
use super::query::Query;
use super::record_row::count_word;
use super::shell::{Place, Shell};
use super::visit::Visit;

const MEMORY: &str = "/console/memory";
/// How many workspaces are named.
const WORKSPACES_MAX: usize = 5;

#[derive(Template)]
#[template(path = "console/overview.html")]
struct Page<'a> {
    shell: Shell<'a>,
    summary: String,
    is_empty: bool,
    bar: Html,
    holds: Vec<Holds>,
    saved: Chart,
    changes: Vec<Line>,
    /// How much waits, and the bar of its kinds.
    waits: String,
    waits_bar: Html,
    waiting: Vec<Waiting>,
    calls: Chart,
    users: Vec<UserLine>,
    users_title: String,
    workspaces: Vec<WorkspaceLine>,
    workspaces_link: Option<String>,
    /// Whether this person sees everybody's calls.
    sees_all: bool,
}

/// Records of one status.
struct Holds {
    class: &'static str,
    count: String,
    word: &'static str,
    link: String,
}

/// Two weeks, day by day.
struct Chart {
    count: String,
    change: String,
    path: String,
    label: String,
}

struct Line {
    icon: &'static str,
    count: String,
    words: &'static str,
    link: String,
}

/// A kind of thing that waits, and the first of it.
struct Waiting {
    class: &'static str,
    icon: &'static str,
    words: String,
    link: String,
    named: Vec<(String, String, String)>,
}

struct UserLine {
    name: String,
    link: String,
    bar: Html,
    calls: String,
    saves: String,
}

struct WorkspaceLine {
    name: String,
    link: String,
    bar: Html,
    records: String,
    saved: Option<Html>,
}

/// `GET /console/overview`
pub(super) async fn show(visit: Visit) -> Response {
    visit.show(build(&visit).await)
}

async fn build(visit: &Visit) -> Result<Page<'_>, ConsoleError> {
    let overview = visit.engine().show_overview(&visit.visitor.admin, visit.project()?).await?;
    let counts = overview.standing.all.counts;
    let shown = [Status::Verified, Status::Unverified, Status::Stale, Status::Conflict];
    let holds = shown.map(|status| Holds {
        class: status.as_str(),
        count: p::number(counts.of(status)),
        word: count_word(status),
        link: Query::default().with("status", status.as_str()).link(MEMORY),
    });
    let label: Vec<String> =
        shown.iter().map(|status| format!("{} {}", counts.of(*status), count_word(*status))).collect();
    let bar = p::stackbar(&shown.map(|status| (status.as_str(), counts.of(status))), &label.join(", "), "");
    let (waiting, kinds) = waiting(&overview);
    let week = &overview.week;
    Ok(Page {
        shell: Shell::new(visit, Place::Overview, "Overview"),
        summary: summary(&overview),
        is_empty: counts.total() == 0,
        bar,
        holds: holds.into(),
        saved: chart(&overview.days, "Records saved", week.saved, week.saved_before, |day| day.saved),
        changes: changes(visit, &overview),
        waits: match kinds.iter().map(|(_, count)| count).sum() {
            0 => "Nothing".to_owned(),
            count => p::number(count),
        },
        waits_bar: p::stackbar(
            &kinds,
            &waiting.iter().map(|one| one.words.as_str()).collect::<Vec<_>>().join(", "),
            "",
        ),
        waiting,
        calls: chart(&overview.days, "Calls", week.calls, week.calls_before, |day| day.calls),
        users: users(visit, &overview),
        users_title: p::counted(overview.users_count, "person").replace("persons", "people"),
        workspaces: workspaces(visit, &overview),
        workspaces_link: (overview.standing.workspaces.len() > WORKSPACES_MAX)
            .then(|| format!("All {}", p::number(overview.standing.workspaces.len() as u64))),
        sees_all: visit.is_admin(),
    })
}

fn summary(overview: &Overview) -> String {
    let counts = overview.standing.all.counts;
    let doubtful = counts.stale + counts.conflict;
    let places = p::counted(overview.standing.workspaces.len() as u64, "workspace");
    let records = p::counted(counts.total(), "record");
    match (counts.total(), doubtful) {
        (0, _) => "There is no record here that you may see.".to_owned(),
        (_, 0) => format!("{records} in {places}. None of them is known to be out of date or disputed."),
        (_, 1) => format!("{records} in {places}. One of them no longer holds or is disputed."),
        (_, many) => format!("{records} in {places}. {} of them no longer hold or are disputed.", p::number(many)),
    }
}

fn chart(days: &[OverviewDay], title: &str, count: u64, before: u64, pick: impl Fn(&OverviewDay) -> u64) -> Chart {
    let values: Vec<u64> = days.iter().map(pick).collect();
    let most = values.iter().copied().max().unwrap_or_default().max(1);
    let width = 1_000.0 / values.len().max(1) as f64;
    let columns = values.iter().enumerate().filter(|(_, value)| **value > 0).map(|(at, value)| {
        let (left, height) = (at as f64 * width + width * 0.14, (*value as f64 / most as f64 * 100.0).max(2.0));
        format!("M{left:.0} 100V{:.0}h{:.0}V100z", 100.0 - height, width * 0.72)
    });
    let words: Vec<String> = values.iter().map(u64::to_string).collect();
    Chart {
        count: p::number(count),
        change: format!("in seven days; {} in the seven before", p::number(before)),
        path: columns.collect(),
        label: format!("{title} on each of the last {} days, oldest first: {}", values.len(), words.join(", ")),
    }
}

/// What else happened this week, as far as this person sees it.
fn changes(visit: &Visit, overview: &Overview) -> Vec<Line> {
    let week = &overview.week;
    let line = |icon, count: Option<u64>, words, link: &str| {
        count.filter(|count| *count > 0).map(|count| Line {
            icon,
            count: p::number(count),
            words,
            link: link.to_owned(),
        })
    };
    let forgotten = Query::default().with("state", "forgotten").link(MEMORY);
    let audit = "/console/audit";
    let mut lines =
        vec![line("clock", Some(week.saved), "saved or brought up to date", "/console/memory?sort=changed")];
    if visit.is_admin() {
        lines.push(line("trash", week.forgotten, "forgotten", &forgotten));
        lines.push(line("undo", week.replaced, "replaced by newer ones", &forgotten));
        lines.push(line("plus", week.restored, "restored", audit));
    }
    lines.into_iter().flatten().collect()
}

fn waiting(overview: &Overview) -> (Vec<Waiting>, [(&'static str, u64); 4]) {
    let waits = &overview.waiting;
    let tools: u64 = waits.tools.iter().flatten().map(|(_, count)| count).sum();
    let refused = waits.refused.unwrap_or_default();
    let named = |of: &[(String, String, u64)], name: &'static str, path: &str| {
        let link =
            |workspace: &str, one: &str| Query::default().with(name, one).with("workspace", workspace).link(path);
        let one = |(workspace, one, records): &(String, String, u64)| {
            (one.clone(), link(workspace, one), p::counted(*records, "record"))
        };
        of.iter().map(one).collect::<Vec<_>>()
    };
    let kinds = [("conflict", waits.disputed_count), ("stale", waits.changed_count), ("alert", refused), ("2", tools)];
    let one = |class, icon, (count, one, many): (u64, &str, &str), link: &str, named| {
        (count > 0).then(|| Waiting {
            class,
            icon,
            words: format!("{} {}", p::number(count), if count == 1 { one } else { many }),
            link: link.to_owned(),
            named,
        })
    };
    let integration = |(name, count): &(String, u64)| {
        (name.clone(), format!("/console/integrations/{name}"), p::counted(*count, "tool"))
    };
    let all = [
        one(
            "is-conflict",
            "conflict",
            (waits.disputed_count, "fact key is disputed", "fact keys are disputed"),
            "/console/memory?status=conflict",
            named(&waits.disputed_keys, "key", MEMORY),
        ),
        one(
            "is-stale",
            "stale",
            (waits.changed_count, "source has changed", "sources have changed"),
            "/console/sources?show=changed",
            named(&waits.changed_sources, "one", "/console/sources"),
        ),
        one(
            "is-alert",
            "warn",
            (refused, "text was refused or marked this week", "texts were refused or marked this week"),
            "/console/guard",
            Vec::new(),
        ),
        one(
            "is-unverified",
            "integrations",
            (tools, "tool is held back", "tools are held back"),
            "/console/integrations",
            waits.tools.iter().flatten().map(integration).collect(),
        ),
    ];
    (all.into_iter().flatten().collect(), kinds)
}

fn users(visit: &Visit, overview: &Overview) -> Vec<UserLine> {
    let most = overview.users.iter().map(|user| user.calls).max().unwrap_or(1);
    let line = |user: &mnemon_engine::admin::User| UserLine {
        name: user.name.clone(),
        link: match visit.manages() {
            true => Query::default().with("author", &user.name).link(MEMORY),
            false => "/console/keys".to_owned(),
        },
        bar: p::fillbar_of(user.calls as f64 / most as f64, "2"),
        calls: p::counted(user.calls, "call"),
        saves: p::counted(user.saves, "save"),
    };
    overview.users.iter().map(line).collect()
}

/// Those with the newest saves.
fn workspaces(visit: &Visit, overview: &Overview) -> Vec<WorkspaceLine> {
    let mut all: Vec<_> = overview.standing.workspaces.iter().collect();
    all.sort_by_key(|(_, own)| std::cmp::Reverse(own.last_saved_at));
    all.truncate(WORKSPACES_MAX);
    let line = |(name, own): (&String, &mnemon_engine::admin::Standing)| {
        let counts = &own.counts;
        WorkspaceLine {
            name: name.clone(),
            link: Query::default().with("workspace", name).link(MEMORY),
            bar: p::status_bar(counts),
            records: p::counted(counts.total(), "record"),
            saved: own.last_saved_at.map(|at| p::ago(at, visit.now)),
        }
    };
    all.into_iter().map(line).collect()
}
