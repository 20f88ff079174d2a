//! The pages, and what each weighs.

use anyhow::{Context, Result, ensure};
use mnemon_testkit::ConsoleVisitor;

use super::world::{CHANGED_SOURCE, FORGOTTEN_SOURCE, WORKSPACES, WRITTEN};

/// The bytes of a page. Nothing is compressed: a page with a seal beside a text that somebody chose must not be.
pub(super) struct Weight {
    pub(super) html: usize,
    style_and_script: usize,
}

impl Weight {
    pub(super) const fn sum(&self) -> usize {
        self.html + self.style_and_script
    }
}

/// Every page by its name, with all its forms that differ in what the service has to do.
pub(super) async fn list_pages(person: &ConsoleVisitor) -> Result<Vec<(String, String)>> {
    let stale = first_record(person, "/console/memory?status=stale").await?;
    let disputed = first_record(person, "/console/memory?status=conflict").await?;
    let workspace = WORKSPACES[0];
    let fixed = [
        ("overview", "/overview".to_owned()),
        ("memory, compact", "/memory?view=compact".to_owned()),
        ("memory, by source", "/memory?sort=source".to_owned()),
        ("memory, of an author", "/memory?author=Person+Number+1".to_owned()),
        ("search, everywhere", "/memory?q=weekly+budget+review".to_owned()),
        ("memory", "/memory".to_owned()),
        ("memory, a workspace", format!("/memory?workspace={workspace}")),
        ("memory, stale", "/memory?status=stale".to_owned()),
        ("memory, verified", "/memory?status=verified".to_owned()),
        ("memory, in conflict", "/memory?status=conflict".to_owned()),
        ("memory, drafts", "/memory?scope=draft".to_owned()),
        ("memory, forgotten", "/memory?state=forgotten".to_owned()),
        ("forgotten, compact", "/memory?state=forgotten&view=compact".to_owned()),
        ("search, 10 explained", format!("/memory?q=weekly+budget+review&workspace={workspace}")),
        ("search, 20", format!("/memory?q=weekly+budget+review&workspace={workspace}&n=20")),
        ("search, nothing", format!("/memory?q=zzxqy+qqzzy&workspace={workspace}")),
        ("record, stale", format!("/records/{stale}")),
        ("record, in conflict", format!("/records/{disputed}")),
        ("sources", "/sources".to_owned()),
        ("sources, a later page", "/sources?page=400".to_owned()),
        ("sources, found", "/sources?q=page-77".to_owned()),
        ("sources, changed", "/sources?show=changed".to_owned()),
        ("source", format!("/sources?one={CHANGED_SOURCE}")),
        ("source, forgotten", format!("/sources?one={FORGOTTEN_SOURCE}&workspace={WRITTEN}")),
        ("workspaces", "/workspaces".to_owned()),
        ("keys", "/keys".to_owned()),
        ("keys, found", "/keys?q=number+977".to_owned()),
        ("keys, by calls", "/keys?sort=calls".to_owned()),
        ("projects", "/projects".to_owned()),
        ("in and out", "/moving".to_owned()),
        ("connections", "/connections".to_owned()),
        ("people", "/people".to_owned()),
        ("people, a later page", "/people?page=30".to_owned()),
        ("people, found", "/people?q=number+977".to_owned()),
        ("people, by keys", "/people?sort=keys".to_owned()),
        ("integrations", "/integrations".to_owned()),
        ("sessions", "/sessions".to_owned()),
        ("usage", "/usage".to_owned()),
        ("audit", "/audit".to_owned()),
        ("audit, of people", "/audit?what=people".to_owned()),
        ("guard", "/guard".to_owned()),
        ("connect", "/connect".to_owned()),
    ];
    Ok(fixed.into_iter().map(|(name, path)| (name.to_owned(), format!("/console{path}"))).collect())
}

async fn first_record(person: &ConsoleVisitor, list: &str) -> Result<String> {
    let page = person.get(list).await;
    let after = page.text.split("href=\"/console/records/").nth(1).with_context(|| format!("{list} is empty"))?;
    Ok(after.chars().take(36).collect())
}

pub(super) async fn weigh(person: &ConsoleVisitor, path: &str) -> Result<Weight> {
    let page = person.get(path).await;
    ensure!(page.status == 200, "{path} answered {}", page.status);
    ensure!(page.header("content-encoding").is_empty(), "{path} is compressed");
    let mut style_and_script = 0;
    for asset in page.text.split('"').filter(|text| text.starts_with("/console/assets/")) {
        if asset.ends_with(".css") || asset.ends_with(".js") {
            style_and_script += person.get(asset).await.text.len();
        }
    }
    ensure!(style_and_script > 0, "{path} names neither style nor script");
    Ok(Weight { html: page.text.len(), style_and_script })
}
