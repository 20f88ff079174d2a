//! A repository of plain pages about services, and what is true in it now.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

use crate::chance::Chance;

const SERVICES: [&str; 12] = [
    "billing",
    "catalogue",
    "checkout",
    "delivery",
    "frontdesk",
    "invoices",
    "ledger",
    "mailer",
    "payments",
    "reports",
    "search gateway",
    "warehouse",
];
const DAYS: [&str; 5] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"];
const PEOPLE: [&str; 8] = ["Ana", "Ben", "Chidi", "Dana", "Emre", "Fatima", "Goran", "Hana"];
const STORES: [&str; 5] = ["PostgreSQL", "MySQL", "SQLite", "Redis", "DynamoDB"];
const TOPICS: usize = 5;
/// How many pages a commit changes at most.
const PAGES_MAX: usize = 3;

/// A fact, and the page that says it.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    pub(crate) file: String,
    pub(crate) text: String,
}

pub(crate) struct Town {
    folder: PathBuf,
    chance: Chance,
    /// For each service and topic, which of the possible values holds.
    values: Vec<[usize; TOPICS]>,
}

impl Town {
    pub(crate) fn found(folder: &Path, mut chance: Chance) -> Result<Self> {
        let values = SERVICES.iter().map(|_| std::array::from_fn(|topic| chance.below(choices(topic)))).collect();
        let town = Self { folder: folder.to_owned(), chance, values };
        town.git(&["init", "--quiet"])?;
        for service in 0..SERVICES.len() {
            town.write(service)?;
        }
        Ok(town)
    }

    pub(crate) fn everything(&self) -> Vec<Said> {
        (0..SERVICES.len()).flat_map(|service| (0..TOPICS).map(move |topic| self.said(service, topic))).collect()
    }

    /// Changes some pages, and returns what somebody saved of the news.
    pub(crate) fn change(&mut self, saved_percent: usize) -> Result<Vec<Said>> {
        let mut news = Vec::new();
        for _ in 0..=self.chance.below(PAGES_MAX) {
            let (service, topic) = (self.chance.below(SERVICES.len()), self.chance.below(TOPICS));
            let step = 1 + self.chance.below(choices(topic) - 1);
            self.values[service][topic] = (self.values[service][topic] + step) % choices(topic);
            self.write(service)?;
            // Whoever saves the news has read the page, and saves all of it.
            if self.chance.below(100) < saved_percent {
                news.extend((0..TOPICS).map(|topic| (service, topic)));
            }
        }
        // A page that changed twice says in the end what it said last.
        Ok(news.into_iter().map(|(service, topic)| self.said(service, topic)).collect())
    }

    pub(crate) fn commit(&self, number: usize) -> Result<()> {
        self.git(&["add", "--all"])?;
        self.git(&["commit", "--quiet", "--allow-empty", "--message", &format!("Change {number}")])
    }

    pub(crate) fn hash(&self, file: &str) -> Result<String> {
        let bytes = fs::read(self.folder.join(file))?;
        Ok(format!("sha256:{}", mnemon_core::to_hex(Sha256::digest(&bytes))))
    }

    /// One question for each fact.
    pub(crate) fn questions(&self) -> Vec<String> {
        let of = |service: &str, topic| match topic {
            0 => format!("which port does {service} listen on"),
            1 => format!("on which day is {service} deployed"),
            2 => format!("who owns {service}"),
            3 => format!("where does {service} keep its data"),
            _ => format!("for how many days does {service} keep its logs"),
        };
        SERVICES.iter().flat_map(|service| (0..TOPICS).map(move |topic| of(service, topic))).collect()
    }

    /// Whether the repository says so now.
    pub(crate) fn holds(&self, text: &str) -> bool {
        self.everything().iter().any(|said| said.text == text)
    }

    fn said(&self, service: usize, topic: usize) -> Said {
        Said { file: file(service), text: sentence(service, topic, self.values[service][topic]) }
    }

    fn write(&self, service: usize) -> Result<()> {
        let path = self.folder.join(file(service));
        fs::create_dir_all(path.parent().context("a page lies in a folder")?)?;
        let lines = (0..TOPICS).map(|topic| self.said(service, topic).text + "\n");
        fs::write(path, format!("# {}\n\n{}", SERVICES[service], lines.collect::<String>()))?;
        Ok(())
    }

    fn git(&self, arguments: &[&str]) -> Result<()> {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=Ana", "-c", "user.email=ana@example.com", "-c", "commit.gpgsign=false"]);
        command.args(arguments).current_dir(&self.folder);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        let output = command.output().context("can't run git")?;
        ensure!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }
}

fn file(service: usize) -> String {
    format!("services/{}.md", SERVICES[service].replace(' ', "-"))
}

const fn choices(topic: usize) -> usize {
    match topic {
        0 => 900,
        1 => DAYS.len(),
        2 => PEOPLE.len(),
        3 => STORES.len(),
        _ => 80,
    }
}

fn sentence(service: usize, topic: usize, value: usize) -> String {
    let name = SERVICES[service];
    match topic {
        0 => format!("The {name} service listens on port {}.", 4_000 + value),
        1 => format!("The {name} service is deployed every {}.", DAYS[value]),
        2 => format!("{} owns the {name} service.", PEOPLE[value]),
        3 => format!("The {name} service keeps its data in {}.", STORES[value]),
        _ => format!("The {name} service keeps its logs for {} days.", 10 + value),
    }
}
