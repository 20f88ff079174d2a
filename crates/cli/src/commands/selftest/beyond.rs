//! The ways to records beside the tools: explained searches and imports.

use mnemon_core::{RecordId, Role, Scope};
use mnemon_engine::admin::{AdminError, ExplainQuery, ImportItem, ImportOutcome, ImportedRecord, RecordQuery};
use mnemon_engine::{Remember, Search};

use super::checks::SEARCH_LIMIT;
use super::model::{Seen, WORKSPACES, workspace};
use super::world::World;
use super::{Finding, leak, mismatch};

impl World {
    /// An explained search: the records of the search itself, each with its status, and nothing else.
    pub(super) async fn play_explain(&mut self) -> anyhow::Result<Vec<Finding>> {
        let (person, project, ctx) = self.somebody().await?;
        let (place, query) = (self.chance.below(WORKSPACES), self.text());
        let reader = self.admin_of(person).await?;
        let is_readable = ctx.credential.role == Role::Admin || self.holders[person].keys[0].0 == project;
        let may = is_readable && self.model.is_active(person, project, place);
        let asked = ExplainQuery {
            query: query.clone(),
            limit: SEARCH_LIMIT,
            workspace: Some(workspace(place)),
            scope: None,
            exclude_stale: false,
        };
        let explained = match self.engine.explain(&reader, self.projects[project].0, asked).await {
            Ok(explained) if may => explained,
            Err(AdminError::NotFound(_)) if !may => return Ok(Vec::new()),
            answer => return Ok(vec![leak(format!("explain for {person} gave {answer:?}"))]),
        };
        let mut findings = Vec::new();
        for shown in explained.records.values() {
            let mut visible = self.model.visible(person, project).filter(|fact| fact.workspace == place);
            match visible.find(|fact| fact.id == shown.record.id) {
                None => findings.push(leak(format!("explain shows {} to whom it is hidden", shown.record.id))),
                Some(fact) if self.model.status(person, fact, ctx.now) != shown.status.as_str() => {
                    findings.push(leak(format!("explain says {} of {}", shown.status.as_str(), fact.id)));
                }
                Some(_) => {}
            }
        }
        let admission = self.engine.admit(&ctx)?;
        let answer = self.engine.search(&ctx, admission, Search::new(query, SEARCH_LIMIT, workspace(place))).await?;
        let found: Vec<RecordId> = answer.found.iter().map(|hit| hit.body.record.id).collect();
        let hits = explained.reasons.hits.iter().filter_map(|hit| explained.records.get(&hit.seq));
        let hits: Vec<RecordId> = hits.map(|shown| shown.record.id).collect();
        if hits != found {
            findings.push(mismatch(format!("explain found {hits:?}, search {found:?}")));
        }
        Ok(findings)
    }

    /// An import of one record, often under an id that somebody has already.
    pub(super) async fn play_import(&mut self) -> anyhow::Result<Vec<Finding>> {
        let (person, project, _) = self.somebody().await?;
        let key = self.holders[person].keys.iter().find(|(of, _)| *of == project).expect("the key of the call");
        let reader = self.engine.authenticate_admin(&key.1).await?;
        let id = self.projects[project].0;
        let scope = [Scope::Draft, Scope::Department, Scope::Shared][self.chance.below(3)];
        let place = self.chance.below(WORKSPACES);
        let here: Vec<RecordId> = self.model.facts.iter().filter(|f| f.project == project).map(|f| f.id).collect();
        let chosen = (!here.is_empty() && self.chance.percent(60)).then(|| here[self.chance.below(here.len())]);
        // A unique text, so that the record is no duplicate of another.
        let content = format!("{} zqi{}", self.text(), self.model.facts.len());
        let given = ImportedRecord {
            id: chosen,
            fact: mnemon_core::Fact::new(content.clone()),
            workspace: Some(workspace(place)),
            scope,
            fact_key: None,
            author: None,
            department: None,
            created_at: None,
            updated_at: None,
            idempotency_key: None,
        };
        let mut import = self.engine.begin_import(&reader, id, false).await?;
        let outcomes = self.engine.continue_import(&mut import, vec![ImportItem::Record(Box::new(given))]).await?;
        self.engine.finish_import(import).await?;
        let seen = match (scope, self.model.people[person].department) {
            (Scope::Shared, _) => Some(Seen::All),
            (Scope::Draft, _) => Some(Seen::Person(person)),
            (Scope::Department, department) => department.map(Seen::Department),
        };
        let Some(seen) = seen else {
            let is_refused = matches!(outcomes.as_slice(), [ImportOutcome::Refused(_)]);
            return Ok(if is_refused { vec![] } else { vec![mismatch(format!("an import gave {outcomes:?}"))] });
        };
        if !matches!(outcomes.as_slice(), [ImportOutcome::Saved { .. }]) {
            return Ok(vec![leak(format!("an import under the id {chosen:?} gave {outcomes:?}"))]);
        }
        let newest = RecordQuery { limit: 1, ..RecordQuery::default() };
        let page = self.engine.list_records(&reader, id, newest).await?;
        let Some(record) = page.records.first().map(|shown| &shown.listed.record) else {
            return Ok(vec![mismatch("an imported record is not there".to_owned())]);
        };
        if record.fact.content != content || here.contains(&record.id) {
            return Ok(vec![leak(format!("an import under the id {chosen:?} became {}", record.id))]);
        }
        let call = Remember {
            fact: mnemon_core::Fact::new(content),
            workspace: workspace(place),
            scope,
            fact_key: None,
            supersedes: Vec::new(),
            replace: false,
            idempotency_key: None,
        };
        self.note_save(person, project, place, seen, &call, record.id, false);
        Ok(Vec::new())
    }
}
