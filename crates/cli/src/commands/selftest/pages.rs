//! The console's pages, by everybody, over HTTP: they must show exactly what the tools would.

use std::collections::BTreeSet;

use anyhow::Context;
use mnemon_core::{RecordId, Role, Status};

use super::model::{Fact, WORKSPACES, workspace};
use super::world::World;
use super::{Finding, leak};

/// How many records a page of the list has.
const PAGE_ROWS: usize = 20;

impl World {
    /// A person opens a page.
    pub(super) async fn play_pages(&mut self) -> anyhow::Result<Vec<Finding>> {
        let (person, project, ctx) = self.somebody().await?;
        // What a key that only reads shows is the same; it only lacks the buttons.
        let only_reads = self.chance.below(3) == 0;
        let holder = &self.holders[person];
        let keys = if only_reads { &holder.read_keys } else { &holder.keys };
        let key = keys.iter().find(|(of, _)| *of == project).map(|(_, key)| key.clone());
        let key = key.context("a key for the project")?;
        let mut cookie = self.console.sign_in(&key).await?;
        if self.console.get(&cookie, "/workspaces").await?.0 == 303 {
            // Hours have passed since, and the session with them.
            self.console.forget_cookies();
            cookie = self.console.sign_in(&key).await?;
        }
        let visible: Vec<Fact> = self.model.visible(person, project).cloned().collect();
        let mut findings = Vec::new();
        let place = self.chance.below(WORKSPACES);
        let status = Status::ALL[self.chance.below(Status::ALL.len())];
        let lists = [
            ("/memory".to_owned(), None, None),
            (format!("/memory?workspace={}", workspace(place)), Some(place), None),
            (format!("/memory?status={}", status.as_str()), None, Some(status)),
        ];
        for (path, place, status) in lists {
            let (code, page) = self.console.get(&cookie, &path).await?;
            let is_meant = |fact: &&Fact| {
                place.is_none_or(|place| fact.workspace == place)
                    && status.is_none_or(|status| self.model.status(person, fact, ctx.now) == status.as_str())
            };
            let meant: BTreeSet<RecordId> = visible.iter().filter(is_meant).map(|fact| fact.id).collect();
            let said = records_in(&page);
            let is_right = said.is_subset(&meant) && said.len() == meant.len().min(PAGE_ROWS);
            if code != 200 || !is_right {
                let (shown, meant) = (said.len(), meant.len());
                findings.push(leak(format!("{path} shows {person} {shown} records of {meant}, answer {code}")));
            }
            findings.extend(if only_reads { changing_form(&path, &page) } else { None });
        }
        let query = visible.first().map_or("zq1", |fact| fact.content.as_str()).replace(' ', "+");
        let source_of = |fact: &Fact| Some((fact.workspace, fact.source.clone()?));
        let sources: BTreeSet<(usize, String)> = visible.iter().filter_map(source_of).collect();
        let seen: BTreeSet<RecordId> = visible.iter().map(|fact| fact.id).collect();
        for path in [
            format!("/memory?q={query}&workspace={}", workspace(place)),
            "/sources".to_owned(),
            "/workspaces".to_owned(),
            "/usage".to_owned(),
            "/audit".to_owned(),
            "/keys".to_owned(),
            "/connections".to_owned(),
        ] {
            let (_, page) = self.console.get(&cookie, &path).await?;
            findings.extend(if only_reads { changing_form(&path, &page) } else { None });
            let is_wrong = match path.as_str() {
                "/audit" => false,
                "/sources" => !page.contains(&total(sources.len(), "source")) && !sources.is_empty(),
                _ => !records_in(&page).is_subset(&seen),
            };
            if is_wrong {
                findings.push(leak(format!("{path} tells {person} of more than {} sources", sources.len())));
            }
        }
        let (_, memory) = self.console.get(&cookie, "/memory").await?;
        if !visible.is_empty() && !memory.contains(&format!("<p>{} in ", total(visible.len(), "record"))) {
            findings.push(leak(format!("the count of records for {person} is not {}", visible.len())));
        }
        findings.extend(self.open_record(person, project, ctx.credential.role == Role::Admin, &cookie).await?);
        Ok(findings)
    }

    /// A record of anybody: the page is there for those who may see it, and names no rival that they may not.
    async fn open_record(
        &mut self,
        person: usize,
        project: usize,
        is_admin: bool,
        cookie: &str,
    ) -> anyhow::Result<Vec<Finding>> {
        if self.model.facts.is_empty() {
            return Ok(Vec::new());
        }
        let fact = self.model.facts[self.chance.below(self.model.facts.len())].clone();
        let is_own = self.projects[fact.project].1 == self.model.people[person].account;
        let is_here = if is_admin { is_own } else { fact.project == project && self.model.is_alive(&fact) };
        let may = is_here && self.model.sees(person, fact.seen);
        let (code, page) = self.console.get(cookie, &format!("/records/{}", fact.id)).await?;
        let hidden = self.model.facts.iter().filter(|other| !self.model.sees(person, other.seen) || !is_own);
        let told = records_in(&page).into_iter().find(|id| hidden.clone().any(|other| other.id == *id));
        let mut findings = Vec::new();
        // An admin finds what can be restored, and a record whose workspace has ended may be past that.
        let is_right = if may { code == 200 || (is_admin && code == 404) } else { code == 404 };
        if !is_right {
            findings.push(leak(format!("the page of {} answers {person} with {code}", fact.id)));
        }
        if let Some(id) = told.filter(|id| *id != fact.id || may) {
            findings.push(leak(format!("the page of {} names {id} to {person}", fact.id)));
        }
        Ok(findings)
    }
}

/// A form that changes something, on a page of a key that only reads. Everybody may choose colours and leave.
fn changing_form(path: &str, page: &str) -> Option<Finding> {
    let forms = page.split("method=\"post\" action=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let found = forms.into_iter().find(|action| !matches!(*action, "/console/theme" | "/console/sign-out"));
    found.map(|action| leak(format!("{path} gives a key that only reads a form for {action}")))
}

/// The records that a page links to.
fn records_in(page: &str) -> BTreeSet<RecordId> {
    let links = page.split("href=\"/console/records/").skip(1);
    links.filter_map(|rest| rest.get(..36)?.parse().ok()).collect()
}

fn total(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
