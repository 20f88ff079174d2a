//! The pages, and what each weighs.

use anyhow::{Context, Result, ensure};
use mnemon_testkit::ConsoleVisitor;

use super::world::{CHANGED_SOURCE, WORKSPACES};

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
        ("memory", "/memory".to_owned()),
        ("memory, a workspace", format!("/memory?workspace={workspace}")),
        ("memory, stale", "/memory?status=stale".to_owned()),
        ("memory, verified", "/memory?status=verified".to_owned()),
        ("memory, in conflict", "/memory?status=conflict".to_owned()),
        ("memory, drafts", "/memory?scope=draft".to_owned()),
        ("memory, forgotten", "/memory?state=forgotten".to_owned()),
        ("search, 10 explained", format!("/memory?q=weekly+budget+review&workspace={workspace}")),
        ("search, 25", format!("/memory?q=weekly+budget+review&workspace={workspace}&n=25")),
        ("search, nothing", format!("/memory?q=zzxqy+qqzzy&workspace={workspace}")),
        ("record, stale", format!("/records/{stale}")),
        ("record, in conflict", format!("/records/{disputed}")),
        ("sources", "/sources".to_owned()),
        ("sources, changed", "/sources?show=changed".to_owned()),
        ("source", format!("/sources?one={CHANGED_SOURCE}")),
        ("workspaces", "/workspaces".to_owned()),
        ("keys", "/keys".to_owned()),
        ("connections", "/connections".to_owned()),
        ("people", "/people".to_owned()),
        ("integrations", "/integrations".to_owned()),
        ("sessions", "/sessions".to_owned()),
        ("usage", "/usage".to_owned()),
        ("audit", "/audit".to_owned()),
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
