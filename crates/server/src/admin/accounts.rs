//! Accounts and their subscriptions.

use axum::extract::State;
use mnemon_core::PlanName;
use mnemon_engine::GuardMode;
use mnemon_engine::admin::{AdminError, FilledAccount, link_life};
use mnemon_protocol::admin::{AccountJson, CreateAccount, FirstJson, SetSubscription, SetSuspension};
use serde::Deserialize;
use serde_json::json;

use super::error::Failure;
use super::extract::{Admin, Path, Query, Sent, id, id_in, limit, moment, word};
use super::show;
use crate::http::{App, Reply};

const GUARD_MODES: &str = "reject, report, off";
const PLANS: &str = "free, starter, pro, enterprise, unlimited";

#[derive(Debug, Deserialize)]
pub(crate) struct Page {
    limit: Option<String>,
    after: Option<String>,
}

fn plan(text: Option<&str>) -> Result<Option<PlanName>, AdminError> {
    text.map(|text| word(text, "plan", PlanName::parse, PLANS)).transpose()
}

pub(crate) async fn create(
    State(app): State<App>,
    admin: Admin,
    Sent(sent): Sent<CreateAccount>,
) -> Result<Reply, Failure> {
    let plan = plan(sent.plan.as_deref())?;
    let paid_until = moment(sent.paid_until.as_deref(), "paid_until")?;
    let now = app.0.engine.now();
    let (project, member) = match (sent.project, sent.admin) {
        (Some(project), Some(member)) => (project, member),
        (None, None) if sent.guard_mode.is_none() && sent.link_hours.is_none() => {
            let account = admin.engine.create_account(&admin.ctx, &sent.name, plan, paid_until).await?;
            return Ok(show::created(&show::account(&account, now)));
        }
        _ => {
            let text = "an account begins with a project and an admin, or with neither: give both project and admin";
            return Err(AdminError::Invalid(text.to_owned()).into());
        }
    };
    let guard = sent.guard_mode.map(|mode| word(&mode, "guard_mode", GuardMode::parse, GUARD_MODES)).transpose()?;
    let link_life = link_life(sent.link_hours)?;
    let filled = FilledAccount { key: None, name: sent.name, plan, paid_until, project, member, guard, link_life };
    let (account, project, member, link) = admin.engine.fill_account(&admin.ctx, filled).await?;
    let first = FirstJson {
        project_id: project.to_string(),
        member_id: member.id.to_string(),
        link: show::link(&app.0, &link),
    };
    Ok(show::created(&AccountJson { first: Some(first), ..show::account(&account, now) }))
}

pub(crate) async fn list(State(app): State<App>, admin: Admin, Query(page): Query<Page>) -> Result<Reply, Failure> {
    let limit = limit(page.limit.as_deref())?;
    let after = id_in(page.after.as_deref(), "after")?;
    let accounts = admin.engine.list_accounts(&admin.ctx, after, limit).await?;
    let next = (accounts.len() == limit).then(|| accounts.last().map(|account| account.id.to_string()));
    let mut shown = Vec::new();
    for account in &accounts {
        let (projects, records) = admin.engine.show_account_size(&admin.ctx, account.id).await?;
        let (projects, records) = (Some(projects), Some(records));
        shown.push(AccountJson { projects, records, ..show::account(account, app.0.engine.now()) });
    }
    Ok(show::ok(&json!({"accounts": shown, "next": next.flatten()})))
}

pub(crate) async fn show(State(app): State<App>, admin: Admin, Path(account): Path<String>) -> Result<Reply, Failure> {
    let account = admin.engine.show_account(&admin.ctx, id(&account, "account")?).await?;
    Ok(show::ok(&show::account(&account, app.0.engine.now())))
}

pub(crate) async fn subscribe(
    State(app): State<App>,
    admin: Admin,
    Path(account): Path<String>,
    Sent(sent): Sent<SetSubscription>,
) -> Result<Reply, Failure> {
    let plan = plan(Some(&sent.plan))?;
    let paid_until = moment(sent.paid_until.as_deref(), "paid_until")?;
    let account = id(&account, "account")?;
    let account = admin.engine.set_subscription(&admin.ctx, account, plan, paid_until).await?;
    Ok(show::ok(&show::account(&account, app.0.engine.now())))
}

pub(crate) async fn suspend(
    State(app): State<App>,
    admin: Admin,
    Path(account): Path<String>,
    Sent(sent): Sent<SetSuspension>,
) -> Result<Reply, Failure> {
    let account = admin.engine.set_suspension(&admin.ctx, id(&account, "account")?, sent.suspended).await?;
    Ok(show::ok(&show::account(&account, app.0.engine.now())))
}

pub(crate) async fn plans(admin: Admin) -> Result<Reply, Failure> {
    let plans = admin.engine.list_plans(&admin.ctx)?;
    let shown: Vec<_> = plans.iter().map(|(name, limits)| show::me::plan(*name, limits)).collect();
    Ok(show::ok(&json!({"plans": shown})))
}
