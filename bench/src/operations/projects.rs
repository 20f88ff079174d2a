//! Many projects of very different sizes: the n-th has a share of 1/n.

use anyhow::Result;
use mnemon_guard_train::chance::Chance;
use serde_json::json;

use super::http::Http;
use super::service::{OPERATOR, Service};
use crate::load::Texts;

const SEED: u64 = 20_270_116;
/// Connections that store the records.
const FILLERS: usize = 32;

pub(super) struct Projects {
    keys: Vec<String>,
    /// The sums of the shares up to each project, the last of which is 1.
    shares: Vec<f64>,
    records: Vec<usize>,
    pub(super) texts: Texts,
}

impl Projects {
    pub(super) async fn create(service: &Service, count: usize, records: usize) -> Result<Self> {
        let mut http = Http::connect(service.address).await?;
        let account = json!({"name": "Bench", "plan": "unlimited"});
        let account = http.admin("POST", "/accounts", OPERATOR, &account).await?;
        let of_account = format!("/accounts/{}", account["id"].as_str().unwrap_or_default());
        let member = json!({"name": "Ana", "role": "admin"});
        let member = http.admin("POST", &format!("{of_account}/members"), OPERATOR, &member).await?;
        let mut keys = Vec::new();
        for number in 0..count {
            let project = json!({"name": format!("Project {number}")});
            let project = http.admin("POST", &format!("{of_account}/projects"), OPERATOR, &project).await?;
            let path = format!("/projects/{}/keys", project["id"].as_str().unwrap_or_default());
            let key =
                http.admin("POST", &path, OPERATOR, &json!({"member_id": member["id"], "access": "write"})).await?;
            keys.push(key["key"].as_str().unwrap_or_default().to_owned());
        }
        let whole: f64 = (1..=count).map(|rank| 1.0 / rank as f64).sum();
        let share = |rank: usize| 1.0 / rank as f64 / whole;
        let shares = (1..=count).scan(0.0, |sum, rank| {
            *sum += share(rank);
            Some(*sum)
        });
        let sizes = (1..=count).map(|rank| ((records as f64 * share(rank)) as usize).max(1));
        let projects = Self { keys, shares: shares.collect(), records: sizes.collect(), texts: Texts::new(SEED) };
        projects.fill(service).await?;
        Ok(projects)
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// How many records were stored at the start.
    pub(super) fn records(&self) -> usize {
        self.records.iter().sum()
    }

    /// A project, drawn by its share.
    pub(super) fn draw(&self, chance: &mut Chance) -> usize {
        let drawn = f64::from(chance.unit());
        self.shares.partition_point(|sum| *sum < drawn).min(self.len() - 1)
    }

    pub(super) fn key(&self, project: usize) -> &str {
        &self.keys[project]
    }

    /// The number of a text that a project had at the start.
    pub(super) fn stored(&self, project: usize, chance: &mut Chance) -> u64 {
        chance.below(self.records[project]) as u64
    }

    async fn fill(&self, service: &Service) -> Result<()> {
        let fillers = (0..FILLERS).map(|filler| async move {
            let mut http = Http::connect(service.address).await?;
            for project in (filler..self.len()).step_by(FILLERS) {
                for number in 0..self.records[project] {
                    let content = self.texts.text(number as u64);
                    http.call(self.key(project), "remember", &json!({"content": content})).await?;
                }
            }
            anyhow::Ok(())
        });
        futures_util::future::try_join_all(fillers).await?;
        Ok(())
    }
}
