//! The ways in which a fact stops holding, each acted out with real calls: save, change, ask.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::{Result, ensure};
use mnemon_core::Clock;
use mnemon_testkit::{Caller, TestServer};
use serde_json::{Value, json};

use super::data::{Domain, Update};

/// Between two saves of a working day.
const BETWEEN_SAVES: Duration = Duration::from_secs(7 * 60);
/// Between the old facts and the new ones.
const UNTIL_THE_CHANGE: Duration = Duration::from_secs(30 * 86_400);
/// How long a fact with an end holds: it is over by the time of the change.
const HOLDS_FOR: Duration = Duration::from_secs(20 * 86_400);
/// The default of a search.
const LIMIT: usize = 10;
const REFUSED: &str = "Memory rejected by";

/// How a fact stopped holding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// The file it came from has another hash now; the new fact came from there too.
    Source,
    /// Another record has different content under the same key.
    Key,
    /// The new record was saved in place of the old one.
    Replaced,
    /// Its `valid_until` has passed; a newer record answers.
    Until,
    /// As [`Change::Source`], and the new fact was not saved.
    SourceAlone,
    /// As [`Change::Until`], and the new fact was not saved.
    UntilAlone,
}

impl Change {
    pub(crate) const ALL: [Change; 6] =
        [Self::Source, Self::Key, Self::Replaced, Self::Until, Self::SourceAlone, Self::UntilAlone];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Source | Self::SourceAlone => "source changed",
            Self::Key => "key disputed",
            Self::Replaced => "replaced",
            Self::Until | Self::UntilAlone => "valid_until passed",
        }
    }

    /// Whether a new record answers after the change.
    pub(crate) const fn has_fresh(self) -> bool {
        !matches!(self, Self::SourceAlone | Self::UntilAlone)
    }

    /// What the old record must say of itself if it is found; `None` where it must not be found.
    const fn old_status(self) -> Option<&'static str> {
        match self {
            Self::Key => Some("conflict"),
            Self::Replaced => None,
            _ => Some("stale"),
        }
    }
}

/// What a question brought.
#[derive(Debug, Clone)]
pub(crate) struct QuestionResult {
    pub(crate) question: String,
    /// Whether the old record was the first answer before anything changed.
    pub(crate) old_was_first: bool,
    /// The same; of a replaced record, whether the new one is the first answer where the old one never was. Elsewhere
    /// the ranking of words and meaning decides more than freshness does.
    pub(crate) could_be_first: bool,
    /// Places from 0 on, of the fresh record and of the old one.
    pub(crate) fresh: Option<usize>,
    pub(crate) old: Option<usize>,
    /// Whether the one wanted is the answer when only one record is asked for.
    pub(crate) is_first_of_one: bool,
    /// The first record's text.
    pub(crate) first: String,
}

/// How a story ended.
pub(crate) struct Told {
    pub(crate) asked: Vec<QuestionResult>,
    /// Texts that the guard refused. They say something about the guard and nothing about the order of answers.
    pub(crate) refused: Vec<String>,
}

/// Whether the service can replace a record in one call.
pub(crate) async fn offers_replace(caller: &Caller) -> bool {
    let list = caller.request("tools/list", json!({})).await.json();
    let tools = list["result"]["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().any(|tool| tool["name"] == "remember" && tool["inputSchema"]["properties"]["replace"].is_object())
}

/// Plays one change on its own server. `None` if the service does not offer it.
pub(crate) async fn tell(change: Change, domains: &[Domain]) -> Result<Option<Told>> {
    let server = TestServer::start().await;
    let caller = server.first_caller().await;
    if change == Change::Replaced && !offers_replace(&caller).await {
        return Ok(None);
    }
    let mut story = Story { server, caller, change, refused: Vec::new() };
    for domain in domains {
        story.save_old(domain).await;
    }
    let old_were_first = story.firsts(domains, |update| &update.old).await;
    let could_be_first = match change {
        Change::Replaced => firsts_without_old(domains).await,
        _ => old_were_first.clone(),
    };
    story.server.clock.advance(UNTIL_THE_CHANGE);
    for domain in domains {
        story.make_changes(domain).await;
    }
    let mut asked = Vec::new();
    for domain in domains {
        for update in domain.updates.iter().filter(|update| story.has_both(update)) {
            for question in &update.questions {
                let old_was_first = old_were_first.contains(question.as_str());
                let could_be_first = could_be_first.contains(question.as_str());
                asked.push(QuestionResult {
                    old_was_first,
                    could_be_first,
                    ..story.ask(domain, update, question).await?
                });
            }
        }
    }
    Ok(Some(Told { asked, refused: story.refused }))
}

/// The questions that the new records answer first in workspaces that never had the old ones. A replaced record is
/// forgotten, and nothing of it may help the one in its place: so these are the questions that the new one can answer
/// first at best.
async fn firsts_without_old(domains: &[Domain]) -> HashSet<&str> {
    let server = TestServer::start().await;
    let caller = server.first_caller().await;
    let mut story = Story { server, caller, change: Change::Key, refused: Vec::new() };
    for domain in domains {
        for text in &domain.around {
            story.save(json!({"content": text, "workspace": domain.name})).await;
        }
        story.make_changes(domain).await;
    }
    story.firsts(domains, |update| &update.new).await
}

struct Story {
    server: TestServer,
    caller: Caller,
    change: Change,
    refused: Vec<String>,
}

impl Story {
    /// Old facts and other records in turns, as they come up in a week.
    async fn save_old(&mut self, domain: &Domain) {
        let mut around = domain.around.iter();
        for update in &domain.updates {
            let call = self.old_call(domain, update);
            self.save(call).await;
            if let Some(text) = around.next() {
                self.save(json!({"content": text, "workspace": domain.name})).await;
            }
        }
        for text in around {
            self.save(json!({"content": text, "workspace": domain.name})).await;
        }
    }

    fn has_both(&self, update: &Update) -> bool {
        !self.refused.contains(&update.old) && !self.refused.contains(&update.new)
    }

    fn old_call(&self, domain: &Domain, update: &Update) -> Value {
        let mut call = json!({"content": update.old, "workspace": domain.name});
        match self.change {
            Change::Source | Change::SourceAlone => {
                call["source_id"] = json!(update.source);
                call["source_hash"] = json!("sha256:0001");
            }
            Change::Key | Change::Replaced => call["fact_key"] = json!(update.key),
            Change::Until | Change::UntilAlone => {
                let end = self.server.clock.now().checked_add(HOLDS_FOR);
                call["valid_until"] = json!(end.expect("the calendar goes on").to_string());
            }
        }
        call
    }

    async fn make_changes(&mut self, domain: &Domain) {
        for (number, update) in domain.updates.iter().enumerate() {
            // A changed source is noticed by a check, or by the first save from it: both are tried.
            let is_checked = self.change == Change::SourceAlone || self.change == Change::Source && number % 2 == 0;
            if is_checked {
                let call = json!({"source_id": update.source, "current_source_hash": "sha256:0002"});
                self.caller.call("validate_memory", call).await.structured();
            }
            if self.change.has_fresh() {
                let call = self.new_call(domain, update);
                self.save(call).await;
            }
        }
    }

    fn new_call(&self, domain: &Domain, update: &Update) -> Value {
        let mut call = json!({"content": update.new, "workspace": domain.name});
        match self.change {
            Change::Source => {
                call["source_id"] = json!(update.source);
                call["source_hash"] = json!("sha256:0002");
            }
            Change::Key => call["fact_key"] = json!(update.key),
            Change::Replaced => {
                call["fact_key"] = json!(update.key);
                call["replace"] = json!(true);
            }
            _ => {}
        }
        call
    }

    /// Saves a record. One that the guard refuses is noted as such, and its questions are skipped.
    async fn save(&mut self, call: Value) {
        let content = call["content"].as_str().unwrap_or_default().to_owned();
        let answer = self.caller.call("remember", call).await;
        if answer.is_error() && answer.text().contains(REFUSED) {
            self.refused.push(content);
        } else {
            answer.structured();
        }
        self.server.clock.advance(BETWEEN_SAVES);
    }

    async fn ask(&self, domain: &Domain, update: &Update, question: &str) -> Result<QuestionResult> {
        let found = self.search(domain, question, LIMIT).await;
        let place = |text: &str| found.iter().position(|record| record["content"] == text);
        let (fresh, old) = (place(&update.new), place(&update.old));
        if let Some(place) = old {
            let status = found[place]["status"].as_str();
            ensure!(status == self.change.old_status(), "{question:?}: the old record is {status:?}");
        }
        let wanted = if self.change.has_fresh() { &update.new } else { &update.old };
        let one = self.search(domain, question, 1).await;
        let text = |record: Option<&Value>| {
            record.and_then(|record| record["content"].as_str()).unwrap_or_default().to_owned()
        };
        Ok(QuestionResult {
            question: question.to_owned(),
            old_was_first: false,
            could_be_first: false,
            fresh,
            old,
            is_first_of_one: text(one.first()) == *wanted,
            first: text(found.first()),
        })
    }

    /// The questions that a certain record of each update answers first.
    async fn firsts<'d>(&self, domains: &'d [Domain], of: impl Fn(&'d Update) -> &'d String) -> HashSet<&'d str> {
        let mut firsts = HashSet::new();
        for domain in domains {
            for update in &domain.updates {
                for question in &update.questions {
                    let found = self.search(domain, question, 1).await;
                    if found.first().is_some_and(|record| record["content"] == *of(update)) {
                        firsts.insert(question.as_str());
                    }
                }
            }
        }
        firsts
    }

    async fn search(&self, domain: &Domain, question: &str, limit: usize) -> Vec<Value> {
        let call = json!({"query": question, "workspace": domain.name, "limit": limit});
        let answer = self.caller.call("search", call).await;
        answer.structured()["result"].as_array().cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn domain() -> Domain {
        let update = |key: &str, old: &str, new: &str, question: &str| Update {
            domain: "d".to_owned(),
            key: key.to_owned(),
            source: format!("docs/{key}.md"),
            old: old.to_owned(),
            new: new.to_owned(),
            questions: vec![question.to_owned()],
        };
        Domain {
            name: "d".to_owned(),
            updates: vec![
                update(
                    "release",
                    "Releases go out on Thursday.",
                    "Releases go out on Tuesday.",
                    "when do releases go out",
                ),
                update("doctor", "My doctor is Dr. Almeida.", "My doctor is Dr. Roth.", "who is my doctor"),
            ],
            around: vec!["The guest wifi is switched off at night.".to_owned()],
        }
    }

    #[tokio::test]
    async fn every_story_ends_with_the_records_that_it_tells_of() {
        for change in Change::ALL {
            let Some(Told { asked, .. }) = tell(change, &[domain()]).await.unwrap() else {
                assert_eq!(change, Change::Replaced);
                continue;
            };
            assert_eq!(asked.len(), 2, "{change:?}");
            assert!(asked.iter().all(|asked| asked.fresh.is_some() == change.has_fresh()), "{change:?}: {asked:?}");
            let has_old = change != Change::Replaced;
            assert!(asked.iter().all(|asked| asked.old.is_some() == has_old), "{change:?}: {asked:?}");
        }
    }
}
