//! A repository of plain pages about services, and what is true in it now. Pages change, move and go, and may come
//! back.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use mnemon_guard_train::chance::Chance;
use sha2::{Digest, Sha256};

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
/// Pages move between these.
const FOLDERS: [&str; 3] = ["services", "docs/services", "archive"];
const TOPICS: usize = 5;
/// In how many of a hundred commits a page is deleted or comes back, and in how many one is renamed.
const DELETED_PERCENT: usize = 15;
const RENAMED_PERCENT: usize = 25;
/// How many pages a commit changes at most.
const PAGES_MAX: usize = 3;

/// A fact, and the page that says it.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    pub(crate) file: String,
    pub(crate) text: String,
}

pub(crate) struct Repository {
    folder: PathBuf,
    chance: Chance,
    /// For each service and topic, which of the possible values holds.
    values: Vec<[usize; TOPICS]>,
    /// In which of [`FOLDERS`] the page of each service is; none if it was deleted.
    places: Vec<Option<usize>>,
}

impl Repository {
    pub(crate) fn found(folder: &Path, mut chance: Chance) -> Result<Self> {
        let values = SERVICES.iter().map(|_| std::array::from_fn(|topic| chance.below(choices(topic)))).collect();
        fs::create_dir_all(folder)?;
        let places = vec![Some(0); SERVICES.len()];
        let repository = Self { folder: folder.to_owned(), chance, values, places };
        repository.git(&["init", "--quiet"])?;
        for service in 0..SERVICES.len() {
            repository.write(service)?;
        }
        Ok(repository)
    }

    pub(crate) fn everything(&self) -> Vec<Said> {
        (0..SERVICES.len()).flat_map(|service| self.page(service)).collect()
    }

    /// What the page of a service says; nothing if there is none.
    fn page(&self, service: usize) -> Vec<Said> {
        (0..TOPICS).filter_map(|topic| self.said(service, topic)).collect()
    }

    /// Changes some pages, and returns what somebody saved of the news.
    pub(crate) fn change(&mut self, saved_percent: usize) -> Result<Vec<Said>> {
        let mut read = Vec::new();
        for _ in 0..=self.chance.below(PAGES_MAX) {
            let (service, topic) = (self.chance.below(SERVICES.len()), self.chance.below(TOPICS));
            let step = 1 + self.chance.below(choices(topic) - 1);
            self.values[service][topic] = (self.values[service][topic] + step) % choices(topic);
            self.move_page(service)?;
            self.write(service)?;
            // An assistant that saves the news has read the page, and saves all of it.
            if self.chance.below(100) < saved_percent {
                read.push(service);
            }
        }
        // A page that changed twice says in the end what it said last.
        Ok(read.into_iter().flat_map(|service| self.page(service)).collect())
    }

    /// Sometimes deletes a page, brings one back, or renames it.
    fn move_page(&mut self, service: usize) -> Result<()> {
        let chance = self.chance.below(100);
        let place = match self.places[service] {
            Some(_) if chance < DELETED_PERCENT => None,
            Some(place) if chance < DELETED_PERCENT + RENAMED_PERCENT => Some((place + 1) % FOLDERS.len()),
            None if chance < 50 => Some(0),
            same => same,
        };
        if let Some(file) = self.file(service).filter(|_| place != self.places[service]) {
            fs::remove_file(self.folder.join(file))?;
        }
        self.places[service] = place;
        Ok(())
    }

    /// The state of a page that a fact was saved from; none if it is gone.
    pub(crate) fn hash_now(&self, file: &str) -> Option<String> {
        self.hash(file).ok()
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

    fn said(&self, service: usize, topic: usize) -> Option<Said> {
        Some(Said { file: self.file(service)?, text: sentence(service, topic, self.values[service][topic]) })
    }

    fn file(&self, service: usize) -> Option<String> {
        let name = SERVICES[service].replace(' ', "-");
        self.places[service].map(|place| format!("{}/{name}.md", FOLDERS[place]))
    }

    fn write(&self, service: usize) -> Result<()> {
        let Some(file) = self.file(service) else { return Ok(()) };
        let path = self.folder.join(file);
        fs::create_dir_all(path.parent().context("a page lies in a folder")?)?;
        let lines = self.page(service).into_iter().map(|said| said.text + "\n");
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
