//! `mnemon apply`: departments, members and keys as a file describes them. Shows the difference first, and removes
//! nothing.

use std::collections::HashMap;
use std::process::ExitCode;

use anyhow::{Context, bail};
use mnemon_protocol::admin::{
    ChangeDepartment, ChangeMember, CreateDepartment, CreateKey, CreateMember, CreateProject, DepartmentJson, KeyJson,
    MadeKeyJson, MemberJson,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::admin_client::AdminClient;
use crate::arguments::Apply;
use crate::naming::{self, DEPARTMENT, Named, PROJECT, pick};
use crate::printer::Printer;

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Team {
    /// The project that keys open; it is created if there is none of that name.
    project: Option<String>,
    #[serde(default, rename = "department")]
    departments: Vec<DepartmentSpec>,
    #[serde(default, rename = "member")]
    members: Vec<MemberSpec>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DepartmentSpec {
    name: String,
    parent: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MemberSpec {
    name: String,
    #[serde(default = "plain_member")]
    role: String,
    department: Option<String>,
    access_until: Option<String>,
    /// The label of a key that the member should have.
    key: Option<String>,
}

fn plain_member() -> String {
    "member".to_owned()
}

/// What is there.
struct House {
    account: String,
    departments: Vec<DepartmentJson>,
    members: Vec<MemberJson>,
    projects: Vec<Named>,
    /// The keys of the project, if it is there.
    keys: Vec<KeyJson>,
    project: Option<String>,
}

/// One change, by names: what it refers to may not be there yet.
enum Step<'a> {
    Project(&'a str),
    Department(&'a DepartmentSpec),
    Parent { id: &'a str, spec: &'a DepartmentSpec },
    Member(&'a MemberSpec),
    Change { id: &'a str, spec: &'a MemberSpec, what: String },
    Key { member: &'a str, label: &'a str },
}

pub fn run(apply: &Apply, printer: &Printer) -> anyhow::Result<ExitCode> {
    let shown = apply.file.display();
    let text = std::fs::read_to_string(&apply.file).with_context(|| format!("can't read {shown}"))?;
    let team: Team = toml::from_str(&text).with_context(|| format!("{shown} is not a description of a team"))?;
    let client = AdminClient::new(&apply.connection)?;
    let house = House::read(&client, apply, &team)?;
    let steps = plan(&team, &house).with_context(|| format!("{shown} can't be applied"))?;
    let lines: Vec<String> = steps.iter().map(Step::to_text).collect();
    if !printer.is_json() {
        let others = house.members.iter().filter(|member| !team.members.iter().any(|spec| spec.name == member.name));
        let others: Vec<&str> = others.map(|member| member.name.as_str()).collect();
        lines.iter().for_each(|line| printer.text(line));
        if !others.is_empty() {
            printer.text(&format!("Left alone, because the file does not name them: {}", others.join(", ")));
        }
    }
    if steps.is_empty() || apply.dry_run {
        finish(printer, &lines, false, &[]);
        return Ok(ExitCode::SUCCESS);
    }
    let count = if steps.len() == 1 { "this change".to_owned() } else { format!("these {} changes", steps.len()) };
    apply.confirmation.ask(&format!("make {count}"), "Nothing is removed.")?;
    let keys = make(&client, &house, &steps)?;
    finish(printer, &lines, true, &keys);
    Ok(ExitCode::SUCCESS)
}

fn finish(printer: &Printer, lines: &[String], is_applied: bool, keys: &[Value]) {
    if printer.is_json() {
        return printer.value(&json!({"changes": lines, "applied": is_applied, "keys": keys}));
    }
    match (lines.is_empty(), is_applied) {
        (true, _) => printer.text("Nothing to change."),
        (false, false) => printer.text("Dry run; nothing was changed."),
        (false, true) => printer.text("Done."),
    }
    if !keys.is_empty() {
        printer.text("");
        printer.whole_table(&["member", "label", "key"], keys);
        printer.text("These keys will not be shown again.");
    }
}

impl House {
    fn read(client: &AdminClient, apply: &Apply, team: &Team) -> anyhow::Result<Self> {
        let account = client.account(apply.account.as_ref())?;
        let list =
            |what: &str| Ok::<Value, anyhow::Error>(client.get(&format!("/accounts/{account}/{what}"))?[what].take());
        let departments = serde_json::from_value(list("departments")?)?;
        let members = serde_json::from_value(list("members")?)?;
        let projects = naming::read(&list("projects")?);
        let project = match &team.project {
            Some(name) if projects.iter().any(|project| project.name == *name) => Some(pick(PROJECT, &projects, name)?),
            Some(_) => None,
            None if team.members.iter().all(|spec| spec.key.is_none()) => None,
            None => Some(client.project(None).context("say which project the keys open: project = \"Name\"")?),
        };
        let keys = match &project {
            Some(project) => serde_json::from_value(client.get(&format!("/projects/{project}/keys"))?["keys"].take())?,
            None => Vec::new(),
        };
        Ok(Self { account, departments, members, projects, keys, project })
    }

    fn department_name(&self, id: Option<&String>) -> Option<&str> {
        self.departments.iter().find(|department| Some(&department.id) == id).map(|department| department.name.as_str())
    }
}

/// What is missing, in an order in which it can be made. Everything that the file refers to must be there or in the
/// file.
fn plan<'a>(team: &'a Team, house: &'a House) -> anyhow::Result<Vec<Step<'a>>> {
    check_names("department", team.departments.iter().map(|spec| &spec.name))?;
    check_names("member", team.members.iter().map(|spec| &spec.name))?;
    let mut steps = Vec::new();
    if let Some(name) = team.project.as_ref().filter(|name| !house.projects.iter().any(|known| known.name == **name)) {
        steps.push(Step::Project(name));
    }
    let known: Vec<Named> = house.departments.iter().map(named_department).collect();
    let described = |name: &str| team.departments.iter().any(|spec| spec.name == name);
    let check = |name: &Option<String>| match name {
        Some(name) if !described(name) => pick(DEPARTMENT, &known, name).map(|_| ()),
        _ => Ok(()),
    };
    for spec in &team.departments {
        check(&spec.parent)?;
        match house.departments.iter().find(|department| department.name == spec.name) {
            None => steps.push(Step::Department(spec)),
            Some(there) if house.department_name(there.parent_id.as_ref()) != spec.parent.as_deref() => {
                steps.push(Step::Parent { id: &there.id, spec });
            }
            Some(_) => {}
        }
    }
    sort_parents_first(&mut steps);
    for spec in &team.members {
        check(&spec.department)?;
        let called: Vec<&MemberJson> = house.members.iter().filter(|member| member.name == spec.name).collect();
        match called.as_slice() {
            [] => steps.push(Step::Member(spec)),
            [there] => {
                let what = difference(spec, there, house);
                if !what.is_empty() {
                    steps.push(Step::Change { id: &there.id, spec, what: what.join(", ") });
                }
            }
            _ => bail!("several members are called `{}`; a file can't tell them apart", spec.name),
        }
    }
    for spec in &team.members {
        let Some(label) = &spec.key else { continue };
        let member = house.members.iter().find(|member| member.name == spec.name);
        let has = |key: &KeyJson| {
            member.is_some_and(|member| key.member_id == member.id)
                && key.label.as_ref() == Some(label)
                && key.revoked_at.is_none()
        };
        if !house.keys.iter().any(has) {
            steps.push(Step::Key { member: &spec.name, label });
        }
    }
    Ok(steps)
}

fn named_department(department: &DepartmentJson) -> Named {
    Named { id: department.id.clone(), name: department.name.clone() }
}

fn check_names<'a>(kind: &str, names: impl Iterator<Item = &'a String>) -> anyhow::Result<()> {
    let mut seen = std::collections::HashSet::new();
    for name in names {
        if !seen.insert(name) {
            bail!("the {kind} `{name}` is described twice");
        }
    }
    Ok(())
}

/// A department comes after its parent. A circle is left unordered, and the service refuses it.
fn sort_parents_first(steps: &mut [Step<'_>]) {
    for _ in 0..steps.len() {
        for at in 0..steps.len() {
            let (Step::Department(spec) | Step::Parent { spec, .. }) = &steps[at] else { continue };
            let is_parent =
                |step: &Step<'_>| matches!(step, Step::Department(other) if Some(&other.name) == spec.parent.as_ref());
            if let Some(later) = steps[at + 1..].iter().position(is_parent) {
                steps.swap(at, at + 1 + later);
            }
        }
    }
}

/// What differs, in words.
fn difference(spec: &MemberSpec, there: &MemberJson, house: &House) -> Vec<String> {
    let word = |text: Option<&str>| text.unwrap_or("none").to_owned();
    let department = house.department_name(there.department_id.as_ref());
    let pairs = [
        ("role", Some(spec.role.as_str()), Some(there.role.as_str())),
        ("department", spec.department.as_deref(), department),
        ("access until", spec.access_until.as_deref(), there.access_until.as_deref()),
    ];
    let differs = pairs.into_iter().filter(|(_, wanted, now)| wanted != now);
    differs.map(|(name, wanted, now)| format!("{name} {} → {}", word(now), word(wanted))).collect()
}

impl Step<'_> {
    fn to_text(&self) -> String {
        let below = |parent: &Option<String>| parent.as_ref().map(|name| format!(" below {name}")).unwrap_or_default();
        match self {
            Self::Project(name) => format!("+ project {name}"),
            Self::Department(spec) => format!("+ department {}{}", spec.name, below(&spec.parent)),
            Self::Parent { spec, .. } => {
                let place = spec.parent.as_ref().map_or("the top".to_owned(), |name| format!("below {name}"));
                format!("~ department {}: move to {place}", spec.name)
            }
            Self::Member(spec) => {
                let department = spec.department.as_ref().map(|name| format!(", {name}")).unwrap_or_default();
                format!("+ member {} ({}{department})", spec.name, spec.role)
            }
            Self::Change { spec, what, .. } => format!("~ member {}: {what}", spec.name),
            Self::Key { member, label } => format!("+ key '{label}' for {member}"),
        }
    }
}

/// Makes the changes, and returns the new keys.
fn make(client: &AdminClient, house: &House, steps: &[Step<'_>]) -> anyhow::Result<Vec<Value>> {
    let account = &house.account;
    let pairs = |named: Vec<(&String, &String)>| -> HashMap<String, String> {
        named.into_iter().map(|(name, id)| (name.clone(), id.clone())).collect()
    };
    let mut departments = pairs(house.departments.iter().map(|one| (&one.name, &one.id)).collect());
    let mut members = pairs(house.members.iter().map(|one| (&one.name, &one.id)).collect());
    let (mut project, mut keys) = (house.project.clone(), Vec::new());
    let id = |answer: &Value| answer["id"].as_str().unwrap_or_default().to_owned();
    for step in steps {
        let made = (|| match step {
            Step::Project(name) => {
                let body = CreateProject { name: (*name).to_owned() };
                project = Some(id(&client.post(&format!("/accounts/{account}/projects"), body)?));
                Ok(())
            }
            Step::Department(spec) => {
                let parent_id = spec.parent.as_ref().and_then(|name| departments.get(name).cloned());
                let body = CreateDepartment { name: spec.name.clone(), parent_id };
                let made = client.post(&format!("/accounts/{account}/departments"), body)?;
                departments.insert(spec.name.clone(), id(&made));
                Ok(())
            }
            Step::Parent { id, spec } => {
                let parent_id = spec.parent.as_ref().and_then(|name| departments.get(name).cloned());
                let body = ChangeDepartment { name: None, parent_id: Some(parent_id) };
                client.patch(&format!("/accounts/{account}/departments/{id}"), body).map(|_| ())
            }
            Step::Member(spec) => {
                let body = CreateMember {
                    name: spec.name.clone(),
                    role: spec.role.clone(),
                    department_id: spec.department.as_ref().and_then(|name| departments.get(name).cloned()),
                    access_until: spec.access_until.clone(),
                };
                let made = client.post(&format!("/accounts/{account}/members"), body)?;
                members.insert(spec.name.clone(), id(&made));
                Ok(())
            }
            Step::Change { id, spec, .. } => {
                let body = ChangeMember {
                    name: None,
                    role: Some(spec.role.clone()),
                    department_id: Some(spec.department.as_ref().and_then(|name| departments.get(name).cloned())),
                    access_until: Some(spec.access_until.clone()),
                };
                client.patch(&format!("/accounts/{account}/members/{id}"), body).map(|_| ())
            }
            Step::Key { member, label } => {
                let project = project.as_ref().context("there is no project to open")?;
                let member_id = members.get(*member).cloned().unwrap_or_default();
                let label = Some((*label).to_owned());
                let body = CreateKey {
                    member_id,
                    access: "write".to_owned(),
                    label: label.clone(),
                    expires_at: None,
                    workspace: None,
                };
                let made = client.post(&format!("/projects/{project}/keys"), body)?;
                let made = MadeKeyJson::deserialize(&made)?;
                keys.push(json!({"member": member, "label": label, "key_id": made.key_id, "key": made.key}));
                anyhow::Ok(())
            }
        })();
        made.with_context(|| {
            format!("stopped at `{}`; what came before it is done, and the command can be run again", step.to_text())
        })?;
    }
    Ok(keys)
}
