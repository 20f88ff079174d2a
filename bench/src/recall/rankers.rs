//! The rankers that are compared: SQLite's FTS5 as everybody has it, and our ranking in its steps.

use mnemon_recall::{Bounds, Explanation, Model, NewDoc, Recipe, SearchRequest, WorkspaceIndex};
use rusqlite::Connection;

use super::data::Project;

#[derive(Debug, Clone, Copy)]
#[expect(clippy::large_enum_variant, reason = "there are a dozen of them, all constants")]
pub(crate) enum Ranker {
    Fts5,
    Ours { name: &'static str, recipe: Recipe, arrival: Arrival },
}

/// In which order records are saved, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// In the order of the set, all on one day.
    InOrder,
    /// In an order that says nothing.
    Shuffled,
    /// In the order of the set, each session of a dialogue a week after the one before.
    BySession,
}

impl Ranker {
    /// The ranking of the service.
    pub(crate) const FULL: Ranker = ours("full", Recipe::FULL, Arrival::InOrder);

    /// The same without any bound on what is compared.
    pub(crate) const EXHAUSTIVE: Ranker = ours(
        "no bounds",
        Recipe { bounds: Bounds { exhaustive_records: usize::MAX, ..Recipe::FULL.bounds }, ..Recipe::FULL },
        Arrival::InOrder,
    );

    pub(crate) const ALL: [Ranker; 7] = [
        Ranker::Fts5,
        ours("BM25", Recipe::BM25, Arrival::InOrder),
        ours("no meaning", Recipe::LEXICAL, Arrival::InOrder),
        ours("no locality", Recipe::WITHOUT_LOCALITY, Arrival::InOrder),
        ours("shuffled", Recipe::FULL, Arrival::Shuffled),
        ours("by session", Recipe::FULL, Arrival::BySession),
        Ranker::FULL,
    ];

    /// Those whose figures are shown by kind of question.
    pub(crate) const COMPARED: [&str; 3] = ["FTS5 porter", "BM25", "full"];

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Ranker::Fts5 => "FTS5 porter",
            Ranker::Ours { name, .. } => name,
        }
    }

    pub(crate) fn index(&self, project: &Project) -> anyhow::Result<Searcher> {
        match self {
            Ranker::Fts5 => Ok(Searcher::Fts5(Fts5::new(project.texts.iter().map(String::as_str))?)),
            Ranker::Ours { recipe, arrival, .. } => Ok(Searcher::Ours(Ours::new(project, *arrival), Box::new(*recipe))),
        }
    }
}

const fn ours(name: &'static str, recipe: Recipe, arrival: Arrival) -> Ranker {
    Ranker::Ours { name, recipe, arrival }
}

pub(crate) enum Searcher {
    Fts5(Fts5),
    Ours(Ours, Box<Recipe>),
}

impl Searcher {
    /// Positions of the best texts.
    pub(crate) fn search(&self, query: &str, limit: usize) -> anyhow::Result<Vec<usize>> {
        match self {
            Searcher::Fts5(table) => table.search(query, limit),
            Searcher::Ours(ours, recipe) => Ok(ours.search(recipe, query, limit)),
        }
    }
}

/// An index, and which text each `seq` is.
pub(crate) struct Ours {
    index: Box<WorkspaceIndex>,
    texts: Vec<usize>,
}

impl Ours {
    pub(crate) fn new(project: &Project, arrival: Arrival) -> Self {
        let mut texts: Vec<usize> = (0..project.texts.len()).collect();
        if arrival == Arrival::Shuffled {
            // The high bits of a multiple of an odd number: the same order on every machine.
            texts.sort_by_key(|&text| (text as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29));
        }
        let mut index = Box::new(WorkspaceIndex::new(Model::shipped()));
        let (mut saved_at, mut session) = (0, None);
        for (seq, &text) in (0..).zip(&texts) {
            let text = project.texts[text].as_str();
            let begins = text.strip_prefix('[').and_then(|text| text.split_once(']')).map(|(session, _)| session);
            if arrival == Arrival::BySession && begins.is_some() && begins != session {
                (saved_at, session) = (saved_at + SECONDS_PER_WEEK, begins);
            }
            index.add(NewDoc { saved_at, ..NewDoc::new(seq, text) });
        }
        Self { index, texts }
    }

    /// Why the service's ranking answers as it does. A `seq` is the place of a text, where records came in order.
    pub(crate) fn explain(&self, request: &SearchRequest<'_>) -> Explanation {
        self.index.explain(request)
    }

    pub(crate) fn search(&self, recipe: &Recipe, query: &str, limit: usize) -> Vec<usize> {
        let hits = self.index.search_by(recipe, &SearchRequest::new(query, limit));
        hits.into_iter().map(|hit| self.texts[hit.seq as usize]).collect()
    }
}

const SECONDS_PER_WEEK: i64 = 7 * 86_400;

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
