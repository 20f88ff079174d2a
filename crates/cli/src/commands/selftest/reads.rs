//! The reads of the admin API, by everybody: an admin reads every project of its account, others the project of their
//! key.

use std::collections::BTreeSet;

use mnemon_core::{RecordId, Role, Status};
use mnemon_engine::LeftOut;
use mnemon_engine::admin::{AdminError, ContextQuery, RecordQuery};

use super::model::{Fact, WORKSPACES, workspace};
use super::world::World;
use super::{Finding, leak};

impl World {
    /// Lists and counts.
    pub(super) async fn play_lists(&mut self) -> anyhow::Result<Vec<Finding>> {
        let (person, project, ctx) = self.somebody().await?;
        let reader = self.admin_of(person).await?;
        let id = self.projects[project].0;
        let is_admin = ctx.credential.role == Role::Admin;
        let is_key_of = self.holders[person].keys[0].0 == project;
        let is_forgotten = self.chance.percent(30);
        let query = RecordQuery { is_forgotten, limit: 10_000, ..RecordQuery::default() };
        let page = match self.engine.list_records(&reader, id, query).await {
            Ok(page) if is_admin || is_key_of => page,
            Ok(_) => return Ok(vec![leak("a list for somebody who may not read it".to_owned())]),
            Err(AdminError::NotFound(_)) if !is_admin && !is_key_of => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let said: BTreeSet<RecordId> = page.records.iter().map(|shown| shown.listed.record.id).collect();
        // What ended with its workspace is listed with the forgotten: both can be restored.
        let is_gone = |fact: &Fact| fact.is_forgotten || fact.life != self.model.life(fact.project, fact.workspace);
        let mine = self.model.facts.iter().filter(|f| f.project == project && self.model.sees(person, f.seen));
        let meant: BTreeSet<RecordId> = mine.filter(|fact| is_gone(fact) == is_forgotten).map(|fact| fact.id).collect();
        let mut findings = Vec::new();
        // Others than admins see of the forgotten what they forgot themselves.
        let is_wrong = if is_forgotten && !is_admin { !said.is_subset(&meant) } else { said != meant };
        if is_wrong {
            findings.push(leak(format!("the list of records has {} rows, expected {}", said.len(), meant.len())));
        }
        let counted: u64 = self.engine.list_workspaces(&reader, id).await?.iter().map(|shown| shown.records).sum();
        let living = self.model.visible(person, project).count() as u64;
        let used = self.engine.show_usage(&reader, id, 1).await?.records;
        if counted != living || used != living {
            findings.push(leak(format!("workspaces count {counted}, usage {used}, expected {living}")));
        }
        let told = self.engine.show_standing(&reader, id).await?.all.counts;
        for status in Status::ALL {
            let visible = self.model.visible(person, project);
            let meant: BTreeSet<RecordId> = visible
                .filter(|fact| self.model.status(person, fact, ctx.now) == status.as_str())
                .map(|fact| fact.id)
                .collect();
            let query = RecordQuery { status: Some(status), limit: 10_000, ..RecordQuery::default() };
            let page = self.engine.list_records(&reader, id, query).await?;
            let said: BTreeSet<RecordId> = page.records.iter().map(|shown| shown.listed.record.id).collect();
            if said != meant || told.of(status) != meant.len() as u64 {
                let (listed, counted) = (said.len(), told.of(status));
                let text = format!("{}: {listed} listed, {counted} counted, {} expected", status.as_str(), meant.len());
                findings.push(leak(text));
            }
        }
        Ok(findings)
    }

    /// A digest: what it shows and what it counts must be exactly what the reader can see, each with its status.
    pub(super) async fn play_context(&mut self) -> anyhow::Result<Vec<Finding>> {
        let (person, project, ctx) = self.somebody().await?;
        let reader = self.admin_of(person).await?;
        let place = self.chance.below(WORKSPACES);
        let budget_tokens = [200, 800, 20_000][self.chance.below(3)];
        let asked = ContextQuery { query: None, workspace: Some(workspace(place)), budget_tokens, score_min: 0.0 };
        let is_admin = ctx.credential.role == Role::Admin;
        let is_readable = is_admin || self.holders[person].keys[0].0 == project;
        let may = is_readable && self.model.is_active(person, project, place);
        let digest = match self.engine.show_context(&reader, self.projects[project].0, asked).await {
            Ok(shown) if may => shown.digest,
            Err(AdminError::NotFound(_)) if !may => return Ok(Vec::new()),
            answer => return Ok(vec![leak(format!("a digest for {person} gave {answer:?}"))]),
        };
        let visible: Vec<&Fact> = self.model.visible(person, project).filter(|f| f.workspace == place).collect();
        let LeftOut { verified, unverified, conflict, stale, has_older, .. } = digest.left_out;
        let of_status = |status: &str, left_out: usize| {
            let facts = visible.iter().filter(|fact| self.model.status(person, fact, ctx.now) == status);
            let shown = |fact: &&&&Fact| digest.shown.contains(&fact.id);
            let (all, shown) = (facts.clone().count(), facts.collect::<Vec<_>>().iter().filter(shown).count());
            has_older || all == shown + left_out
        };
        let is_hidden = |id: &RecordId| !visible.iter().any(|fact| fact.id == *id);
        let is_right = !digest.shown.iter().any(is_hidden)
            && digest.tokens <= budget_tokens
            && of_status("verified", verified)
            && of_status("unverified", unverified)
            && of_status("conflict", conflict)
            && of_status("stale", stale);
        let told = || leak(format!("a digest for {person} of {} records is {digest:?}", visible.len()));
        Ok(if is_right { Vec::new() } else { vec![told()] })
    }

    /// One record, with what contradicts it.
    pub(super) async fn play_record(&mut self) -> anyhow::Result<Vec<Finding>> {
        let (person, _, ctx) = self.somebody().await?;
        if self.model.facts.is_empty() {
            return Ok(Vec::new());
        }
        let fact = self.model.facts[self.chance.below(self.model.facts.len())].clone();
        let is_own = self.projects[fact.project].1 == self.model.people[person].account;
        let is_alive = fact.life == self.model.life(fact.project, fact.workspace) && !fact.is_forgotten;
        let is_admin = ctx.credential.role == Role::Admin;
        let is_read_here = self.holders[person].keys[0].0 == fact.project;
        let may = self.model.sees(person, fact.seen) && is_own && (is_admin || (is_read_here && is_alive));
        let reader = self.admin_of(person).await?;
        match self.engine.show_record(&reader, fact.id).await {
            Ok(shown) if may => {
                let is_seen =
                    |id: RecordId| self.model.facts.iter().any(|f| f.id == id && self.model.sees(person, f.seen));
                let hidden = shown.rivals.iter().any(|rival| !is_seen(rival.listed.record.id));
                let status = is_alive.then(|| self.model.status(person, &fact, ctx.now));
                let is_wrong = status.is_some_and(|status| status != shown.shown.status.as_str());
                let told = || leak(format!("{} shown to {person} as {shown:?}", fact.id));
                Ok(if hidden || is_wrong { vec![told()] } else { Vec::new() })
            }
            // An admin finds what it may restore, and a record whose workspace has ended may be past that.
            Err(AdminError::NotFound(_)) if !may || !is_alive => Ok(Vec::new()),
            answer => Ok(vec![leak(format!("showing {} to {person} gave {answer:?}", fact.id))]),
        }
    }
}
