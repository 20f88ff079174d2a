//! Keys: listed, made and shown once or handed over by a link, changed, revoked.

use std::collections::HashMap;

use askama::Template;
use axum::extract::Request;
use axum::response::Response;
use http::StatusCode;
use jiff::SignedDuration;
use mnemon_core::{Access, KeyId, Member, MemberId, Role, Timestamp, WorkspaceName};
use mnemon_engine::admin::{AdminError, KeyEdit, LINK_LIFE, MadeKey, NewKeyRequest, ShownKey};
use mnemon_engine::console::ConsoleError;
use mnemon_engine::stored::KeyRow;

use super::flash::Flash;
use super::hand_over::HandOver;
use super::parts::{self as p, Ask, Html};
use super::people::{CHOICES_MAX, Names, end_of};
use super::query::{Head, Pager, Query};
use super::shell::{Place, Shell};
use super::visit::{Act, Visit};
use crate::http::Fields;

const PATH: &str = "/console/keys";
/// From when on an end is near.
const SOON_SECONDS: i64 = 7 * 86_400;
/// How many keys that end soon are named above the list.
const SOON_MAX: usize = 3;

#[derive(Template)]
#[template(path = "console/keys.html")]
struct Page<'a> {
    shell: Shell<'a>,
    summary: String,
    heads: Vec<Head>,
    rows: Vec<Row>,
    soon: Vec<(String, String)>,
    windows: Vec<Html>,
    text: String,
    pager: Pager,
    /// How many more end soon than are named.
    more_soon: u64,
    may_make: bool,
    /// Who a key may be made for; nobody where there are too many for a list.
    members: Vec<(String, String, bool)>,
    /// What keeps a form from being sent twice.
    once: String,
    made: Option<Made>,
    /// The key whose form is open.
    changing: Option<Changing>,
}

struct Row {
    label: String,
    hint: Option<String>,
    made: Html,
    access: Html,
    who: String,
    what: String,
    used: Option<Html>,
    calls: String,
    ends: Html,
    is_off: bool,
    window: Option<String>,
    change_link: String,
}

/// A key that was made a moment ago. Its secret is on this one page and nowhere else.
struct Made {
    label: String,
    who: String,
    may: &'static str,
    ends: String,
    secret: String,
    command: String,
}

/// `GET /console/keys`
pub(super) async fn list(visit: Visit, request: Request) -> Response {
    let fields = Fields::parse(request.uri().query().unwrap_or_default().as_bytes());
    visit.show(build(&visit, &Query::of(&fields, &["q", "sort", "page", "change"]), None).await)
}

async fn build<'a>(visit: &'a Visit, query: &Query, made: Option<Made>) -> Result<Page<'a>, ConsoleError> {
    let (project, admin) = (visit.project()?, &visit.visitor.admin);
    let engine = visit.engine();
    let keys = engine.list_keys(admin, project).await?;
    let connections: HashMap<KeyId, u64> = keys.iter().map(|shown| (shown.key.id, shown.connections)).collect();
    let mut keys: Vec<KeyRow> = keys.into_iter().map(|ShownKey { key, .. }| key).collect();
    let names = Names::load(visit).await?;
    let usage = engine.show_usage(admin, project, 30).await?;
    let calls = |id: KeyId| usage.keys.iter().find(|(key, _)| *key == id).map_or(0, |(_, usage)| usage.calls);
    keys.sort_by_key(|key| (!is_alive(key, visit.now), std::cmp::Reverse(key.created_at)));
    let shell = Shell::new(visit, Place::Keys, if made.is_some() { "Key made" } else { "Keys" });
    let may_revoke = visit.manages() && visit.may_write();
    let alive = keys.iter().filter(|key| is_alive(key, visit.now));
    let mut ending: Vec<_> = alive.clone().filter_map(|key| soon(key, visit.now)).collect();
    let count = alive.count();
    let more_soon = ending.len().saturating_sub(SOON_MAX) as u64;
    ending.truncate(SOON_MAX);
    let is_changing = |key: &&KeyRow| Some(key.id.to_string().as_str()) == query.find("change");
    let changing = keys.iter().find(is_changing).filter(|key| may_revoke && key.revoked_at.is_none()).map(Changing::of);
    let text = query.find("q").unwrap_or_default().trim().to_lowercase();
    let has_text = |text_of: &str| text_of.to_lowercase().contains(&text);
    keys.retain(|key| {
        has_text(&label(key)) || has_text(&names.name(key.member)) || key.hint.as_deref().is_some_and(has_text)
    });
    // Those that have ended stay behind the others.
    let is_off = |key: &KeyRow| !is_alive(key, visit.now);
    match query.find("sort") {
        Some("label") => keys.sort_by_cached_key(|key| (is_off(key), label(key).to_lowercase())),
        Some("who") => keys.sort_by_cached_key(|key| (is_off(key), names.name(key.member).to_lowercase())),
        Some("used") => keys.sort_by_key(|key| (is_off(key), std::cmp::Reverse(key.last_used_at))),
        Some("calls") => keys.sort_by_cached_key(|key| (is_off(key), std::cmp::Reverse(calls(key.id)))),
        Some("ends") => keys.sort_by_key(|key| (is_off(key), key.expires_at.unwrap_or(Timestamp::MAX))),
        _ => {}
    }
    let pager = Pager::cut(&query.without(&["change"]), PATH, &mut keys);
    let living = keys.iter().filter(|key| may_revoke && is_alive(key, visit.now));
    let windows = living.map(|key| window(visit, key, connections[&key.id], &shell.seal)).collect();
    let makers = if may_revoke { makers_choice(visit, &names) } else { Vec::new() };
    let whose = if visit.manages() { "open this project" } else { "are yours in this project" };
    Ok(Page {
        summary: format!(
            "{} {whose}. Each acts for one member and sees what that member sees.",
            p::counted(count as u64, "living key")
        ),
        heads: heads(query),
        rows: keys.iter().map(|key| row(visit, key, &names, calls(key.id), may_revoke)).collect(),
        soon: ending,
        more_soon,
        windows,
        text: query.find("q").unwrap_or_default().to_owned(),
        pager,
        may_make: !makers.is_empty(),
        members: if makers.len() <= CHOICES_MAX { makers } else { Vec::new() },
        once: visit.once(),
        made,
        changing,
        shell,
    })
}

/// The usual order is the newest first.
fn heads(query: &Query) -> Vec<Head> {
    let head = |word, class, sort| Head::new(query, PATH, word, class, sort);
    vec![
        head("Key", "grow", Some("label")),
        head("Access", "state", None),
        head("Acts for", "", Some("who")),
        head("Last used", "", Some("used")),
        head("Calls, 30 days", "num", Some("calls")),
        head("Ends", "", Some("ends")),
    ]
}

fn is_alive(key: &KeyRow, now: Timestamp) -> bool {
    key.revoked_at.is_none() && key.expires_at.is_none_or(|end| now < end)
}

fn label(key: &KeyRow) -> String {
    key.label.clone().unwrap_or_else(|| "without a label".to_owned())
}

fn soon(key: &KeyRow, now: Timestamp) -> Option<(String, String)> {
    let left = key.expires_at?.as_second() - now.as_second();
    (left < SOON_SECONDS).then(|| (label(key), p::span_of(left.max(60))))
}

fn row(visit: &Visit, key: &KeyRow, names: &Names, calls: u64, may_revoke: bool) -> Row {
    let now = visit.now;
    let member = names.find(key.member);
    let ends = match (key.revoked_at, key.expires_at) {
        (Some(at), _) => Html(format!("revoked {}", p::ago(at, now))),
        (None, Some(end)) if end <= now => Html(format!("ended {}", p::ago(end, now))),
        (None, Some(end)) => match soon(key, now) {
            Some((_, left)) => p::tone("is-stale", &format!("in {left}"), "stale"),
            None => p::ago(end, now),
        },
        (None, None) => Html(r#"<span class="soft">no end</span>"#.to_owned()),
    };
    let is_off = !is_alive(key, now);
    Row {
        label: label(key),
        hint: key.hint.as_ref().map(|hint| format!("mnm_…{hint}")),
        made: p::ago(key.created_at, now),
        access: p::tone("", key.access.as_str(), ""),
        who: names.name(key.member),
        what: member.map(|member| names.describe(member)).unwrap_or_default(),
        used: match key.link.filter(|link| link.opened_at.is_none() && !is_off) {
            Some(link) if now < link.ends_at => {
                Some(p::tone("is-unverified", &format!("link ends {}", p::distance(link.ends_at, now)), "unverified"))
            }
            Some(_) => Some(p::tone("is-stale", "its link has ended", "stale")),
            None => key.last_used_at.map(|at| p::ago(at, now)),
        },
        calls: p::number(calls),
        ends,
        is_off,
        change_link: format!("?change={}", key.id),
        window: (may_revoke && !is_off).then(|| format!("rk-{}", key.id)),
    }
}

fn window(visit: &Visit, key: &KeyRow, connections: u64, seal: &str) -> Html {
    let is_own = visit.me.as_ref().is_some_and(|me| me.credential.key == key.id);
    let more = if is_own { " You are signed in with this key: this session ends too." } else { "" };
    let with_it = match connections {
        0 => String::new(),
        1 => " 1 connection was made with it and ends with it.".to_owned(),
        count => format!(" {count} connections were made with it and end with it."),
    };
    let text = format!("<p>It is refused from the next request on.{with_it}{more} <b>This can’t be undone.</b></p>");
    p::ask(&Ask {
        id: &format!("rk-{}", key.id),
        title: format!("Revoke “{}”?", label(key)),
        text: Html(text),
        yes: "Revoke",
        action: &format!("{PATH}/{}/revoke", key.id),
        fields: &[],
        inside: Html::default(),
        seal,
    })
}

/// Members that a key may be made for: a head makes none for admins.
fn makers_choice(visit: &Visit, names: &Names) -> Vec<(String, String, bool)> {
    let own = visit.me.as_ref().map(|me| me.credential.member);
    let may = |member: &&Member| visit.is_admin() || member.role != Role::Admin;
    let choice = |member: &Member| (member.id.to_string(), member.name.clone(), Some(member.id) == own);
    names.members.iter().filter(may).map(choice).collect()
}

/// `POST /console/keys`: the answer shows the secret, or the link that will, and nothing else ever does.
pub(super) async fn create(act: Act) -> Response {
    let is_handed_over = act.fields.find("hand") == Some("link");
    let outcome = match request(&act).await {
        Ok(request) if is_handed_over => hand_over(&act.visit, request).await,
        Ok(request) => create_here(&act.visit, request).await,
        Err(error) => Err(error),
    };
    match outcome {
        Ok(answer) => answer,
        Err(error) => match act.again("make-key", &error) {
            Ok(visit) => visit.show_again(build(&visit, &Query::default(), None).await),
            Err(trouble) => *trouble,
        },
    }
}

async fn hand_over(visit: &Visit, request: NewKeyRequest) -> Result<Response, ConsoleError> {
    let who = Names::load(visit).await?.name(request.member);
    let made = visit.engine().create_link(&visit.visitor.admin, visit.project()?, request, LINK_LIFE).await?;
    let over = HandOver {
        made: format!("A key of {who} waits to be opened."),
        who: &who,
        link: &made,
        at: Place::Keys,
        onward: PATH,
    };
    Ok(visit.hand_over(&over))
}

async fn create_here(visit: &Visit, request: NewKeyRequest) -> Result<Response, ConsoleError> {
    let made = visit.engine().create_key(&visit.visitor.admin, visit.project()?, request.clone()).await?;
    let member = request.member;
    let shown = show_made(visit, &made, member, &request).await;
    Ok(visit.html(StatusCode::OK, &build(visit, &Query::default(), Some(shown)).await?))
}

fn invalid(text: &str) -> ConsoleError {
    AdminError::Invalid(text.to_owned()).into()
}

/// The id of the key that a form makes.
pub(super) fn once(act: &Act) -> Result<KeyId, ConsoleError> {
    let id = act.visit.open_once(act.fields.find("once"));
    id.ok_or_else(|| invalid("this form is not one of ours; open the page again"))
}

/// When the key ends that a form makes.
pub(super) fn end(act: &Act) -> Result<Option<Timestamp>, ConsoleError> {
    let days = match act.fields.find("ends") {
        Some("90") => 90,
        Some("365") => 365,
        Some("never") => return Ok(None),
        _ => return Err(invalid("choose when the key ends")),
    };
    Ok(Some(act.visit.now + SignedDuration::from_hours(24 * days)))
}

async fn request(act: &Act) -> Result<NewKeyRequest, ConsoleError> {
    let (visit, fields) = (&act.visit, &act.fields);
    let id = once(act)?;
    let member = Names::load(visit).await?.chosen(fields.find("member").unwrap_or_default())?;
    let access = fields.find("access").and_then(Access::parse).ok_or_else(|| invalid("choose what the key may do"))?;
    Ok(NewKeyRequest {
        id: Some(id),
        member,
        access,
        label: fields.take("label"),
        expires_at: end(act)?,
        workspace: workspace(fields)?,
    })
}

fn workspace(fields: &Fields) -> Result<Option<WorkspaceName>, ConsoleError> {
    let name = fields.find("workspace").map(WorkspaceName::parse).transpose();
    name.map_err(|error| invalid(&error.to_string()))
}

/// `POST /console/keys/{key}`
pub(super) async fn change(axum::extract::Path(id): axum::extract::Path<String>, act: Act) -> Response {
    match try_change(&act, &id).await {
        Ok(told) => act.visit.done(Ok(told), PATH),
        Err(error) => match act.again("key-change", &error) {
            Ok(visit) => {
                let query = Query::default().with("change", &id);
                visit.show_again(build(&visit, &query, None).await)
            }
            Err(trouble) => *trouble,
        },
    }
}

async fn try_change(act: &Act, id: &str) -> Result<Flash, ConsoleError> {
    let (visit, fields) = (&act.visit, &act.fields);
    let id = id.parse().map_err(|_| AdminError::NotFound("key"))?;
    let edit = KeyEdit {
        label: Some(fields.take("label")),
        access: fields.find("access").and_then(Access::parse),
        // A day that was not touched leaves the moment as it is.
        expires_at: (fields.find("until") != fields.find("until-before")).then(|| end_of(fields)).transpose()?,
        workspace: Some(workspace(fields)?),
    };
    let changed = visit.engine().change_key(&visit.visitor.admin, id, edit).await?;
    Ok(Flash::new(format!("The key “{}” is changed. It holds from the next request on.", label(&changed.key))))
}

/// A key whose form is open.
struct Changing {
    id: String,
    title: String,
    label: String,
    access: &'static str,
    until: String,
    workspace: String,
}

impl Changing {
    fn of(key: &KeyRow) -> Self {
        Self {
            id: key.id.to_string(),
            title: label(key),
            label: key.label.clone().unwrap_or_default(),
            access: key.access.as_str(),
            until: key.expires_at.map(|end| end.strftime("%Y-%m-%d").to_string()).unwrap_or_default(),
            workspace: key.workspace.as_ref().map(ToString::to_string).unwrap_or_default(),
        }
    }
}

async fn show_made(visit: &Visit, made: &MadeKey, member: MemberId, request: &NewKeyRequest) -> Made {
    let names = Names::load(visit).await.unwrap_or_default();
    let secret = made.key.expose().clone();
    let url = visit.shared().issuer.resource();
    Made {
        label: request.label.clone().unwrap_or_else(|| "The key".to_owned()),
        who: names.name(member),
        may: if request.access == Access::Write { "save, search and forget" } else { "search only" },
        ends: request.expires_at.map_or_else(|| "has no end".to_owned(), |end| format!("ends on {}", p::day(end))),
        command: format!(
            "claude mcp add --transport http -s user mnemon {url} \\\n  --header \"Authorization: Bearer {secret}\""
        ),
        secret,
    }
}

/// `POST /console/keys/{key}/revoke`
pub(super) async fn revoke(axum::extract::Path(id): axum::extract::Path<String>, act: Act) -> Response {
    let visit = &act.visit;
    let outcome = match id.parse() {
        Ok(id) => visit.engine().revoke_key(&visit.visitor.admin, id).await.map_err(ConsoleError::from),
        Err(_) => Err(AdminError::NotFound("key").into()),
    };
    visit.done(outcome.map(|()| Flash::new("Key revoked.")), PATH)
}
