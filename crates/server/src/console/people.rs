//! People: the tree of departments, its members, and what becomes of those who leave.

use std::collections::HashMap;

use askama::Template;
use axum::extract::{Path, Request};
use axum::response::Response;
use mnemon_core::{Department, DepartmentId, Member, MemberId, Role, Timestamp};
use mnemon_engine::admin::{AdminError, MemberChange, NewDepartment, NewMember};
use mnemon_engine::console::ConsoleError;
use mnemon_engine::stored::KeyRow;

use super::flash::Flash;
use super::parts::{self as p, Html};
use super::query::{Head, Pager, Query};
use super::shell::{Place, Shell};
use super::visit::{Act, Visit};
use crate::http::Fields;

pub(super) const PATH: &str = "/console/people";
/// From when on an end is near.
const SOON_SECONDS: i64 = 7 * 86_400;
/// The most members that a field offers to choose from; in a larger account a name is typed.
pub(super) const CHOICES_MAX: usize = 100;

/// The members that this person may know by name, and their departments.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) members: Vec<Member>,
    pub(super) departments: Vec<Department>,
    /// The person itself, who may manage nobody.
    own: Option<(MemberId, String)>,
}

impl Names {
    pub(super) async fn load(visit: &Visit) -> Result<Self, ConsoleError> {
        let own = visit.me.as_ref().map(|me| (me.credential.member, me.credential.member_name.clone()));
        let (account, admin) = (visit.account()?, &visit.visitor.admin);
        let members = if visit.manages() { visit.engine().list_members(admin, account).await? } else { Vec::new() };
        let departments = if visit.is_admin() {
            visit.engine().list_departments(admin, account).await?
        } else {
            own_department(visit)
        };
        Ok(Self { members, departments, own })
    }

    pub(super) fn find(&self, id: MemberId) -> Option<&Member> {
        self.members.iter().find(|member| member.id == id)
    }

    pub(super) fn name(&self, id: MemberId) -> String {
        let own = self.own.as_ref().filter(|(own, _)| *own == id).map(|(_, name)| name.clone());
        own.or_else(|| self.find(id).map(|member| member.name.clone()))
            .unwrap_or_else(|| "somebody who left".to_owned())
    }

    /// The member that a form names, by id, or by name where there are too many for a list.
    pub(super) fn chosen(&self, sent: &str) -> Result<MemberId, ConsoleError> {
        if let Ok(id) = sent.parse() {
            return Ok(id);
        }
        let mut fitting = self.members.iter().filter(|one| one.name == sent.trim());
        match (fitting.next(), fitting.next()) {
            (Some(one), None) => Ok(one.id),
            (None, _) => Err(invalid("there is no member of that name; write it as the page People shows it")),
            (Some(_), Some(_)) => Err(invalid("several members have that name; give one of them another name first")),
        }
    }

    /// Role and department in words.
    pub(super) fn describe(&self, member: &Member) -> String {
        let department =
            member.department.and_then(|id| self.departments.iter().find(|department| department.id == id));
        let department = department.map(|department| format!(" · {}", department.name)).unwrap_or_default();
        format!("{}{department}", member.role.as_str())
    }
}

/// A head knows its own department.
fn own_department(visit: &Visit) -> Vec<Department> {
    let credential = visit.me.as_ref().map(|me| &me.credential);
    let own = credential.and_then(|own| Some((own.account, own.department?, own.department_name.clone()?)));
    own.map(|(account, id, name)| Department { id, account, parent: None, name }).into_iter().collect()
}

#[derive(Template)]
#[template(path = "console/people.html")]
pub(super) struct Page<'a> {
    shell: Shell<'a>,
    summary: String,
    tree: Option<Html>,
    title: String,
    heads: Vec<Head>,
    rows: Vec<Row>,
    is_admin: bool,
    may_write: bool,
    departments: Vec<(String, String)>,
    text: String,
    pager: Pager,
    /// The row whose form is open.
    changing: Option<Row>,
    /// The chosen department.
    chosen: Option<(String, String, Option<String>)>,
    /// Whom records can be handed over to; nobody where there are too many for a list.
    heirs: Vec<(String, String)>,
    /// Who is about to be removed.
    leaving: Option<Leaving>,
    /// What somebody can be invited to.
    projects: Vec<(String, String)>,
    once: String,
}

/// Somebody who is about to be removed, and what that means.
struct Leaving {
    id: String,
    name: String,
    /// Whether the account would be left without an admin.
    is_last_admin: bool,
    keys: String,
    sessions: String,
    records: u64,
    has: String,
}

struct Row {
    id: String,
    name: String,
    is_own: bool,
    /// What it has saved.
    records_link: String,
    since: String,
    role_chip: Html,
    role: &'static str,
    department: Option<String>,
    keys: usize,
    until: Option<Html>,
    until_day: String,
    change_link: String,
}

/// `GET /console/people`
pub(super) async fn list(visit: Visit, request: Request) -> Response {
    let fields = Fields::parse(request.uri().query().unwrap_or_default().as_bytes());
    visit.show(build(&visit, &fields).await)
}

pub(super) async fn build<'a>(visit: &'a Visit, fields: &Fields) -> Result<Page<'a>, ConsoleError> {
    if !visit.manages() {
        return Err(AdminError::Forbidden("people are managed by admins and heads").into());
    }
    let names = Names::load(visit).await?;
    let keys = visit.engine().list_keys(&visit.visitor.admin, visit.project()?).await?;
    let is_alive = |key: &KeyRow| key.revoked_at.is_none() && key.expires_at.is_none_or(|end| visit.now < end);
    let living = |id: MemberId| keys.iter().filter(|shown| shown.key.member == id && is_alive(&shown.key)).count();
    let query = Query::of(fields, &["q", "department", "sort", "page"]);
    let chosen = query.find("department");
    let text = query.find("q").unwrap_or_default().trim().to_lowercase();
    let is_shown = |member: &&Member| match chosen {
        _ if !member.name.to_lowercase().contains(&text) => false,
        None => true,
        Some("none") => member.department.is_none(),
        Some(id) => member.department.is_some_and(|own| own.to_string() == id),
    };
    let department = names.departments.iter().find(|department| Some(department.id.to_string().as_str()) == chosen);
    let title = match (chosen, department) {
        (Some("none"), _) => "In no department".to_owned(),
        (_, Some(department)) => department.name.clone(),
        _ => "Everybody".to_owned(),
    };
    let mut members: Vec<&Member> = names.members.iter().filter(is_shown).collect();
    match query.find("sort") {
        Some("role") => members.sort_by_key(|member| std::cmp::Reverse(rank(member.role))),
        Some("keys") => members.sort_by_cached_key(|member| std::cmp::Reverse(living(member.id))),
        Some("until") => members.sort_by_key(|member| member.access_until.unwrap_or(Timestamp::MAX)),
        _ => {}
    }
    let pager = Pager::cut(&query, PATH, &mut members);
    let to_row = |member: &Member| row(visit, &query, member, living(member.id));
    let changing = match fields.find("change").filter(|_| visit.may_write()) {
        Some(id) => Some(to_row(names.find(member(id)?).ok_or(AdminError::NotFound("member"))?)),
        None => None,
    };
    let is_short = names.members.len() <= CHOICES_MAX;
    let inside = if visit.is_admin() {
        format!(" in {}", p::counted(names.departments.len() as u64, "department"))
    } else {
        " of your department and below".to_owned()
    };
    Ok(Page {
        shell: Shell::new(visit, Place::People, "People"),
        summary: format!(
            "{}{inside}. Records of the scope “department” are seen by the department, those below it, and the heads above it.",
            p::counted(names.members.len() as u64, "member")
        ),
        tree: visit.is_admin().then(|| tree(&names, chosen)),
        title,
        heads: heads(&query),
        rows: members.iter().map(|member| to_row(member)).collect(),
        text: query.find("q").unwrap_or_default().to_owned(),
        pager,
        changing,
        is_admin: visit.is_admin(),
        may_write: visit.may_write(),
        departments: names.departments.iter().map(|found| (found.id.to_string(), found.name.clone())).collect(),
        chosen: department
            .map(|found| (found.id.to_string(), found.name.clone(), found.parent.map(|id| id.to_string()))),
        leaving: leaving(visit, &names, fields.find("remove")).await?,
        projects: if visit.may_write() { projects(visit).await? } else { Vec::new() },
        once: visit.once(),
        heirs: names
            .members
            .iter()
            .filter(|_| is_short)
            .map(|member| (member.id.to_string(), heir(&names, member)))
            .collect(),
    })
}

fn heads(query: &Query) -> Vec<Head> {
    let head = |word, class, sort| Head::new(query, PATH, word, class, Some(sort));
    vec![
        head("Member", "grow", ""),
        head("Role", "state", "role"),
        head("Keys", "num", "keys"),
        head("Access until", "", "until"),
    ]
}

const fn rank(role: Role) -> u8 {
    match role {
        Role::Admin => 2,
        Role::Head => 1,
        Role::Member => 0,
    }
}

/// The projects that somebody can be invited to, the own one first.
async fn projects(visit: &Visit) -> Result<Vec<(String, String)>, ConsoleError> {
    let own = visit.project()?;
    let all = match visit.is_admin() {
        true => visit.engine().list_projects(&visit.visitor.admin, visit.account()?).await?,
        false => visit.engine().list_own_projects(&visit.visitor).await?.into_iter().map(|(own, _)| own).collect(),
    };
    let mut all: Vec<_> = all.into_iter().map(|project| (project.id, project.name)).collect();
    all.sort_by_key(|(id, _)| *id != own);
    Ok(all.into_iter().map(|(id, name)| (id.to_string(), name)).collect())
}

/// What the leaving of a member would hand over. Only then it is counted: that looks at every record.
async fn leaving(visit: &Visit, names: &Names, id: Option<&str>) -> Result<Option<Leaving>, ConsoleError> {
    let Some(id) = id.filter(|_| visit.may_write()) else { return Ok(None) };
    let leaving = names.find(member(id)?).ok_or(AdminError::NotFound("member"))?;
    let has = visit.engine().show_holdings(&visit.visitor.admin, visit.account()?, leaving.id).await?;
    let admins = names.members.iter().filter(|member| member.role == Role::Admin).count();
    Ok(Some(Leaving {
        id: leaving.id.to_string(),
        name: leaving.name.clone(),
        is_last_admin: visit.is_admin() && leaving.role == Role::Admin && admins == 1,
        keys: p::counted(has.keys, "key"),
        sessions: match has.sessions {
            1 => "1 session history".to_owned(),
            count => format!("{} session histories", p::number(count)),
        },
        records: has.records,
        has: p::counted(has.records, "record"),
    }))
}

fn heir(names: &Names, member: &Member) -> String {
    format!("{} ({})", member.name, names.describe(member))
}

fn row(visit: &Visit, query: &Query, member: &Member, keys: usize) -> Row {
    let role = member.role.as_str();
    let role_chip = match member.role {
        Role::Admin => p::tone("is-verified", role, ""),
        Role::Head => p::tone("is-unverified", role, ""),
        Role::Member => p::tone("", role, ""),
    };
    Row {
        id: member.id.to_string(),
        name: member.name.clone(),
        is_own: visit.me.as_ref().is_some_and(|me| me.credential.member == member.id),
        records_link: Query::default().with("author", &member.name).link("/console/memory"),
        since: member.created_at.strftime("since %B %Y").to_string(),
        role_chip,
        role,
        department: member.department.map(|id| id.to_string()),
        keys,
        until: member.access_until.map(|end| match end.as_second() - visit.now.as_second() {
            ..=0 => p::tone("is-alert", "has ended", "warn"),
            left @ ..SOON_SECONDS => p::tone("is-stale", &format!("in {}", p::span_of(left.max(60))), "stale"),
            _ => p::moment(end, &p::day(end)),
        }),
        until_day: member.access_until.map(|end| end.strftime("%Y-%m-%d").to_string()).unwrap_or_default(),
        change_link: format!("{}#changing", query.with("change", &member.id.to_string()).link(PATH)),
    }
}

/// The departments as nested lists. A cycle, should storage ever hold one, is cut off by its depth.
fn tree(names: &Names, chosen: Option<&str>) -> Html {
    let mut below: HashMap<Option<DepartmentId>, Vec<&Department>> = HashMap::new();
    for department in &names.departments {
        below.entry(department.parent).or_default().push(department);
    }
    let count = |id: Option<DepartmentId>| names.members.iter().filter(|member| member.department == id).count();
    let link = |value: &str, name: &str, count: usize| {
        let query = if value.is_empty() { String::new() } else { format!("?department={value}") };
        let current = if chosen.unwrap_or_default() == value { r#" aria-current="true""# } else { "" };
        format!(r#"<a href="{PATH}{query}"{current}>{}<span>{count}</span></a>"#, p::said(name))
    };
    let everybody = link("", "Everybody", names.members.len());
    let nowhere = link("none", "In no department", count(None));
    let inside = branch(
        &below,
        None,
        &|department| link(&department.id.to_string(), &department.name, count(Some(department.id))),
        0,
    );
    Html(format!("<ul><li>{everybody}</li>{inside}<li>{nowhere}</li></ul>"))
}

const DEPTH_MAX: usize = 32;

fn branch(
    below: &HashMap<Option<DepartmentId>, Vec<&Department>>,
    parent: Option<DepartmentId>,
    link: &dyn Fn(&Department) -> String,
    depth: usize,
) -> String {
    let own = below.get(&parent).map_or(&[][..], Vec::as_slice);
    let item = |department: &&Department| {
        let inside =
            if depth < DEPTH_MAX { branch(below, Some(department.id), link, depth + 1) } else { String::new() };
        let inside = if inside.is_empty() { inside } else { format!("<ul>{inside}</ul>") };
        format!("<li>{}{inside}</li>", link(department))
    };
    own.iter().map(item).collect()
}

fn invalid(text: &str) -> ConsoleError {
    AdminError::Invalid(text.to_owned()).into()
}

/// A department that a form names; "none" is none.
pub(super) fn department(fields: &Fields, name: &str) -> Result<Option<DepartmentId>, ConsoleError> {
    match fields.find(name) {
        None | Some("none") => Ok(None),
        Some(id) => id.parse().map(Some).map_err(|_| AdminError::NotFound("department").into()),
    }
}

/// A day that a form names: access ends with its end.
pub(super) fn end_of(fields: &Fields) -> Result<Option<Timestamp>, ConsoleError> {
    let Some(day) = fields.find("until") else { return Ok(None) };
    let moment: Result<Timestamp, _> = format!("{day}T23:59:59Z").parse();
    moment.map(Some).map_err(|_| invalid("the end of access must be a day, for example 2027-01-31"))
}

pub(super) fn role(fields: &Fields) -> Result<Role, ConsoleError> {
    fields.find("role").and_then(Role::parse).ok_or_else(|| invalid("choose a role"))
}

/// `POST /console/people`
pub(super) async fn add(act: Act) -> Response {
    match try_add(&act).await {
        Ok(told) => act.visit.done(Ok(told), PATH),
        Err(error) => match act.again("mem-new", &error) {
            Ok(visit) => visit.show_again(build(&visit, &Fields::default()).await),
            Err(trouble) => *trouble,
        },
    }
}

async fn try_add(act: &Act) -> Result<Flash, ConsoleError> {
    let (visit, fields) = (&act.visit, &act.fields);
    let new = NewMember {
        name: fields.take("name").unwrap_or_default(),
        role: role(fields)?,
        department: department(fields, "department")?,
        access_until: end_of(fields)?,
    };
    let member = visit.engine().create_member(&visit.visitor.admin, visit.account()?, new).await?;
    Ok(Flash::new(format!("{} is a member now. Make a key for it under Keys.", member.name)))
}

fn member(id: &str) -> Result<MemberId, ConsoleError> {
    id.parse().map_err(|_| AdminError::NotFound("member").into())
}

/// `POST /console/people/{member}`
pub(super) async fn change(Path(id): Path<String>, act: Act) -> Response {
    match try_change(&act, &id).await {
        Ok(told) => act.visit.done(Ok(told), PATH),
        Err(error) => match act.again("mem-change", &error) {
            Ok(visit) => {
                let fields = Fields::parse(format!("change={id}").as_bytes());
                visit.show_again(build(&visit, &fields).await)
            }
            Err(trouble) => *trouble,
        },
    }
}

async fn try_change(act: &Act, id: &str) -> Result<Flash, ConsoleError> {
    let (visit, fields) = (&act.visit, &act.fields);
    let change = MemberChange {
        name: fields.take("name"),
        role: Some(role(fields)?),
        department: Some(department(fields, "department")?),
        access_until: Some(end_of(fields)?),
    };
    let changed = visit.engine().change_member(&visit.visitor.admin, visit.account()?, member(id)?, change).await?;
    Ok(Flash::new(format!("{} changed.", changed.name)))
}

/// `POST /console/people/{member}/remove`
pub(super) async fn remove(Path(id): Path<String>, act: Act) -> Response {
    act.visit.done(try_remove(&act, &id).await, PATH)
}

async fn try_remove(act: &Act, id: &str) -> Result<Flash, ConsoleError> {
    let (visit, fields) = (&act.visit, &act.fields);
    let heir = match fields.find("heir") {
        Some(heir) => Some(Names::load(visit).await?.chosen(heir)?),
        None => None,
    };
    let removed = visit.engine().delete_member(&visit.visitor.admin, visit.account()?, member(id)?, heir).await?;
    let (keys, records) = (p::counted(removed.keys, "key"), p::counted(removed.records, "record"));
    Ok(Flash::new(format!("Member removed: {keys} revoked, {records} handed over.")))
}

/// `POST /console/departments`
pub(super) async fn add_department(act: Act) -> Response {
    match try_add_department(&act).await {
        Ok(told) => act.visit.done(Ok(told), PATH),
        Err(error) => match act.again("dep-new", &error) {
            Ok(visit) => visit.show_again(build(&visit, &Fields::default()).await),
            Err(trouble) => *trouble,
        },
    }
}

async fn try_add_department(act: &Act) -> Result<Flash, ConsoleError> {
    let (visit, fields) = (&act.visit, &act.fields);
    let new = NewDepartment { name: fields.take("name").unwrap_or_default(), parent: department(fields, "parent")? };
    let made = visit.engine().create_department(&visit.visitor.admin, visit.account()?, new).await?;
    Ok(Flash::new(format!("Department {} made.", made.name)))
}

fn department_id(id: &str) -> Result<DepartmentId, ConsoleError> {
    id.parse().map_err(|_| AdminError::NotFound("department").into())
}

/// `POST /console/departments/{department}`
pub(super) async fn change_department(Path(id): Path<String>, act: Act) -> Response {
    let onward = format!("{PATH}?department={id}");
    act.visit.done(try_change_department(&act, &id).await, &onward)
}

async fn try_change_department(act: &Act, id: &str) -> Result<Flash, ConsoleError> {
    let (visit, fields) = (&act.visit, &act.fields);
    let (name, parent) = (fields.take("name"), Some(department(fields, "parent")?));
    let (admin, account) = (&visit.visitor.admin, visit.account()?);
    let changed = visit.engine().change_department(admin, account, department_id(id)?, name, parent).await?;
    Ok(Flash::new(format!("Department {} changed.", changed.name)))
}

/// `POST /console/departments/{department}/remove`
pub(super) async fn remove_department(Path(id): Path<String>, act: Act) -> Response {
    let visit = &act.visit;
    let outcome = match (department_id(&id), visit.account()) {
        (Ok(id), Ok(account)) => {
            let removed = visit.engine().delete_department(&visit.visitor.admin, account, id).await;
            removed.map_err(ConsoleError::from)
        }
        (Err(error), _) | (_, Err(error)) => Err(error),
    };
    visit.done(outcome.map(|_| Flash::new("Department removed.")), PATH)
}
