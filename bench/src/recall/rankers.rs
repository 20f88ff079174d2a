//! The rankers that are compared: SQLite's FTS5 as everybody has it, and our ranking in its steps.

use mnemon_recall::{AudienceNo, Model, NewDoc, Recipe, SearchRequest, WorkspaceIndex};
use rusqlite::Connection;

use super::data::Project;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Ranker {
    Fts5,
    Ours { name: &'static str, recipe: Recipe },
}

impl Ranker {
    pub(crate) const ALL: [Ranker; 4] = [
        Ranker::Fts5,
        Ranker::Ours { name: "BM25", recipe: Recipe::BM25 },
        Ranker::Ours { name: "lexical full", recipe: Recipe::LEXICAL },
        Ranker::Ours { name: "full", recipe: Recipe::FULL },
    ];

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Ranker::Fts5 => "FTS5 porter",
            Ranker::Ours { name, .. } => name,
        }
    }

    pub(crate) fn index(&self, project: &Project) -> anyhow::Result<Searcher> {
        match self {
            Ranker::Fts5 => Ok(Searcher::Fts5(Fts5::new(project.texts.iter().map(String::as_str))?)),
            Ranker::Ours { recipe, .. } => Ok(Searcher::Ours(ours(project), *recipe)),
        }
    }
}

pub(crate) enum Searcher {
    Fts5(Fts5),
    Ours(Box<WorkspaceIndex>, Recipe),
}

impl Searcher {
    /// Positions of the best texts.
    pub(crate) fn search(&self, query: &str, limit: usize) -> anyhow::Result<Vec<usize>> {
        match self {
            Searcher::Fts5(table) => table.search(query, limit),
            Searcher::Ours(index, recipe) => {
                let hits = index.search_by(recipe, &SearchRequest { query, limit, visible: &|_| true });
                Ok(hits.into_iter().map(|hit| hit.seq as usize).collect())
            }
        }
    }
}

fn ours(project: &Project) -> Box<WorkspaceIndex> {
    let mut index = WorkspaceIndex::new(Model::shipped());
    for (seq, text) in (0..).zip(&project.texts) {
        index.add(NewDoc { seq, text, audience: AudienceNo(0), counted: true, embedding: None });
    }
    Box::new(index)
}

/// A full-text table in memory, asked for any of the query's words.
pub(crate) struct Fts5 {
    connection: Connection,
}

impl Fts5 {
    pub(crate) fn new<'a>(texts: impl Iterator<Item = &'a str>) -> anyhow::Result<Self> {
        let connection = Connection::open_in_memory()?;
        connection
            .execute_batch("CREATE VIRTUAL TABLE record USING fts5(text, tokenize = 'porter unicode61'); BEGIN")?;
        let mut insert = connection.prepare("INSERT INTO record (rowid, text) VALUES (?1, ?2)")?;
        for (row, text) in (0_i64..).zip(texts) {
            insert.execute((row, text))?;
        }
        drop(insert);
        connection.execute_batch("COMMIT")?;
        Ok(Self { connection })
    }

    pub(crate) fn search(&self, query: &str, limit: usize) -> anyhow::Result<Vec<usize>> {
        let words = query.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let any = words.map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" OR ");
        if any.is_empty() {
            return Ok(Vec::new());
        }
        let sql = "SELECT rowid FROM record WHERE record MATCH ?1 ORDER BY bm25(record), rowid LIMIT ?2";
        let mut select = self.connection.prepare_cached(sql)?;
        let rows = select.query_map((any, i64::try_from(limit)?), |row| row.get::<_, i64>(0))?;
        rows.map(|row| Ok(usize::try_from(row?)?)).collect()
    }
}
