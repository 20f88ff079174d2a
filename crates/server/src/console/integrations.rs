//! Integrations: read-only tools of other systems, and those that wait for an admin to look at them.

use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use mnemon_core::{Secret, Status};
use mnemon_engine::admin::{AdminError, IntegrationRequest, ShownIntegration, ShownTool, Tested};
use mnemon_engine::console::ConsoleError;
use mnemon_engine::integrations::{ToolNames, ToolState};
use mnemon_engine::stored::UpstreamAddress;
use url::Url;

use super::diff;
use super::flash::Flash;
use super::parts::{self as p, Ask, Html};
use super::shell::{Place, Shell};
use super::visit::{Act, Visit};
use crate::http::Fields;

const PATH: &str = "/console/integrations";
/// How many offered tools are shown with their description; the others by name.
const SHOWN_TOOLS: usize = 12;
/// How many tools the form that changes an integration lists.
const CHOICES_MAX: usize = 300;

#[derive(Template)]
#[template(path = "console/integrations.html")]
struct ListPage<'a> {
    shell: Shell<'a>,
    cards: Vec<Card>,
    has_dots: bool,
    may_write: bool,
}

struct Card {
    name: String,
    title: String,
    address: String,
    state: Html,
    offered: usize,
    tools: usize,
    waiting: usize,
    /// What is wrong with it.
    trouble: Option<String>,
    has_credential: bool,
    seen: Option<Html>,
}

#[derive(Template)]
#[template(path = "console/integration.html")]
struct OnePage<'a> {
    shell: Shell<'a>,
    name: String,
    title: String,
    about: String,
    is_enabled: bool,
    trouble: Option<String>,
    answered: Option<Html>,
    waiting: Vec<Tool>,
    offered: Vec<Tool>,
    more_offered: Vec<String>,
    left_out: Vec<LeftOut>,
    windows: Vec<Html>,
    may_write: bool,
    /// All tools that wait, as they are looked at now.
    all_waiting: String,
    /// What the form that changes it offers: the address, if it has one, and the tools that can be allowed.
    url: Option<String>,
    choices: Vec<(String, bool)>,
}

struct Tool {
    /// Its place among those that wait.
    no: usize,
    name: String,
    state: Html,
    description: String,
    hash: String,
    /// What it says now beside what was accepted, if it has changed and that was kept.
    difference: Option<Html>,
    is_changed: bool,
    accepted: Option<Html>,
}

/// Tools that are not offered, by why.
struct LeftOut {
    state: Html,
    names: String,
    why: &'static str,
}

/// `GET /console/integrations`
pub(super) async fn list(visit: Visit) -> Response {
    visit.show(build_list(&visit).await)
}

async fn build_list(visit: &Visit) -> Result<ListPage<'_>, ConsoleError> {
    let (style, found) = visit.engine().list_integrations(&visit.visitor.admin, visit.project()?).await?;
    Ok(ListPage {
        shell: Shell::new(visit, Place::Integrations, "Integrations"),
        cards: found.iter().map(|shown| card(visit, shown)).collect(),
        has_dots: style == ToolNames::default(),
        may_write: visit.may_write(),
    })
}

fn count(shown: &ShownIntegration, is_meant: impl Fn(ToolState) -> bool) -> usize {
    shown.tools.iter().filter(|tool| is_meant(tool.state)).count()
}

fn card(visit: &Visit, shown: &ShownIntegration) -> Card {
    let trouble = trouble(visit, shown);
    let state = match (shown.is_enabled, &trouble) {
        (false, _) => p::tone("is-unverified", "disabled", "unverified"),
        (true, Some(_)) => p::tone("is-alert", "does not answer", "warn"),
        (true, None) => p::tone("is-verified", "works", "verified"),
    };
    Card {
        name: shown.name.clone(),
        title: shown.title.clone(),
        address: address(shown),
        state,
        offered: count(shown, |state| state == ToolState::Offered),
        tools: count(shown, |state| state != ToolState::Gone),
        waiting: count(shown, ToolState::waits_for_admin),
        trouble: trouble.filter(|_| shown.is_enabled),
        has_credential: shown.has_credential,
        seen: shown.seen_at.map(|at| p::ago(at, visit.now)),
    }
}

/// What is wrong, as far as this node knows: each keeps count of its own calls.
fn trouble(visit: &Visit, shown: &ShownIntegration) -> Option<String> {
    let health = &shown.health;
    let again = health.paused_until.map(|end| {
        let seconds = (end.as_second() - visit.now.as_second()).max(1).unsigned_abs();
        format!(" It is tried again in {}.", p::counted(seconds, "second"))
    });
    let times = match (health.failures, &shown.silence, shown.seen_at) {
        (0, Some(silence), _) => {
            let ago = p::distance(silence.at, visit.now);
            return Some(format!("Last asked for its tools {ago}: {}.", silence.why.trim_end_matches('.')));
        }
        (0, None, None) => return Some("It has never told its tools.".to_owned()),
        (0, None, Some(_)) => return None,
        (1, ..) => "The last call failed.".to_owned(),
        (many, ..) => format!("The last {many} calls failed."),
    };
    Some(format!("{times}{}", again.unwrap_or_default()))
}

fn address(shown: &ShownIntegration) -> String {
    match &shown.address {
        UpstreamAddress::Url(url) => {
            Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_else(|| url.clone())
        }
        UpstreamAddress::Command(command) => format!("local command {command}"),
    }
}

/// `GET /console/integrations/{integration}`
pub(super) async fn show(visit: Visit, Path(name): Path<String>) -> Response {
    visit.show(build_one(&visit, &name).await)
}

async fn build_one<'a>(visit: &'a Visit, name: &str) -> Result<OnePage<'a>, ConsoleError> {
    let shown = visit.engine().show_integration(&visit.visitor.admin, visit.project()?, name).await?;
    let shell = Shell::new(visit, Place::Integrations, &shown.title);
    let tools = |is_meant: fn(ToolState) -> bool| shown.tools.iter().filter(move |tool| is_meant(tool.state));
    let mut offered: Vec<Tool> = tools(|state| state == ToolState::Offered).map(|tool| to_tool(visit, tool)).collect();
    let more = offered.split_off(offered.len().min(SHOWN_TOOLS));
    let mut waiting: Vec<Tool> = tools(ToolState::waits_for_admin).map(|tool| to_tool(visit, tool)).collect();
    waiting.iter_mut().enumerate().for_each(|(no, tool)| tool.no = no);
    let mut asked = if visit.may_write() { windows(&shown, &shell.seal) } else { Vec::new() };
    if visit.may_write() {
        asked.extend(waiting.iter().map(|tool| leave_window(&shown.name, tool, &shell.seal)));
    }
    let can_be_allowed =
        |tool: &&ShownTool| !matches!(tool.state, ToolState::NotReadOnly | ToolState::Unusable | ToolState::Gone);
    let choices = shown.tools.iter().filter(can_be_allowed).take(CHOICES_MAX);
    let choices = choices.map(|tool| (tool.name.clone(), tool.state != ToolState::NotAllowed)).collect();
    let credential = if shown.has_credential { "credential stored" } else { "no credential" };
    let seen = shown.seen_at.map(|at| format!(" · looked at on {}", p::exact(at))).unwrap_or_default();
    Ok(OnePage {
        about: format!("{} · {credential}{seen}", address(&shown)),
        all_waiting: waiting.iter().map(|tool| format!("{} {}\n", tool.hash, tool.name)).collect(),
        url: match &shown.address {
            UpstreamAddress::Url(url) => Some(url.clone()),
            UpstreamAddress::Command(_) => None,
        },
        choices,
        waiting,
        offered,
        more_offered: more.into_iter().map(|tool| tool.name).collect(),
        left_out: left_out(&shown),
        windows: asked,
        may_write: visit.may_write(),
        trouble: shown.is_enabled.then(|| trouble(visit, &shown)).flatten(),
        answered: shown.health.answered_at.max(shown.seen_at).map(|at| p::ago(at, visit.now)),
        is_enabled: shown.is_enabled,
        name: shown.name,
        title: shown.title,
        shell,
    })
}

fn to_tool(visit: &Visit, tool: &ShownTool) -> Tool {
    let state = match tool.state {
        ToolState::Changed => p::chip_as(Status::Stale, "changed"),
        ToolState::New => p::chip_as(Status::Unverified, "new"),
        _ => p::chip_as(Status::Verified, "offered"),
    };
    Tool {
        no: 0,
        name: tool.name.clone(),
        state,
        description: tool.description.clone(),
        hash: tool.hash.clone(),
        difference: tool
            .accepted_definition
            .as_deref()
            .filter(|_| tool.state == ToolState::Changed)
            .and_then(|accepted| diff::of_definitions(accepted, &tool.definition)),
        is_changed: tool.state == ToolState::Changed,
        accepted: tool.accepted_at.map(|at| p::ago(at, visit.now)),
    }
}

fn left_out(shown: &ShownIntegration) -> Vec<LeftOut> {
    let group = |wanted: ToolState, class: &str, word: &str, why: &'static str| {
        let names: Vec<&str> =
            shown.tools.iter().filter(|tool| tool.state == wanted).map(|tool| tool.name.as_str()).collect();
        (!names.is_empty()).then(|| LeftOut { state: p::tone(class, word, ""), names: names.join(", "), why })
    };
    let groups = [
        group(ToolState::NotAllowed, "is-gone", "not allowed", "the allow-list does not name them"),
        group(ToolState::NotReadOnly, "is-gone", "not read-only", "the system does not mark them so"),
        group(ToolState::Rejected, "is-alert", "rejected", "the guard found words in them that address assistants"),
        group(ToolState::Unusable, "is-gone", "unusable", "their name or their schema can’t be passed on"),
        group(ToolState::Gone, "is-gone", "gone", "the system no longer has them"),
    ];
    groups.into_iter().flatten().collect()
}

fn windows(shown: &ShownIntegration, seal: &str) -> Vec<Html> {
    let name = &shown.name;
    let disable = p::ask(&Ask {
        id: "int-off",
        title: format!("Disable {}?", shown.title),
        text: Html("<p>Its tools leave every list at once. Credential, allow-list and pins are kept; enable it again at any time.</p>".to_owned()),
        yes: "Disable",
        action: &format!("{PATH}/{name}/enable"),
        fields: &[("enabled", "no")],
        inside: Html::default(),
        seal,
    });
    let remove = p::ask(&Ask {
        id: "int-del",
        title: format!("Remove {}?", shown.title),
        text: Html(
            "<p>Its tools leave every list at once, and its credential is deleted. <b>This can’t be undone.</b></p>"
                .to_owned(),
        ),
        yes: "Remove",
        action: &format!("{PATH}/{name}/remove"),
        fields: &[],
        inside: Html::default(),
        seal,
    });
    vec![disable, remove]
}

fn leave_window(integration: &str, tool: &Tool, seal: &str) -> Html {
    p::ask(&Ask {
        id: &format!("leave-{}", tool.no),
        title: format!("Leave {} out?", tool.name),
        text: Html(
            "<p>It is taken off the allow-list and no longer waits for you. Allow it again by Change.</p>".to_owned(),
        ),
        yes: "Leave out",
        action: &format!("{}/leave-out", one(integration)),
        fields: &[("tool", &tool.name)],
        inside: Html::default(),
        seal,
    })
}

fn told(tested: &Tested) -> Flash {
    Flash::new(match &tested.outcome {
        Ok(looked) => format!("It answers: {}, protocol {}.", looked.hello.server, looked.hello.version),
        Err(problem) => format!("It does not answer: {problem}."),
    })
}

fn one(name: &str) -> String {
    let segment: String = url::form_urlencoded::byte_serialize(name.as_bytes()).collect();
    format!("{PATH}/{segment}")
}

/// `POST /console/integrations`
pub(super) async fn add(act: Act) -> Response {
    let name = act.fields.take("name").unwrap_or_default();
    match try_add(&act, &name).await {
        Ok(told) => act.visit.done(Ok(told), &one(&name)),
        Err(error) => match act.again("int-new", &error) {
            Ok(visit) => visit.show_again(build_list(&visit).await),
            Err(trouble) => *trouble,
        },
    }
}

async fn try_add(act: &Act, name: &str) -> Result<Flash, ConsoleError> {
    let (visit, fields) = (&act.visit, &act.fields);
    let (project, admin) = (visit.project()?, &visit.visitor.admin);
    if visit.engine().show_integration(admin, project, name).await.is_ok() {
        return Err(AdminError::Conflict(format!("there is an integration '{name}' already")).into());
    }
    let is_command = fields.find("kind") == Some("command");
    let is_preset = fields.find("kind") == Some("github");
    let request = IntegrationRequest {
        preset: is_preset.then(|| "github".to_owned()),
        url: fields.take("address").filter(|_| !is_command && !is_preset),
        command: fields.take("address").filter(|_| is_command),
        bearer: fields.take("token").map(Secret::new),
        ..IntegrationRequest::default()
    };
    Ok(told(&visit.engine().put_integration(admin, project, name, request).await?))
}

/// `POST /console/integrations/{integration}/change`
pub(super) async fn change(Path(name): Path<String>, act: Act) -> Response {
    match try_change(&act, &name).await {
        Ok(told) => act.visit.done(Ok(told), &one(&name)),
        Err(error) => match act.again("int-change", &error) {
            Ok(visit) => visit.show_again(build_one(&visit, &name).await),
            Err(trouble) => *trouble,
        },
    }
}

async fn try_change(act: &Act, name: &str) -> Result<Flash, ConsoleError> {
    let (visit, fields) = (&act.visit, &act.fields);
    let (engine, admin, project) = (visit.engine(), &visit.visitor.admin, visit.project()?);
    let shown = engine.show_integration(admin, project, name).await?;
    let request = IntegrationRequest {
        url: fields.take("address").filter(|url| shown.address != UpstreamAddress::Url(url.clone())),
        bearer: fields.take("token").map(Secret::new),
        // While it has told of no tool there is nothing to choose from, and what is allowed stays.
        allow: fields.find("chosen").map(|_| fields.all("allow")),
        ..IntegrationRequest::default()
    };
    Ok(told(&engine.put_integration(admin, project, name, request).await?))
}

/// `POST /console/integrations/{integration}/test`
pub(super) async fn test(Path(name): Path<String>, act: Act) -> Response {
    let visit = &act.visit;
    let outcome = match visit.project() {
        Ok(project) => {
            visit.engine().test_integration(&visit.visitor.admin, project, &name).await.map_err(ConsoleError::from)
        }
        Err(error) => Err(error),
    };
    visit.done(outcome.map(|tested| told(&tested)), &one(&name))
}

/// `POST /console/integrations/{integration}/accept`: the tools that were looked at, as they were.
pub(super) async fn accept(Path(name): Path<String>, act: Act) -> Response {
    act.visit.done(try_accept(&act, &name).await, &one(&name))
}

async fn try_accept(act: &Act, name: &str) -> Result<Flash, ConsoleError> {
    let visit = &act.visit;
    let tools = looked_at(&act.fields)?;
    let names: Vec<String> = tools.iter().map(|(tool, _)| tool.clone()).collect();
    visit.engine().accept_tools(&visit.visitor.admin, visit.project()?, name, Some(tools)).await?;
    Ok(Flash::new(match names.as_slice() {
        [tool] => format!("Tool {tool} accepted; it is offered from now on."),
        several => format!("{} tools accepted; they are offered from now on.", several.len()),
    }))
}

fn no_tool() -> ConsoleError {
    ConsoleError::Admin(AdminError::Invalid("the form names no tool".to_owned()))
}

/// The tools that a form is about, each as it was looked at: one, or lines of a hash and a name.
fn looked_at(fields: &Fields) -> Result<Vec<(String, Option<String>)>, ConsoleError> {
    let pair = |line: &str| line.split_once(' ').map(|(hash, tool)| (tool.to_owned(), Some(hash.to_owned())));
    let tools = match fields.find("tools") {
        Some(lines) => lines.lines().map(pair).collect::<Option<Vec<_>>>(),
        None => fields.take("tool").zip(fields.take("hash")).map(|(tool, hash)| vec![(tool, Some(hash))]),
    };
    tools.filter(|tools| !tools.is_empty()).ok_or_else(no_tool)
}

/// `POST /console/integrations/{integration}/leave-out`
pub(super) async fn leave_out(Path(name): Path<String>, act: Act) -> Response {
    act.visit.done(try_leave_out(&act, &name).await, &one(&name))
}

async fn try_leave_out(act: &Act, name: &str) -> Result<Flash, ConsoleError> {
    let visit = &act.visit;
    let tool = act.fields.take("tool").ok_or_else(no_tool)?;
    visit.engine().leave_out_tool(&visit.visitor.admin, visit.project()?, name, &tool).await?;
    Ok(Flash::new(format!("Tool {tool} is left out; the allow-list no longer names it.")))
}

/// `POST /console/integrations/{integration}/enable`
pub(super) async fn enable(Path(name): Path<String>, act: Act) -> Response {
    act.visit.done(try_enable(&act, &name).await, &one(&name))
}

async fn try_enable(act: &Act, name: &str) -> Result<Flash, ConsoleError> {
    let visit = &act.visit;
    let is_enabled = act.fields.find("enabled") == Some("yes");
    let request = IntegrationRequest { is_enabled: Some(is_enabled), ..IntegrationRequest::default() };
    let (engine, admin, project) = (visit.engine(), &visit.visitor.admin, visit.project()?);
    // Only what exists is changed; otherwise this would make one.
    engine.show_integration(admin, project, name).await?;
    engine.put_integration(admin, project, name, request).await?;
    Ok(Flash::new(if is_enabled { "Integration enabled." } else { "Integration disabled." }))
}

/// `POST /console/integrations/{integration}/remove`
pub(super) async fn remove(Path(name): Path<String>, act: Act) -> Response {
    let visit = &act.visit;
    let outcome = match visit.project() {
        Ok(project) => {
            visit.engine().delete_integration(&visit.visitor.admin, project, &name).await.map_err(ConsoleError::from)
        }
        Err(error) => Err(error),
    };
    visit.done(outcome.map(|()| Flash::new("Integration removed, with its credential.")), PATH)
}

/// `POST /console/integrations/names`
pub(super) async fn name_tools(act: Act) -> Response {
    act.visit.done(try_name_tools(&act).await, PATH)
}

async fn try_name_tools(act: &Act) -> Result<Flash, ConsoleError> {
    let visit = &act.visit;
    let unclear = || ConsoleError::Admin(AdminError::Invalid("choose how tools are named".to_owned()));
    let style = act.fields.find("names").and_then(ToolNames::parse).ok_or_else(unclear)?;
    visit.engine().set_tool_names(&visit.visitor.admin, visit.project()?, style).await?;
    Ok(Flash::new("Tools are named so from now on; both spellings are understood."))
}
