//! Reading labelled sets: `corpus.jsonl` `{project, id, text}`, `queries.jsonl` `{project, query, gold}`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::Context;
use serde::Deserialize;
use serde::de::DeserializeOwned;

pub(crate) struct Set {
    pub(crate) name: String,
    pub(crate) projects: Vec<Project>,
}

#[derive(Default)]
pub(crate) struct Project {
    pub(crate) name: String,
    pub(crate) texts: Vec<String>,
    /// The ids of records, by number.
    pub(crate) names: Vec<String>,
    /// Which record each text belongs to: some sets cut a record into several texts under one id.
    pub(crate) records: Vec<usize>,
    pub(crate) queries: Vec<Query>,
    ids: HashMap<String, usize>,
}

pub(crate) struct Query {
    pub(crate) text: String,
    /// Numbers of records.
    pub(crate) gold: HashSet<usize>,
    /// Its kind, as the set names it.
    pub(crate) kind: String,
}

#[derive(Deserialize)]
struct RecordLine {
    project: String,
    id: String,
    text: String,
}

#[derive(Deserialize)]
struct QueryLine {
    project: String,
    query: String,
    gold: Vec<String>,
    #[serde(default, rename = "cat")]
    kind: String,
}

/// All projects of some sets as one.
pub(crate) fn as_one<'s>(sets: impl Iterator<Item = &'s Set>) -> Set {
    let mut one = Project::default();
    for project in sets.flat_map(|set| &set.projects) {
        let first = one.records.iter().max().map_or(0, |last| last + 1);
        one.texts.extend(project.texts.iter().cloned());
        one.records.extend(project.records.iter().map(|record| first + record));
        one.queries.extend(project.queries.iter().map(|query| Query {
            text: query.text.clone(),
            gold: query.gold.iter().map(|record| first + record).collect(),
            kind: query.kind.clone(),
        }));
    }
    Set { name: "as one".to_owned(), projects: vec![one] }
}

/// Every set of a folder, by name.
pub(crate) fn load(folder: &Path) -> anyhow::Result<Vec<Set>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut folders: Vec<_> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders.iter().map(|folder| load_set(folder)).collect()
}

fn load_set(folder: &Path) -> anyhow::Result<Set> {
    let mut projects: BTreeMap<String, Project> = BTreeMap::new();
    for line in lines::<RecordLine>(&folder.join("corpus.jsonl"))? {
        let project = projects.entry(line.project).or_default();
        let next = project.ids.len();
        if !project.ids.contains_key(&line.id) {
            project.names.push(line.id.clone());
        }
        project.records.push(*project.ids.entry(line.id).or_insert(next));
        project.texts.push(line.text);
    }
    for line in lines::<QueryLine>(&folder.join("queries.jsonl"))? {
        let project = projects.get_mut(&line.project).context("a query of a project without records")?;
        let gold: Option<HashSet<usize>> = line.gold.iter().map(|id| project.ids.get(id).copied()).collect();
        let gold = gold.with_context(|| format!("a gold record of {:?} is missing", line.query))?;
        project.queries.push(Query { text: line.query, gold, kind: line.kind });
    }
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Set { name, projects: projects.into_iter().map(|(name, project)| Project { name, ..project }).collect() })
}

fn lines<T: DeserializeOwned>(path: &Path) -> anyhow::Result<Vec<T>> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    BufReader::new(file).lines().map(|line| Ok(serde_json::from_str(&line?)?)).collect()
}
