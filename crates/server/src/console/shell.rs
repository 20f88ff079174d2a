//! The frame of every page: the menu of what this person can use, who is signed in, and what just happened.

use mnemon_core::{Role, SubscriptionState};

use super::assets::{ASSETS, Assets};
use super::flash::Flash;
use super::parts as p;
use super::visit::{Again, Theme, Visit};

/// The first page of a person.
pub(super) const HOME: &str = "/console/overview";

/// A page's entry in the menu.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A part of a page, which is nowhere by itself.
    Part,
    None,
    Overview,
    Memory,
    Sources,
    Workspaces,
    Keys,
    Connections,
    People,
    Projects,
    Moving,
    Integrations,
    Sessions,
    Usage,
    Audit,
    Guard,
    Connect,
    Operator,
}

/// One entry of the menu.
pub(super) struct Entry {
    pub(super) place: Place,
    pub(super) icon: &'static str,
    pub(super) name: &'static str,
    pub(super) path: &'static str,
    /// The letter after `g` that leads there.
    pub(super) letter: &'static str,
    /// How much waits there, and what it is.
    pub(super) note: Option<(String, &'static str)>,
}

pub(super) struct Group {
    pub(super) title: &'static str,
    pub(super) entries: Vec<Entry>,
}

/// A remark above every page of this person.
pub(super) struct Remark {
    pub(super) class: &'static str,
    pub(super) icon: &'static str,
    pub(super) title: &'static str,
    pub(super) text: String,
}

pub(super) struct Shell<'a> {
    pub(super) title: String,
    pub(super) at: Place,
    pub(super) assets: &'static Assets,
    pub(super) groups: Vec<Group>,
    pub(super) account: &'a str,
    pub(super) project: &'a str,
    pub(super) who: &'a str,
    /// What this person is, and how long the session lasts.
    pub(super) as_what: String,
    pub(super) is_operator: bool,
    pub(super) theme: Theme,
    pub(super) told: Option<&'a Flash>,
    pub(super) remarks: Vec<Remark>,
    pub(super) seal: String,
    /// This page, for the form that changes the theme.
    pub(super) path: &'a str,
    again: Option<&'a Again>,
}

impl<'a> Shell<'a> {
    pub(super) fn new(visit: &'a Visit, at: Place, title: impl Into<String>) -> Self {
        let me = visit.me.as_ref();
        Self {
            title: title.into(),
            at,
            assets: &ASSETS,
            groups: groups(visit),
            account: me.map_or("Signed in with", |me| &me.account.name),
            project: me.map_or("the operator’s token", |me| &me.project.name),
            who: me.map_or("Operator", |me| &me.credential.member_name),
            as_what: as_what(visit),
            is_operator: me.is_none(),
            theme: visit.theme,
            told: visit.told.as_ref(),
            remarks: remarks(visit),
            seal: visit.seal(),
            path: if visit.again.is_some() { "/console" } else { &visit.path },
            again: visit.again.as_ref(),
        }
    }

    /// Whether this form was refused and is shown again.
    pub(super) fn is_again(&self, form: &str) -> bool {
        self.again.is_some_and(|again| again.form == form)
    }

    /// Why this form was refused, if it was.
    pub(super) fn refusal(&self, form: &str) -> Option<&str> {
        self.again.filter(|again| again.form == form).map(|again| again.text.as_str())
    }

    /// What is wrong with a field of this form, to stand beside it.
    pub(super) fn beside(&self, form: &str, field: &str) -> p::Html {
        match self.refusal(form).filter(|text| is_about(text, field)) {
            Some(text) => {
                p::Html(format!(r#"<span class="error">{}<span>{}</span></span>"#, p::icon("warn"), p::esc(text)))
            }
            None => p::Html::default(),
        }
    }

    /// What was typed into a field of a form that is shown again.
    pub(super) fn typed(&self, form: &str, field: &str) -> &str {
        let again = self.again.filter(|again| again.form == form);
        again.and_then(|again| again.fields.find(field)).unwrap_or_default()
    }

    /// Begins a window with a form. A form that is shown again stands open on the page, because no window opens without
    /// script.
    pub(super) fn begin(&self, form: &str, class: &str) -> p::Html {
        let Some(again) = self.again.filter(|again| again.form == form) else {
            return p::Html(format!(
                r#"<div class="pop {class}" popover id="{form}" role="dialog" aria-labelledby="{form}-h">"#
            ));
        };
        let picture = p::icon("warn");
        p::Html(format!(
            r#"<div class="panel" id="{form}" role="region" aria-labelledby="{form}-h"><div class="notice is-alert" role="alert">{picture}<div>{}</div></div>"#,
            p::esc(&again.text)
        ))
    }

    /// The way out of a window with a form.
    pub(super) fn cancel(&self, form: &str, page: &str) -> p::Html {
        p::Html(if self.is_again(form) {
            format!(r#"<a class="btn" href="{page}">Cancel</a>"#)
        } else {
            format!(
                r#"<button class="btn" type="button" popovertarget="{form}" popovertargetaction="hide">Cancel</button>"#
            )
        })
    }

    pub(super) fn home(&self) -> &'static str {
        if self.is_operator { "/console/operator" } else { HOME }
    }
}

/// Whether a sentence is about a field: then it begins with its name.
fn is_about(text: &str, field: &str) -> bool {
    let begin = text.get(..field.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(field));
    begin && text.get(field.len()..).is_some_and(|rest| rest.starts_with([' ', ':']))
}

fn as_what(visit: &Visit) -> String {
    let left = p::span_of((visit.visitor.ends_at.as_second() - visit.now.as_second()).max(60));
    let Some(me) = &visit.me else { return format!("everything · ends in {left}") };
    let credential = &me.credential;
    let department = credential.department_name.as_ref().map(|name| format!(" · {name}")).unwrap_or_default();
    format!("{}{department} · ends in {left}", credential.role.as_str())
}

fn entry(place: Place, icon: &'static str, name: &'static str, path: &'static str, letter: &'static str) -> Entry {
    Entry { place, icon, name, path, letter, note: None }
}

/// The same with a number, if something waits there.
fn noted(entry: Entry, count: u64, one: &'static str, many: &'static str) -> Entry {
    Entry { note: (count > 0).then(|| (p::number(count), if count == 1 { one } else { many })), ..entry }
}

/// What this person can use; nothing else is shown.
fn groups(visit: &Visit) -> Vec<Group> {
    let Some(role) = visit.role() else {
        let entries = vec![
            entry(Place::Operator, "operator", "Accounts", "/console/operator", "r"),
            entry(Place::Part, "tag", "Plans", "/console/operator#plans", ""),
            entry(Place::Part, "usage", "Nodes", "/console/operator#nodes", ""),
            entry(Place::Audit, "audit", "Audit", "/console/audit", "a"),
        ];
        return vec![Group { title: "", entries }];
    };
    let mut access = vec![
        entry(Place::Projects, "operator", "Projects", "/console/projects", "t"),
        entry(Place::Keys, "keys", "Keys", "/console/keys", "k"),
        entry(Place::Connections, "connections", "Connections", "/console/connections", "n"),
    ];
    let sessions = entry(Place::Sessions, "sessions", "Sessions", "/console/sessions", "h");
    let memory = vec![
        entry(Place::Overview, "usage", "Overview", HOME, "v"),
        entry(Place::Memory, "memory", "Memory", "/console/memory", "m"),
        noted(
            entry(Place::Sources, "sources", "Sources", "/console/sources", "s"),
            visit.waiting.sources,
            "source has changed",
            "sources have changed",
        ),
        entry(Place::Workspaces, "workspaces", "Workspaces", "/console/workspaces", "w"),
        entry(Place::Moving, "undo", "In and out", "/console/moving", "e"),
    ];
    if role != Role::Member {
        access.push(entry(Place::People, "people", "People", "/console/people", "p"));
    }
    let mut groups = vec![Group { title: "Memory", entries: memory }, Group { title: "Access", entries: access }];
    if role == Role::Admin {
        let integrations = noted(
            entry(Place::Integrations, "integrations", "Integrations", "/console/integrations", "i"),
            visit.waiting.tools,
            "tool waits for you",
            "tools wait for you",
        );
        groups.push(Group { title: "Around it", entries: vec![integrations, sessions] });
        let watch = vec![
            entry(Place::Usage, "usage", "Usage", "/console/usage", "u"),
            entry(Place::Audit, "audit", "Audit", "/console/audit", "a"),
            entry(Place::Guard, "warn", "Guard", "/console/guard", "d"),
        ];
        groups.push(Group { title: "Watch", entries: watch });
    } else {
        groups.push(Group { title: "Around it", entries: vec![sessions] });
    }
    groups
}

fn remarks(visit: &Visit) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let Some(me) = &visit.me else { return remarks };
    if !visit.may_write() {
        let text = "Buttons that change something are not shown.".to_owned();
        remarks.push(Remark { class: "is-unverified", icon: "info", title: "This key may only read.", text });
    }
    match me.state {
        SubscriptionState::Grace { until } => {
            let days = (until.as_second() - visit.now.as_second()) / 86_400 + 1;
            let text = format!(
                "Memory is read-only for {} more: searching works, saving and forgetting do not.",
                p::counted(days.unsigned_abs(), "day")
            );
            remarks.push(Remark { class: "is-stale", icon: "stale", title: "The subscription has expired.", text });
        }
        state => {
            if let Some(notice) = state.notice() {
                let text = format!("Memory can’t be used: {notice}");
                remarks.push(Remark {
                    class: "is-alert",
                    icon: "warn",
                    title: "The subscription is not active.",
                    text,
                });
            }
        }
    }
    remarks
}
