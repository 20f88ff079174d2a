//! Makes one random call at a time and compares the answer with the model's.

use std::collections::BTreeSet;
use std::time::Duration;

use mnemon_core::{FactKey, RecordId, Role, Scope};
use mnemon_engine::admin::{AdminError, MemberChange};
use mnemon_engine::stored::Seen as Observed;
use mnemon_engine::{CallError, Forget, Remember, Search, Validate};

use super::model::{Fact, Seen, WORKSPACES, workspace};
use super::world::World;
use super::{Finding, leak, mismatch};

const WORDS: usize = 40;
const SOURCES: usize = 4;
const HASHES: usize = 3;
const KEYS: usize = 5;
pub(super) const SEARCH_LIMIT: usize = 50;

impl World {
    /// One case.
    pub async fn play(&mut self) -> anyhow::Result<Vec<Finding>> {
        match self.chance.below(100) {
            0..=32 => self.play_remember().await,
            33..=58 => self.play_search().await,
            59..=60 => self.play_explain().await,
            61..=62 => self.play_import().await,
            63..=64 => self.play_pages().await,
            65..=72 => self.play_forget().await,
            73..=76 => self.play_forget_source().await,
            77..=84 => self.play_validate().await,
            85..=88 => self.play_lists().await,
            89..=90 => self.play_record().await,
            91 => self.play_context().await,
            92..=94 => self.play_restore().await,
            95..=96 => self.play_move().await,
            97 if self.chance.percent(50) => self.play_workspace_return().await,
            97 => self.play_workspace_end().await,
            98 => self.play_leave().await,
            _ => {
                let seconds = 1 + self.chance.below(1_000) as i64;
                self.clock.advance_seconds(seconds);
                Ok(Vec::new())
            }
        }
    }

    pub(super) fn text(&mut self) -> String {
        let count = 1 + self.chance.below(4);
        let words: Vec<String> = (0..count).map(|_| format!("zq{}", self.chance.below(WORDS))).collect();
        words.join(" ")
    }

    fn arguments(&mut self) -> Remember {
        let scope = [Scope::Draft, Scope::Department, Scope::Shared][self.chance.below(3)];
        let source = self.chance.percent(50).then(|| format!("source-{}", self.chance.below(SOURCES)));
        let has_hash = source.is_some() && self.chance.percent(70);
        let key = self.chance.percent(40).then(|| format!("key-{}", self.chance.below(KEYS)));
        let soon = Duration::from_secs(1 + self.chance.below(2_000) as u64);
        let replace = key.is_some() && self.chance.percent(25);
        let supersedes = if self.chance.percent(12) { self.some_ids() } else { Vec::new() };
        let (content, workspace) = (self.text(), workspace(self.chance.below(WORKSPACES)));
        let fact = mnemon_core::Fact {
            source_hash: has_hash.then(|| format!("hash-{}", self.chance.below(HASHES))),
            source_id: source,
            valid_until: self.chance.percent(15).then(|| self.now() + soon),
            ..mnemon_core::Fact::new(content)
        };
        Remember {
            fact,
            workspace,
            scope,
            fact_key: key.map(|key| FactKey::given(&key).expect("plain keys are valid")),
            supersedes,
            replace,
            idempotency_key: None,
        }
    }

    /// One or two records of anybody, hidden, forgotten and other projects' included.
    fn some_ids(&mut self) -> Vec<String> {
        let count = (1 + self.chance.below(2)).min(self.model.facts.len());
        (0..count).map(|_| self.model.facts[self.chance.below(self.model.facts.len())].id.to_string()).collect()
    }

    /// The records that a save is to take the place of, or the id of one that does not exist for the caller.
    fn superseded(
        &self,
        person: usize,
        project: usize,
        place: usize,
        call: &Remember,
    ) -> Result<BTreeSet<RecordId>, String> {
        let key = call.fact_key.as_ref().map(|key| &key.text);
        let visible = || self.model.visible(person, project);
        let same_key = visible().filter(|f| call.replace && f.workspace == place && f.key.as_ref() == key);
        let mut superseded: BTreeSet<RecordId> = same_key.map(|fact| fact.id).collect();
        for id in &call.supersedes {
            let found = visible().find(|fact| fact.id.to_string() == *id).ok_or_else(|| id.clone())?;
            superseded.insert(found.id);
        }
        Ok(superseded)
    }

    async fn play_remember(&mut self) -> anyhow::Result<Vec<Finding>> {
        let (person, project, ctx) = self.somebody().await?;
        let call = self.arguments();
        let seen = match (call.scope, self.model.people[person].department) {
            (Scope::Shared, _) => Some(Seen::All),
            (Scope::Draft, _) => Some(Seen::Person(person)),
            (Scope::Department, department) => department.map(Seen::Department),
        };
        let admission = self.engine.admit(&ctx)?;
        let answer = self.engine.remember(&ctx, admission, call.clone()).await;
        let Some(seen) = seen else {
            let is_refused = matches!(answer, Err(CallError::Argument(_)));
            return Ok(if is_refused { vec![] } else { vec![mismatch("a department save without one".to_owned())] });
        };
        let place = (0..WORKSPACES).find(|at| workspace(*at) == call.workspace).unwrap_or_default();
        let mut superseded = match (self.superseded(person, project, place, &call), &answer) {
            (Ok(superseded), Ok(_)) => superseded,
            (Err(id), Err(CallError::NotFound(said))) if *said == id => return Ok(Vec::new()),
            (Err(id), Ok(_)) => return Ok(vec![leak(format!("{id} was replaced by whom it is hidden"))]),
            (_, Err(error)) => return Ok(vec![mismatch(format!("remember said {error}"))]),
        };
        let answer = answer?;
        let equal = self.model.visible(person, project).find(|fact| {
            fact.workspace == place
                && fact.content == call.fact.content
                && fact.seen == seen
                && fact.source == call.fact.source_id
        });
        let expected = equal.map(|fact| fact.id);
        let mut findings = Vec::new();
        if answer.is_duplicate != expected.is_some() || expected.is_some_and(|id| id != answer.record.id) {
            findings.push(leak(format!("remember found the duplicate {:?}, expected {expected:?}", answer.record.id)));
            return Ok(findings);
        }
        self.note_save(person, project, place, seen, &call, answer.record.id, answer.is_duplicate);
        superseded.remove(&answer.record.id);
        if set(&answer.superseded) != superseded {
            findings.push(leak(format!("remember replaced {:?}, expected {superseded:?}", answer.superseded)));
        }
        for fact in self.model.facts.iter_mut().filter(|fact| superseded.contains(&fact.id)) {
            fact.is_forgotten = true;
        }
        let fact = self.fact(answer.record.id);
        let (status, rivals) = (self.model.status(person, &fact, ctx.now), self.model.rivals(person, &fact, ctx.now));
        if answer.status.as_str() != status {
            findings.push(leak(format!("remember says {}, expected {status}", answer.status.as_str())));
        }
        let (said, meant) = (set(&answer.conflicts_with), set(&rivals));
        if status == "conflict" && said != meant {
            findings.push(leak(format!("remember names rivals {said:?}, expected {meant:?}")));
        }
        Ok(findings)
    }

    #[expect(clippy::too_many_arguments, reason = "a save has that many facts, and they are used once")]
    pub(super) fn note_save(
        &mut self,
        person: usize,
        project: usize,
        place: usize,
        seen: Seen,
        call: &Remember,
        id: RecordId,
        is_duplicate: bool,
    ) {
        if let Some((source, hash)) = call.fact.sighting() {
            self.model.sight(project, place, source, seen, hash);
        }
        if is_duplicate {
            let now = self.now();
            let mut facts = self.model.facts.iter_mut();
            let fact = facts.find(|fact| fact.id == id).expect("the model knows its duplicate");
            let before = (fact.hash.clone(), fact.valid_until);
            fact.hash = call.fact.source_hash.clone().or(fact.hash.take());
            fact.valid_until = call.fact.valid_until.or(fact.valid_until);
            if (fact.hash.clone(), fact.valid_until) != before {
                fact.updated_at = now;
            }
            return;
        }
        self.model.touch(project, place, seen);
        let life = self.model.life(project, place);
        self.model.facts.push(Fact {
            id,
            project,
            workspace: place,
            life,
            seen,
            author: person,
            content: call.fact.content.clone(),
            key: call.fact_key.as_ref().map(|key| key.text.clone()),
            source: call.fact.source_id.clone(),
            hash: call.fact.source_hash.clone(),
            valid_until: call.fact.valid_until,
            updated_at: self.now(),
            is_forgotten: false,
        });
    }

    fn fact(&self, id: RecordId) -> Fact {
        self.model.facts.iter().find(|fact| fact.id == id).expect("the model knows every record").clone()
    }

    async fn play_search(&mut self) -> anyhow::Result<Vec<Finding>> {
        let (person, project, ctx) = self.somebody().await?;
        let place = self.chance.below(WORKSPACES);
        let word = format!("zq{}", self.chance.below(WORDS));
        let scope =
            self.chance.percent(20).then(|| [Scope::Draft, Scope::Department, Scope::Shared][self.chance.below(3)]);
        let exclude_stale = self.chance.percent(30);
        let is_for_everything = self.chance.percent(15);
        let query = if is_for_everything { "*".to_owned() } else { word.clone() };
        let mut search = Search { scope, exclude_stale, ..Search::new(query, SEARCH_LIMIT, workspace(place)) };
        self.narrow(&mut search);
        let (fact_key, source_id) = (search.fact_key.clone(), search.source_id.clone());
        let memory_ids = search.memory_ids.clone();
        let (since, until) = (search.since, search.until);
        let admission = self.engine.admit(&ctx)?;
        let answer = self.engine.search(&ctx, admission, search).await;
        let is_active = self.model.is_active(person, project, place);
        let found = match answer.map(|answer| answer.found) {
            Err(CallError::WorkspaceNotActive(_)) if !is_active => return Ok(Vec::new()),
            Err(CallError::WorkspaceNotActive(_)) => {
                return Ok(vec![mismatch("an active workspace is not".to_owned())]);
            }
            Ok(_) if !is_active => return Ok(vec![leak("a hidden workspace answers".to_owned())]),
            other => other?,
        };
        let is_asked_for = |fact: &&Fact| {
            scope.is_none_or(|scope| scope == scope_of(fact.seen))
                && (fact_key.is_none() || fact.key == fact_key)
                && (source_id.is_none() || fact.source == source_id)
                && memory_ids.as_ref().is_none_or(|ids| ids.contains(&fact.id))
                && since.is_none_or(|since| fact.updated_at.as_second() >= since.as_second())
                && until.is_none_or(|until| fact.updated_at.as_second() <= until.as_second())
        };
        let visible: Vec<&Fact> =
            self.model.visible(person, project).filter(|f| f.workspace == place).filter(is_asked_for).collect();
        let mut findings = Vec::new();
        for hit in &found {
            let Some(fact) = visible.iter().find(|fact| fact.id == hit.body.record.id) else {
                findings.push(leak(format!("search shows {} to whom it is hidden", hit.body.record.id)));
                continue;
            };
            let expected = self.model.status(person, fact, ctx.now);
            if hit.status.as_str() != expected {
                findings.push(leak(format!("search says {}, expected {expected}", hit.status.as_str())));
            }
        }
        let has_word = |fact: &&&Fact| is_for_everything || fact.content.split(' ').any(|part| part == word);
        let matching = visible.iter().filter(has_word);
        let wanted: Vec<&&Fact> =
            matching.filter(|fact| !exclude_stale || !self.model.is_stale(person, fact, ctx.now)).collect();
        let is_missing = |fact: &&&Fact| !found.iter().any(|hit| hit.body.record.id == fact.id);
        if wanted.len() <= SEARCH_LIMIT && wanted.iter().any(is_missing) {
            findings.push(mismatch(format!("search for {word} misses a visible record")));
        }
        if exclude_stale && found.iter().any(|hit| hit.status.as_str() == "stale") {
            findings.push(mismatch("search shows what is stale".to_owned()));
        }
        Ok(findings)
    }

    /// Adds some filters, by what any record has, hidden ones too.
    fn narrow(&mut self, search: &mut Search) {
        if self.model.facts.is_empty() {
            return;
        }
        let mut some = || self.model.facts[self.chance.below(self.model.facts.len())].clone();
        let (one, another, third) = (some(), some(), some());
        if self.chance.percent(15) {
            search.fact_key = one.key;
        }
        if self.chance.percent(15) {
            search.source_id = one.source;
        }
        if self.chance.percent(15) {
            search.memory_ids = Some(vec![one.id, another.id, third.id]);
        }
        if self.chance.percent(15) {
            search.since = Some(another.updated_at);
        }
        if self.chance.percent(15) {
            search.until = Some(third.updated_at);
        }
    }

    async fn play_forget(&mut self) -> anyhow::Result<Vec<Finding>> {
        let (person, project, ctx) = self.somebody().await?;
        if self.model.facts.is_empty() {
            return Ok(Vec::new());
        }
        let at = self.chance.below(self.model.facts.len());
        let fact = self.model.facts[at].clone();
        let may = fact.project == project && self.model.is_alive(&fact) && self.model.sees(person, fact.seen);
        let admission = self.engine.admit(&ctx)?;
        let answer = self.engine.forget(&ctx, admission, Forget::Record(fact.id.to_string())).await;
        match (answer, may) {
            (Ok(_), true) => self.model.facts[at].is_forgotten = true,
            (Err(CallError::NotFound(said)), false) if said == fact.id.to_string() => {}
            (Ok(_), false) => return Ok(vec![leak(format!("{} could be forgotten by whom it is hidden", fact.id))]),
            (Err(error), _) => return Ok(vec![mismatch(format!("forget said {error}"))]),
        }
        Ok(Vec::new())
    }

    async fn play_forget_source(&mut self) -> anyhow::Result<Vec<Finding>> {
        let (person, project, ctx) = self.somebody().await?;
        let source_id = format!("source-{}", self.chance.below(SOURCES));
        let place = self.chance.percent(50).then(|| self.chance.below(WORKSPACES));
        let of_source =
            |fact: &&Fact| fact.source.as_deref() == Some(&source_id) && place.is_none_or(|p| p == fact.workspace);
        let meant: BTreeSet<RecordId> =
            self.model.visible(person, project).filter(of_source).map(|fact| fact.id).collect();
        let admission = self.engine.admit(&ctx)?;
        let forget = Forget::Source { source_id: source_id.clone(), workspace: place.map(workspace) };
        let said = set(&self.engine.forget(&ctx, admission, forget).await?.ids);
        for fact in self.model.facts.iter_mut().filter(|fact| said.contains(&fact.id)) {
            fact.is_forgotten = true;
        }
        Ok(if said == meant {
            vec![]
        } else {
            vec![leak(format!("forget by source took {said:?}, expected {meant:?}"))]
        })
    }

    async fn play_validate(&mut self) -> anyhow::Result<Vec<Finding>> {
        let (person, project, ctx) = self.somebody().await?;
        let source_id = format!("source-{}", self.chance.below(SOURCES));
        let place = self.chance.percent(50).then(|| self.chance.below(WORKSPACES));
        let observed = match self.chance.below(10) {
            0..=3 => Some(Observed::Hash(format!("hash-{}", self.chance.below(HASHES)))),
            4 => Some(Observed::Gone { moved_to: None }),
            _ => None,
        };
        match &observed {
            Some(Observed::Hash(hash)) => self.model.observe(project, place, &source_id, Some(hash)),
            Some(Observed::Gone { .. }) => self.model.observe(project, place, &source_id, None),
            None => {}
        }
        let admission = self.engine.admit(&ctx)?;
        let validate =
            Validate { source_id: source_id.clone(), seen: observed.clone(), workspace: place.map(workspace) };
        let said = self.engine.validate(&ctx, admission, validate).await?;
        let of_source =
            |fact: &&Fact| fact.source.as_deref() == Some(&source_id) && place.is_none_or(|p| p == fact.workspace);
        let facts: Vec<&Fact> = self.model.visible(person, project).filter(of_source).collect();
        let of_status = |status: &str| -> BTreeSet<RecordId> {
            facts.iter().filter(|fact| self.model.status(person, fact, ctx.now) == status).map(|fact| fact.id).collect()
        };
        let known = match &observed {
            Some(Observed::Hash(hash)) => vec![Some(hash.as_str())],
            Some(Observed::Gone { .. }) => vec![None],
            None => self.model.known(person, project, place, &source_id),
        };
        let is_equal = said.checked == facts.len()
            && said.verified == of_status("verified").len()
            && said.unverified == of_status("unverified").len()
            && set(&said.stale) == of_status("stale")
            && set(&said.conflicting) == of_status("conflict")
            && known.contains(&said.current_source_hash.as_deref());
        Ok(if is_equal {
            vec![]
        } else {
            vec![leak(format!("validate says {said:?}, of {} facts, {known:?}", facts.len()))]
        })
    }

    async fn play_restore(&mut self) -> anyhow::Result<Vec<Finding>> {
        let (person, _, ctx) = self.somebody().await?;
        if self.model.facts.is_empty() {
            return Ok(Vec::new());
        }
        let at = self.chance.below(self.model.facts.len());
        let fact = self.model.facts[at].clone();
        let is_own = self.projects[fact.project].1 == self.model.people[person].account;
        let may = ctx.credential.role == Role::Admin && is_own && self.model.sees(person, fact.seen);
        let admin = self.admin_of(person).await?;
        match (self.engine.restore_record(&admin, fact.id).await, may) {
            (Ok(_), true) if !self.model.is_alive(&fact) => self.model.bring_back(at),
            (Err(AdminError::Conflict(_)), true) if self.model.is_alive(&fact) => {}
            (Err(AdminError::NotFound(_) | AdminError::Forbidden(_)), false) => {}
            (answer, _) => return Ok(vec![leak(format!("restoring {} by {person} gave {answer:?}", fact.id))]),
        }
        Ok(Vec::new())
    }

    /// A member moves to another department.
    async fn play_move(&mut self) -> anyhow::Result<Vec<Finding>> {
        let (person, _, _) = self.somebody().await?;
        let account = self.model.people[person].account;
        let own: Vec<usize> = (0..self.departments.len()).filter(|at| self.departments[*at].1 == account).collect();
        let to = self.chance.percent(85).then(|| own[self.chance.below(own.len())]);
        let department = Some(to.map(|at| self.departments[at].0));
        let change = MemberChange { department, ..MemberChange::default() };
        let (operator, id) = (self.operator.clone(), self.holders[person].id);
        self.engine.change_member(&operator, self.accounts[account], id, change).await?;
        self.model.people[person].department = to;
        Ok(Vec::new())
    }

    async fn play_workspace_end(&mut self) -> anyhow::Result<Vec<Finding>> {
        let (person, project, ctx) = self.somebody().await?;
        let place = self.chance.below(WORKSPACES);
        let admin = self.admin_of(person).await?;
        let may = ctx.credential.role == Role::Admin && self.model.is_active(person, project, place);
        let answer = self.engine.delete_workspace(&admin, self.projects[project].0, &workspace(place)).await;
        match (answer, may) {
            (Ok(_), true) => self.model.end_life(project, place),
            (Err(AdminError::NotFound(_) | AdminError::Forbidden(_)), false) => {}
            (answer, _) => return Ok(vec![leak(format!("ending a workspace gave {answer:?}"))]),
        }
        Ok(Vec::new())
    }

    async fn play_workspace_return(&mut self) -> anyhow::Result<Vec<Finding>> {
        let (person, project, ctx) = self.somebody().await?;
        let place = self.chance.below(WORKSPACES);
        let admin = self.admin_of(person).await?;
        let former = self.model.former_life(person, project, place).filter(|_| ctx.credential.role == Role::Admin);
        let answer = self.engine.restore_workspace(&admin, self.projects[project].0, &workspace(place)).await;
        match (answer, former) {
            (Ok(_), Some(former)) => self.model.restore_life(project, place, former),
            (Err(AdminError::NotFound(_) | AdminError::Forbidden(_)), None) => {}
            (answer, _) => return Ok(vec![leak(format!("restoring a workspace gave {answer:?}"))]),
        }
        Ok(Vec::new())
    }

    /// A plain member leaves, another member of the account takes over its records, and a new one joins.
    async fn play_leave(&mut self) -> anyhow::Result<Vec<Finding>> {
        let (person, _, ctx) = self.somebody().await?;
        let (heir, _, _) = self.somebody().await?;
        let account = self.model.people[person].account;
        let is_fitting = heir != person && self.model.people[heir].account == account;
        if ctx.credential.role != Role::Member || !is_fitting {
            return Ok(Vec::new());
        }
        let (operator, id) = (self.operator.clone(), self.holders[person].id);
        self.engine.delete_member(&operator, self.accounts[account], id, Some(self.holders[heir].id)).await?;
        self.model.hand_over(person, heir);
        let key = self.holders[person].keys[0].1.clone();
        if self.engine.authenticate(&key).await.is_ok() {
            return Ok(vec![leak("the key of a member who left is accepted".to_owned())]);
        }
        self.add_member(account).await?;
        Ok(Vec::new())
    }

    async fn add_member(&mut self, account: usize) -> anyhow::Result<()> {
        let own: Vec<usize> = (0..self.departments.len()).filter(|at| self.departments[*at].1 == account).collect();
        let department = self.chance.percent(85).then(|| own[self.chance.below(own.len())]);
        self.make_member(account, department, Role::Member).await
    }
}

fn set(ids: &[RecordId]) -> BTreeSet<RecordId> {
    ids.iter().copied().collect()
}

const fn scope_of(seen: Seen) -> Scope {
    match seen {
        Seen::All => Scope::Shared,
        Seen::Department(_) => Scope::Department,
        Seen::Person(_) => Scope::Draft,
    }
}
