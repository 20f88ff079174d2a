//! The operator's page: accounts with their size, plans and suspension, the nodes, and the plans with their limits.

use askama::Template;
use axum::extract::{Path, Request};
use axum::response::Response;
use mnemon_core::{Account, AccountId, PlanLimits, PlanName, SubscriptionState, Timestamp};
use mnemon_engine::GuardMode;
use mnemon_engine::admin::{AdminError, FilledAccount, ShownNode};
use mnemon_engine::console::ConsoleError;

use super::flash::Flash;
use super::hand_over::HandOver;
use super::invite;
use super::keys;
use super::parts::{self as p, Ask, Html};
use super::query::Query;
use super::shell::{Place, Shell};
use super::visit::{Act, Visit};
use crate::http::Fields;

const PATH: &str = "/console/operator";
const PAGE_ROWS: usize = 25;

#[derive(Template)]
#[template(path = "console/operator.html")]
struct Page<'a> {
    shell: Shell<'a>,
    summary: String,
    rows: Vec<Row>,
    nodes: Vec<NodeRow>,
    plans: Vec<Plan>,
    plan_names: Vec<&'static str>,
    windows: Vec<Html>,
    first_link: Option<String>,
    next_link: Option<String>,
    once: String,
}

struct Row {
    id: String,
    name: String,
    since: String,
    state: Html,
    plan: &'static str,
    until: Option<Html>,
    until_day: String,
    is_suspended: bool,
    projects: String,
    records: String,
}

struct NodeRow {
    name: String,
    /// The beginning of its id, and whether it is the one that answers.
    about: String,
    health: Html,
    version: String,
    up: String,
    indexes: Html,
    calls: String,
    storage: Option<String>,
}

struct Plan {
    name: &'static str,
    records: String,
    connection_calls: String,
    project_calls: String,
    history: String,
}

/// `GET /console/operator`
pub(super) async fn show(visit: Visit, request: Request) -> Response {
    let fields = Fields::parse(request.uri().query().unwrap_or_default().as_bytes());
    visit.show(build(&visit, &fields).await)
}

async fn build<'a>(visit: &'a Visit, fields: &Fields) -> Result<Page<'a>, ConsoleError> {
    let unknown = || ConsoleError::Admin(AdminError::NotFound("page"));
    let after: Option<AccountId> = fields.find("after").map(|id| id.parse().map_err(|_| unknown())).transpose()?;
    let mut accounts = visit.engine().list_accounts(&visit.visitor.admin, after, PAGE_ROWS + 1).await?;
    let has_more = accounts.len() > PAGE_ROWS;
    accounts.truncate(PAGE_ROWS);
    let shell = Shell::new(visit, Place::Operator, "Accounts");
    let next = accounts.last().filter(|_| has_more).map(|account| account.id);
    let plan = |name: PlanName| plan(name, visit.engine().limits_of(name));
    let mut rows = Vec::new();
    for account in &accounts {
        let size = visit.engine().show_account_size(&visit.visitor.admin, account.id).await?;
        rows.push(row(account, size, visit.now));
    }
    let nodes = visit.engine().list_nodes(&visit.visitor.admin).await?;
    let here = if has_more || after.is_some() { " on this page" } else { "" };
    Ok(Page {
        summary: format!("{}{here}. {}", p::counted(accounts.len() as u64, "account"), troubled(&accounts, visit.now)),
        rows,
        nodes: nodes.iter().map(|node| node_row(node, visit.now)).collect(),
        plans: PlanName::ALL.map(plan).into(),
        plan_names: PlanName::ALL.map(PlanName::as_str).into(),
        windows: accounts.iter().map(|account| window(account, &shell.seal)).collect(),
        first_link: after.map(|_| PATH.to_owned()),
        once: visit.once(),
        next_link: next.map(|id| Query::default().with("after", &id.to_string()).link(PATH)),
        shell,
    })
}

fn troubled(accounts: &[Account], now: Timestamp) -> String {
    let is = |wanted: fn(SubscriptionState) -> bool| {
        accounts.iter().filter(|account| wanted(account.subscription.state(now))).count()
    };
    let grace = is(|state| matches!(state, SubscriptionState::Grace { .. }));
    let suspended = is(|state| matches!(state, SubscriptionState::Suspended | SubscriptionState::SuspendedByOperator));
    format!("{grace} in the grace period, {suspended} suspended.")
}

fn row(account: &Account, (projects, records): (u64, u64), now: Timestamp) -> Row {
    let state = match account.subscription.state(now) {
        SubscriptionState::Active => p::tone("is-verified", "active", "verified"),
        SubscriptionState::None => p::tone("is-unverified", "no plan", "unverified"),
        SubscriptionState::Grace { until } => {
            let left = p::span_of((until.as_second() - now.as_second()).max(60));
            p::tone("is-stale", &format!("grace, {left} left"), "stale")
        }
        SubscriptionState::Suspended => p::tone("is-alert", "ended", "warn"),
        SubscriptionState::SuspendedByOperator => p::tone("is-alert", "suspended by you", "warn"),
    };
    let paid_until = account.subscription.paid_until;
    Row {
        id: account.id.to_string(),
        name: account.name.clone(),
        since: account.created_at.strftime("since %B %Y").to_string(),
        state,
        plan: account.plan().map_or("none", PlanName::as_str),
        until: paid_until.map(|end| p::moment(end, &p::day(end))),
        until_day: paid_until.map(|end| end.strftime("%Y-%m-%d").to_string()).unwrap_or_default(),
        is_suspended: account.subscription.is_suspended,
        projects: p::number(projects),
        records: p::number(records),
    }
}

fn node_row(shown: &ShownNode, now: Timestamp) -> NodeRow {
    let node = &shown.node;
    let silence = p::span_of((now.as_second() - node.seen_at.as_second()).max(60));
    let health = if shown.is_ready {
        p::tone("is-verified", "ready", "verified")
    } else {
        p::tone("is-alert", &format!("silent for {silence}"), "warn")
    };
    let id: String = node.id.to_string().chars().rev().take(8).collect::<Vec<_>>().into_iter().rev().collect();
    let words = format!("{} of {}", p::bytes(node.index_bytes), p::bytes(node.index_bytes_max));
    let share = node.index_bytes as f64 / (node.index_bytes_max as f64).max(1.0);
    NodeRow {
        name: node.name.clone(),
        about: if shown.is_this { format!("{id}, the one that answers") } else { id },
        health,
        version: node.version.clone(),
        up: p::span_of((now.as_second() - node.started_at.as_second()).max(60)),
        indexes: Html(format!("{words}{}", p::fillbar(share, &words, "bar-slim bar-under", "2"))),
        calls: p::number(node.calls_per_minute),
        storage: node.storage_micros.map(|micros| format!("{:.1} ms", micros as f64 / 1e3)),
    }
}

fn plan(name: PlanName, limits: PlanLimits) -> Plan {
    let or_none = |limit: Option<u64>| limit.map_or_else(|| "no limit".to_owned(), p::number);
    Plan {
        name: name.as_str(),
        records: or_none(limits.records_max),
        connection_calls: or_none(limits.connection_calls_max.map(u64::from)),
        project_calls: or_none(limits.project_calls_max.map(u64::from)),
        history: limits.history_bytes_max.map_or_else(|| "no limit".to_owned(), p::bytes),
    }
}

fn window(account: &Account, seal: &str) -> Html {
    let text = "<p>Every key and connection of it is refused from the next request on, the console too. Data is kept. You can \
                resume it at any time.</p>";
    p::ask(&Ask {
        id: &format!("susp-{}", account.id),
        title: format!("Suspend {}?", account.name),
        text: Html(text.to_owned()),
        yes: "Suspend",
        action: &format!("{PATH}/accounts/{}/suspension", account.id),
        fields: &[("suspended", "yes")],
        inside: Html::default(),
        seal,
    })
}

fn invalid(text: &str) -> ConsoleError {
    AdminError::Invalid(text.to_owned()).into()
}

fn plan_of(fields: &Fields) -> Result<Option<PlanName>, ConsoleError> {
    match fields.find("plan") {
        None | Some("none") => Ok(None),
        Some(word) => PlanName::parse(word).map(Some).ok_or_else(|| invalid("no such plan")),
    }
}

/// The end of a day that was paid for.
fn paid_until(fields: &Fields) -> Result<Option<Timestamp>, ConsoleError> {
    let Some(day) = fields.find("until") else { return Ok(None) };
    let moment: Result<Timestamp, _> = format!("{day}T23:59:59Z").parse();
    moment.map(Some).map_err(|_| invalid("the end of the paid period must be a day, for example 2027-12-31"))
}

fn account_id(id: &str) -> Result<AccountId, ConsoleError> {
    id.parse().map_err(|_| AdminError::NotFound("account").into())
}

/// `POST /console/operator/accounts`
pub(super) async fn create(act: Act) -> Response {
    match try_create(&act).await {
        Ok(answer) => answer,
        Err(error) => match act.again("acc-new", &error) {
            Ok(visit) => visit.show_again(build(&visit, &Fields::default()).await),
            Err(trouble) => *trouble,
        },
    }
}

async fn try_create(act: &Act) -> Result<Response, ConsoleError> {
    let (visit, fields) = (&act.visit, &act.fields);
    let (plan, until) = (plan_of(fields)?, paid_until(fields)?);
    let name = fields.take("name").unwrap_or_default();
    let (engine, admin) = (visit.engine(), &visit.visitor.admin);
    let Some(member) = fields.take("admin") else {
        let account = engine.create_account(admin, &name, plan, until).await?;
        return Ok(visit.done(Ok(Flash::new(format!("Account {} made, with nobody in it.", account.name))), PATH));
    };
    let filled = FilledAccount {
        key: Some(keys::once(act)?),
        name,
        plan,
        paid_until: until,
        project: fields.take("project").unwrap_or_else(|| "default".to_owned()),
        member,
        guard: fields.find("guard").and_then(GuardMode::parse),
        link_life: invite::life(fields)?,
    };
    let (account, _, member, link) = engine.fill_account(admin, filled).await?;
    let over = HandOver {
        made: format!("The account {} is made, with a project and an admin.", account.name),
        who: &member.name,
        link: &link,
        at: Place::Operator,
        onward: PATH,
    };
    Ok(visit.hand_over(&over))
}

/// `POST /console/operator/accounts/{account}/plan`
pub(super) async fn subscribe(Path(id): Path<String>, act: Act) -> Response {
    act.visit.done(try_subscribe(&act, &id).await, PATH)
}

async fn try_subscribe(act: &Act, id: &str) -> Result<Flash, ConsoleError> {
    let (visit, fields) = (&act.visit, &act.fields);
    let (plan, until) = (plan_of(fields)?, paid_until(fields)?);
    let account = visit.engine().set_subscription(&visit.visitor.admin, account_id(id)?, plan, until).await?;
    Ok(Flash::new(format!("The plan of {} is changed.", account.name)))
}

/// `POST /console/operator/accounts/{account}/suspension`
pub(super) async fn suspend(Path(id): Path<String>, act: Act) -> Response {
    act.visit.done(try_suspend(&act, &id).await, PATH)
}

async fn try_suspend(act: &Act, id: &str) -> Result<Flash, ConsoleError> {
    let visit = &act.visit;
    let is_suspended = act.fields.find("suspended") == Some("yes");
    let account = visit.engine().set_suspension(&visit.visitor.admin, account_id(id)?, is_suspended).await?;
    let word = if is_suspended { "suspended" } else { "resumed" };
    Ok(Flash::new(format!("{} is {word}.", account.name)))
}
